"""A graph as Model Explorer reads it (https://github.com/google-ai-edge/model-explorer): a collection of one graph, with our marks as colours."""

from __future__ import annotations

from typing import Any

from relax_explorer.viz.graph import EdgeKind, Graph, Node
from relax_explorer.viz.palette import LIGHT

_MOST = 2000  # characters of a text


def graph_collection(graph: Graph) -> dict[str, Any]:
    """The document. Clusters are layers, and the colours are those of our pictures: of heat, and of what changed."""
    spaces = dict[str | None, str]()
    names = {item.id: item for item in graph.clusters}
    for item in graph.clusters:
        parts, at = list[str](), item
        while True:
            parts.append(_part(at.title or at.id))
            if at.parent is None or at.parent not in names:
                break
            at = names[at.parent]
        spaces[item.id] = "/".join(reversed(parts))
    nodes = [_node(graph, number, spaces.get(node.cluster, "")) for number, node in enumerate(graph.nodes)]
    found: dict[str, Any] = {"id": _text(graph.title) or "graph", "nodes": nodes}
    if graph.notes:
        found["groupNodeAttributes"] = {"": {"notes": _text("\n".join(graph.notes))}}
    return {"label": _text(graph.title) or "graph", "graphs": [found]}


def _node(graph: Graph, number: int, space: str) -> dict[str, Any]:
    node = graph.nodes[number]
    edges = [graph.edges[edge] for edge in graph.incoming[number]]
    ports = [edge for edge in edges if edge.kind is not EdgeKind.REMOVED]
    lines = [
        ("name", node.id),
        ("kind", str(node.kind)),
        ("text", "\n".join(node.lines)),
        ("detail", node.detail),
    ]
    lines += [
        ("class", node.family),
        ("storage", node.place),
        ("marks", ", ".join(map(str, node.marks_in_order))),
        ("cost" if node.heat >= 0 else "remark", node.badge),
    ]
    return {
        "id": node.id,
        "label": _text(node.title),
        "namespace": space,
        "attrs": [{"key": key, "value": _text(value)} for key, value in lines if value],
        "incomingEdges": [
            {"sourceNodeId": edge.source, "sourceNodeOutputId": "0", "targetNodeInputId": str(place)}
            for place, edge in enumerate(ports)
        ],
        "outputsMetadata": [
            {"id": "0", "attrs": [{"key": "tensor_shape", "value": _text(node.shape_text)}]}
        ] if node.shape_text else [],
        "style": _style(node),
    }  # fmt: skip


def _style(node: Node) -> dict[str, str]:
    paint, mark = LIGHT.node(node.look), node.strongest_mark
    border = paint.stroke if mark is None else LIGHT.change(mark).stroke
    return {"backgroundColor": paint.fill, "borderColor": border}


def _part(text: str) -> str:
    """A layer in a path of layers."""
    return _text(text).replace("/", "∕") or "block"


def _text(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[:_MOST]}…"
