"""Properties about operators that should be gone tell the first call in the text, and look at a function once together."""

from __future__ import annotations

from textwrap import indent

import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import walk
from relax_explorer.core.phases import module_properties
from relax_explorer.core.phases.module_properties import PROPERTIES, Property

TENSOR = 'R.Tensor((4,), "float32")'
CALLS = {
    module_properties.NO_HIGH_LEVEL_OPS: "R.exp(x)",
    module_properties.PURITY_ERASED: 'R.call_pure_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))',
    module_properties.EXPLICIT_ALLOCATION: 'R.call_dps_packed("f", (x,), R.Tensor((4,), "float32"))',
    module_properties.ALLOCATION_LOWERED: 'R.builtin.alloc_tensor(R.shape([4]), R.dtype("float32"), R.prim_value(0), R.str("global"))',
    module_properties.BUILTINS_LOWERED: "R.shape_of(x)",
    module_properties.NO_TENSOR_TO_SHAPE: "R.tensor_to_shape(R.const([1, 2], 'int64'))",
}
PLACES = {
    "the top": "w = R.null_value()\ny = {}\nz = {}\nreturn x",
    "a branch": "if c:\n    y = {}\n    k = x\nelse:\n    k = x\nz = {}\nreturn k",
    "only a branch": "if c:\n    y = {}\n    k = x\nelse:\n    k = x\nreturn k",
    "a nested function": (
        f"@R.function(pure=False)\ndef g(p: {TENSOR}):\n    y = {{}}\n    return p\nz = {{}}\nreturn g(x)"
    ),
}
TEXT = """
@I.ir_module
class M:
    @R.function(pure=False)
    def main(x: {}, c: R.Tensor((), "bool")):
        R.func_attr({{"relax.force_pure": True}})
"""


def _module(body: str) -> rxe.IRModule:
    return rxe.parse(TEXT.format(TENSOR) + indent(body, " " * 8) + "\n")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("required", CALLS, ids=str)
def test_the_first_call_in_the_text_is_told(required: Property, place: str) -> None:
    call = CALLS[required]
    module = _module(PLACES[place].format(call, call))
    found = required.violation(module)
    assert found is not None
    binding, text = found
    assert binding.var.name == "y"
    assert text.endswith("is still there")
    assert required.holds(_module(PLACES[place].format("x", "(x, x)")))


def test_a_function_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module = rxe.normalize(_module(PLACES["a branch"].format("x", "(x, x)")))
    looked, find = list[e.Function](), walk._contents
    monkeypatch.setattr(walk, "_contents", lambda fn: (looked.append(fn), find(fn))[1])
    assert all([q.holds(module) for q in PROPERTIES if q in CALLS])
    assert looked == [module["main"]]


def test_the_first_dataflow_block_is_told() -> None:
    block = "with R.dataflow():\n    {0} = R.exp(x)\n    R.output({0})\n"
    found = module_properties.NO_DATAFLOW.violation(
        _module(f"{block.format('y')}v = x\n{block.format('z')}return x")
    )
    assert found is not None
    assert found[0].bindings[0].var.name == "y"


def test_nested_functions_promise_purity_too() -> None:
    module = rxe.normalize(_module(f"@R.function\ndef g(p: {TENSOR}):\n    return p\nreturn g(x)"))
    found = module_properties.PURITY_ERASED.violation(module)
    assert found is not None
    assert found[0].params[0].name == "p"
