"""Which of two products of three factors is cheaper, by the lengths of each factor, and by those known early."""

from __future__ import annotations

import pytest

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.passes.matmul_order import _is_left_better

N, M, K, L = (p.PrimVar(name, INT64) for name in "nmkl")
LATE = (False, False, False)


@pytest.mark.parametrize(
    ("shapes", "early", "is_left"),
    [
        (((9, 9), (9, 9), (9, 2)), (True, True, False), True),
        (((2, 9), (9, 9), (9, 9)), (False, True, True), False),
        (((2, 9), (9, 9), (9, 9)), LATE, True),
        (((9, 9), (9, 9), (9, 2)), LATE, False),
        (((9,), (9, 9), (9, 9)), LATE, True),
        (((9, 9), (9, 9), (9,)), LATE, False),
        (((2, 2), (2, 2), (2, 2)), LATE, None),
        (((N, M), (M, K), (K, L)), LATE, None),
        (((2, N), (N, N), (N, N)), LATE, None),
        (((N, N), (N, N), (N,)), LATE, None),
    ],
)
def test_the_cheaper_order(shapes: tuple, early: tuple[bool, ...], is_left: bool | None) -> None:
    dims = [tuple([p.as_prim(dim) for dim in shape]) for shape in shapes]
    assert _is_left_better(dims, early, ()) is is_left
