"""Draws equal layers once: the first one stands for all, in a cluster that tells how many there are."""

from __future__ import annotations

from dataclasses import replace

from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Cluster, Edge, Node
from relax_explorer.viz.inside import frame_of
from relax_explorer.viz.repeats import Repeat, pieces


def layers_once(drawing: Drawing, repeats: list[Repeat]) -> Drawing:
    """The graph with the first piece of each repeat in place of all."""
    for number, repeat in enumerate(repeats):
        drawing = _folded(drawing, repeat, f"repeat{number}")
    return drawing


def _folded(drawing: Drawing, repeat: Repeat, cluster: str) -> Drawing:
    held = {id(node.sources[0]): node.id for node in drawing.nodes if node.sources and "/" not in node.id}
    rows = [[held.get(id(binding), "") for binding in piece] for piece in pieces(repeat)]
    if any("" in row for row in rows):  # another block is not drawn
        return drawing
    shown = {other: first for row in rows for first, other in zip(rows[0], row, strict=True)}
    gone = {name for row in rows[1:] for name in row}
    frames = {frame_of(name) for name in gone}
    closed = {item.id for item in drawing.clusters if frames.intersection(drawing.cluster_path(item.id))}
    gone |= {node.id for node in drawing.nodes if node.cluster in closed}
    gone |= _only_for(drawing, gone)
    parents = {_outer(drawing, name) for name in rows[0]}
    around = cluster if len(parents) == 1 else None
    members = {first: [drawing.node(row[k]) for row in rows] for k, first in enumerate(rows[0])}
    nodes = [
        _standing(node, members[node.id], around) if node.id in members else node
        for node in drawing.nodes
        if node.id not in gone
    ]
    edges = dict.fromkeys(
        replace(edge, source=shown.get(edge.source, edge.source))
        for edge in drawing.edges
        if edge.target not in gone and (edge.source not in gone or edge.source in shown)
    )
    carried = ", ".join(rows[0][k] for k in repeat.carried)
    count, length = repeat.count, repeat.length
    note = f"{count} equal layers of {length} bindings are drawn once (×{count}); each reads {carried} of the one before"
    own = {frame_of(name) for name in rows[0]}
    clusters = [
        replace(item, parent=around) if item.id in own and around is not None else item
        for item in drawing.clusters
        if item.id not in closed
    ]
    if around is not None:
        clusters.append(Cluster(around, f"×{count}: each layer reads {carried} of the one before", *parents))
    notes = (*drawing.notes, note)
    return replace(drawing, nodes=tuple(nodes), edges=tuple(edges), clusters=tuple(clusters), notes=notes)


def _outer(drawing: Drawing, name: str) -> str | None:
    """The cluster around a node, that of its inside not counted."""
    path = [item for item in drawing.cluster_path(drawing.node(name).cluster) if item != frame_of(name)]
    return path[-1] if path else None


def _only_for(drawing: Drawing, gone: set[str]) -> set[str]:
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
        cluster=cluster if cluster is not None and node.cluster != frame_of(node.id) else node.cluster,
        marks=frozenset().union(*(item.marks for item in equal)),
        sources=tuple(source for item in equal for source in item.sources),
        detail=f"{node.detail}\nstands for {names} too",
    )
