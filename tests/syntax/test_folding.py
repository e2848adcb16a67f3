"""What literals make of an operator when a text is read: as TVM reads it, and printed so that it reads back."""

from __future__ import annotations

import re

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import FLOAT32, INT8, INT32
from relax_explorer.core.ir.expr import Call, ShapeExpr
from relax_explorer.core.ir.fold import combine, fold
from relax_explorer.core.ir.prim_text import prim_text
from relax_explorer.core.ir.walk import bindings
from tests.support.oracle import Oracle

WRITTEN = [
    "n + 0", "0 + n", "n - 0", "0 - n", "n * 1", "1 * n", "n * 0", "0 * n", "n // 1", "n % 1", "0 // n", "0 % n", "2 + 3", "7 // 2",
    "-7 // 2", "-7 % 3", "T.truncdiv(-7, 2)", "T.truncmod(-7, 3)", "T.truncdiv(n, 1)", "T.truncmod(n, 1)", "T.max(n, n)", "T.max(2, 3)",
    "T.min(n, 3)", "n - n", "n + 1 + 2", "(n + 1) - 1", "2 * n * 3", "-n", "-(-n)", "T.int32(3) + n", "T.int64(2) * T.int64(3)",
    "T.floordiv(n, 1)", "T.if_then_else(n > 1, n, 2)",
]  # fmt: skip
TEMPLATE = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        y = R.call_pure_packed("f", R.shape([{}]), ty_args=R.Object)
        return y
"""


def dimension(text: str) -> str:
    """The dimension as printed."""
    (found,) = re.findall(r"R\.shape\(\[(.*)\]\)", text)
    return str(found)


@pytest.mark.parametrize("written", WRITTEN)
def test_dimensions_are_read_as_tvm_reads_them(oracle: Oracle, written: str) -> None:
    text = TEMPLATE.format(written)
    theirs = oracle.script(oracle.parse(text).get()).get()
    assert dimension(rxe.parse(text).script()) == dimension(theirs)


def test_a_tree_that_would_be_folded_prints_as_functions() -> None:
    n = p.PrimVar("n")
    zero, one, two = (p.IntImm(number) for number in range(3))
    kinds = [
        p.Add,
        p.Sub,
        p.Mul,
        p.Div,
        p.Mod,
        p.FloorDiv,
        p.FloorMod,
        p.Min,
        p.Max,
        p.EQ,
        p.NE,
        p.LT,
        p.LE,
        p.GT,
        p.GE,
    ]
    for kind in kinds:
        for a, b in ((n, zero), (zero, n), (n, one), (one, n), (two, one), (n, n), (two, zero)):
            made = kind(a, b)
            value = p.Select(made, n, one) if kind.compares else made
            text = TEMPLATE.format(prim_text(value))
            (binding,) = bindings(rxe.parse(text)["main"])
            assert isinstance(binding.value, Call)
            shape = binding.value.args[1]
            assert isinstance(shape, ShapeExpr)
            assert prim_text(shape.values[0]) == prim_text(value)


def test_arithmetic_is_that_of_the_dtype() -> None:
    assert combine(p.Add, p.IntImm(127, INT8), p.IntImm(1, INT8)) is p.IntImm(-128, INT8)
    assert combine(p.Div, p.FloatImm(1.0), p.FloatImm(3.0)) is p.FloatImm(0.3333333432674408, FLOAT32)
    assert fold(p.FloorDiv, p.IntImm(1, INT32), p.IntImm(0, INT32)) is None
    assert fold(p.Add, p.PrimVar("n"), p.PrimVar("n")) is None
