"""TVM's JSON (`save_json`) is read as the module that it holds; JSON that lies gets one diagnostic, in bounded time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ir.expr import Constant
from relax_explorer.core.ir.walk import exprs
from relax_explorer.core.syntax.beginnings import is_tvm_json
from relax_explorer.core.syntax.parser import read
from relax_explorer.core.syntax.tensor_text import tensor_text
from relax_explorer.core.syntax.tvm_json.json_nodes import MOST_NODES

RECORDED = Path(__file__).parents[1] / "data" / "tvm_json"
FILES = sorted(RECORDED.glob("*.json"))
Document = dict[str, Any]


def document(name: str = "expression") -> Document:
    loaded: Document = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def problem(text: str | Document) -> str:
    """The message of the only diagnostic."""
    with pytest.raises(rxe.ParseError) as caught:
        rxe.parse(text if isinstance(text, str) else json.dumps(text), "module.json")
    (found,) = caught.value.diagnostics
    assert found.code.id == "RX0032"
    assert found.span is not None
    return found.message


def place(nodes: list[Any], kind: str, number: int = 0) -> int:
    """The number of a node of a class."""
    return [at for at, node in enumerate(nodes) if node["type"] == kind][number]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_tvm_saved_is_read_checked_and_printed(path: Path) -> None:
    module = rxe.load(path)
    assert not [item for item in rxe.check(module) if item.is_error]
    assert rxe.structural_equal(rxe.parse(module.script()), module)


def test_a_module_runs() -> None:
    module = rxe.load(RECORDED / "expression.json")
    x = np.arange(6, dtype="float32").reshape(2, 3)
    result = rxe.run(module, "main", [x])
    np.testing.assert_allclose(result, np.exp(x), rtol=1e-6)


def test_functions_stand_in_the_order_in_which_tvm_prints_them() -> None:
    assert list(rxe.load(RECORDED / "kernel.json").functions) == ["tir_exp", "main"]


def test_constants_keep_their_bits() -> None:
    module = rxe.load(RECORDED / "constants.json")
    found = [
        item.data for fn in module.relax_functions.values() for item in exprs(fn) if type(item) is Constant
    ]
    saved = [node["data"] for node in document("constants")["nodes"] if node["type"] == "ffi.Tensor"]
    assert {tensor_text(array) for array in found} == set(saved)


def test_a_function_alone_is_a_module() -> None:
    saved = document()
    saved["root_index"] = place(saved["nodes"], "relax.expr.Function")
    assert list(rxe.parse(json.dumps(saved)).functions) == ["main"]


def test_the_value_of_an_integer_is_a_node_or_the_number_itself() -> None:
    saved = document()
    for node in saved["nodes"]:
        if node["type"] == "ir.IntImm":
            node["data"]["value"] = saved["nodes"][node["data"]["value"]]["data"]
    assert rxe.structural_equal(rxe.parse(json.dumps(saved)), rxe.load(RECORDED / "expression.json"))


def test_devices_are_named_by_their_kind_and_number() -> None:
    text = rxe.load(RECORDED / "devices.json").script()
    assert 'vdevice="llvm:0:global"' in text
    assert 'dst_vdevice="cuda:0:global"' in text


def _with_infos(kind: str, data: object) -> str:
    """A module with one global info of a class."""
    saved = json.loads((RECORDED / "expression.json").read_text())
    nodes = saved["nodes"]
    nodes += [
        {"type": kind, "data": data},
        {"type": "ffi.Array", "data": [len(nodes)]},
        {"type": "ffi.String", "data": "one"},
    ]
    nodes.append({"type": "ffi.Map", "data": [len(nodes) - 1, len(nodes) - 2]})
    module = next(node["data"] for node in nodes if node["type"] == "ir.IRModule")
    module["global_infos"] = len(nodes) - 1
    return json.dumps(saved)


def test_global_infos_are_devices_meshes_and_dummies() -> None:
    text = rxe.parse(_with_infos("relax.DummyGlobalInfo", {})).script()
    assert 'I.module_global_infos({"one": [I.dummy_global_info()]})' in text
    assert rxe.parse(text).script() == text
    for kind, data in (("ir.PrimType", {"span": 0, "dtype": "int64"}), ("ffi.String", "a"), ("None", None)):
        with pytest.raises(rxe.ParseError, match="a map of lists of devices and meshes"):
            rxe.parse(_with_infos(kind, data))


LIES: dict[str, tuple[Callable[[list[Any], Document], object], str]] = {
    "no such root": (lambda nodes, all_: all_.update(root_index=999), "root_index names node 999"),
    "a root that is no number": (lambda nodes, all_: all_.update(root_index="0"), "root_index"),
    "a negative number": (lambda nodes, all_: nodes[6].update(data=[-1]), "names node -1"),
    "a large number": (lambda nodes, all_: nodes[6].update(data=[10**30]), "names node 1000000000"),
    "a circle": (lambda nodes, all_: nodes[6].update(data=[46]), "refers to itself"),
    "a node in itself": (lambda nodes, all_: nodes[6].update(data=[6]), "refers to itself"),
    "another class": (lambda nodes, all_: nodes[13]["data"].update(shape=17), "must be a shape"),
    "a class that is not known": (lambda nodes, all_: nodes[13].update(type="my.Type"), "my.Type"),
    "a rank that lies": (lambda nodes, all_: nodes[13]["data"].update(ndim=5), "ndim is 5"),
    "a field that is missing": (lambda nodes, all_: nodes[13]["data"].pop("shape"), "'shape'"),
    "fields that are a list": (lambda nodes, all_: nodes[13].update(data=[]), "has no fields"),
    "a list that is a text": (lambda nodes, all_: nodes[6].update(data="35"), "no list"),
    "a node without a class": (lambda nodes, all_: nodes.append("x"), "has no type"),
    "nodes that are no list": (lambda nodes, all_: all_.update(nodes={}), "no list of nodes"),
    "a dtype that is none": (lambda nodes, all_: nodes[1]["data"].update(dtype="int7"), "int7"),
    "something else than a module": (lambda nodes, all_: all_.update(root_index=1), "not a module"),
    "an operator that is none": (lambda nodes, all_: nodes[29].update(data="a b"), "operator"),
    "too few arguments": (lambda nodes, all_: nodes[30].update(data=[]), "with 0 arguments"),
    "a binding in two places": (lambda nodes, all_: nodes[34].update(data=[33, 33]), "shares"),
}  # fmt: skip


@pytest.mark.parametrize("lie", sorted(LIES))
def test_json_that_lies(lie: str) -> None:
    saved = document()
    change, words = LIES[lie]
    change(saved["nodes"], saved)
    assert words in problem(saved)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text[:-8], "damaged"),
        (lambda text: "%" + text[1:], "damaged"),
        (lambda text: tensor_text(np.zeros((3,), "int8"))[:40] + text[40:], "damaged"),
        (lambda text: 17, "damaged"),
    ],
)
def test_tensors_that_lie(change: Callable[[str], Any], words: str) -> None:
    saved = document("constants")
    node = saved["nodes"][place(saved["nodes"], "ffi.Tensor")]
    node["data"] = change(node["data"])
    assert words in problem(saved)


@pytest.mark.parametrize(
    "text", ['{"nodes": [', '{"nodes": ' + "[" * 100_000 + "]" * 100_000 + "}", '{"nodes": []}']
)
def test_json_that_is_none(text: str) -> None:
    assert problem(text)


def chain(kind: str, links: int, length: int) -> Document:
    """A function that returns a value nested in itself."""
    nodes: list[Document] = [
        {"type": "None"}, {"type": "ir.PrimType", "data": {"span": 0, "dtype": "int64"}}, {"type": "int", "data": 1},
        {"type": "ir.IntImm", "data": {"span": 0, "ty": 1, "value": 2}},
    ]  # fmt: skip
    last = 3
    for _ in range(length):
        if kind == "right":
            nodes.append({"type": "prim.Add", "data": {"span": 0, "ty": 1, "a": 3, "b": last}})
        elif kind == "left":
            nodes.append({"type": "prim.Add", "data": {"span": 0, "ty": 1, "a": last, "b": 3}})
        else:
            nodes.append({"type": "ffi.Array", "data": [last] * links})
            if kind == "tuple":
                nodes.append({"type": "ir.Tuple", "data": {"span": 0, "ty": 0, "fields": len(nodes) - 1}})
        last = len(nodes) - 1
    nodes.append({"type": "ffi.Array", "data": []})
    empty = len(nodes) - 1
    nodes.append({"type": "relax.expr.SeqExpr", "data": {"span": 0, "ty": 0, "blocks": empty, "body": last}})
    fields = {
        "span": 0,
        "ty": 0,
        "attrs": 0,
        "params": empty,
        "body": empty + 1,
        "ret_ty": 0,
        "is_pure": True,
    }
    nodes.append({"type": "relax.expr.Function", "data": fields})
    return {"root_index": len(nodes) - 1, "nodes": nodes}


@pytest.mark.parametrize("kind", ["right", "tuple", "array"])
def test_what_nests_too_deep_is_refused(kind: str) -> None:
    assert "deep" in problem(chain(kind, 1, 100_000))


def test_a_long_sum_nests_to_the_left_and_is_read() -> None:
    module, report = read(json.dumps(chain("left", 1, 20_000)))
    assert module is not None
    assert not report.errors


def test_shared_parts_count_where_they_are_used() -> None:
    assert "parts" in problem(chain("tuple", 2, 40))  # 2 ** 40 tuples in 80 nodes


def test_too_many_nodes() -> None:
    assert f"{MOST_NODES:,}" in problem(
        '{"nodes": [' + '{"type":"None"},' * (MOST_NODES + 1) + '{"type":"None"}], "root_index": 0}'
    )


def test_the_form_of_older_versions_is_named() -> None:
    assert "type_key" in problem(
        '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "IRModule"}], "b64ndarrays": []}'
    )


def test_classes_of_older_graphs_are_named() -> None:
    saved = document()
    saved["nodes"][13]["type"] = "relax.TensorStructInfo"
    assert "0.22 to 0.25" in problem(saved)


def test_json_is_recognised_by_its_first_key() -> None:
    saved = document()
    for text in (json.dumps(saved, indent=2), json.dumps(saved, sort_keys=True), f"\n {json.dumps(saved)}"):
        assert is_tvm_json(text)
        assert list(rxe.parse(text).functions) == ["main"]


def test_json_of_other_programs_is_no_module(tmp_path: Path) -> None:
    assert not is_tvm_json('{"cells": []}')
    path = tmp_path / "package.json"
    path.write_text('{"name": "x"}')
    with pytest.raises(rxe.ParseError) as caught:
        rxe.load(path)
    assert caught.value.diagnostics[0].code.id == "RX0003"
