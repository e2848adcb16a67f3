"""Weights find their parameters by name; the order of a file decides only where nothing tells names, and that is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir.expr import Function
from relax_explorer.core.session import arrays
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.inputs import call_values, file_remarks, from_file
from relax_explorer.core.session.naming import field_names, names_from
from relax_explorer.core.session.samples import samples_of
from tests.session.test_weights import mlc, record, safetensors, tensor

PACKED = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), "float32"), params: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))):
        with R.dataflow():
            {0} = params[0]
            {1} = params[1]
            y = R.multiply(x, {0})
            z = R.add(y, {1})
            R.output(z)
        return z
"""
ONE, TEN = np.ones(2, np.float32), np.full(2, 10, np.float32)


def packed(first: str = "layers_0_scale1", second: str = "layers_0_bias1") -> Function:
    return function(PACKED.format(first, second))


def function(text: str, name: str = "main") -> Function:
    found = rxe.parse(text)[name]
    assert isinstance(found, Function)
    return found


def save(folder: Path, **entries: Any) -> str:
    np.savez(folder / "w.npz", **entries)
    return str(folder / "w.npz")


def fields(fn: Function, path: str) -> tuple[float, ...]:
    values, _ = call_values(fn, CallInputs("", {"params": path}))
    return tuple(float(part[0]) for part in values[-1])


def message(fn: Function, call: CallInputs) -> str:
    with pytest.raises(Failure) as caught:
        call_values(fn, call)
    assert caught.value.diagnostics[0].code is codes.WRONG_INPUT
    return caught.value.diagnostics[0].message


@pytest.mark.parametrize("names", [("layers.0.scale", "layers.0.bias"), ("layers/0/scale", "layers/0/bias"), ("layers_0.scale", "layers_0_bias"),
                                   ("params/layers.0.scale", "params.layers_0_bias"), ("layers_0_scale1", "layers_0_bias1")])  # fmt: skip
@pytest.mark.parametrize("order", [1, -1], ids=["in order", "permuted"])
def test_a_permuted_file_gives_the_same_fields(names: tuple[str, str], order: int, tmp_path: Path) -> None:
    path = save(tmp_path, **dict([(names[0], ONE), (names[1], TEN)][::order]))
    assert fields(packed(), path) == (1, 10)


def test_without_names_the_order_decides_and_is_said(tmp_path: Path) -> None:
    fn = packed("lv", "lv1")
    path = save(tmp_path, scale=ONE, bias=TEN)
    assert fields(fn, path) == (1, 10)
    assert "order of the file" in file_remarks(fn, CallInputs("", {"params": path}))[0]
    numbered = save(tmp_path, w01=TEN, w00=ONE)
    assert fields(fn, numbered) == (1, 10)
    assert fields(packed(), numbered) == (1, 10)
    assert "by number" in file_remarks(packed(), CallInputs("", {"params": numbered}))[0]


def test_a_printers_number_is_dropped_only_if_nothing_fits_better(tmp_path: Path) -> None:
    assert fields(packed("w", "w1"), save(tmp_path, w1=TEN, w=ONE)) == (1, 10)
    assert fields(packed("w1", "w11"), save(tmp_path, w1=TEN, w=ONE)) == (10, 1)
    assert "w2" in message(packed("w1", "w2"), CallInputs("", {"params": save(tmp_path, w=ONE, v=TEN)}))


def test_names_come_from_attributes_calls_and_earlier_stages() -> None:
    text = PACKED.format("lv", "lv1").replace(
        "        with R.dataflow",
        '        R.func_attr({"param_names": ["a.b", "c"]})\n        with R.dataflow',
    )
    assert dict(field_names(function(text))) == {"params": {(0,): "a.b", (1,): "c"}}
    caller = """
    @R.function
    def outer(p: R.Tuple(R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")), R.Tensor((2,), "float32"))):
        inner = p[0]
        rest = p[1]
        out = Module.main(rest, inner)
        return out
"""
    module = rxe.parse(PACKED.format("scale", "bias") + caller)
    told = {(0,): "inner", (1,): "rest", (0, 0): "scale", (0, 1): "bias"}
    assert dict(field_names(module["outer"], module)) == {"p": told}
    lost, early = rxe.parse(PACKED.format("lv", "lv1")), rxe.parse(PACKED.format("scale", "bias"))
    assert names_from([lost, early], "main")["params"] == {(0,): "scale", (1,): "bias"}
    assert names_from([lost, early], "other") == {}


def test_samples_take_names_that_an_earlier_stage_told(tmp_path: Path) -> None:
    lost, early = rxe.parse(PACKED.format("lv", "lv1")), rxe.parse(PACKED.format("scale", "bias"))
    path = save(tmp_path, bias=TEN, scale=ONE)
    names = names_from([lost, early], "main")
    sample = samples_of(lost, "main", sources={"params": path}, names=names)[0]
    assert [float(part[0]) for part in sample.values(lost["main"])[1]] == [1, 10]


def test_all_that_is_wrong_is_told_at_once_with_the_nearest_names(tmp_path: Path) -> None:
    fn = packed("scale", "bias")
    path = save(tmp_path, bais=TEN, scale=np.ones(3, np.float64))
    text = message(fn, CallInputs("", {"params": path}))
    assert "bias, nearest: bais" in text
    assert "scale: dtype float64, expected float32" in text
    assert "unused (bais)" in text


def test_shapes_are_compared_before_anything_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_array", lambda file: pytest.fail("an entry was read"))
    path = save(tmp_path, scale=ONE, bias=np.ones(3, np.float32))
    assert "expected 2" in message(packed("scale", "bias"), CallInputs("", {"params": path}))


def test_one_file_holds_parameters_and_fields(tmp_path: Path) -> None:
    path = save(tmp_path, bias=TEN, out0=ONE, x=TEN, scale=ONE)
    values = from_file(packed("scale", "bias"), path)
    assert [float(values[0][0]), *[float(part[0]) for part in values[1]]] == [10, 1, 10]
    assert "unused (more)" in message(
        packed("scale", "bias"), CallInputs("", {"0": save(tmp_path, bias=TEN, more=ONE, x=TEN, scale=ONE)})
    )


def test_a_file_holds_the_parameters_that_have_no_source(tmp_path: Path) -> None:
    fn, path = packed("scale", "bias"), save(tmp_path, bias=TEN, scale=ONE, out0=ONE)
    values, note = call_values(fn, CallInputs("", {"x": "ones", "*": path}))
    assert [float(values[0][0]), *[float(part[0]) for part in values[1]]] == [1, 1, 10]
    assert "made up" not in note
    assert "randn" not in note
    assert "1 missing (x" in message(fn, CallInputs("", {"*": path}))  # and is not the result
    assert "1 missing (x" in message(fn, CallInputs("", {"*": save(tmp_path, bias=TEN, scale=ONE, w0=ONE)}))
    sample = samples_of(rxe.parse(PACKED.format("scale", "bias")), "main", 1, {"*": path, "x": "zeros"})[0]
    assert float(sample.values(fn)[0][0]) == 0
    sized = function(
        '@R.function\ndef main(s: R.Shape(["n"]), a: R.Tensor(("n",), "float32"), x: R.Tensor(("n",), "float32")):\n    return a\n'
    )
    made, note = call_values(
        sized, CallInputs("", {"*": save(tmp_path, a=np.ones(5, np.float32)), "x": "ones"})
    )
    assert (made[0], made[2].shape) == ((5,), (5,))


def test_lengths_agree_among_entries(tmp_path: Path) -> None:
    fn = function(
        '@R.function\ndef main(a: R.Tensor(("n",), "float32"), b: R.Tensor(("n", "n"), "float32")):\n    return a\n'
    )
    assert "n = 2, got 3" in message(
        fn, CallInputs("", {"0": save(tmp_path, a=ONE, b=np.ones((2, 3), np.float32))})
    )


def test_other_containers_bind_by_name_too(tmp_path: Path) -> None:
    data = TEN.tobytes() + ONE.tobytes()
    header = {"bias": tensor("F32", [2], 0, 8), "scale": tensor("F32", [2], 8, 16)}
    path = safetensors(tmp_path / "w.safetensors", header, data)
    assert fields(packed("scale", "bias"), path) == (1, 10)
    records = [record("bias", [2], "float32", 0, 8), record("scale", [2], "float32", 8, 8)]
    folder = mlc(tmp_path, records, data)
    assert fields(packed("scale", "bias"), folder) == (1, 10)
    assert fields(packed("lv", "lv1"), folder) == (10, 1)  # the index tells the order
    assert "order of the index" in file_remarks(packed("lv", "lv1"), CallInputs("", {"params": folder}))[0]
    quantised = mlc(tmp_path, [record("bias", [2], "float4_e2m1fn", 0, 1), records[1]], data)
    assert "float4_e2m1fn" in message(packed("scale", "bias"), CallInputs("", {"params": quantised}))


def test_a_file_with_very_many_entries_is_told_in_a_sentence(tmp_path: Path) -> None:
    header = {f"k{n}": tensor("U8", [0], 0, 0) for n in range(60_000)}
    path = safetensors(tmp_path / "w.safetensors", header)
    text = message(packed("scale", "bias"), CallInputs("", {"params": path}))
    assert len(text) < 1000
    assert json.dumps(text)
