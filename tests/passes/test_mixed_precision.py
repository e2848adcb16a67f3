"""ToMixedPrecision: products compute in float16, results keep their dtypes and nearly their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops import find
from relax_explorer.core.passes.pipeline import run_step, steps
from relax_explorer.core.passes.to_mixed_precision import ALWAYS, FOLLOW
from tests.support.pass_agreement import programs

NAME = "ToMixedPrecision"
TEXTS = {name: text for name, text in programs().items() if name.startswith("mixed_precision: ")}
PARAMS = 'x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 3), "float32")'


def program(body: str, params: str = PARAMS) -> rxe.IRModule:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return rxe.normalize(rxe.parse(f"@R.function\ndef main({params}):\n{lines}"))


def block(body: str, outputs: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"with R.dataflow():\n{lines}    R.output({outputs})\n"


def after(before: rxe.IRModule, **options: Any) -> rxe.IRModule:
    result = rxe.apply_pass(before, NAME, **options)
    assert rxe.normalize(result) is result
    assert rxe.well_formed(result)
    return result


def array(info: s.StructInfo | None, seed: int) -> Any:
    """Random values of a StructInfo; lengths that are not known are 3."""
    if isinstance(info, s.TupleStructInfo):
        return tuple([array(field, seed + n) for n, field in enumerate(info.fields)])
    if not isinstance(info, s.TensorStructInfo):
        return np.full((3, 3), 0.5, "float32")
    shape = tuple([getattr(dim, "value", 3) for dim in s.lengths(info)]) if info.ndim >= 0 else (3, 3)
    dtype = "float32" if info.dtype is None else info.dtype.name
    values = np.random.default_rng(seed).uniform(0, 2, shape)
    return values.astype(dtype)


def leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple) else [value]


HALVES = 'x: R.Tensor((3, 3), "float16"), w: R.Tensor((3, 3), "float16"), c: R.Tensor((), "bool"), f: R.Tensor((3, 3), "float32")'
NEARLY_DONE = {  # programs in which few things are left to do, with what the text has afterwards
    "another accumulator": (block("y = R.matmul(x, w, out_dtype='float16')", "y") + "return y", 'out_dtype="float32"'),
    "a constant that is too large for float16, before one that is not": (
        block("p = R.add(R.const(1e6, 'float32'), R.const(1e6, 'float32'))\n"
              "q = R.add(R.const(1.0, 'float32'), R.const(1.0, 'float32'))\nt = (p, q)", "t") + "return t",
        'R.astype(R.const(1.0, "float32")',
    ),
    "a product in a branch": (
        "if c:\n" + "".join(f"    {line}\n" for line in block("y = R.matmul(f, f)", "y").splitlines())
        + "    r = y\nelse:\n    r = R.exp(f)\nreturn r", 'R.astype(f, dtype="float16")',
    ),
    "a product in a nested function": (
        '@R.function\ndef g(a: R.Tensor((3, 3), "float32")):\n'
        + "".join(f"    {line}\n" for line in block("y = R.matmul(a, a)", "y").splitlines()) + "    return y\nr = g(f)\nreturn r",
        'R.astype(a, dtype="float16")',
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NEARLY_DONE)
def test_one_call_that_is_left_is_enough(case: str) -> None:
    text, has = NEARLY_DONE[case]
    before = program(text, HALVES)
    assert has not in before.script()
    assert has in after(before).script()


@pytest.mark.parametrize("out_dtype", ["float32", "float16"])
@pytest.mark.parametrize("title", TEXTS)
def test_results_keep_their_dtypes_and_nearly_their_values(title: str, out_dtype: str) -> None:
    before = rxe.normalize(rxe.parse(TEXTS[title]))
    result = after(before, out_dtype=out_dtype)
    assert result["main"].struct_info is before["main"].struct_info
    assert rxe.apply_pass(result, NAME, out_dtype=out_dtype) is result
    args = [array(param.struct_info, n) for n, param in enumerate(before["main"].params)]
    pairs = zip(leaves(rxe.run(before, "main", args)), leaves(rxe.run(result, "main", args)), strict=True)
    for old, new in pairs:
        assert old.dtype == new.dtype
        np.testing.assert_allclose(
            np.asarray(old, "float64"), np.asarray(new, "float64"), rtol=0.02, atol=0.02
        )


def test_every_operator_with_a_policy_is_there() -> None:
    assert all(find(name) is not None for name in ALWAYS | FOLLOW)
    assert not ALWAYS & FOLLOW


@pytest.mark.parametrize(
    "body", ["y = R.matmul(x, w)\nreturn y", block("y = R.nn.softmax(x)", "y") + "return y"]
)
def test_a_module_without_products_in_dataflow_blocks_stays(body: str) -> None:
    before = program(body)
    assert rxe.apply_pass(before, NAME) is before
    assert rxe.apply_pass(after(before), NAME) is before


def test_a_named_parameter_is_cast_once_for_readers_outside_of_dataflow_blocks() -> None:
    body = (
        "z = R.exp(w)\n"
        + block("y = R.matmul(x, w)\nv = R.add(w, w)", "y, v")
        + "q = R.sin(w)\nreturn (y, z, v, q, w)"
    )
    before = program(body)
    result = after(before, fp16_input_names="w")
    assert [str(p.struct_info) for p in result["main"].params] == [
        'R.Tensor((2, 3), dtype="float32")',
        'R.Tensor((3, 3), dtype="float16")',
    ]
    assert result.script().count('R.astype(w, dtype="float32")') == 1
    x, w = np.ones((2, 3), "float32"), np.full((3, 3), 0.5, "float32")
    pairs = zip(
        rxe.run(before, "main", [x, w]), rxe.run(result, "main", [x, w.astype("float16")]), strict=True
    )
    for old, new in pairs:
        assert old.dtype == new.dtype
        np.testing.assert_allclose(old, new, rtol=1e-2)


def test_a_named_parameter_keeps_rank_and_device() -> None:
    before = program(
        block("y = R.matmul(x, w)", "y") + "return y",
        'x: R.Tensor("float32", ndim=2), w: R.Tensor("float32")',
    )
    params = after(before, fp16_input_names=["x", "w"])["main"].params
    assert [str(p.struct_info) for p in params] == [
        'R.Tensor(dtype="float16", ndim=2)',
        'R.Tensor(dtype="float16")',
    ]


def test_parameters_of_called_functions_keep_their_dtype() -> None:
    text = f"""
@I.ir_module
class M:
    @R.function
    def inner({PARAMS}):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
    @R.function
    def main({PARAMS}):
        y = M.inner(x, w)
        return y
"""
    result = after(rxe.normalize(rxe.parse(text)), fp16_input_names="w")
    assert 'w: R.Tensor((3, 3), dtype="float32")' in result.script().split("def main")[0]
    assert 'w: R.Tensor((3, 3), dtype="float16")' in result.script().split("def main")[1]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"out_dtype": "int32"}, "out_dtype is 'int32'"),
        ({"out_dtype": "float64"}, "out_dtype is 'float64'"),
        ({"fp16_input_names": "nobody"}, "no parameter is called 'nobody'"),
        ({"fp16_input_names": ["x", "n"]}, "'n' is R.Tensor"),
        ({"fp16_input_names": "t"}, "'t' is R.Tuple"),
    ],
    ids=str,
)
def test_wrong_options_are_named(options: dict[str, Any], what: str) -> None:
    params = PARAMS + ', n: R.Tensor((), "int32"), t: R.Tuple(R.Tensor((), "float32"))'
    before = program(block("y = R.matmul(x, w)", "y") + "return y", params)
    with pytest.raises(rxe.Failure, match=what) as caught:
        rxe.apply_pass(before, NAME, **options)
    (problem,) = caught.value.diagnostics
    assert problem.code.id == "RX0404"
    assert problem.help


def test_each_binding_comes_from_the_one_that_needs_it() -> None:
    before = program(block("y = R.matmul(x, w)\nz = R.add(y, y)", "z") + "return z")
    outcome = run_step(steps(NAME)[0], before)
    first, second = bindings(before["main"])
    new = list(bindings(outcome.module["main"]))
    origins = {id(b): item.before for item in outcome.rewrites for b in item.after}
    assert [origins[id(b)] for b in new] == [(first,)] * 4 + [(second,)] * 2
    assert all(b.value.span is not None for b in new)


def test_a_closure_reads_the_first_dtype() -> None:
    inner = '@R.function\ndef g(q: R.Tensor((3, 3), "float32")) -> R.Tensor((3, 3), "float32"):\n    t = R.add(q, y)\n    return t\n'
    before = program(block("y = R.matmul(w, w)\nz = R.matmul(y, w)", "y, z") + inner + "r = g(z)\nreturn r")
    result = after(before)
    w = np.eye(3, dtype="float32")
    np.testing.assert_array_equal(rxe.run(result, "main", [w[:2], w]), rxe.run(before, "main", [w[:2], w]))


def test_an_operand_of_unknown_dtype_or_of_float64_keeps_the_call() -> None:
    for dtype in ("", ', "float64"'):
        before = program(
            block("y = R.matmul(x, w)\nz = R.add(y, y)", "z") + "return z",
            f"x: R.Tensor((2, 3){dtype}), w: R.Tensor((3, 3){dtype})",
        )
        assert rxe.apply_pass(before, NAME) is before


@pytest.mark.parametrize(
    ("params", "line"),
    [
        (
            'x: R.Tensor((2, 3), "int8"), w: R.Tensor((3, 3), "int8")',
            'y = R.matmul(x, w, out_dtype="float32")',
        ),
        (
            'x: R.Tensor((2, 3), "float64"), w: R.Tensor((3, 3), "float64")',
            'y = R.matmul(x, w, out_dtype="float32")',
        ),
    ],
    ids=["int8", "float64"],
)
def test_a_product_of_other_values_stays_whatever_its_result_is(params: str, line: str) -> None:
    before = program(block(f"{line}\nz = R.add(y, y)", "z") + "return z", params)
    assert rxe.apply_pass(before, NAME, out_dtype="float16") is before


def test_a_sum_with_a_value_of_unknown_dtype_gets_float32() -> None:
    body = "y = R.matmul(x, w)\nz = R.add(y, u)"
    before = program(block(body, "z") + "return z", PARAMS + ", u: R.Tensor((2, 3))")
    last = list(bindings(after(before)["main"]))[-1].value
    assert isinstance(last, e.Call)
    assert str(last.args[0].struct_info) == 'R.Tensor((2, 3), dtype="float32")'


def test_a_block_goes_on_behind_a_nested_function() -> None:
    inner = '@R.function\ndef g(q: R.Tensor((3, 3), "float32")) -> R.Tensor((3, 3), "float32"):\n    t = R.exp(q)\n    return t\n'
    before = program(block(f"y = R.matmul(w, w)\n{inner}v = g(y)\nz = R.matmul(v, w)", "z") + "return z")
    assert after(before, out_dtype="float16").script().count('out_dtype="float16"') == 2


def test_a_cast_of_a_variable_is_no_cast_of_a_constant() -> None:
    body = 'y = R.matmul(x, w)\nz = R.astype(y, "float64")'
    result = after(program(block(body, "z") + "return z"), out_dtype="float16")
    (last,) = list(bindings(result["main"]))[-1:]
    assert isinstance(last.value, e.Call)
    assert str(last.value.args[0].struct_info) == 'R.Tensor((2, 3), dtype="float16")'


def test_a_parameter_that_only_a_branch_reads_outside_is_cast_for_it() -> None:
    branches = "if c:\n    r = R.exp(w)\nelse:\n    r = R.sin(w)\nreturn (y, r)"
    before = program(block("y = R.matmul(x, w)", "y") + branches, PARAMS + ', c: R.Tensor((), "bool")')
    result = after(before, fp16_input_names="w")
    assert result.script().count('R.astype(w, dtype="float32")') == 1
    unread = after(program(block("y = R.matmul(x, w)", "y") + "return y"), fp16_input_names="w")
    assert "R.astype(w" not in unread.script()


def test_the_result_of_a_branch_does_not_ask_for_float32() -> None:
    branches = "if c:\n    r = x\nelse:\n    r = x\nreturn (y, r)"
    text = program(
        block("d = R.exp(w)\ny = R.matmul(x, d)", "y") + branches, PARAMS + ', c: R.Tensor((), "bool")'
    )
    first, *_ = bindings(after(text)["main"])
    assert isinstance(first.value, e.Call)
    assert first.value.op is e.op_ref("relax.astype")  # at the beginning of the block


@pytest.mark.parametrize("out_dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    "line",
    [
        "t: R.Object = (y, w)",
        "t: R.Tuple(R.Object, R.Object) = (y, w)",
        't: R.Tuple(R.Tensor("float32"), R.Object) = (y, (y, w))',
        "t: R.Object = y",
        "s: R.Object = (y, w)\nt: R.Object = s",
        "s = (y, w)\nt: R.Object = s[0]",
        "s: R.Object = R.split(y, 1)\nt = s",
        "t: R.Object = R.matmul(y, R.permute_dims(w))",
        "t: R.Object = R.split(y, 1)",
        "t = R.match_cast((y, w), R.Tuple(R.Object, R.Object))",
    ],
)
def test_annotations_hide_no_dtype(line: str, out_dtype: str) -> None:
    module = program(block(f"y = R.matmul(x, w)\n{line}", "t") + "return t")
    result = after(module, out_dtype=out_dtype)
    x, w = (np.ones(shape, "float32") for shape in ((2, 3), (3, 3)))
    args = [*(x, w), *[np.ones([2, 3], "float32") for _ in module["main"].params[2:]]]
    want, have = (flat(rxe.run(each, "main", args)) for each in (module, result))
    assert [item.dtype for item in have] == [item.dtype for item in want]


def test_values_of_constants_that_the_text_omits_keep_their_annotations() -> None:
    typed = 'R.Tensor((2, 3), "float32")'
    omitted = ", ".join(f'metadata["ir.GenericConst"][{number}]' for number in range(2))
    lines = f"y = R.matmul(x, w)\nz: {typed} = R.nn.layer_norm(y, {omitted}, axes=[-1])\nq = R.add(z, y)\nt = R.exp(z)"
    result = after(program(block(lines, "q, t") + "return (q, t)"))
    (norm,) = [b for b in bindings(result["main"]) if b.var is not None and b.var.name == "z"]
    assert norm.var.struct_info is not s.OBJECT


def flat(value: object) -> list[np.ndarray[Any, Any]]:
    """The arrays in a result."""
    return [x for item in value for x in flat(item)] if isinstance(value, tuple) else [value]  # type: ignore[list-item]


def test_the_pass_is_linear_in_bindings() -> None:
    """The names of all variables are unique, and each product adds the same number of bindings."""
    lines = ["v0 = R.matmul(w, w)", *(f"v{n} = R.matmul(v{n - 1}, w)" for n in range(1, 200))]
    result = after(program(block("\n".join(lines), "v199") + "return v199"), out_dtype="float16")
    found = list(bindings(result["main"]))
    assert len(found) == 202  # one cast of w, 200 products, one cast of the result
    assert sum(type(b.value) is e.Call and b.value.op is e.op_ref("relax.astype") for b in found) == 2


def test_empty_blocks_go() -> None:
    before = program(block("y = R.exp(x)", "y") + "return y", 'x: R.Tensor((2,), "float16")')
    fn = before["main"]
    with_empty = replace(fn, body=replace(fn.body, blocks=(*fn.body.blocks, e.DataflowBlock(()))))
    new, _ = steps(NAME)[0].of.apply(before.having({"main": with_empty}))
    assert len(new["main"].body.blocks) == 1
