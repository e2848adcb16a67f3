"""Weights and constants folded into their readers, operators coloured by class, and Mermaid."""

from __future__ import annotations

import re

import pytest

from relax_explorer.core.cost.parameters import weights
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.load import load
from relax_explorer.core.syntax.parser import parse
from relax_explorer.viz.folding import folded
from relax_explorer.viz.graph import Kind
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.layout import lay_out
from relax_explorer.viz.svg import svg_text
from tests.cli.test_commands import rxe_cli
from tests.support.roundtrip import DATA

LLAMA = DATA / "llama" / "00_input.py"


def module(params: str, body: str, attributes: str = "") -> IRModule:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    head = f"    R.func_attr({attributes})\n" if attributes else ""
    return parse(f"@R.function\ndef main({params}):\n{head}{lines}")


STATIC = 'x: R.Tensor((2, 3), "float32"), w: R.Tensor((3, 3), "float32"), v: R.Tensor((3, 3), "float32")'
SYMBOLIC = 'w: R.Tensor((3, 3), "float32"), x: R.Tensor(("n", 3), "float32"), m: R.Tensor(("n",), "float32"), s: R.Shape([2]), o: R.Object'


@pytest.mark.parametrize(
    ("params", "attributes", "expected"),
    [
        (STATIC, "", {"w", "v"}),
        (STATIC, '{"num_input": 2}', {"v"}),
        (STATIC, '{"num_input": 0}', {"x", "w", "v"}),
        (SYMBOLIC, "", {"w"}),
        ('s: R.Shape([2]), x: R.Tensor((2,), "float32")', "", set()),
        ("", "", set()),
    ],
)
def test_what_a_weight_is(params: str, attributes: str, expected: set[str]) -> None:
    body = "y = R.const(1.0)\nreturn y"
    assert weights(module(params, body, attributes).relax_functions["main"]) == expected


def test_weights_and_constants_are_lines_of_each_reader() -> None:
    body = "a = R.matmul(x, w)\nb = R.matmul(a, w)\nc = R.add(b, R.const([1.0, 2.0, 3.0]))\nreturn c"
    whole = graph(module(STATIC, body), weights="nodes")
    drawing = graph(module(STATIC, body), weights="fold")
    assert {node.kind for node in whole.nodes} >= {Kind.CONSTANT, Kind.PARAMETER}
    assert [node.title for node in drawing.nodes if node.kind is Kind.PARAMETER] == ["x"]
    assert not [node for node in drawing.nodes if node.kind is Kind.CONSTANT]
    lines = {node.id: node.lines for node in drawing.nodes}
    assert "w (3, 3) f32" in lines["a"]
    assert "w (3, 3) f32" in lines["b"]
    assert "constant (3,) f32" in lines["c"]
    assert "v" not in " ".join(map(" ".join, lines.values())).split()  # nothing reads it
    assert drawing.notes == ("3 weights and constants are lines of their readers",)
    assert "reads w (3, 3) f32" in drawing.node("a").detail


def test_a_node_names_some_of_many_weights() -> None:
    params = "x: R.Tensor((2,), 'float32'), " + ", ".join(
        f"w{n}: R.Tensor((2,), 'float32')" for n in range(6)
    )
    many = module(params, "t = R.concat((w0, w1, w2, w3, w4, w5))\nreturn t")
    drawing = graph(many, weights="fold")
    assert drawing.node("t").lines[-1] == "and 2 more"
    assert "w5" in drawing.node("t").detail


def test_a_weight_that_is_returned_stands_at_the_result() -> None:
    drawing = graph(module(STATIC, "return w"), weights="fold")
    (output,) = [node for node in drawing.nodes if node.kind is Kind.OUTPUT]
    assert "w (3, 3) f32" in output.lines


def test_only_many_weights_are_folded_without_being_asked() -> None:
    assert graph(module(STATIC, "a = R.matmul(x, w)\nreturn a")).notes == ()
    drawing = graph(load(LLAMA), "forward")
    assert drawing.notes == ("15 weights and constants are lines of their readers",)
    assert {node.title for node in drawing.nodes if node.kind is Kind.PARAMETER} == {"ids", "mask"}


def test_shared_weights_of_large_graphs_are_drawn_at_each_reader() -> None:
    """Graphviz takes minutes for 500 nodes in which all layers share their weights."""
    lines = "\n".join(
        f"a{n} = R.matmul({f'a{n - 1}' if n else 'x'}, {'w' if n % 2 else 'v'})" for n in range(100)
    )
    drawing = graph(module(STATIC, f"{lines}\nreturn a99"), weights="nodes")
    leaves = {node.id for node in drawing.nodes if node.kind is Kind.PARAMETER}
    sources = [edge.source for edge in drawing.edges if edge.source in leaves]
    assert len(sources) == len(set(sources)) == 101
    assert [node.title for node in drawing.nodes if node.id in leaves].count("w") == 50
    assert drawing.notes == ("2 weights and constants are drawn at each reader",)
    assert drawing.node("w@a3").sources == drawing.node("w").sources
    few = graph(module(STATIC, "a = R.matmul(x, w)\nb = R.matmul(a, w)\nreturn b"), weights="nodes")
    assert [node.title for node in few.nodes].count("w") == 1


def test_nothing_to_fold_is_the_same_graph() -> None:
    drawing = graph(module('x: R.Tensor((2,), "float32")', "y = R.exp(x)\nreturn y"))
    assert folded(drawing, ()) == drawing


def test_operators_have_the_colours_of_their_classes_and_a_legend() -> None:
    drawing = graph(load(LLAMA), "forward")
    looks = {node.id: node.look for node in drawing.nodes}
    assert [looks[name] for name in ("matmul", "add", "softmax", "reshape", "split_0", "ids", "return")] == [
        "is-matmul", "is-elementwise", "is-reduce", "is-shape", "is-shape", "parameter", "output"]  # fmt: skip
    text = svg_text(drawing, lay_out(drawing))
    assert ">reduction</text>" in text
    assert "effect</text>" not in text
    alone = graph(module('x: R.Tensor((2,), "float32")', "y = R.exp(x)\nreturn y"))
    assert "element-wise" not in svg_text(alone, lay_out(alone))


# -- Mermaid --------------------------------------------------------------------------------------------------------

BRANCH = """c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")"""


def test_mermaid_has_every_node_edge_and_cluster_once() -> None:
    drawing = graph(load(LLAMA), "forward")
    text = drawing.mermaid()
    assert text.startswith("flowchart TD\n")
    assert len(re.findall(r"^ +n\d+[\[({]", text, re.MULTILINE)) == len(drawing.nodes)
    assert len(re.findall(r"^  n\d+ -->", text, re.MULTILINE)) == len(drawing.edges)
    inner = graph(
        parse(
            f"@R.function\ndef main({BRANCH}):\n    if c:\n        y = R.exp(x)\n    else:\n        y = R.sin(x)\n    return y\n"
        )
    )
    assert inner.mermaid().count("subgraph ") == len(inner.clusters) == 2
    assert inner.mermaid().count("\n  end\n") == 2


def test_no_name_of_a_program_is_mermaid() -> None:
    body = 'y = R.call_pure_packed("a\\"];click n0 \\"javascript:x\\";<b>", x, sinfo_args=R.Tensor((2,), "float32"))\nreturn y'
    text = graph(module('x: R.Tensor((2,), "float32")', body)).mermaid()
    assert "click n0" in text
    for line in text.split("\n"):
        assert not line.strip().startswith("click")
        assert line.count('"') in (0, 2)
        assert "<b>" not in line


def test_the_command_writes_mermaid_and_folds_on_request(tmp_path: object) -> None:
    done = rxe_cli("graph", str(LLAMA), "--format", "mermaid", "--weights", "nodes")
    assert done.exit_code == 0
    assert "layers_0_qkv_weight" in done.stdout
    assert done.stdout.count("[/") > 10


def test_constants_are_weights_of_which_many_are_folded() -> None:
    module = load(DATA / "bert_layer" / "00_input.py")
    assert not [node for node in graph(module).nodes if node.kind is Kind.CONSTANT]
    assert [node for node in graph(module, weights="nodes").nodes if node.kind is Kind.CONSTANT]


def test_nodes_say_nothing_twice() -> None:
    first, second = (load(DATA / "llama" / f"{stage}.py") for stage in ("00_input", "01_LegalizeOps"))
    assert graph(first).node("reshape1").lines == ("reshape1",)  # the edge tells the shape
    assert graph(first).node("matmul").lines == ()
    assert "call_tir" not in {line for node in graph(second).nodes for line in node.lines}
    assert "×2:" in graph(first, layers="once").svg("builtin")
    assert ">×2<" not in graph(first, layers="once").svg("builtin")  # the frame tells it
    lowered = graph(load(DATA / "llama" / "33_AttachGlobalSymbol.py"), memory=True)
    assert all(node.lines == () for node in lowered.nodes if node.title == "vm.kill_object")
