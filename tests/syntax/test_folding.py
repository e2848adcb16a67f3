"""Operators over literals are folded at parsing as in TVM, and print so that they read back."""

from __future__ import annotations

import re

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import FLOAT32, INT8, INT32
from relax_explorer.core.ir.expr import Call, ShapeExpr
from relax_explorer.core.ir.prim_text import prim_text
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.syntax.parse_dim import combine
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


CONVERTED = [
    "A[0] + 1.5", "A[0] + T.float64(1.5)", "B[0] + 1.5", "B[0] + A[0]", "I[0] + B[0]", "(I[0] > 1) + I[0]", "T.bool(True) + I[0]",
    "True + I[0]", "U[0] + I[0]", "J[0] + U[0]", "J[0] + I[0]", "A[0] * (I[0] > 0)", "T.max(A[0], B[0])", "I[0] + 1.5", "A[0] < I[0]",
    "T.pow(A[0], B[0])", "T.pow(A[0], 2)", "T.pow(2, A[0])", "I[0] + T.float32(2)", "2 + A[0]", "T.float16(2) + A[0]",
    "T.bitwise_and(I[0], J[0])", "T.bitwise_xor(U[0], I[0])", "T.shift_left(I[0], J[0])", "T.shift_right(J[0], 3)", "I[0] & J[0]",
    "I[0] & T.int64(3)", "I[0] + T.int64(3)", "T.int64(3) * I[0]", "U[0] + T.int32(3)", "B[0] * T.int64(2)", "I[0] < T.int64(3)",
    "I[0] + T.int8(3)", "T.max(I[0], T.int64(0))", "I[0] // T.int64(2)", "T.if_then_else(I[0] > 0, I[0], T.int64(0))",
    "2 * T.int64(2) + I[0]", "I[0] + (T.int64(1) + T.int64(2))", "T.atan2(A[0], B[0])",
]  # fmt: skip
KERNEL = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float16"), I: T.Buffer((4,), "int32"), J: T.Buffer((4,), "int64"),
         U: T.Buffer((4,), "uint32"), C: T.Buffer((4,), "float64")):
    C[0] = T.Cast("float64", {})
"""


@pytest.mark.parametrize("written", CONVERTED)
def test_operands_are_converted_as_tvm_converts_them(oracle: Oracle, written: str) -> None:
    text = KERNEL.format(written)
    theirs = oracle.script(oracle.parse(text).get()).get()
    assert stored(rxe.parse(text).script()) == stored(theirs)


def stored(text: str) -> str:
    """The value that the kernel stores as printed, without numbers in names."""
    (found,) = re.findall(r"C\[0\] = (.*)", text)
    return str(found).replace("I_1[", "I_[")


@pytest.mark.parametrize(
    "written", ["n + T.float32(1.5)", "T.max(n, T.float32(2))", "T.if_then_else(n > 3, n, T.float32(1))"]
)
def test_a_dimension_is_no_float(oracle: Oracle, written: str) -> None:
    text = TEMPLATE.format(written)
    assert not oracle.parse(text).ok
    with pytest.raises(rxe.ParseError, match="a dimension is an integer, this is float32"):
        rxe.parse(text)


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
            if b is zero and kind.__name__.endswith(("Div", "Mod")):
                continue  # the reader refuses it
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
    assert p.FloorDiv.fold(p.IntImm(1, INT32), p.IntImm(0, INT32)) is None
    assert p.Add.fold(p.PrimVar("n"), p.PrimVar("n")) is None


CONDITIONS = [
    "A[0] = T.if_then_else(n, T.float32(1), T.float32(2))",
    "A[0] = T.if_then_else(n > 1 and 7, T.float32(1), T.float32(2))",
    "A[0] = T.Select(n > 1 or n, T.float32(1), T.float32(2))",
    "A[0] = T.Select(T.And(n > 1, n), T.float32(1), T.float32(2))",
    "A[0] = T.float32(1) if n else T.float32(2)",
    "A[0] = T.Cast('float32', not n)",
    "assert n, 'n'",
]


@pytest.mark.parametrize("statement", CONDITIONS)
def test_a_condition_is_a_truth_value(oracle: Oracle, statement: str) -> None:
    text = f'@T.prim_func\ndef main(A: T.Buffer((4,), "float32"), n: T.int64):\n    {statement}\n'
    assert not oracle.parse(text).ok
    with pytest.raises(rxe.ParseError, match="a condition is a truth value, this is int"):
        rxe.parse(text)


@pytest.mark.parametrize(
    "dim", ["T.if_then_else(n, n, 2)", "T.Select(n > 1 and n, n, 2)", "T.if_then_else(not n, n, 2)"]
)
def test_a_condition_of_a_dimension_is_a_truth_value(oracle: Oracle, dim: str) -> None:
    text = TEMPLATE.format(dim)
    assert not oracle.parse(text).ok
    with pytest.raises(rxe.ParseError, match="a condition is a truth value, this is int64"):
        rxe.parse(text)


def test_a_long_sum_is_written_without_recursion() -> None:
    total: p.PrimExpr = p.PrimVar("n")
    for number in range(2, 3000):
        total = total + number if number % 3 else total - number * p.PrimVar("k")
    text = prim_text(total)
    assert text.startswith("n + 2 - 3 * k + 4")
    assert "(" not in text


def test_a_node_is_written_the_same_whatever_was_imported() -> None:
    import subprocess
    import sys

    script = "from relax_explorer.core.ir import prim as p; n = p.PrimVar('n'); print(p.PrimCall('shift_left', (n, n), n.dtype))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "n << n\n"
