"""A graph for Model Explorer: ids, edges, layers, and the colours of heat and changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from relax_explorer.ui.cli.main import group

BUILD = "samples/broken_build"
PROGRAM = """@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.add(y, y)
            R.output(z)
        return z
"""
NODE = {"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata", "style"}


def graph(*arguments: str) -> dict[str, Any]:
    """The only graph of a document."""
    done = CliRunner().invoke(group, ["graph", *arguments, "--format", "model-explorer"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document.keys() == {"label", "graphs"}
    (found,) = document["graphs"]
    ids = [node["id"] for node in found["nodes"]]
    assert len(set(ids)) == len(ids)
    for node in found["nodes"]:
        assert node.keys() == NODE
        assert {edge["sourceNodeId"] for edge in node["incomingEdges"]} <= set(ids)
    return found


def test_every_operand_is_an_edge_with_a_place(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(PROGRAM)
    nodes = {node["id"]: node for node in graph(str(tmp_path / "m.py"), "--weights", "nodes")["nodes"]}
    edges = [(edge["sourceNodeId"], edge["targetNodeInputId"]) for edge in nodes["y"]["incomingEdges"]]
    assert sorted(edges) == [("w", "1"), ("x", "0")]
    assert nodes["y"]["label"] == "matmul"
    assert nodes["y"]["outputsMetadata"] == [
        {"id": "0", "attrs": [{"key": "tensor_shape", "value": "(4, 4) f32"}]}
    ]


def test_changes_and_heat_are_colours(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(PROGRAM)
    plain = {node["id"]: node["style"] for node in graph(str(tmp_path / "m.py"))["nodes"]}
    heated = {node["id"]: node for node in graph(str(tmp_path / "m.py"), "--heat", "bytes")["nodes"]}
    assert heated["y"]["style"] != plain["y"]
    assert any(item["key"] == "cost" for item in heated["y"]["attrs"])
    changed = graph(BUILD, "--between", "1..4")["nodes"]
    marks = {item["value"] for node in changed for item in node["attrs"] if item["key"] == "marks"}
    assert marks >= {"merged, added", "removed"}
    remarks = {item["value"] for node in changed for item in node["attrs"] if item["key"] == "remark"}
    assert "into lv" in remarks
    assert "matmul" in {item["value"] for node in changed for item in node["attrs"] if item["key"] == "class"}
    assert len({node["style"]["borderColor"] for node in changed}) > 2


def test_functions_inside_are_layers(tmp_path: Path) -> None:
    program = (
        PROGRAM.replace("z = R.add(y, y)", "z = M.twice(y)")
        + """
    @R.function(private=True)
    def twice(a: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        b = R.add(a, a)
        c = R.exp(b)
        return c
"""
    )
    (tmp_path / "m.py").write_text(program)
    spaces = {
        node["label"]: node["namespace"] for node in graph(str(tmp_path / "m.py"), "--inside", "all")["nodes"]
    }
    assert spaces["exp"] == spaces["add"] != ""
    assert spaces["x"] == ""
