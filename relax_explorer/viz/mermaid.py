"""A graph in the language of Mermaid, which pull requests and wikis draw. Every text is quoted."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.viz.graph import (
    Cluster,
    EdgeKind,
    Graph,
    Kind,
    Mark,
    shapes_in_boxes,
    without_repeated_counts,
)
from relax_explorer.viz.layout import edge_text, line_texts, title_text
from relax_explorer.viz.palette import LIGHT

_SHAPES = {
    Kind.PARAMETER: "[/{}/]",
    Kind.OUTPUT: "([{}])",
    Kind.CONSTANT: "[({})]",
    Kind.BRANCH: "{{{{{}}}}}",
    Kind.CALL: "[[{}]]",
    Kind.FUNCTION: "([{}])",
    Kind.PRIM_FUNC: "[({})]",
    Kind.PACKED: "[/{}/]",
}
_QUOTED = {character: f"#{ord(character)};" for character in '"#<>&;`\\[](){}|'}


def mermaid_text(graph: Graph) -> str:
    """The flowchart. Nodes are called n0, n1, …, so that no name of the program is an identifier."""
    return "\n".join(_lines(without_repeated_counts(shapes_in_boxes(graph)))) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    yield "flowchart TD"
    inside: dict[str | None, list[int]] = {}
    for number, node in enumerate(graph.nodes):
        inside.setdefault(node.cluster, []).append(number)
    yield from _members(graph, None, inside, "  ")
    for edge, (source, target) in zip(graph.edges, graph.pairs, strict=True):
        text = edge_text(edge)
        label = f"|{_quoted([text])}|" if text else ""
        arrow = "-.->" if edge.kind is EdgeKind.REMOVED else "-->"
        yield f"  n{source} {arrow}{label} n{target}"
    for look in dict.fromkeys(node.look for node in graph.nodes):
        paint = LIGHT.node(look)
        names = ",".join(f"n{number}" for number, node in enumerate(graph.nodes) if node.look == look)
        yield f"  classDef {look} fill:{paint.fill},stroke:{paint.stroke}"
        yield f"  class {names} {look}"
    outputs = ",".join(f"n{number}" for number, node in enumerate(graph.nodes) if node.is_output)
    if outputs:
        yield "  classDef block-output stroke-width:4px"
        yield f"  class {outputs} block-output"
    for mark in Mark:
        names = ",".join(
            f"n{number}" for number, node in enumerate(graph.nodes) if mark is node.strongest_mark
        )
        if names:
            dashes = ",stroke-dasharray:4 3" if mark in (Mark.CHANGED, Mark.REMOVED) else ""
            yield f"  classDef mark-{mark} stroke:{LIGHT.change(mark).stroke},stroke-width:3px{dashes}"
            yield f"  class {names} mark-{mark}"


def _members(
    graph: Graph, cluster: Cluster | None, inside: dict[str | None, list[int]], indent: str
) -> Iterator[str]:
    key = None if cluster is None else cluster.id
    for number in inside.get(key, ()):
        node = graph.nodes[number]
        shape = _SHAPES.get(node.kind, "[{}]")
        yield f"{indent}n{number}{shape.format(_quoted([title_text(node), *line_texts(node)]))}"
    for place, item in enumerate(graph.clusters):
        if item.parent == key:
            yield f"{indent}subgraph c{place}[{_quoted([item.title])}]"
            yield from _members(graph, item, inside, f"{indent}  ")
            yield f"{indent}end"


def _quoted(lines: list[str]) -> str:
    """Lines in quotes; characters with a meaning in Mermaid or HTML are entities."""
    text = "<br/>".join(
        "".join(_QUOTED.get(character, character) for character in line) for line in lines if line
    )
    return f'"{text}"'
