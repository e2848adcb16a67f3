"""Folds weights and constants into their readers, so that a graph shows how data flows.

A weight is a parameter of the model that is not data: behind the inputs if the function says how many it has (`num_input`), else a
tensor of fixed lengths beside data with symbolic ones, or beside one first parameter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Cluster, Edge, Graph, Kind, Node

APART_FROM = 100  # nodes from which on a weight is drawn at each of its readers
FROM = 9  # weights from which on they are folded without being asked
MOST_LINES = 4  # folded values that a node names


def weights(fn: e.Function) -> frozenset[str]:
    """The names of the parameters that are weights."""
    count = fn.attrs.get("num_input")
    if isinstance(count, int):
        return frozenset(param.name for param in fn.params[count:])
    tensors = [param for param in fn.params if isinstance(param.struct_info, s.TensorStructInfo)]
    data = {param for param in tensors if info_vars(param.struct_info or s.OBJECT)} or set(tensors[:1])
    return frozenset(param.name for param in tensors if param not in data)


def eased(drawing: Drawing, names: Collection[str], weights: str) -> Drawing:
    """The graph with weights folded (fold), as nodes (nodes), folded if there are many (auto), or as it is (whole)."""
    if weights == "fold" or (weights == "auto" and len(names) >= FROM):
        return folded(drawing, names)
    is_large = weights != "whole" and len(drawing.nodes) >= APART_FROM
    return at_each_reader(drawing) if is_large else drawing


def folded(drawing: Drawing, names: Collection[str]) -> Drawing:
    """The graph with these parameters, and all constants, as lines of the nodes that read them."""
    gone = {
        node.id for node in drawing.nodes
        if node.kind is Kind.CONSTANT or (node.kind is Kind.PARAMETER and node.title in names)
    }  # fmt: skip
    read: dict[str, list[Node]] = defaultdict(list)
    for edge in drawing.edges:
        if edge.source in gone:
            read[edge.target].append(drawing.node(edge.source))
    nodes = tuple(
        _with_lines(node, read[node.id]) if node.id in read else node
        for node in drawing.nodes
        if node.id not in gone
    )
    edges = tuple(edge for edge in drawing.edges if edge.source not in gone)
    note = f"{len(gone)} weights and constants are lines of their readers" if gone else ""
    return replace(drawing, nodes=nodes, edges=edges, notes=(*drawing.notes, *([note] if note else [])))


def at_each_reader(drawing: Drawing) -> Drawing:
    """The graph with a copy of each parameter and constant for every reader. Long lines from shared weights take minutes to lay out."""
    readers: dict[str, list[int]] = defaultdict(list)
    leaves = {node.id: node for node in drawing.nodes if node.kind in (Kind.PARAMETER, Kind.CONSTANT)}
    for number, edge in enumerate(drawing.edges):
        if edge.source in leaves:
            readers[edge.source].append(number)
    edges: list[Edge] = list(drawing.edges)
    copies: dict[str, list[Node]] = {}
    taken = {node.id for node in drawing.nodes}
    for name, numbers in readers.items():
        for number in numbers[1:]:
            edge = drawing.edges[number]
            copy = f"{name}@{edge.target}"
            while copy in taken:
                copy += "'"
            taken.add(copy)
            beside = replace(leaves[name], id=copy, cluster=drawing.node(edge.target).cluster)
            copies.setdefault(name, []).append(beside)
            edges[number] = replace(edge, source=copy)
    if not copies:
        return drawing
    nodes = tuple(item for node in drawing.nodes for item in (node, *copies.get(node.id, ())))
    note = f"{len(copies)} weights and constants are drawn at each reader"
    return replace(drawing, nodes=nodes, edges=tuple(edges), notes=(*drawing.notes, note))


def _with_lines(node: Node, values: list[Node]) -> Node:
    own = tuple(f"{value.title} {value.shape_text}" for value in dict.fromkeys(values))
    more = (f"and {len(own) - MOST_LINES} more",) if len(own) > MOST_LINES else ()
    detail = "\n".join([node.detail, *[f"reads {text}" for text in own]])
    return replace(node, lines=(*node.lines, *own[:MOST_LINES], *more), detail=detail)


# -- inside ----------------------------------------------------------------------------------------------------------
# What a called function computes, drawn in place of the call as a cluster.


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
