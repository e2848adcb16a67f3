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
