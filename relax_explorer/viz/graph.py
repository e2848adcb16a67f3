"""A graph to look at: nodes with text, edges with shapes, clusters, and operations that select a part of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Self, TypeVar

from relax_explorer.viz.compact import by_family

DEFAULT_MAX_NODES = 200
DEFAULT_RADIUS = 2


class Kind(StrEnum):
    """The role of a node; each has its own colour and outline."""

    PARAMETER = "parameter"
    CONSTANT = "constant"
    OPERATOR = "operator"
    CALL = "call"
    TUPLE = "tuple"
    OUTPUT = "output"
    MATCH_CAST = "match_cast"
    BRANCH = "branch"
    MORE = "more"
    FUNCTION = "function"
    PRIVATE = "private"
    PRIM_FUNC = "prim_func"
    PACKED = "packed"


FUNCTIONS = (Kind.FUNCTION, Kind.PRIVATE, Kind.PRIM_FUNC, Kind.PACKED)
"""The kinds of nodes that are functions; edges between them are calls."""


class EdgeKind(StrEnum):
    """What flows along an edge: a value, a symbolic length, the order of effects, something hidden, or nothing any more."""

    DATA = "data"
    SHAPE = "shape"
    ORDER = "order"
    MORE = "more"
    REMOVED = "removed"


class Mark(StrEnum):
    """A remark on a node, such as changed or selected; each has a glyph, since colour alone is not enough."""

    MOVED = "moved"
    MERGED = "merged"
    SPLIT = "split"
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    DONE = "done"
    CURRENT = "current"
    SELECTED = "selected"

    @property
    def glyph(self) -> str:
        """One narrow character before the title of a marked node."""
        return _GLYPHS[self]


_GLYPHS = {
    Mark.MOVED: "»",
    Mark.MERGED: "⊞",
    Mark.SPLIT: "⊟",
    Mark.ADDED: "+",
    Mark.REMOVED: "-",
    Mark.CHANGED: "~",
    Mark.DONE: "✓",
    Mark.CURRENT: ">",
    Mark.SELECTED: "*",
}


@dataclass(frozen=True, slots=True)
class Node:
    """One box: `title` in bold, `lines` below it, the `shape_text` of its value, and `detail` for the tooltip.

    `badge` is a remark in a few characters, such as the time that it took; `place` is the storage of its value.
    `is_output`: a dataflow block outputs the value, so that
    it is known behind the block. `sources` are the bindings or the parameter that the
    node stands for, its own first. All texts may hold any characters; whoever draws them escapes them.
    """

    id: str
    title: str
    lines: tuple[str, ...] = ()
    kind: Kind = Kind.OPERATOR
    shape_text: str = ""
    detail: str = ""
    cluster: str | None = None
    marks: frozenset[Mark] = frozenset()
    family: str = ""  # the class of the operation, such as matmul; it colours operators
    badge: str = ""
    heat: int = -1  # the level of a heat map, 0 the lowest; -1 if it has none
    tint: str = ""  # a look that replaces its own, such as that of a storage
    is_output: bool = False
    place: str = ""
    sources: tuple[object, ...] = field(default=(), compare=False, repr=False)

    @property
    def look(self) -> str:
        """The role of its colours: its heat, the class of the operation for operators, calls, fields and kernels, or its kind."""
        if self.heat >= 0:
            return f"heat-{self.heat}"
        if self.tint:
            return self.tint
        has_family = self.family not in ("", "other") and self.kind in (
            Kind.OPERATOR,
            Kind.CALL,
            Kind.TUPLE,
            Kind.PRIM_FUNC,
        )
        return f"is-{self.family}" if has_family else str(self.kind)

    @property
    def marks_in_order(self) -> tuple[Mark, ...]:
        """Its marks, always in the same order."""
        return tuple(mark for mark in Mark if mark in self.marks)

    @property
    def strongest_mark(self) -> Mark | None:
        """The mark that decides the outline: selected before current before the changes."""
        return self.marks_in_order[-1] if self.marks else None

    @property
    def letter(self) -> str:
        """The letter of the class of a kernel, which it keeps without colours; empty for operators, whose names tell it, and for heat."""
        return by_family(self.family).letter if self.kind is Kind.CALL and self.heat < 0 else ""

    @property
    def marked_title(self) -> str:
        """The title after the glyphs of the marks and the letter of a kernel."""
        glyphs = "".join(mark.glyph for mark in self.marks_in_order)
        return " ".join(filter(None, [glyphs, self.letter, self.title]))


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow from the producer of a value to its user; the label is usually the shape of the value.

    `parts` are the fields that are read, of a producer of several values; empty for all.
    """

    source: str
    target: str
    label: str = ""
    kind: EdgeKind = EdgeKind.DATA
    parts: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A box around nodes, for instance a dataflow block or a branch; clusters nest through `parent`."""

    id: str
    title: str
    parent: str | None = None


@dataclass(frozen=True)
class Graph:
    """Nodes in program order, the edges between them, and notes on hidden parts.

    `legend` explains colours: pairs of a look (`Node.look` or a mark) and a text. Without one, classes of operations are explained.
    `storages` are those of a planned function, each with its bytes as text.
    Raises ValueError when ids are not unique, or when an edge or a cluster refers to something that does not exist.
    """

    title: str
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    notes: tuple[str, ...] = field(default=())
    legend: tuple[tuple[str, str], ...] = field(default=())
    storages: tuple[tuple[str, str], ...] = field(default=())

    def __post_init__(self) -> None:  # the docstring of the class describes the checks
        _require_unique("node", [node.id for node in self.nodes])
        _require_unique("cluster", [cluster.id for cluster in self.clusters])
        for edge in self.edges:
            if edge.source not in self.number or edge.target not in self.number:
                raise ValueError(
                    f"edge {edge.source!r} -> {edge.target!r} refers to a node that does not exist"
                )
        for node in self.nodes:
            if node.cluster is not None:
                self.cluster_path(node.cluster)

    @cached_property
    def number(self) -> Mapping[str, int]:
        """The position of each node id in `nodes`."""
        return {node.id: index for index, node in enumerate(self.nodes)}

    @cached_property
    def _cluster_of(self) -> Mapping[str, Cluster]:
        return {cluster.id: cluster for cluster in self.clusters}

    def node(self, node_id: str) -> Node:
        """The node with an id; KeyError when there is none."""
        return self.nodes[self.number[node_id]]

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """The edges as pairs of node numbers, in the order of `edges`."""
        return [(self.number[edge.source], self.number[edge.target]) for edge in self.edges]

    @cached_property
    def incoming(self) -> list[list[int]]:
        """For each node number the numbers of its incoming edges."""
        return _by_end(len(self.nodes), (target for _, target in self.pairs))

    @cached_property
    def outgoing(self) -> list[list[int]]:
        """For each node number the numbers of its outgoing edges."""
        return _by_end(len(self.nodes), (source for source, _ in self.pairs))

    def cluster_path(self, cluster_id: str | None) -> tuple[str, ...]:
        """The ids of a cluster and of all around it, outermost first; ValueError for a missing or circular parent."""
        path: list[str] = []
        while cluster_id is not None:
            if cluster_id in path or cluster_id not in self._cluster_of:
                raise ValueError(f"cluster {cluster_id!r} does not exist or contains itself")
            path.append(cluster_id)
            cluster_id = self._cluster_of[cluster_id].parent
        return tuple(reversed(path))

    def neighbourhood(self, node_id: str, radius: int = DEFAULT_RADIUS, max_nodes: int | None = None) -> Self:
        """The part within `radius` edges of a node, in either direction, with stubs where it was cut off.

        At most `max_nodes` nodes are kept, nearest first. A note gives the numbers of shown and of all nodes.
        """
        distance = {self.number[node_id]: 0}
        waiting = deque(distance)
        while waiting:
            current = waiting.popleft()
            if distance[current] == radius:
                continue
            for other in self._neighbours(current):
                if max_nodes is not None and len(distance) >= max_nodes:
                    return self.part(distance)
                if other not in distance:
                    distance[other] = distance[current] + 1
                    waiting.append(other)
        return self.part(distance)

    def scoped(
        self, max_nodes: int = DEFAULT_MAX_NODES, around: str | None = None, radius: int = DEFAULT_RADIUS
    ) -> Self:
        """The whole graph if it has at most `max_nodes` nodes, else the neighbourhood of one node.

        The node is `around`, else the selected, the current, the first changed or the first node.
        """
        if len(self.nodes) <= max_nodes:
            return self
        return self.neighbourhood(around or self._centre(), radius, max_nodes)

    def part(self, kept: Collection[int]) -> Self:
        """The graph of some nodes, given by number; stubs count the hidden neighbours."""
        if len(kept) == len(self.nodes):
            return self
        members = sorted(kept)
        nodes = [self.nodes[index] for index in members]
        edges = [
            edge
            for edge, (source, target) in zip(self.edges, self.pairs, strict=True)
            if source in kept and target in kept
        ]
        for index in members:
            self._add_stubs(index, kept, nodes, edges)
        note = f"showing {len(members):,} of {len(self.nodes):,} nodes".replace(",", " ")
        return replace(self, nodes=tuple(nodes), edges=tuple(edges), notes=(*self.notes, note))

    def _neighbours(self, index: int) -> Iterable[int]:
        for number in self.incoming[index]:
            yield self.pairs[number][0]
        for number in self.outgoing[index]:
            yield self.pairs[number][1]

    def _centre(self) -> str:
        for mark in (Mark.SELECTED, Mark.CURRENT, Mark.CHANGED):
            for node in self.nodes:
                if mark in node.marks:
                    return node.id
        return self.nodes[0].id

    def _add_stubs(self, index: int, kept: Collection[int], nodes: list[Node], edges: list[Edge]) -> None:
        node = self.nodes[index]
        inputs = {self.pairs[number][0] for number in self.incoming[index]}.difference(kept)
        users = {self.pairs[number][1] for number in self.outgoing[index]}.difference(kept)
        if inputs:
            stub = Node(
                f"more-in:{node.id}", _count(len(inputs), "input"), kind=Kind.MORE, cluster=node.cluster
            )
            nodes.append(stub)
            edges.append(Edge(stub.id, node.id, kind=EdgeKind.MORE))
        if users:
            stub = Node(
                f"more-out:{node.id}", _count(len(users), "user"), kind=Kind.MORE, cluster=node.cluster
            )
            nodes.append(stub)
            edges.append(Edge(node.id, stub.id, kind=EdgeKind.MORE))


def _count(count: int, noun: str) -> str:
    return f"{count} more {noun}" + ("s" if count > 1 else "")


def _require_unique(noun: str, ids: list[str]) -> None:
    if len(set(ids)) != len(ids):
        repeated = next(name for place, name in enumerate(ids) if name in ids[:place])
        raise ValueError(f"{noun} id {repeated!r} is used twice")


def _by_end(count: int, ends: Iterable[int]) -> list[list[int]]:
    lists: list[list[int]] = [[] for _ in range(count)]
    for number, end in enumerate(ends):
        lists[end].append(number)
    return lists


# -- large graphs ----------------------------------------------------------------------------------------------------
# Pictures of large graphs: shapes stand in the boxes, since labels on lines take most of the time of a layout.


LABELLED_UP_TO = 250  # nodes

AnyGraph = TypeVar("AnyGraph", bound=Graph)


def without_repeated_counts(graph: AnyGraph) -> AnyGraph:
    """A graph whose nodes do not tell how many they stand for where the frame around them does."""
    titles = {cluster.id: cluster.title for cluster in graph.clusters if cluster.title.startswith("×")}
    if not titles:
        return graph
    nodes = tuple(
        _uncounted(node, [titles[name] for name in graph.cluster_path(node.cluster) if name in titles])
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes)


def _uncounted(node: Node, titles: list[str]) -> Node:
    count, _, rest = node.badge.partition("  ")
    return replace(node, badge=rest) if any(title.startswith(f"{count}:") for title in titles) else node


def shapes_in_boxes(graph: AnyGraph) -> AnyGraph:
    """A large graph without labels on its edges: each box shows the shape of its value. Another graph stays as it is."""
    if len(graph.nodes) <= LABELLED_UP_TO or not any(edge.label for edge in graph.edges):
        return graph
    nodes = tuple(
        replace(node, lines=(*node.lines, node.shape_text)) if node.shape_text else node
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes, edges=tuple(replace(edge, label="") for edge in graph.edges))
