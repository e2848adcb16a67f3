"""BundleModelParams: weights become fields of one tuple, and the function computes the same."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.passes.pipeline import run_step, steps
from tests.support.pass_agreement import programs

TEXTS = {name: text for name, text in programs().items() if name.startswith("bundles: ")}
HEAD = '@I.ir_module\nclass M:\n    @R.function\n    def main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):\n'
USE = (
    HEAD
    + '        R.func_attr({"num_input": 1})\n        y = R.add(x, w)\n        z = R.exp(y)\n        return z\n'
)


def after(text: str, **options: str) -> rxe.IRModule:
    result = rxe.apply_pass(rxe.normalize(rxe.parse(text)), "BundleModelParams", **options)
    assert rxe.normalize(result) is result
    assert rxe.well_formed(result)
    return result


@pytest.mark.parametrize("title", TEXTS)
def test_the_bundled_function_computes_the_same(title: str) -> None:
    before = rxe.normalize(rxe.parse(TEXTS[title]))
    result = after(TEXTS[title])
    params = before["main"].params
    count = before["main"].attrs["num_input"]
    args = [np.bool_(True) if p.name == "c" else np.full(2, n, "float32") for n, p in enumerate(params)]
    old = rxe.run(before, "main", args)
    new = rxe.run(result, "main", [*args[:count], tuple(args[count:])])
    assert str(old) == str(new)


def test_names_are_unused_ones() -> None:
    text = USE.replace("x: ", "model_params: ").replace("R.add(x", "R.add(model_params")
    names = [param.name for param in after(text)["main"].params]
    assert names[0] == "model_params"
    assert names[1] != "model_params"
    assert [param.name for param in after(USE, param_tuple_name="weights")["main"].params] == ["x", "weights"]


def test_functions_without_the_attribute_and_called_ones_stay() -> None:
    caller = '    @R.function\n    def caller(x: R.Tensor((2,), "float32")):\n        y = M.main(x, x)\n        return y\n'
    for text in (USE.replace('        R.func_attr({"num_input": 1})\n', ""), USE + caller):
        module = rxe.normalize(rxe.parse(text))
        assert rxe.apply_pass(module, "BundleModelParams") is module


def test_each_field_comes_from_the_binding_that_reads_it() -> None:
    before = rxe.normalize(rxe.parse(USE))
    outcome = run_step(steps("BundleModelParams")[0], before)
    first, second = bindings(before["main"])
    (item,) = [item for item in outcome.rewrites if item.before == (first,)]
    assert item.after == tuple(bindings(outcome.module["main"]))[:2]
    assert all(second not in item.before for item in outcome.rewrites)


def test_a_result_is_read_after_a_dataflow_block() -> None:
    text = USE.replace(
        "y = R.add(x, w)\n        z = R.exp(y)\n        return z",
        "with R.dataflow():\n            y = R.exp(x)\n            R.output(y)\n        return (y, w)",
    )
    kinds = [type(block).__name__ for block in after(text)["main"].body.blocks]
    assert kinds == ["DataflowBlock", "BindingBlock"]


def test_a_condition_is_a_field_and_the_if_is_recorded() -> None:
    branches = "if w:\n            y = R.exp(x)\n        else:\n            y = R.sin(x)\n        return y"
    text = USE.replace("y = R.add(x, w)\n        z = R.exp(y)\n        return z", branches)
    text = text.replace('w: R.Tensor((2,), "float32")', 'w: R.Tensor((), "bool")')
    assert "if w_1:" in after(text).script()
    before = rxe.normalize(rxe.parse(text))
    outcome = run_step(steps("BundleModelParams")[0], before)
    (whole,) = bindings(before["main"], nested=False)
    assert whole in [binding for item in outcome.rewrites for binding in item.before]
