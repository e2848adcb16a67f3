"""DecomposeOpsForInference and DecomposeOpsForTraining compute what their operators compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.passes.pipeline import run_step, steps
from tests.support.ready_modules import after as after_pass

INFERENCE, TRAINING = "DecomposeOpsForInference", "DecomposeOpsForTraining"
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(2, 3, 4)).astype("float32")


def program(body: str, params: str, pure: str = "") -> rxe.IRModule:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return rxe.normalize(rxe.parse(f"@R.function{pure}\ndef main({params}):\n{lines}"))


def after(before: rxe.IRModule, name: str, **options: Any) -> rxe.IRModule:
    result = rxe.apply_pass(before, name, **options)
    assert rxe.normalize(result) is result
    assert rxe.well_formed(result)
    return result


def leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple) else [value]


def assert_equal(before: rxe.IRModule, name: str, *args: Any) -> str:
    """Both modules compute the same. Returns the text of the second one."""
    result = after(before, name)
    assert result is not before
    pairs = zip(leaves(rxe.run(before, "main", args)), leaves(rxe.run(result, "main", args)), strict=True)
    for old, new in pairs:
        np.testing.assert_allclose(np.asarray(old), np.asarray(new), rtol=1e-5, atol=1e-6)
    return result.script()


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
@pytest.mark.parametrize("flags", ["", ", scale=False", ", center=False, epsilon=0.5", ", momentum=0.75"])
@pytest.mark.parametrize("name", [INFERENCE, TRAINING])
def test_a_batch_norm_is_its_arithmetic(name: str, flags: str, axis: int) -> None:
    length = X.shape[axis]
    channels = ", ".join(f'{v}: R.Tensor(({length},), "float32")' for v in "gbmv")
    training = name == TRAINING
    text = f"y = R.nn.batch_norm(x, g, b, m, v, axis={axis}, training={training}{flags})\nreturn y"
    before = program(text, f'x: R.Tensor((2, 3, 4), "float32"), {channels}')
    moments = [RANDOM.uniform(1, 2, length).astype("float32") for _ in range(4)]
    assert "batch_norm" not in assert_equal(before, name, X, *moments)


@pytest.mark.parametrize(("axes", "shape"), [([-1], (4,)), ([1, 2], (3, 4)), ([2], (4,))])
@pytest.mark.parametrize("flags", ["", ", scale=False", ", center=False, epsilon=0.5"])
def test_a_layer_norm_is_its_arithmetic(axes: list[int], shape: tuple[int, ...], flags: str) -> None:
    given = (
        f'x: R.Tensor((2, 3, 4), "float32"), g: R.Tensor({shape}, "float32"), b: R.Tensor({shape}, "float32")'
    )
    before = program(f"y = R.nn.layer_norm(x, g, b, axes={axes}{flags})\nreturn y", given)
    arrays = [RANDOM.uniform(1, 2, shape).astype("float32") for _ in range(2)]
    assert "layer_norm" not in assert_equal(before, TRAINING, X, *arrays)
    assert rxe.apply_pass(before, INFERENCE) is before


@pytest.mark.parametrize("name", [INFERENCE, TRAINING])
@pytest.mark.parametrize("inside", [True, False])
def test_a_shape_from_a_tensor_gets_named_lengths(name: str, inside: bool) -> None:
    lines = "y = R.tensor_to_shape(s)\nz = R.reshape(x, y)\nw = R.add(z, z)"
    if inside:
        lines = (
            "with R.dataflow():\n"
            + "".join(f"    {line}\n" for line in lines.splitlines())
            + "    R.output(w)"
        )
    before = program(f"{lines}\nreturn w", 's: R.Tensor((2,), "int64"), x: R.Tensor((2, 3, 4), "float32")')
    text = assert_equal(before, name, np.array([6, 4]), X)
    assert 'w: R.Tensor((x_0, x_1), dtype="float32")' in text
    assert "R.tensor_to_shape" not in text
    assert "R.add" not in after_pass(after(before, name), "LegalizeOps").script()


def test_calls_in_branches_and_nested_functions_are_decomposed() -> None:
    text = """
if c:
    t = R.nn.batch_norm(x, g, g, g, g, axis=1)
    y = t[0]
else:
    y = R.nn.layer_norm(x, g, g, axes=[-1])
@R.function
def inner(q: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    u = R.nn.layer_norm(q, g, g, axes=[1])
    return u
z = inner(y)
return z"""
    given = 'x: R.Tensor((2, 3), "float32"), g: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")'
    result = after(program(text.strip(), given), TRAINING).script()
    assert "_norm(" not in result
    assert result.count("R.variance") == 3


def test_a_call_on_data_of_unknown_rank_or_length_stays() -> None:
    given = 'x: R.Tensor("float32"), g: R.Tensor((3,), "float32"), s: R.Tensor(("n",), "int64")'
    before = program(
        "y = R.tensor_to_shape(s)\nz = R.nn.batch_norm(x, g, g, g, g, axis=1)\nreturn (y, z)", given
    )
    for name in (INFERENCE, TRAINING):
        assert rxe.apply_pass(before, name) is before


def test_only_the_named_function_changes() -> None:
    function = '    @R.function\n    def {}(x: R.Tensor((2, 3), "float32"), g: R.Tensor((3,), "float32")):\n'
    function += "        y = R.nn.layer_norm(x, g, g, axes=[-1])\n        return y\n"
    before = rxe.normalize(
        rxe.parse("@I.ir_module\nclass M:\n" + function.format("main") + function.format("other"))
    )
    result = after(before, TRAINING, func_name="other")
    assert result["main"] is before["main"]
    assert result["other"] is not before["other"]
    with pytest.raises(rxe.Failure, match="no Relax function 'nobody'"):
        rxe.apply_pass(before, TRAINING, func_name="nobody")


def test_each_part_comes_from_its_operator() -> None:
    before = program(
        "y = R.nn.layer_norm(x, g, g, axes=[-1])\nreturn y",
        'x: R.Tensor((2, 3), "float32"), g: R.Tensor((3,), "float32")',
    )
    outcome = run_step(steps(TRAINING)[0], before)
    (item,) = outcome.rewrites
    assert len(item.before) == 1
    assert list(item.after) == list(outcome.module["main"].body.blocks[0].bindings)
    assert all(binding.span is not None for binding in item.after)
