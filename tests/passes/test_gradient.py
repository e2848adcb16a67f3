"""Gradient: the derivatives are the quotients of differences, and refusals name the place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops import find
from relax_explorer.core.passes.derivatives import RULES
from relax_explorer.core.passes.pipeline import run_step, steps
from tests.support.pass_agreement import programs

TEXTS = {
    name.split(": ", 1)[1].rsplit(" #", 1)[0]: text
    for name, text in programs().items()
    if name.startswith("gradients: ")
}
STEP = 1e-6
PARAMS = 'x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")'


def program(body: str, outputs: str, result: str, params: str = PARAMS) -> rxe.IRModule:
    lines = "".join(f"        {line}\n" for line in body.strip().splitlines())
    text = f"@R.function\ndef main({params}):\n    with R.dataflow():\n{lines}        R.output({outputs})\n"
    return rxe.normalize(rxe.parse(f"{text}    return {result}\n"))


def after(before: rxe.IRModule, **options: Any) -> rxe.IRModule:
    result = rxe.apply_pass(before, "Gradient", **{"func_name": "main", **options})
    assert rxe.normalize(result) is result
    assert rxe.well_formed(result)
    assert result["main"] is before["main"]
    return result


def arrays(info: s.StructInfo | None, seed: int) -> Any:
    """Values of a StructInfo. A symbolic length is 4, an unknown shape (2, 3), and indices are 0 and 1."""
    if isinstance(info, s.TupleStructInfo):
        return tuple([arrays(field, seed + n) for n, field in enumerate(info.fields)])
    assert isinstance(info, s.TensorStructInfo)
    assert info.dtype is not None
    dims = (p.IntImm(2), p.IntImm(3)) if info.dims is None else info.dims
    shape = tuple([dim.value if isinstance(dim, p.IntImm) else 4 for dim in dims])
    random = np.random.default_rng(seed)
    if not info.dtype.is_float:
        return random.integers(0, 2, shape).astype(info.dtype.name)
    return random.uniform(0.5, 2, shape).astype(info.dtype.name)


def leaves(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    for item in value if isinstance(value, tuple) else (value,):
        yield from leaves(item) if isinstance(item, tuple) else (np.asarray(item),)


def quotients(module: rxe.IRModule, args: list[Any], array: np.ndarray[Any, Any], target: int) -> Any:
    """How the result varies with each element of an array, which is one of the arguments or in one."""
    found = np.zeros_like(array)
    for place in np.ndindex(array.shape):
        value = array[place]
        ends = []
        for step in (STEP, -STEP):
            array[place] = value + step
            result = rxe.run(module, "main", args)
            ends.append(float((result[target] if isinstance(result, tuple) else result).item()))
        array[place] = value
        found[place] = (ends[0] - ends[1]) / (2 * STEP)
    return found


def assert_derivatives(module: rxe.IRModule, target: int = 0, constants: tuple[int, ...] = ()) -> None:
    """The adjoint function returns the results, and the quotients of differences or zeros for `constants`."""
    args = [arrays(param.struct_info, n) for n, param in enumerate(module["main"].params)]
    results, adjoints = rxe.run(after(module, target_index=target), "main_adjoint", args)
    for old, new in zip(leaves(rxe.run(module, "main", args)), leaves(results), strict=True):
        np.testing.assert_array_equal(old, new)
    for number, (array, adjoint) in enumerate(zip(leaves(tuple(args)), leaves(adjoints), strict=True)):
        assert (adjoint.shape, adjoint.dtype) == (array.shape, array.dtype)
        if array.dtype == np.float64 and number not in constants:
            np.testing.assert_allclose(adjoint, quotients(module, args, array, target), rtol=1e-5, atol=1e-6)
        else:
            assert not adjoint.any()


@pytest.mark.parametrize("title", [title for title in TEXTS if title != "Float16"])
def test_derivatives_are_the_quotients_of_differences(title: str) -> None:
    constants = (2,) if "nll_loss," in title else ()  # its weights
    assert_derivatives(rxe.normalize(rxe.parse(TEXTS[title].replace("float32", "float64"))), 0, constants)


def test_every_rule_has_a_program() -> None:
    used = {
        b.value.op.name
        for text in TEXTS.values()
        for b in bindings(rxe.normalize(rxe.parse(text))["main"])
        if type(b.value) is e.Call and type(b.value.op) is e.OpRef
    }
    assert all(find(name) is not None for name in RULES)
    marks = {f"relax.grad.{name}" for name in ("no_grad", "start_checkpoint", "end_checkpoint")}
    assert RULES.keys() - used == marks


def test_a_result_is_chosen_by_its_number() -> None:
    text = TEXTS["Several results"].replace("float32", "float64")
    assert_derivatives(rxe.normalize(rxe.parse(text)), 2)
    held = program(
        "c = R.sum(x)\nb = R.multiply(x, y)\nd = R.sum(b)\nt = (c, d)", "t", "t", PARAMS.replace("32", "64")
    )
    assert_derivatives(held, 0)
    assert_derivatives(held, 1)


def test_only_the_required_derivatives_are_returned() -> None:
    before = program("a = R.exp(x)\nb = R.multiply(a, y)\ns = R.sum(b)", "s", "s")
    result = after(before, require_grads="y")
    args = [arrays(param.struct_info, n) for n, param in enumerate(before["main"].params)]
    ((_, (only,)),) = [rxe.run(result, "main_adjoint", args)]
    np.testing.assert_allclose(only, np.exp(args[0]), rtol=1e-5)
    assert result["main_adjoint"].params[0].name == "x"
    assert result.script().count("R.exp(") == 2  # x needs none: the derivative of exp is not computed
    both = rxe.run(after(before, require_grads=["y", "x"]), "main_adjoint", args)[1]
    np.testing.assert_allclose(both[0], only)


def test_no_gradient_flows_through_a_mark() -> None:
    before = program("a = R.grad.no_grad(x)\nb = R.multiply(a, x)\ns = R.sum(b)", "s", "s")
    args = [arrays(param.struct_info, n) for n, param in enumerate(before["main"].params)]
    _, (x, y) = rxe.run(after(before), "main_adjoint", args)
    np.testing.assert_array_equal(x, args[0])
    assert not y.any()


def test_checkpoints_do_not_change_derivatives() -> None:
    body = "a = R.multiply(x, y)\nb = R.grad.start_checkpoint(a)\nc = R.exp(b)\nd = R.sin(c)\ne = R.grad.end_checkpoint(d)\n"
    assert_derivatives(
        program(f"{body}f = R.multiply(e, e)\ns = R.sum(f)", "s", "s", PARAMS.replace("32", "64"))
    )


def test_a_field_without_a_derivative_is_not_added_up() -> None:
    body = "t = ((x, c), y)\np = t[0]\nq = t[0]\na = p[0]\nb = q[0]\nd = R.multiply(a, b)\ns = R.sum(d)"
    before = program(body, "s", "s", PARAMS.replace("32", "64") + ', c: R.Tensor((2, 3), "bool")')
    assert_derivatives(before)
    assert 'dtype="bool") = R.add' not in after(before).script()


def test_the_module_stays_unless_a_function_is_named() -> None:
    before = program("a = R.floor(x)\ns = R.sum(a)", "s", "s")
    assert rxe.apply_pass(before, "Gradient") is before


def test_the_new_function_is_public_and_has_an_unused_name() -> None:
    before = program("s = R.sum(x)", "s", "s")
    twice = after(after(before))
    assert sorted(twice.functions) == ["main", "main_adjoint", "main_adjoint1"]
    assert twice["main_adjoint1"].attrs["global_symbol"] == "main_adjoint1"
    again = rxe.apply_pass(twice, "Gradient", func_name="main_adjoint", target_index=0)
    assert len(again.functions) == 4  # its first result is the scalar
    private = rxe.normalize(rxe.parse(before.script().replace("@R.function", "@R.function(private=True)")))
    assert not after(private)["main_adjoint"].is_private


REFUSED = {
    "floor": ("a = R.floor(x)\ns = R.sum(a)", "relax.floor has no derivative"),
    "no scalar": ("s = R.exp(x)", "the result to differentiate is R.Tensor"),
    "no float": ('a = R.sum(x)\ns = R.astype(a, "int32")', "the result to differentiate is R.Tensor"),
    "layout": (
        'a = R.reshape(x, (1, 1, 2, 3))\nw = R.reshape(x, (2, 3, 1, 1))\nc = R.nn.conv2d(a, w, data_layout="NHWC")\ns = R.sum(c)',
        "only the layouts",
    ),
    "dtypes": (
        'a = R.permute_dims(x)\nb = R.matmul(x, a, out_dtype="float64")\ns = R.sum(b)',
        "different dtypes",
    ),
    "flat": ("a = R.reshape(x, (6,))\nb = R.concat((a, a), axis=None)\ns = R.sum(b)", "flattened"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_value_without_gradient_is_named(name: str) -> None:
    body, what = REFUSED[name]
    before = program(body, "s", "s")
    with pytest.raises(rxe.Failure, match=what) as caught:
        after(before)
    (problem,) = caught.value.diagnostics
    assert problem.code.id == "RX0409"
    assert problem.help
    assert problem.primary is not None
    assert problem.primary.place.span is not None


def test_a_call_of_unknown_shape_is_named() -> None:
    before = program(
        "a = R.multiply(x, y)\ns = R.sum(a)", "s", "s", 'x: R.Tensor("float32"), y: R.Tensor("float32")'
    )
    with pytest.raises(rxe.Failure, match="its shape must be known"):
        after(before)


def test_a_function_with_other_blocks_is_refused() -> None:
    before = rxe.normalize(rxe.parse(f"@R.function\ndef main({PARAMS}):\n    s = R.sum(x)\n    return s\n"))
    with pytest.raises(rxe.Failure, match="one dataflow block") as caught:
        after(before)
    assert caught.value.diagnostics[0].code.id == "RX0407"
    flowing = rxe.apply_pass(before, "ConvertToDataflow", min_size=1)
    assert "main_adjoint" in after(flowing).functions


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"func_name": "nobody"}, "no Relax function 'nobody'"),
        ({"target_index": 1}, "target_index is 1"),
        ({"target_index": -1}, "target_index is -1"),
        ({"require_grads": "z"}, "no parameter is called 'z'"),
        ({"require_grads": ["x", "y", "x"]}, "names 'x' twice"),
    ],
    ids=str,
)
def test_wrong_options_are_named(options: dict[str, Any], what: str) -> None:
    before = program("s = R.sum(x)", "s", "s")
    with pytest.raises(rxe.Failure, match=what) as caught:
        after(before, **options)
    assert caught.value.diagnostics[0].code.id == "RX0404"


def test_each_binding_knows_the_one_that_it_differentiates() -> None:
    before = program("a = R.exp(x)\ns = R.sum(a)", "s", "s")
    outcome = run_step(steps('Gradient{func_name="main"}')[0], before)
    first, second = bindings(before["main"])
    new = list(bindings(outcome.module["main_adjoint"]))
    origins = {id(b): item.before for item in outcome.rewrites for b in item.after}
    found = [origins.get(id(b)) for b in new]
    # a, s, the adjoints of s, a, x and y, and two outputs
    assert found[:2] == [(first,), (second,)]
    assert (first,) in found[2:]
    assert (second,) in found[2:]


def test_a_symbolic_length_is_another_variable_in_the_new_function() -> None:
    before = rxe.normalize(rxe.parse(TEXTS["Symbolic lengths"]))
    result = after(before)
    (old,), (new,) = (
        [d for d in s.lengths(result[name].params[0].struct_info) if isinstance(d, p.PrimVar)]
        for name in ("main", "main_adjoint")
    )
    assert old is not new


def test_other_properties_are_kept() -> None:
    """A derivative may be a copy of another one."""
    text = """@R.function
def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
    with R.dataflow():
        a = R.add(x, y)
        b = R.sum(a)
        R.output(b)
    return b
"""
    result = rxe.run_pipeline(rxe.parse(text), 'Gradient{func_name="main"}')
    assert "main_adjoint" in result.functions
