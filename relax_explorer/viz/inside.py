"""What a called function computes, drawn in place of the call as a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from relax_explorer.viz.graph import Cluster, Edge, Graph, Node

RESULT = "return"


@dataclass(frozen=True, slots=True)
class Inside:
    """Parts of a larger graph. Edges may begin at nodes outside."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    clusters: tuple[Cluster, ...]


def frame_of(call: str) -> str:
    """The cluster of the inside of a call."""
    return f"{call}.inside"


def placed_inside(
    callee: Graph, call: str, title: str, cluster: str | None, arguments: Mapping[str, str], taken: set[str]
) -> Inside:
    """The graph of a callee under new names, inside a new cluster within `cluster`.

    `arguments` names the nodes outside that stand for parameters of the callee. The node `call` stands for its result. `taken` are
    the names that others have; the new ones are added.
    """
    frame, prefix = frame_of(call), f"{call}/"
    while any(f"{prefix}{node.id}" in taken for node in callee.nodes):
        prefix += "'"
    taken.update(f"{prefix}{node.id}" for node in callee.nodes)
    names = {node.id: f"{prefix}{node.id}" for node in callee.nodes} | {RESULT: call} | dict(arguments)
    nodes = [
        replace(node, id=names[node.id], cluster=frame if node.cluster is None else f"{prefix}{node.cluster}")
        for node in callee.nodes
        if node.id != RESULT and node.id not in arguments
    ]
    edges = [replace(edge, source=names[edge.source], target=names[edge.target]) for edge in callee.edges]
    inner = [
        Cluster(f"{prefix}{item.id}", item.title, frame if item.parent is None else f"{prefix}{item.parent}")
        for item in callee.clusters
    ]
    return Inside(tuple(nodes), tuple(edges), (Cluster(frame, title, cluster), *inner))
