"""Which elements of the operands made one element of a result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.computed import Place, parts
from relax_explorer.core.exec.values import Shape

X = np.arange(6, dtype="float32").reshape(2, 3)
ALL = slice(None)


@pytest.mark.parametrize(
    ("name", "attrs", "operands", "index", "expected"),
    [
        ("permute_dims", {"axes": None}, [X], (2, 1), [(1, 2)]),
        ("concat", {"axis": 0}, [(X, X + 9)], (3, 1), [None, (1, 1)]),
        ("broadcast_to", {}, [X[0], Shape((2, 3))], (1, 2), [(2,), None]),
        ("add", {}, [X, X[:1]], (1, 2), [(1, 2), (0, 2)]),
        ("sum", {"axis": (0,), "keepdims": False}, [X], (2,), [(ALL, 2)]),
        ("cumsum", {"axis": 1, "dtype": None, "exclusive": False}, [X], (1, 1), [(1, slice(2))]),
        ("matmul", {"out_dtype": None}, [np.ones((2, 2, 3)), np.ones((1, 3, 4))], (1, 0, 2), [(1, 0, ALL), (0, ALL, 2)]),
        ("matmul", {"out_dtype": None}, [np.ones((1, 2, 3)), np.ones((2, 3, 4))], (1, 0, 2), [(0, 0, ALL), (1, ALL, 2)]),
    ],
)  # fmt: skip
def test_parts(name: str, attrs: dict[str, Any], operands: list[Any], index: Any, expected: Any) -> None:
    op = rxe.ops.get(f"relax.{name}")
    assert op.evaluate is not None
    assert parts(op, attrs, operands, op.evaluate(*operands, **attrs), Place((), index)) == expected
