"""A graph as Netron reads it (https://netron.app): DOT as PyTorch writes graphs, in which Netron finds operations, weights and attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from relax_explorer.viz.graph import EdgeKind, Graph, Kind, Node

_UNSAFE = re.compile(r"[^\w .,()\[\]+*-]")  # quotes, colons, bars and braces separate fields there
_MOST = 200  # characters of a text


def netron_text(graph: Graph) -> str:
    """The document."""
    return "\n".join(["digraph relax {", *_lines(graph), "}"]) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    names: list[str] = []
    for node in graph.nodes:
        name, number = _safe(node.id), 0
        while name in names:
            number += 1
            name = f"{_safe(node.id)} {number}"
        names.append(name)
    for name, node in zip(names, graph.nodes, strict=True):
        yield f'  "{name}" [label="{{{name}|{_fields(node)}}}"];'
    for edge, (source, target) in zip(graph.edges, graph.pairs, strict=True):
        if edge.kind is not EdgeKind.REMOVED:
            yield f'  "{names[source]}" -> "{names[target]}" [label="{_safe(edge.label)}"];'


def _fields(node: Node) -> str:
    """The operation of a node and its attributes, each on a line."""
    marks = ", ".join(map(str, node.marks_in_order))
    told = {
        "shape": node.shape_text,
        "cost" if node.heat >= 0 else "remark": node.badge,
        "marks": marks,
        "text": ", ".join(node.lines),
    }
    lines = [f"{key}: {_value(text)}" for key, text in told.items() if text]
    if node.kind in (Kind.PARAMETER, Kind.CONSTANT):
        return "".join([f"op_code={node.kind}|", *[f"{line}\\l" for line in lines]])
    return "".join(["op_code=call_function|", *[f"{line}\\l" for line in (_safe(node.title), *lines)]])


def _value(text: str) -> str:
    """A value of an attribute. Netron reads one in parentheses as JSON."""
    found = _safe(text)
    return f"shape {found}" if found.startswith("(") and found.endswith(")") else found


def _safe(text: str) -> str:
    return _UNSAFE.sub("_", text[:_MOST]).strip() or "_"
