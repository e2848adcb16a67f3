"""ConvertLayout: convolutions get the desired layouts, results keep their layouts and values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops import find
from relax_explorer.core.passes.layout_rules import CONVOLUTIONS, ELEMENTWISE
from relax_explorer.core.passes.pipeline import run_step, steps
from relax_explorer.core.session.inputs import from_file
from tests.support.pass_agreement import programs
from tests.support.roundtrip import DATA, module

NAME = "ConvertLayout"
TEXTS, BLOCKED = (
    {
        name.split(": ", 1)[1].rsplit(" #", 1)[0]: text
        for name, text in programs().items()
        if name.startswith(f"{file}: ")
    }
    for file in ("layouts", "blocks")
)
NHWC = "nn.conv2d=NHWC OHWI, nn.conv1d=NWC OWI"


def after(before: rxe.IRModule, layouts: Any = NHWC) -> rxe.IRModule:
    result = rxe.apply_pass(before, NAME, desired_layouts=layouts)
    assert rxe.normalize(result) is result
    assert rxe.well_formed(result)
    return result


def array(param: e.Var, seed: int) -> Any:
    info = param.struct_info
    assert isinstance(info, s.TensorStructInfo)
    dims = [dim.value if isinstance(dim, p.IntImm) else 8 for dim in s.lengths(info)]
    shape = tuple(dims) if info.ndim >= 0 else (2, 3, 8, 8)
    random = np.random.default_rng(seed)
    assert info.dtype is not None
    if info.dtype.is_float:
        return random.uniform(0.5, 1.5, shape).astype(info.dtype.name)
    return random.integers(0, 2, shape).astype(info.dtype.name)


def leaves(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, tuple) else [value]


def assert_equal(before: rxe.IRModule, result: rxe.IRModule) -> None:
    args = [array(param, n) for n, param in enumerate(before["main"].params)]
    pairs = zip(leaves(rxe.run(before, "main", args)), leaves(rxe.run(result, "main", args)), strict=True)
    for old, new in pairs:
        np.testing.assert_allclose(np.asarray(old), np.asarray(new), rtol=1e-4, atol=1e-5)


def layouts_of(result: rxe.IRModule) -> list[tuple[str, str]]:
    calls = [b.value for fn in result.relax_functions.values() for b in bindings(fn)]
    return [
        (call.attrs["data_layout"], call.attrs["kernel_layout"])
        for call in calls
        if type(call) is e.Call and type(call.op) is e.OpRef and call.op.name in CONVOLUTIONS
    ]


@pytest.mark.parametrize("title", TEXTS)
def test_results_keep_their_values(title: str) -> None:
    before = rxe.normalize(rxe.parse(TEXTS[title]))
    result = after(before)
    assert result["main"].struct_info is before["main"].struct_info
    assert rxe.structural_equal(rxe.apply_pass(result, NAME, desired_layouts=NHWC), result)
    assert_equal(before, result)


@pytest.mark.parametrize("title", BLOCKED)
def test_blocks_keep_the_values(title: str) -> None:
    before = rxe.normalize(rxe.parse(BLOCKED[title]))
    layouts = "nn.conv2d=NCHW4c OIHW4i4o"
    result = after(before, layouts)
    assert result["main"].struct_info is before["main"].struct_info
    assert rxe.structural_equal(rxe.apply_pass(result, NAME, desired_layouts=layouts), result)
    assert_equal(before, result)


def test_blocks_that_do_not_fit_leave_the_layout() -> None:
    text = BLOCKED["Blocks in one of two convolutions"]
    result = after(rxe.normalize(rxe.parse(text)), "nn.conv2d=NCHW4c OIHW4i4o")
    assert layouts_of(result) == [("NCHW4c", "OIHW4i4o"), ("NCHW", "OIHW")]


@pytest.mark.parametrize("layouts", ["NHWC HWIO", "NHWC OHWI NCHW", "CNWH OIHW HWNC", "NHWC1c HWOI1o"])
@pytest.mark.parametrize("title", ["A bias", "Pools", "A batch norm", "A concat", "A residual"])
def test_other_layouts_keep_the_values(title: str, layouts: str) -> None:
    before = rxe.normalize(rxe.parse(TEXTS[title]))
    result = after(before, f"nn.conv2d={layouts}")
    assert set(layouts_of(result)) == {tuple(layouts.split()[:2])}
    assert_equal(before, result)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_every_convolution_gets_its_layouts(name: str) -> None:
    data, kernel = CONVOLUTIONS[name]
    space = len(data) - 2
    first, second = (4, 6) if name.endswith("_transpose") else (6, 4)
    shapes = [(2, 4, *[5] * space), (first, second, *[3] * space)]
    params = ", ".join(f'{n}: R.Tensor({shape}, "float32")' for n, shape in zip("xw", shapes, strict=True))
    text = f"@R.function\ndef main({params}):\n    with R.dataflow():\n        y = R.{name.removeprefix('relax.')}(x, w)\n"
    before = rxe.normalize(rxe.parse(f"{text}        z = R.nn.relu(y)\n        R.output(z)\n    return z\n"))
    wanted = (data[0] + data[2:] + data[1], kernel[::-1])
    result = after(before, {name: wanted})
    assert layouts_of(result) == [wanted]
    assert_equal(before, result)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_every_element_wise_operator_follows(name: str) -> None:
    op = find(f"relax.{name}")
    assert op is not None
    bits = name.startswith(("bitwise", "left", "right"))
    dtype = "bool" if name.startswith("logical") else "int32" if bits else "float32"
    values = ", ".join("i" for _ in op.operands)
    text = TEXTS["A convolution and a relu"].replace(
        "z = R.nn.relu(y)", f'i = R.astype(y, "{dtype}")\n            z = R.{name}(i{values[1:]})'
    )
    if name == "astype":
        text = text.replace("R.astype(i)", 'R.astype(i, "float16")')
    script = after(rxe.normalize(rxe.parse(text))).script()
    assert script.count("permute_dims") == 3, script


def test_a_model_of_one_block_changes_its_layout_only_at_the_ends() -> None:
    path = DATA / "resnet_block"
    result = after(rxe.normalize(module(path / "00_input.py")))
    name = str(json.loads((path / "stages.json").read_text())["entry"])
    found = rxe.run(result, name, from_file(result[name], path / "io.npz"))
    np.testing.assert_allclose(found, np.load(path / "io.npz")["out0"], rtol=1e-4, atol=1e-5)
    assert set(layouts_of(result)) == {("NHWC", "OHWI")}


def test_without_layouts_nothing_changes() -> None:
    before = rxe.normalize(rxe.parse(TEXTS["Negative axes without a convolution"]))
    assert rxe.apply_pass(before, NAME) is before
    assert "axis=[3]" in after(before).script()
    plain = rxe.normalize(rxe.parse(TEXTS["No dataflow block"]))
    assert after(plain) is plain


@pytest.mark.parametrize(
    ("layouts", "what"),
    [
        ("nn.conv2d", "has 'nn.conv2d'"),
        ("nn.max_pool2d=NHWC OHWI", "names 'nn.max_pool2d'"),
        ("nn.conv2d=NHWC", "has 1 layout for nn.conv2d"),
        ("nn.conv2d=NHWX OHWI", "has 'NHWX' for nn.conv2d"),
        ("nn.conv2d=NHWC OHW", "has 'OHW' for nn.conv2d"),
        ("nn.conv2d=NHWC OHWI NHW", "has 'NHW' for nn.conv2d"),
        ("nn.conv2d=NCHW4x OIHW", "has 'NCHW4x'"),
        ("nn.conv2d=NCHWc OIHW", "has 'NCHWc'"),
        ("nn.conv2d=NHW4c OIHW", "has 'NHW4c'"),
        ("nn.conv2d=NCHW0c OIHW", "has 'NCHW0c'"),
        ("nn.conv2d=NCHW4c2c OIHW", "has 'NCHW4c2c'"),
        ({"relax.nn.conv2d": ["NHWC", 3]}, "has 3 for relax.nn.conv2d"),
    ],
    ids=str,
)
def test_wrong_layouts_are_named(layouts: Any, what: str) -> None:
    before = rxe.normalize(rxe.parse(TEXTS["A convolution"]))
    with pytest.raises(rxe.Failure, match=what) as caught:
        rxe.apply_pass(before, NAME, desired_layouts=layouts)
    (problem,) = caught.value.diagnostics
    assert problem.code.id == "RX0404"
    assert problem.help


def test_each_binding_comes_from_the_one_that_needs_it() -> None:
    before = rxe.normalize(rxe.parse(TEXTS["A convolution and a relu"]))
    outcome = run_step(steps(f'{NAME}{{desired_layouts="nn.conv2d=NHWC OHWI"}}')[0], before)
    first, second = bindings(before["main"])
    origins = {id(b): item.before for item in outcome.rewrites for b in item.after}
    found = [origins[id(b)] for b in bindings(outcome.module["main"])]
    assert found == [(first,)] * 3 + [(second,)] * 2


@pytest.mark.parametrize(
    ("lines", "calls"),
    [
        ("b = R.nn.softmax(a, axis=1)\nc = R.nn.softmax(b, axis=2)", [("nn.softmax", 3), ("nn.softmax", 1)]),
        ("b = R.nn.softmax(a, axis=1)\nc = R.nn.softmax(y, axis=1)", [("nn.softmax", 3), ("nn.softmax", 1)]),
        ("b = R.nn.softmax(y, axis=1)\nc = R.nn.softmax(a, axis=1)", [("nn.softmax", 1), ("nn.softmax", 3)]),
    ],
)
def test_calls_share_a_plan_only_in_equal_layouts_with_equal_attributes(
    lines: str, calls: list[tuple[str, int]]
) -> None:
    image = 'R.Tensor((2, 4, 8, 8), "float32")'
    body = "".join(f"        {line}\n" for line in lines.splitlines())
    text = (
        f'@R.function\ndef main(x: {image}, y: {image}, k: R.Tensor((4, 4, 1, 1), "float32")):\n'
        f"    with R.dataflow():\n        a = R.nn.conv2d(x, k)\n{body}        d = R.add(b, c)\n"
        "        R.output(d)\n    return d\n"
    )
    before = rxe.normalize(rxe.parse(text))
    result = after(before)
    assert_equal(before, result)
    found = [b.value for b in bindings(result["main"]) if type(b.value) is e.Call and "axis" in b.value.attrs]
    assert [(call.op.name.removeprefix("relax."), call.attrs["axis"]) for call in found] == calls


def convolved(lines: str, image: str = "(2, 4, 8, 8)") -> rxe.IRModule:
    body = "".join(f"        {line}\n" for line in lines.splitlines())
    text = (
        f'@R.function\ndef main(x: R.Tensor({image}, "float32"), k: R.Tensor((4, 4, 1, 1), "float32")):\n'
        f"    with R.dataflow():\n{body}        R.output(d)\n    return d\n"
    )
    return rxe.normalize(rxe.parse(text))


def test_a_convolution_without_desired_layouts_follows_its_operands() -> None:
    before = convolved("a = R.nn.conv2d(x, k)\nd = R.nn.conv2d_transpose(a, k)")
    result = after(before)
    assert layouts_of(result) == [("NHWC", "OHWI"), ("NHWC", "IOHW")]
    assert_equal(before, result)
    unknown = (
        'a = R.nn.conv2d(x, k)\nb = R.match_cast(a, R.Tensor("float32"))\nd = R.nn.conv2d_transpose(b, k)'
    )
    assert layouts_of(after(convolved(unknown))) == [("NHWC", "OHWI"), ("NCHW", "IOHW")]


@pytest.mark.parametrize(("out", "pool"), [("NCHW", "NCHW4c"), ("NHWC", "NHWC"), ("NCHW2c", "NCHW2c")])
def test_a_pool_follows_blocks_unless_its_result_has_others(out: str, pool: str) -> None:
    before = convolved(f'a = R.nn.conv2d(x, k)\nd = R.nn.max_pool2d(a, pool_size=2, out_layout="{out}")')
    result = after(before, "nn.conv2d=NCHW4c OIHW4i4o")
    (found,) = [b.value for b in bindings(result["main"]) if "pool_size" in getattr(b.value, "attrs", {})]
    assert found.attrs["out_layout"] == pool
    assert_equal(before, result)
