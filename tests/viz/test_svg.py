"""SVG: well-formed, accessible, in two themes, without active content."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Edge, EdgeKind, Kind, Node
from relax_explorer.viz.layout import lay_out
from relax_explorer.viz.palette import DARK, LIGHT
from relax_explorer.viz.svg import style_sheet, svg_text, tooltip
from tests.support.golden import Golden
from tests.viz.graphs import HOSTILE, decoder, hostile, small

SPACE = "{http://www.w3.org/2000/svg}"
ELEMENTS = {"svg", "title", "desc", "style", "g", "rect", "path", "polygon", "text"}
ATTRIBUTES = {
    "aria-hidden", "aria-labelledby", "class", "d", "fill", "fill-opacity", "font-family", "font-size", "font-weight", "height",
    "id", "points", "role", "rx", "stroke", "stroke-dasharray", "stroke-linejoin", "stroke-width",
    "tabindex", "text-anchor", "transform", "viewBox", "width", "x", "y",
}  # fmt: skip


def drawn(graph: Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(svg_text(graph, lay_out(graph)))


def texts(root: ElementTree.Element, css: str) -> list[str]:
    return [
        element.text or ""
        for element in root.iter(f"{SPACE}text")
        if css in (element.get("class") or "").split()
    ]


def test_golden(golden: Golden) -> None:
    graph = small()
    golden.check("small.svg", svg_text(graph, lay_out(graph)))


def test_titles_and_shapes_are_selectable_text() -> None:
    root = drawn(small())
    assert texts(root, "title") == ["x", "w", "~ matmul", "> nn.relu", "* add", "2.0", "multiply", "return"]
    assert texts(root, "label").count("(n, 64) f32") == 6
    assert texts(root, "frame-title") == ["dataflow df"]


def test_screen_readers_hear_what_it_is() -> None:
    root = drawn(small())
    assert (root.get("role") or "").split()[
        0
    ] == "graphics-document"  # the parts of an img are hidden from readers
    assert root.findtext(f"{SPACE}title") == "mlp · main"
    assert root.findtext(f"{SPACE}desc") == (
        "Dataflow graph, drawn from top to bottom, of 8 nodes and 8 edges. Outputs: return."
    )
    tips = [
        group.findtext(f"{SPACE}title")
        for group in root.iter(f"{SPACE}g")
        if "node" in group.get("class", "")
    ]
    assert tips[2] == "matmul\n(n, 64) f32\nlv = R.matmul(x, w)\n(changed)"


def test_screen_readers_and_tab_reach_each_node_and_hear_its_neighbours() -> None:
    graph = small()
    root = drawn(graph)
    parents = {child: parent for parent in root.iter() for child in parent}
    nodes = [group for group in root.iter(f"{SPACE}g") if "node" in (group.get("class") or "").split()]
    assert len(nodes) == len(graph.nodes)
    assert {(group.get("role"), group.get("tabindex")) for group in nodes} == {("img", "0")}
    said = {
        group.findtext(f"{SPACE}title", "").split("\n")[0]: group.findtext(f"{SPACE}desc") for group in nodes
    }
    assert said["matmul"] == "Reads x, w. Read by lv1, lv2"
    assert said["x"] == "Read by lv"
    assert said["return"] == "Reads lv3"
    for group in nodes:
        while group in parents:
            assert group.get("aria-hidden") is None
            group = parents[group]
    hub = Drawing(
        "",
        (Node("a", "a"), *(Node(f"r{n}", "r") for n in range(20))),
        tuple(Edge("a", f"r{n}") for n in range(20)),
    )
    assert [item.text for item in drawn(hub).iter(f"{SPACE}desc")][
        1
    ] == "Read by r0, r1, r2, r3, r4, r5, r6, r7 and 12 more"


@pytest.mark.parametrize("graph", [hostile(), small(), decoder(1)], ids=lambda graph: graph.title[:12])
def test_the_same_graph_is_always_the_same_picture(graph: Drawing) -> None:
    assert svg_text(graph, lay_out(graph)) == svg_text(graph, lay_out(graph))
    assert graph.mermaid() == graph.mermaid()
    assert graph.dot() == graph.dot()


def test_notes_stand_below_the_title() -> None:
    part = small().neighbourhood("lv2", 1)
    assert texts(drawn(part), "note") == ["showing 4 of 8 nodes"]


def test_both_themes_are_inside() -> None:
    sheet = style_sheet()
    light, _, dark = sheet.partition("@media (prefers-color-scheme: dark)")
    for kind in Kind:
        assert f".{kind} .shape {{ fill: {LIGHT.node(kind).fill}" in light
        assert f".{kind} .shape {{ fill: {DARK.node(kind).fill}" in dark
    assert set(re.findall(r"#[0-9a-f]+", light)) <= set(re.findall(r"#[0-9a-f]{6}", light))


def test_kinds_differ_in_outline_too() -> None:
    graph = Drawing("kinds", tuple(Node(kind, "same", kind=kind) for kind in Kind))
    looks = set()
    for group in drawn(graph).iter(f"{SPACE}g"):
        if "node" in group.get("class", ""):
            shapes = [item for item in group if item.get("class") == "shape"]
            corners = len((shapes[0].get("points") or "").split())
            slant = (shapes[0].get("points") or "").split(" ")[0].split(",")[1:] and group.get("class")
            looks.add(
                (len(shapes), shapes[0].get("rx"), shapes[0].get("stroke-dasharray"), corners, slant or "")
            )
    assert len(looks) == len(Kind)


@pytest.mark.parametrize("kind", [EdgeKind.SHAPE, EdgeKind.ORDER, EdgeKind.MORE])
def test_kinds_of_edges_differ_in_line_style(kind: EdgeKind) -> None:
    graph = small()
    edges = (*graph.edges[:-1], type(graph.edges[-1])("lv3", "return", "", kind))
    root = drawn(Drawing(graph.title, graph.nodes, edges, graph.clusters))
    dashes = [
        path.get("stroke-dasharray") for path in root.iter(f"{SPACE}path") if path.get("class") == "wire"
    ]
    assert [dash for dash in dashes if dash] == [dashes[-1]]


@pytest.mark.parametrize(
    "graph", [hostile(), small(), decoder(1), Drawing("")], ids=lambda graph: graph.title[:12]
)
def test_only_known_elements_and_attributes(graph: Drawing) -> None:
    root = drawn(graph)
    assert {element.tag.removeprefix(SPACE) for element in root.iter()} <= ELEMENTS
    assert {name for element in root.iter() for name in element.attrib} <= ATTRIBUTES
    assert not [
        value for element in root.iter() for value in element.attrib.values() if "javascript" in value
    ]


def test_hostile_text_stays_text() -> None:
    source = svg_text(hostile(), lay_out(hostile()))
    assert all(character.isprintable() or character == "\n" for character in source)
    shown = texts(ElementTree.fromstring(source), "title")
    assert shown[2] == "<b>bold</b>"
    assert shown[3] == "<<table>>"
    assert shown[9] == "&lt;b&gt; &amp; &#60;"
    assert max(map(len, shown)) <= 60


def test_tooltips_are_cut() -> None:
    assert len(tooltip(Node("a", "a", detail=HOSTILE[5]))) <= 2_010
