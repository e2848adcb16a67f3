"""The variables that the value of a binding reads, in order, each once."""

from __future__ import annotations

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts, variables
from relax_explorer.core.ir.walk import bindings

TENSOR = 'R.Tensor((4,), "float32")'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("R.exp(a)", "a"),
        ("R.add(b, a)", "b a"),
        ("R.add(b, b)", "b"),
        ("R.add(b, R.const(1.0))", "b"),
        ("R.concat((b, a, b))", "b a"),
        ("(b, (a, b))", "b a"),
        ("f(b, a)", "f b a"),
        ("R.zeros(R.shape([4]), 'float32')", ""),
        ("R.invoke_pure_closure(f, (b, a), ty_args=[R.Object])", "f b a"),
        ("R.call_pure_packed('g', b, (a, b), ty_args=[R.Object])", "b a"),
    ],
)
def test_each_variable_is_read_once_in_order(value: str, expected: str) -> None:
    head = (
        f"@R.function\ndef main(a: {TENSOR}, b: {TENSOR}, f: R.Callable(({TENSOR}, {TENSOR}), {TENSOR})):\n"
    )
    fn = rxe.normalize(rxe.parse(f"{head}    y = {value}\n    return y"))["main"]
    assert isinstance(fn, e.Function)
    (*_, last) = [b for b in bindings(fn) if b.var is not None and b.var.name == "y"]
    derived = facts(fn)
    assert variables(last.value) == derived.operands[derived.number[last]]
    assert " ".join([var.name for var in variables(last.value)]) == expected


KERNEL = f"""
@I.ir_module
class M:
    @T.prim_func
    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        T.evaluate(0)
    @R.function
    def main(a: {TENSOR}, b: {TENSOR}, t: R.Tuple({TENSOR}, {TENSOR}), s: R.Shape(["n"])):
        n = T.int64()
        y = VALUE
        return y
"""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("(b, a)", "b a"),
        ("(b, b)", "b"),
        ("(b, R.const([1.0, 2.0, 3.0, 4.0], 'float32'))", "b"),
        ("(R.const([1.0, 2.0, 3.0, 4.0], 'float32'), b)", "b"),
        ("t", "t"),
        ("(b, a), tir_vars=R.shape([n])", "b a"),
        ("(b, a), tir_vars=s", "b a s"),
        ("()", ""),
    ],
)
def test_a_call_of_a_kernel_reads_its_arguments(arguments: str, expected: str) -> None:
    text = KERNEL.replace("VALUE", f"R.call_tir(M.k, {arguments}, out_sinfo={TENSOR})")
    fn = rxe.parse(text, experimental=True)["main"]
    assert isinstance(fn, e.Function)
    (call,) = [binding.value for binding in bindings(fn)]
    assert " ".join([var.name for var in variables(call)]) == expected
