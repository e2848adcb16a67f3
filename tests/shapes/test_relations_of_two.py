"""Relations look at both of their inputs, at the right end of each, and hold nothing for true that is not known."""

from __future__ import annotations

import pytest

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import dtype
from relax_explorer.core.relations.adapt import solve_one, to_info, to_type
from relax_explorer.core.relations.library import RELATIONS
from relax_explorer.core.relations.relay_types import dim_hole
from relax_explorer.core.relations.solver import Mismatch, Outcome, Solver
from relax_explorer.core.relations.text import read_type

N, M = p.PrimVar("n"), p.PrimVar("m")
HOLDS, FAILS, OPEN = Outcome.HOLDS, Outcome.FAILS, Outcome.UNKNOWN


def tensor(*dims: int | p.PrimExpr, element: str = "float32") -> s.TensorStructInfo:
    return s.TensorStructInfo(tuple([p.as_prim(dim) for dim in dims]), dtype(element))


ROWS = {
    "Matmul": [
        ([tensor(7, 2, 3), tensor(3, 4)], {}, HOLDS, tensor(7, 2, 4)),
        ([tensor(2, 3), tensor(7, 3, 4)], {}, HOLDS, tensor(7, 2, 4)),
        ([tensor(2, 3), tensor(3)], {}, HOLDS, tensor(2)),
        ([tensor(3), tensor(3, 4)], {}, HOLDS, tensor(4)),
        ([tensor(2, 3), tensor(3, 4, element="int32")], {}, FAILS, None),
        ([tensor(2, 3, element="int32"), tensor(3, 4)], {}, FAILS, None),
        ([tensor(5, 2, 3), tensor(6, 3, 4)], {}, FAILS, None),
    ],
    "Reshape": [
        ([tensor(2, 6)], {"newshape": (0, -1)}, HOLDS, tensor(2, 6)),
        ([tensor(2, 6)], {"newshape": (0, -1, 3)}, HOLDS, tensor(2, 2, 3)),
        ([tensor(2, 6)], {"newshape": (3, 4, 0)}, FAILS, None),
        ([tensor(2, 6)], {"newshape": (5, -1)}, FAILS, None),
        ([tensor(2, 6)], {"newshape": (0, 5)}, FAILS, None),
        ([tensor(N, 6)], {"newshape": (4, -1)}, HOLDS, tensor(4, p.FloorDiv(p.Mul(N, p.as_prim(6)), p.as_prim(4)))),
        ([tensor(0, 6)], {"newshape": (0, -1)}, FAILS, None),
        ([tensor(N, 6)], {"newshape": (0, -1)}, HOLDS, tensor(N, 6)),
    ],
    "Broadcast": [
        ([tensor(2), tensor(3)], {}, FAILS, None),
        ([tensor(N), tensor(p.Add(N, p.as_prim(1)))], {}, OPEN, None),
        ([tensor(p.Add(N, p.as_prim(1))), tensor(N)], {}, OPEN, None),
        ([tensor(N), tensor(p.Add(N, p.as_prim(2)))], {}, OPEN, None),
        ([tensor(p.Add(N, p.as_prim(2))), tensor(N)], {}, OPEN, None),
        ([tensor(p.Add(N, p.as_prim(2))), tensor(p.Add(N, p.as_prim(3)))], {}, FAILS, None),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "row"), [(name, row) for name, rows in ROWS.items() for row in rows], ids=str
)
def test_a_relation_of_two(name: str, row: tuple) -> None:
    infos, attrs, outcome, expected = row
    item, result, _ = solve_one(name, RELATIONS[name], [to_type(info) for info in infos], attrs)
    assert item.outcome is outcome
    if expected is not None:
        assert to_info(result) == expected


def test_either_length_may_be_the_unknown_one() -> None:
    for is_first in (True, False):
        solver, hole = Solver(), dim_hole()
        two = (hole, N) if is_first else (N, hole)
        assert solver.same_dim(*two) is HOLDS
        assert solver.dim(hole) is N


def test_a_length_that_fits_no_int64_is_not_kept() -> None:
    solver, hole = Solver(), dim_hole()
    with pytest.raises(Mismatch):
        solver.same_dim(hole, p.Mul(p.IntImm(1 << 62, N.dtype), p.IntImm(4, N.dtype)))
    assert solver.dim(hole) is hole


def test_pairs_that_are_open_are_kept_once_each() -> None:
    solver = Solver()
    for a, b in ((N, M), (N, M), (N, p.as_prim(3)), (M, p.as_prim(3))):
        assert solver.same_dim(a, b) is OPEN
    assert len(solver.open_now()) == 3


def test_types_beside_each_other_are_not_nested() -> None:
    assert read_type("(" + ", ".join(["Tensor[(3), float32]"] * 400) + ")") is not None
