"""A laid-out graph as a self-contained SVG document: light and dark, readable by screen readers, without scripts.

This one writer draws the layouts of all engines. So all pictures look alike, and user text enters an SVG in one
place only. Each colour is written twice: as an attribute (the light theme, for viewers without style sheets) and in
a style sheet that follows the reader's `prefers-color-scheme`.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from functools import partial

from relax_explorer.viz.compact import by_family
from relax_explorer.viz.graph import Cluster, Edge, EdgeKind, Graph, Kind, Mark, Node
from relax_explorer.viz.layout import (
    FONT,
    LABEL_LIMIT,
    LABEL_SIZE,
    LINE_HEIGHT,
    LINE_SIZE,
    TITLE_SIZE,
    Box,
    Curve,
    Layout,
    edge_text,
    line_texts,
    text_width,
    title_text,
)
from relax_explorer.viz.palette import DARK, HUE_OF_CLASS, LIGHT, Theme
from relax_explorer.viz.visible import visible

escape = partial(html.escape, quote=False)  # in the text of elements
MARGIN = 16.0
_HEADER = 30.0
_NOTE = 16.0
_LEGEND_CUT = 100
_LEAST_ROW = 480.0
_DETAIL_LIMIT = 2_000
_NAMED = 8  # neighbours that a description names
_DASHES = {EdgeKind.SHAPE: "2 3", EdgeKind.ORDER: "7 4", EdgeKind.MORE: "1 4", EdgeKind.REMOVED: "4 4"}
_MARK_DASHES = {Mark.CHANGED: "7 3", Mark.REMOVED: "2 3", Mark.MOVED: "10 3 2 3"}
FILLED = (Mark.ADDED, Mark.REMOVED)  # marks whose nodes have the colour of the change
_ARROW, _ARROW_HALF = 8.0, 3.4


def svg_text(graph: Graph, layout: Layout) -> str:
    """The SVG document of a graph; notes of the graph and of the layout stand below its title."""
    notes = [visible(note, LABEL_LIMIT) for note in (*graph.notes, *layout.notices)]
    return "\n".join(_document(graph, layout, notes)) + "\n"


def _document(graph: Graph, layout: Layout, notes: list[str]) -> Iterator[str]:
    title = visible(graph.title, LABEL_LIMIT)
    legend = list(_legend_rows(legend_of(graph), max(layout.width, _LEAST_ROW)))
    head = _HEADER + _NOTE * (len(notes) + len(legend))
    texts = [text_width(title, 16, bold=True), *(text_width(note, LINE_SIZE) for note in notes)]
    texts += [sum(_legend_width(text) for _, text in row) for row in legend]
    width = max([layout.width, *texts]) + 2 * MARGIN
    height = layout.height + head + 2 * MARGIN
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" role="graphics-document document" aria-labelledby="rx-title rx-desc">'
    )
    yield f'<title id="rx-title">{escape(title)}</title>'
    yield f'<desc id="rx-desc">{escape(_description(graph))}</desc>'
    yield f"<style>\n{style_sheet()}</style>"
    yield f'<rect class="paper" width="100%" height="100%" fill="{LIGHT.background}"/>'
    yield _text("heading", MARGIN, MARGIN + 15, title, 16, LIGHT.text, bold=True, anchor="start")
    for index, note in enumerate(notes):
        y = MARGIN + 15 + _NOTE * (index + 1)
        yield _text("note", MARGIN, y, note, LINE_SIZE, LIGHT.muted, anchor="start")
    for index, row in enumerate(legend):
        yield from _legend_row(row, MARGIN + 15 + _NOTE * (len(notes) + index + 1))
    shift = (width - layout.width) / 2
    yield f'<g transform="translate({_n(shift)} {_n(head + MARGIN)})">'
    yield from _clusters(graph, layout)
    yield '<g aria-hidden="true">'  # nodes name what they read
    for edge, curve in zip(graph.edges, layout.edges, strict=True):
        yield from _edge(graph, edge, curve)
    yield "</g>"
    for number, box in enumerate(layout.nodes):
        yield from _node(graph, number, box)
    yield '<g aria-hidden="true">'
    for edge, curve in zip(graph.edges, layout.edges, strict=True):
        yield from _edge_label(edge, curve)
    yield "</g></g>"
    yield "</svg>"


def legend_of(graph: Graph) -> list[tuple[str, str]]:
    """The looks to explain: those of the graph, else the classes of operations if it has several."""
    if graph.legend:
        return [(look, visible(text, _LEGEND_CUT)) for look, text in graph.legend]
    held = {node.look for node in graph.nodes}
    lettered = {node.look for node in graph.nodes if node.letter}
    found = [
        (
            look,
            f"{by_family(name).letter} {by_family(name).word}" if look in lettered else by_family(name).word,
        )
        for name in HUE_OF_CLASS
        if (look := f"is-{name}") in held
    ]
    return found if len(found) > 1 else []


def _legend_width(text: str) -> float:
    return text_width(text, LINE_SIZE) + 30


def _legend_rows(legend: Sequence[tuple[str, str]], width: float) -> Iterator[list[tuple[str, str]]]:
    """The legend in rows that are not wider than the drawing, if each item fits."""
    row: list[tuple[str, str]] = []
    for item in legend:
        if row and sum(_legend_width(text) for _, text in [*row, item]) > width:
            yield row
            row = []
        row.append(item)
    if row:
        yield row


def _legend_row(legend: list[tuple[str, str]], y: float) -> Iterator[str]:
    """A coloured square and a text for each look."""
    x = MARGIN
    for look, text in legend:
        paint = LIGHT.nodes[look] if look in LIGHT.nodes else LIGHT.change(look)
        square = f'x="{_n(x)}" y="{_n(y - 9)}" width="10" height="10" rx="2" fill="{paint.fill}" stroke="{paint.stroke}"'
        yield f'<g class="{look}"><rect class="shape" {square}/></g>'
        yield _text("note", x + 15, y, text, LINE_SIZE, LIGHT.muted, anchor="start")
        x += _legend_width(text)


def _description(graph: Graph) -> str:
    """The description for screen readers."""
    nodes, edges = len(graph.nodes), len(graph.edges)
    outputs = [visible(node.title, 40) for node in graph.nodes if node.kind is Kind.OUTPUT]
    parts = [f"Dataflow graph, drawn from top to bottom, of {nodes} nodes and {edges} edges."]
    if outputs:
        parts.append(f"Outputs: {', '.join(outputs[:8])}.")
    return " ".join([*parts, *(visible(note, LABEL_LIMIT) for note in graph.notes)])


def style_sheet() -> str:
    """The style sheet of every graph: classes for kinds and marks, the dark theme inside a media query."""
    rules = [
        f"text {{ font-family: {FONT}; }}",
        ".node:hover .shape { stroke-width: 2.6; }",
        ".node:focus .shape { stroke-width: 4; }",
    ]
    dark = "".join(f"  {rule}\n" for rule in rules_of(DARK))
    light = "".join(f"{rule}\n" for rule in [*rules, *rules_of(LIGHT)])
    return f"{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def rules_of(theme: Theme) -> Iterator[str]:
    """The rules of one theme, one by one."""
    yield f".paper {{ fill: {theme.background}; }}"
    yield f".heading, .title, .line {{ fill: {theme.text}; }}"
    yield f".note, .frame-title {{ fill: {theme.muted}; }}"
    yield f".frame {{ fill: none; stroke: {theme.muted}; }}"
    yield f".wire {{ fill: none; stroke: {theme.edge}; }}"
    yield f".head {{ fill: {theme.edge}; }}"
    yield f".label {{ fill: {theme.text}; }}"
    yield f".backing {{ fill: {theme.background}; }}"
    for look, paint in theme.nodes.items():  # classes of operations behind kinds, which they replace
        yield f".{look} .shape {{ fill: {paint.fill}; stroke: {paint.stroke}; }}"
    for mark in Mark:
        yield f".{mark} .shape {{ stroke: {theme.change(mark).stroke}; }}"
    for mark in FILLED:
        yield f".{mark} .shape {{ fill: {theme.change(mark).fill}; }}"


def _clusters(graph: Graph, layout: Layout) -> Iterator[str]:
    """Frames, the outer ones first so that the inner ones lie on top."""
    items = [
        (len(graph.cluster_path(cluster.id)), cluster, box)
        for cluster, box in zip(graph.clusters, layout.clusters, strict=True)
        if box is not None
    ]
    for _, cluster, box in sorted(items, key=lambda item: item[0]):
        yield from _cluster(cluster, box)


def _cluster(cluster: Cluster, box: Box) -> Iterator[str]:
    yield (
        f'<rect class="frame" {_rectangle(box)} '
        f'rx="8" fill="none" stroke="{LIGHT.muted}" stroke-width="0.8" stroke-dasharray="5 3"/>'
    )
    title = visible(cluster.title, 80)
    yield _text("frame-title", box.left + 8, box.top + 13, title, LINE_SIZE, LIGHT.muted, anchor="start")


def _edge(graph: Graph, edge: Edge, curve: Curve) -> Iterator[str]:
    if len(curve.points) < 4:
        return
    tail, arrow = _arrow(curve)
    path = f"M{_point(tail[0])} C" + " ".join(_point(point) for point in tail[1:])
    dashes = _DASHES.get(edge.kind)
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    ends = f"{graph.node(edge.source).title} → {graph.node(edge.target).title}"
    words = f"{ends}: {edge.label}" if edge.label else ends
    yield f'<g class="edge"><title>{escape(visible(words, LABEL_LIMIT))}</title>'
    yield f'<path class="wire" d="{path}" fill="none" stroke="{LIGHT.edge}" stroke-width="1.2"{dash}/>'
    yield f'<path class="head" d="M{" L".join(_point(point) for point in arrow)} Z" fill="{LIGHT.edge}"/></g>'


def _arrow(curve: Curve) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """The curve shortened by the length of an arrow head, and the corners of the head."""
    points = list(curve.points)
    tip = points[-1]
    before = next((point for point in reversed(points[:-1]) if point != tip), (tip[0], tip[1] - 1))
    dx, dy = tip[0] - before[0], tip[1] - before[1]
    length = (dx * dx + dy * dy) ** 0.5
    dx, dy = dx / length, dy / length
    base = (tip[0] - dx * _ARROW, tip[1] - dy * _ARROW)
    side = (-dy * _ARROW_HALF, dx * _ARROW_HALF)
    points[-1] = base
    return points, [tip, (base[0] + side[0], base[1] + side[1]), (base[0] - side[0], base[1] - side[1])]


def _edge_label(edge: Edge, curve: Curve) -> Iterator[str]:
    text = edge_text(edge)
    if text and curve.label:
        x, y = curve.label
        yield _backing(text, x, y)
        yield (
            f'<text class="label" x="{_n(x)}" y="{_n(y + LABEL_SIZE * 0.35)}" text-anchor="middle" '
            f'font-family="{FONT}" font-size="{LABEL_SIZE}" fill="{LIGHT.text}">'
            f"{escape(text)}</text>"
        )


def _backing(text: str, x: float, y: float) -> str:
    """A patch of background under a label, so that its edge does not strike it out."""
    width, height = text_width(text, LABEL_SIZE) + 2, LABEL_SIZE * LINE_HEIGHT
    return (
        f'<rect class="backing" x="{_n(x - width / 2)}" y="{_n(y - height / 2)}" width="{_n(width)}" '
        f'height="{_n(height)}" rx="3" fill="{LIGHT.background}" fill-opacity="0.9"/>'
    )


def _node(graph: Graph, number: int, box: Box) -> Iterator[str]:
    """A node. Screen readers read its tooltip, and then which values it reads and which nodes read it; Tab goes to it."""
    node = graph.nodes[number]
    classes = " ".join(dict.fromkeys(["node", node.kind, node.look, *node.marks_in_order]))
    yield f'<g class="{classes}" role="img" tabindex="0"><title>{escape(tooltip(node))}</title>'
    yield f"<desc>{escape(_neighbours(graph, number))}</desc>"
    yield _outline(node, box)
    if node.is_output:
        yield _second_line(node, box)
    lines = line_texts(node)
    y = box.y - (TITLE_SIZE + len(lines) * LINE_SIZE) * LINE_HEIGHT / 2 + TITLE_SIZE
    yield _text("title", box.x, y, title_text(node), TITLE_SIZE, LIGHT.text, bold=True)
    for index, line in enumerate(lines):
        yield _text("line", box.x, y + (index + 1) * LINE_SIZE * LINE_HEIGHT, line, LINE_SIZE, LIGHT.text)
    yield "</g>"


def _neighbours(graph: Graph, number: int) -> str:
    """What a node reads, and what reads it, by name."""
    inputs = dict.fromkeys(graph.pairs[edge][0] for edge in graph.incoming[number])
    readers = dict.fromkeys(graph.pairs[edge][1] for edge in graph.outgoing[number])
    return ". ".join(
        f"{word} {_names(graph, list(others))}"
        for word, others in (("Reads", inputs), ("Read by", readers))
        if others
    )


def _names(graph: Graph, numbers: list[int]) -> str:
    found = [visible(graph.nodes[number].id, 40) for number in numbers[:_NAMED]]
    more = f" and {len(numbers) - _NAMED} more" if len(numbers) > _NAMED else ""
    return ", ".join(found) + more


def tooltip(node: Node) -> str:
    """The full text of a node, line by line; each line is cut at 2,000 characters."""
    parts = [node.title, node.shape_text, *node.detail.splitlines()]
    words = [str(mark) for mark in node.marks_in_order]
    words += ["output of a dataflow block"] if node.is_output else []
    if words:
        parts.append(f"({', '.join(words)})")
    return "\n".join(visible(part, _DETAIL_LIMIT) for part in parts if part)


def _outline(node: Node, box: Box) -> str:
    paint = LIGHT.node(node.look)
    mark = node.strongest_mark
    stroke = LIGHT.change(mark).stroke if mark else paint.stroke
    fill = LIGHT.change(mark).fill if mark in FILLED else paint.fill
    dashes = "3 3" if node.kind is Kind.MORE else _MARK_DASHES.get(mark, "") if mark else ""
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    look = f'class="shape" fill="{fill}" stroke="{stroke}" stroke-width="{2.6 if mark else 1.2}"{dash}'
    corners = _CORNERS.get(node.kind)
    if corners is not None:
        points = " ".join(
            _point((box.x + side * box.width / 2 - inset, box.y + level * box.height / 2))
            for side, level, inset in corners
        )
        return f'<polygon {look} points="{points}" stroke-linejoin="round"/>'
    radius = _RADIUS.get(node.kind, box.height / 2 if node.kind is Kind.OUTPUT else 3.0)
    frame = f'<rect {look} {_rectangle(box)} rx="{_n(radius)}"/>'
    if node.kind is not Kind.CALL:
        return frame
    bars = " ".join(f"M{_n(x)} {_n(box.top)} V{_n(box.bottom)}" for x in (box.left + 5, box.right - 5))
    return f'{frame}<path class="shape" d="{bars}" fill="none" stroke="{stroke}" stroke-width="1"/>'


def _second_line(node: Node, box: Box) -> str:
    """A second line at the bottom: the value leaves its dataflow block."""
    mark = node.strongest_mark
    stroke = LIGHT.change(mark).stroke if mark else LIGHT.node(node.look).stroke
    path = f"M{_n(box.left + 8)} {_n(box.bottom - 3.5)} H{_n(box.right - 8)}"
    return f'<path class="shape" d="{path}" fill="none" stroke="{stroke}" stroke-width="1.2"/>'


_RADIUS = {Kind.OPERATOR: 5.0, Kind.CALL: 5.0, Kind.TUPLE: 0.0, Kind.FUNCTION: 10.0, Kind.PRIVATE: 7.0}
# Corners as (side, level, inset to the left): -1 is left or top, 1 is right or bottom.
_CORNERS = {
    Kind.PARAMETER: ((-1, -1, 0.0), (1, -1, 0.0), (1, 1, 7.0), (-1, 1, -7.0)),
    Kind.BRANCH: ((-1, 0, 0.0), (-1, -1, -10.0), (1, -1, 10.0), (1, 0, 0.0), (1, 1, 10.0), (-1, 1, -10.0)),
    Kind.MATCH_CAST: ((-1, -1, -10.0), (1, -1, 0.0), (1, 1, 10.0), (-1, 1, 0.0)),
    Kind.PRIM_FUNC: ((-1, -1, -7.0), (1, -1, 7.0), (1, 1, 0.0), (-1, 1, 0.0)),
    Kind.PACKED: ((-1, -1, 0.0), (1, -1, 0.0), (1, 0, -8.0), (1, 1, 0.0), (-1, 1, 0.0)),
}


def _text(
    css: str,
    x: float,
    y: float,
    text: str,
    size: float,
    fill: str,
    *,
    bold: bool = False,
    anchor: str = "middle",
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return (
        f'<text class="{css}" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-family="{FONT}" '
        f'font-size="{_n(size)}" fill="{fill}"{weight}>{escape(text)}</text>'
    )


def _rectangle(box: Box) -> str:
    return f'x="{_n(box.left)}" y="{_n(box.top)}" width="{_n(box.width)}" height="{_n(box.height)}"'


def _point(point: tuple[float, float]) -> str:
    return f"{_n(point[0])},{_n(point[1])}"


def _n(value: float) -> str:
    """A number with at most two decimals and without needless zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
