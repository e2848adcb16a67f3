"""A graph with coordinates: boxes of nodes and clusters and curves of edges, from any engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from relax_explorer.viz.graph import Edge, Graph, Kind, Node
from relax_explorer.viz.layered import Point, Size, place
from relax_explorer.viz.layers import Spacing
from relax_explorer.viz.visible import character_columns, visible

# -- measure ---------------------------------------------------------------------------------------------------------
# Estimated sizes of text in pictures, without a font, so that every machine draws boxes of the same size.


FONT = "Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', 'DejaVu Sans', sans-serif"
TITLE_SIZE = 13.0
LINE_SIZE = 11.0
LABEL_SIZE = 10.5
LINE_HEIGHT = 1.25

_SLACK = 1.08
_BOLD = 1.07
_NARROW = {character: 0.3 for character in "iljtfIr.,:;'|!()[]{}/\\ -`\""}
_MIDDLE = {character: 0.56 for character in "abcdeghknopqsuvxyz0123456789_+=<>~$#*?^JLTFZ"}
_WIDTHS = _NARROW | _MIDDLE | {"m": 0.85, "w": 0.74, "M": 0.85, "W": 0.96, "%": 0.9, "@": 1.02, "…": 1.0}


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Upper estimate, in points, of the width of a line in a Helvetica-like face of the given size."""
    ems = sum(
        _WIDTHS.get(character, 0.74) if character < "\u0250" else character_columns(character) * 0.7 or 0.0
        for character in text
    )
    return ems * size * _SLACK * (_BOLD if bold else 1.0)


# -- layout ----------------------------------------------------------------------------------------------------------


LABEL_LIMIT = 400
TITLE_CUT, LINE_CUT, EDGE_CUT = 60, 72, 64
LINES_CUT = 12
PAD_X, PAD_Y = 11.0, 7.0
CLUSTER_TITLE = 18.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: its centre and its size, in points, y downwards."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        """Its left side."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """Its right side."""
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        """Its upper side."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """Its lower side."""
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Curve:
    """An edge: 3n+1 control points of a Bezier curve from source to target, and its label's centre."""

    points: tuple[Point, ...]
    label: Point | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of the nodes, edges and clusters of a graph, each in the graph's order; a cluster may have none."""

    nodes: tuple[Box, ...]
    edges: tuple[Curve, ...]
    clusters: tuple[Box | None, ...]
    width: float
    height: float
    notices: tuple[str, ...] = ()


def title_text(node: Node) -> str:
    """The displayed title line of a node."""
    return visible(node.marked_title, TITLE_CUT) or " "


def line_texts(node: Node) -> list[str]:
    """The displayed lines below the title."""
    first = [text for text in (node.badge, node.place) if text]
    lines = [visible(line, LINE_CUT) for line in (*first, *node.lines[:LINES_CUT])]
    return [*lines, "…"] if len(node.lines) > LINES_CUT else lines


def edge_text(edge: Edge) -> str:
    """The displayed label of an edge."""
    return visible(edge.label, EDGE_CUT)


def node_size(node: Node) -> Size:
    """Width and height in points of the box of a node."""
    lines = line_texts(node)
    widths = [
        text_width(title_text(node), TITLE_SIZE, bold=True),
        *(text_width(line, LINE_SIZE) for line in lines),
    ]
    height = TITLE_SIZE * LINE_HEIGHT + len(lines) * LINE_SIZE * LINE_HEIGHT
    slant = 14.0 if node.kind in (Kind.PARAMETER, Kind.BRANCH, Kind.MATCH_CAST) else 0.0
    return max(widths) + 2 * PAD_X + slant, height + 2 * PAD_Y


def label_size(edge: Edge) -> Size | None:
    """Width and height in points of the label of an edge, if it has one."""
    text = edge_text(edge)
    return (text_width(text, LABEL_SIZE) + 8, LABEL_SIZE * LINE_HEIGHT + 2) if text else None


def group_paths(graph: Graph) -> list[tuple[int, ...]]:
    """For each node the numbers of the clusters around it, outermost first."""
    number = {cluster.id: index for index, cluster in enumerate(graph.clusters)}
    return [tuple(number[name] for name in graph.cluster_path(node.cluster)) for node in graph.nodes]


def lay_out(
    graph: Graph, sizes: Sequence[Size] | None = None, labels: Sequence[Size | None] | None = None
) -> Layout:
    """Lay a graph out with the layered engine of this project, within this process.

    `sizes` and `labels` are those of the boxes and of the texts on edges, if they are to be larger than the graph needs.
    """
    sizes = [node_size(node) for node in graph.nodes] if sizes is None else sizes
    labels = [label_size(edge) for edge in graph.edges] if labels is None else labels
    paths = group_paths(graph)
    placed = place(sizes, graph.pairs, labels, paths, Spacing())
    boxes = [Box(x, y, w, h) for (x, y), (w, h) in zip(placed.centres, sizes, strict=True)]
    clusters, notices = _clusters(graph, boxes, paths)
    if placed.straight:
        notices.append(f"{placed.straight} long edges are drawn straight, through other boxes")
    curves = [
        Curve(_curve(route, boxes[source]), label)
        for route, label, (source, _) in zip(placed.routes, placed.labels, graph.pairs, strict=True)
    ]
    return _framed(boxes, curves, clusters, tuple(notices))


def _curve(route: list[Point], box: Box) -> tuple[Point, ...]:
    if not route:
        return _loop(box)
    downward = route[0][1] <= route[-1][1]
    points = route if downward else route[::-1]
    slopes = _slopes(points)
    control = [points[0]]
    for index in range(len(points) - 1):
        (x0, y0), (x1, y1) = points[index], points[index + 1]
        third = (y1 - y0) / 3
        control += [
            (x0 + slopes[index] * third, y0 + third),
            (x1 - slopes[index + 1] * third, y1 - third),
            (x1, y1),
        ]
    return tuple(control if downward else control[::-1])


def _slopes(points: list[Point]) -> list[float]:
    """Change of x per y at each point: zero at the ends, between them the harmonic mean, so that no curve overshoots."""
    steps = [(x1 - x0) / max(y1 - y0, 1e-6) for (x0, y0), (x1, y1) in pairwise(points)]
    inner = [2 * a * b / (a + b) if a * b > 0 else 0.0 for a, b in pairwise(steps)]
    return [0.0, *inner, 0.0]


def _loop(box: Box) -> tuple[Point, ...]:
    """A curve that leaves the right side of a box and comes back to it."""
    reach = box.right + 26
    return (box.right, box.y - 5), (reach, box.y - 14), (reach, box.y + 14), (box.right, box.y + 5)


def _clusters(
    graph: Graph, boxes: Sequence[Box], paths: Sequence[tuple[int, ...]]
) -> tuple[list[Box | None], list[str]]:
    """The box of each cluster, or None if the box of an outsider lies inside it."""
    members: list[list[int]] = [[] for _ in graph.clusters]
    for node, path in enumerate(paths):
        for cluster in path:
            members[cluster].append(node)
    height = [0] * len(graph.clusters)
    for path in paths:
        for above, cluster in enumerate(reversed(path)):
            height[cluster] = max(height[cluster], above)
    frames: list[Box | None] = []
    notices: list[str] = []
    for cluster, nodes in enumerate(members):
        if not nodes:
            frames.append(None)
            continue
        pad = 10.0 * (1 + height[cluster])
        box = _around([boxes[node] for node in nodes], pad, CLUSTER_TITLE * (1 + height[cluster]))
        inside = set(nodes)
        intruded = any(number not in inside and _overlap(box, other) for number, other in enumerate(boxes))
        if intruded:
            title = visible(graph.clusters[cluster].title, 40)
            notices.append(f"no frame around '{title}': other nodes stand between its members")
        frames.append(None if intruded else box)
    return frames, notices


def _around(boxes: Iterable[Box], pad: float, above: float) -> Box:
    items = list(boxes)
    left, right = min(box.left for box in items) - pad, max(box.right for box in items) + pad
    top, bottom = min(box.top for box in items) - above, max(box.bottom for box in items) + pad
    return Box((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)


def _overlap(one: Box, other: Box) -> bool:
    return (
        one.left < other.right
        and other.left < one.right
        and one.top < other.bottom
        and other.top < one.bottom
    )


def _framed(
    boxes: list[Box], curves: list[Curve], clusters: list[Box | None], notices: tuple[str, ...]
) -> Layout:
    """The layout moved so that all of it lies in the positive quadrant, and its size."""
    everything = [*boxes, *(box for box in clusters if box is not None)]
    xs = [x for curve in curves for x, _ in curve.points]
    ys = [y for curve in curves for _, y in curve.points]
    left = min([box.left for box in everything] + xs, default=0.0)
    top = min([box.top for box in everything] + ys, default=0.0)
    right = max([box.right for box in everything] + xs, default=0.0)
    bottom = max([box.bottom for box in everything] + ys, default=0.0)

    def moved(box: Box) -> Box:
        return Box(box.x - left, box.y - top, box.width, box.height)

    return Layout(
        nodes=tuple(moved(box) for box in boxes),
        edges=tuple(
            Curve(
                tuple((x - left, y - top) for x, y in curve.points),
                (curve.label[0] - left, curve.label[1] - top) if curve.label else None,
            )
            for curve in curves
        ),
        clusters=tuple(moved(box) if box is not None else None for box in clusters),
        width=right - left,
        height=bottom - top,
        notices=notices,
    )
