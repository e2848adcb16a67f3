"""LegalizeOps writes scalar constants into the kernels of elementwise operators and of `full`."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer import IRModule
from relax_explorer.core.ir.walk import bindings

HEAD = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "{dtype}")):
        y = {call}
        return y
"""


def legalized(call: str, dtype: str = "float32") -> IRModule:
    module = rxe.normalize(rxe.parse(HEAD.format(call=call, dtype=dtype)))
    return rxe.apply_pass(module, "LegalizeOps")


def operands(module: IRModule) -> list[str]:
    """The operands of the kernel: the names of variables, or `const`."""
    (binding,) = [b for b in bindings(module["main"]) if b.var.name == "y"]
    return [getattr(arg, "name", "const") for arg in binding.value.args[1].fields]


@pytest.mark.parametrize(
    ("call", "dtype", "expected", "literal"),
    [
        ("R.add(x, R.const(1.5, 'float32'))", "float32", ["x"], "x[v_ax0, v_ax1] + T.float32(1.5)"),
        ("R.subtract(R.const(1.5, 'float16'), x)", "float16", ["x"], "T.float16(1.5) - x[v_ax0, v_ax1]"),
        ("R.maximum(x, R.const(3, 'int8'))", "int8", ["x"], "T.max(x[v_ax0, v_ax1], T.int8(3))"),
        ("R.less(x, R.const(-1, 'int64'))", "int64", ["x"], "x[v_ax0, v_ax1] < T.int64(-1)"),
        ("R.logical_and(x, R.const(True, 'bool'))", "bool", ["x"], "T.And(x[v_ax0, v_ax1], T.bool(True))"),
        ("R.add(R.const(2.0, 'float32'), R.const(1.0, 'float32'))", "float32", ["const"], "T.float32(1.0)"),
        ("R.full((2, 3), R.const(2.5, 'float32'))", "float32", [], "= T.float32(2.5)"),
        ("R.full((2, 3), R.const(2, 'int32'), dtype='float32')", "float32", [], "= T.float32(2.0)"),
        ("R.full_like(x, R.const(2.5, 'float32'))", "float32", ["x"], "= T.float32(2.5)"),
        # not scalar, or not one of these operators
        ("R.add(x, R.const([1.0, 2.0, 3.0], 'float32'))", "float32", ["x", "const"], "T.Buffer((T.int64(3),)"),
        ("R.add(x, R.const([[1.5]], 'float32'))", "float32", ["x", "const"], "[T.int64(0), T.int64(0)]"),
        ("R.where(R.const(True, 'bool'), x, x)", "float32", ["const", "x", "x"], "[()]"),
        ("R.take(x, R.const(1, 'int64'), axis=1)", "float32", ["x", "const"], "[()]"),
        ("R.exp(R.const(2.0, 'float32'))", "float32", ["const"], "[()])"),
    ],
)  # fmt: skip
def test_the_kernel_has_the_literal(call: str, dtype: str, expected: list[str], literal: str) -> None:
    module = legalized(call, dtype)
    assert operands(module) == expected
    assert literal in module.script()


def test_calls_with_other_literals_have_other_kernels() -> None:
    text = HEAD.format(call="R.add(x, R.const(1.0, 'float32'))", dtype="float32").replace(
        "        return y\n",
        "        z = R.add(y, R.const(2.0, 'float32'))\n        w = R.add(z, R.const(1.0, 'float32'))\n        return w\n",
    )
    module = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "LegalizeOps")
    assert [name for name in module.functions if name != "main"] == ["add", "add1"]
    callees = [binding.value.args[0].name for binding in bindings(module["main"])]
    assert callees == ["add", "add1", "add"]
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(rxe.run(module, "main", [x]), x + 4)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 0.1, -0.0])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_literals_keep_their_bits(value: float, dtype: str) -> None:
    """Also through the printed text."""
    text = HEAD.format(call="R.multiply(x, c)", dtype=dtype).replace(
        "):", f", c: R.Tensor((), '{dtype}')):", 1
    )
    module = rxe.normalize(rxe.parse(text))
    module = rxe.apply_pass(module, "BindParams", func_name="main", params={"c": np.array(value, dtype)})
    module = rxe.apply_pass(module, "LegalizeOps")
    assert operands(module) == ["x"]
    x = np.array([[0.0, -1.0, 1.0], [2.0, -2.0, 0.5]], dtype)
    with np.errstate(invalid="ignore"):
        expected = x * np.array(value, dtype)
    for each in (module, rxe.normalize(rxe.parse(module.script()))):
        found = rxe.run(each, "main", [x])
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(
            np.signbit(found), np.signbit(expected) if not np.isnan(value) else np.signbit(found)
        )
