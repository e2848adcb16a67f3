"""Draws equal layers once: the first one stands for all, in a cluster that tells how many there are."""

from __future__ import annotations

from dataclasses import replace

from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Cluster, Edge, Node
from relax_explorer.viz.repeats import Repeat, pieces


def layers_once(drawing: Drawing, repeats: list[Repeat]) -> Drawing:
    """The graph with the first piece of each repeat in place of all."""
    for number, repeat in enumerate(repeats):
        drawing = _folded(drawing, repeat, f"repeat{number}")
    return drawing


def _folded(drawing: Drawing, repeat: Repeat, cluster: str) -> Drawing:
    held = {id(node.sources[0]): node.id for node in drawing.nodes if node.sources}
    rows = [[held.get(id(binding)) for binding in piece] for piece in pieces(repeat)]
    if any(None in row for row in rows):  # another block is not drawn
        return drawing
    shown = {other: first for row in rows for first, other in zip(rows[0], row, strict=True)}
    gone = {name for row in rows[1:] for name in row}
    gone |= _only_for(drawing, gone)
    members = {first: tuple(row[k] for row in rows) for k, first in enumerate(rows[0])}
    nodes, parents = [], {drawing.node(str(first)).cluster for first in rows[0]}
    for node in drawing.nodes:
        if node.id in members:
            equal = [drawing.node(str(name)) for name in members[node.id]]
            node = _standing(node, equal, cluster if len(parents) == 1 else node.cluster)
        if node.id not in gone:
            nodes.append(node)
    edges = dict.fromkeys(
        replace(edge, source=str(shown.get(edge.source, edge.source)))
        for edge in drawing.edges
        if edge.target not in gone and (edge.source not in gone or edge.source in shown)
    )
    carried = ", ".join(str(rows[0][k]) for k in repeat.carried)
    text = f"{repeat.count} equal layers of {repeat.length} bindings are drawn once (×{repeat.count}); each reads {carried} of the one before"
    box = (
        Cluster(cluster, f"×{repeat.count}: each layer reads {carried} of the one before", *parents)
        if len(parents) == 1
        else None
    )
    clusters = (*drawing.clusters, box) if box is not None else drawing.clusters
    return replace(
        drawing, nodes=tuple(nodes), edges=tuple(edges), clusters=clusters, notes=(*drawing.notes, text)
    )


def _only_for(drawing: Drawing, gone: set[str | None]) -> set[str | None]:
    """The weights and constants that only hidden nodes read."""
    readers: dict[str, list[Edge]] = {}
    for edge in drawing.edges:
        readers.setdefault(edge.source, []).append(edge)
    fed = {edge.target for edge in drawing.edges}
    return {
        name for name, found in readers.items() if name not in fed and all(edge.target in gone for edge in found)
    }  # fmt: skip


def _standing(node: Node, equal: list[Node], cluster: str | None) -> Node:
    """A node that stands for equal ones."""
    names = ", ".join(item.id for item in equal[1:])
    return replace(
        node,
        badge=f"×{len(equal)}",
        cluster=cluster,
        marks=frozenset().union(*(item.marks for item in equal)),
        sources=tuple(source for item in equal for source in item.sources),
        detail=f"{node.detail}\nstands for {names} too",
    )
