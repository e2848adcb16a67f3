"""A graph for Netron: DOT in which each label tells the name, the operation and attributes, in the form that Netron reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from relax_explorer.ui.cli.main import group
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Edge, Kind, Node

LABEL = re.compile(r'  "([^"]+)" \[label="\{([^|{}"]+)\|op_code=([a-z_]+)\|((?:[^|{}"\\]*\\l)*)\}"\];')
EDGE = re.compile(r'  "([^"]+)" -> "([^"]+)" \[label="[^"]*"\];')


def read(text: str) -> tuple[dict[str, tuple[str, list[str]]], list[tuple[str, str]]]:
    """Nodes by name, with their operation and lines, and edges, read as Netron does."""
    head, *lines, end = text.rstrip("\n").split("\n")
    assert (head, end) == ("digraph relax {", "}")
    nodes: dict[str, tuple[str, list[str]]] = {}
    edges = []
    for line in lines:
        if (hit := LABEL.fullmatch(line)) is not None:
            assert hit[1] == hit[2]  # else Netron shows the whole label
            assert hit[1] not in nodes
            found = hit[4].split("\\l")[:-1]
            nodes[hit[1]] = (hit[3], found)
            for item in found:
                _, colon, value = item.partition(":")
                assert not (
                    colon and value.strip().startswith("(") and value.strip().endswith(")")
                )  # it would be read as JSON
        else:
            edge = EDGE.fullmatch(line)
            assert edge is not None, line
            edges.append((edge[1], edge[2]))
    assert all(name in nodes for edge in edges for name in edge)
    return nodes, edges


def test_operations_and_shapes_are_told(tmp_path: Path) -> None:
    text = '@R.function\ndef main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):\n    y = R.matmul(x, w)\n    return y\n'
    (tmp_path / "m.py").write_text(text)
    done = CliRunner().invoke(
        group, ["graph", str(tmp_path / "m.py"), "--format", "netron", "--weights", "nodes"]
    )
    nodes, edges = read(done.stdout)
    assert nodes["x"] == ("parameter", ["shape: (4, 4) f32"])
    assert nodes["y"][0] == "call_function"
    assert nodes["y"][1][:2] == ["matmul", "shape: (4, 4) f32"]
    assert edges[:2] == [("x", "y"), ("w", "y")]


@pytest.mark.parametrize(
    "arguments",
    [
        ("samples/12_transformer_layer.py",),
        ("samples/broken_build", "--between", "1..4"),
        ("samples/broken_build", "--calls"),
    ],
)
def test_every_graph_is_read(arguments: tuple[str, ...]) -> None:
    done = CliRunner().invoke(group, ["graph", *arguments, "--format", "netron"])
    assert done.exit_code == 0, done.output
    nodes, _ = read(done.stdout)
    assert len(nodes) > 5


def test_hostile_names_stay_text() -> None:
    names = ['a"];b', "a|b}", "a\\l", "<script>", "a\nb", ""]
    nodes = [Node(name, name, (name, "(1)"), Kind.OPERATOR, "(1, 2)") for name in names]
    edges = [Edge(names[0], names[1], 'x"y')]
    found, arrows = read(Drawing("t", tuple(nodes), tuple(edges)).netron())
    assert len(found) == len(names)
    assert len(arrows) == 1
