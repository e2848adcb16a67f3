"""LiftTransformParams: the lifted function and the rest compute together what the function computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pipeline import run_step, steps
from tests.support.pass_agreement import programs

TEXTS = {name: text for name, text in programs().items() if name.startswith("lifts: ")}
SIZES = {"n": 2, "m": 3, "k": 2}
HEAD = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32"), v: R.Tensor(("n",), "float32")):
        R.func_attr({"num_input": 1})
        n = T.int64()
"""


def argument(info: Any, rng: np.random.Generator) -> Any:
    if isinstance(info, s.TupleStructInfo):
        return tuple(argument(field, rng) for field in info.fields)
    if str(info.dtype) == "bool":
        return np.bool_(True)
    shape = [SIZES[dim.name] if hasattr(dim, "name") else dim.value for dim in info.dims]
    return rng.random(shape).astype("float32")


def lifted(text: str, **options: Any) -> tuple[rxe.IRModule, rxe.IRModule]:
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, "LiftTransformParams", **options)
    assert rxe.normalize(after) is after
    assert rxe.well_formed(after)
    return before, after


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("title", [title for title, text in TEXTS.items() if "call_pure_packed" not in text])
def test_both_functions_together_compute_the_same(title: str, shared: bool) -> None:
    before, after = lifted(TEXTS[title], shared_transform=shared)
    for name, fn in before.relax_functions.items():
        count = fn.attrs.get("num_input")
        if count is None:
            continue
        rng = np.random.default_rng(0)
        args = [argument(param.struct_info, rng) for param in fn.params]
        transform = "transform_params" if shared else f"{name}_transform_params"
        weights = rxe.run(after, transform, [tuple(args[count:])])
        assert str(rxe.run(before, name, args)) == str(rxe.run(after, name, [*args[:count], *weights]))


def test_a_length_that_only_a_dropped_weight_tells_becomes_a_parameter() -> None:
    text = HEAD + (
        "        with R.dataflow():\n            a = R.exp(v)\n            b = R.sum(a)\n            c = R.add(x, b)\n"
        '            o = R.zeros(R.shape([n]), "float32")\n            R.output(c, o)\n        return (c, o)\n'
    )
    _, after = lifted(text)
    assert [str(param.struct_info) for param in after["main"].params] == [
        'R.Tensor((2,), dtype="float32")',
        "R.Shape([n])",
        'R.Tensor((), dtype="float32")',
    ]


def test_a_length_that_only_the_result_is_said_to_have_becomes_a_parameter() -> None:
    text = HEAD.replace('("n",), "float32"))', '("n",), "float32")) -> R.Tensor(("n",), "float32")') + (
        "        with R.dataflow():\n            a = R.sum(v)\n            b = R.unique(R.add(x, a))\n            R.output(b)\n        return b\n"
    )
    _, after = lifted(text)
    assert str(after["main"].params[1].struct_info) == "R.Shape([n])"


def test_a_cast_still_compares_with_the_length_of_a_dropped_weight() -> None:
    text = (
        '@R.function\ndef main(x: R.Tensor("float32", ndim=1), w: R.Tensor(("n",), "float32")):\n'
        '    R.func_attr({"num_input": 1})\n    n = T.int64()\n'
        '    c = R.match_cast(x, R.Tensor((n,), "float32"))\n    return c\n'
    )
    _, after = lifted(text)
    three, two = np.ones(3, "float32"), np.ones(2, "float32")
    weights = rxe.run(after, "main_transform_params", [(three,)])
    assert rxe.run(after, "main", [three, *weights]).shape == (3,)
    with pytest.raises(rxe.Failure):
        rxe.run(after, "main", [two, *weights])


@pytest.mark.parametrize(("around", "kinds"), [("first", "plain graph plain"), ("last", "graph plain")])
def test_a_tuple_that_is_the_result_is_bound_at_the_end(around: str, kinds: str) -> None:
    plain = "        q = R.exp(x)\n"
    graph = "        with R.dataflow():\n            a = R.exp(w)\n            c = R.add(x, a)\n            R.output(c)\n"
    parts = (plain, graph) if around == "first" else (graph, plain)
    _, after = lifted(HEAD + "".join(parts) + "        return (c, q)\n")
    blocks = after["main"].body.blocks
    assert " ".join("graph" if type(b) is e.DataflowBlock else "plain" for b in blocks) == kinds
    assert [b.var.name for b in bindings(after["main"])][-1] == after["main"].body.body.name


def test_a_check_without_a_variable_stays() -> None:
    text = HEAD + (
        '        with R.dataflow():\n            R.match_cast(v, R.Tensor((n,), "float32"))\n            a = R.exp(w)\n'
        "            c = R.add(x, a)\n            R.output(c)\n        return c\n"
    )
    _, after = lifted(text)
    assert after["main"].params[1].name == "v"


def test_nested_functions_are_lifted_in_every_function() -> None:
    text = (
        '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    @R.function\n'
        '    def inner(q: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n        r = R.exp(q)\n        return r\n'
        "    y = inner(x)\n    return y\n"
    )
    _, after = lifted(text)
    assert sorted(after.functions) == ["main", "main_inner"]


def test_called_and_private_functions_and_those_without_the_attribute_stay() -> None:
    body = "        with R.dataflow():\n            a = R.exp(w)\n            b = R.add(x, a)\n            R.output(b)\n        return b\n"
    caller = '    @R.function\n    def caller(x: R.Tensor((2,), "float32")):\n        y = M.main(x, x, x)\n        return y\n'
    private = HEAD.replace("@R.function", "@R.function(private=True)") + body
    other = '    @R.function\n    def other(x: R.Tensor((2,), "float32")):\n        return x\n'
    for text in (
        HEAD + body + caller,
        private + other,
        HEAD.replace('"num_input": 1', '"num_input": 9') + body,
    ):
        before = rxe.normalize(rxe.parse(text))
        assert rxe.apply_pass(before, "LiftTransformParams") is before
        assert rxe.apply_pass(before, "LiftTransformParams", shared_transform=True) is before


def test_names_are_unused_ones() -> None:
    text = TEXTS["lifts: Only a transformed weight #2"].replace("def main", "def f")
    text += '    @R.function\n    def f_transform_params(x: R.Tensor((2,), "float32")):\n        return x\n'
    _, after = lifted(text)
    assert {"f", "f_transform_params", "f_transform_params1"} == set(after.functions)


def test_wrong_options_are_refused() -> None:
    text = next(text for title, text in TEXTS.items() if "transform alike" in title)
    module = rxe.normalize(rxe.parse(text))
    other = rxe.normalize(
        rxe.parse(text.replace('w: R.Tensor((2,), "float32")', 'w: R.Tensor((1,), "float32")', 1))
    )
    for given, options in ((module, {"shared_functions": ["nosuch"]}), (other, {"shared_transform": True})):
        with pytest.raises(rxe.Failure) as caught:
            rxe.apply_pass(given, "LiftTransformParams", **options)
        assert caught.value.diagnostics[0].code.id == "RX0404"


def test_each_binding_of_the_new_function_has_an_origin() -> None:
    before = rxe.normalize(rxe.parse(TEXTS["lifts: Only a transformed weight #2"]))
    outcome = run_step(steps("LiftTransformParams")[0], before)
    first, second = before["main"].body.blocks[0].bindings
    pairs = [(item.before, [b.var.name for b in item.after]) for item in outcome.rewrites]
    assert ((first,), ["w", "a"]) in pairs
    assert ((second,), ["c"]) in pairs
