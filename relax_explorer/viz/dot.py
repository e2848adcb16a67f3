"""The interface to Graphviz: DOT text, and pictures laid out by Graphviz in a child process or by our own engine.

Graphviz comes from the wheels of `pygraphviz`, else from a `dot` on the PATH. It only computes places and PNG bytes:
SVG is always written by `svg`. No user text can act in the DOT text: ids are `n0`, `n1` …, there are no HTML labels
or URLs, only `label` holds user text, and every label goes through `dot_label`.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from xml.parsers import expat

import graphviz

from relax_explorer.viz.child import MOST_MEMORY, ChildOutputTooLong, ChildTimeout, python, run_child
from relax_explorer.viz.graph import (
    EdgeKind,
    Graph,
    Kind,
    Mark,
    Node,
    shapes_in_boxes,
    without_repeated_counts,
)
from relax_explorer.viz.layered import Point
from relax_explorer.viz.layout import (
    LABEL_LIMIT,
    LABEL_SIZE,
    LINE_SIZE,
    Box,
    Curve,
    Layout,
    edge_text,
    lay_out,
    line_texts,
    node_size,
    title_text,
)
from relax_explorer.viz.palette import LIGHT
from relax_explorer.viz.svg import FILLED, svg_text
from relax_explorer.viz.visible import visible

# -- picture ---------------------------------------------------------------------------------------------------------
# A finished picture: its bytes, the engine that laid it out, and why earlier engines did not.


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG (UTF-8) or PNG file in memory; `notices` are one-line sentences for the user, shown once."""

    data: bytes
    format: str
    engine: str
    notices: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The SVG as text; ValueError for a PNG."""
        if self.format != "svg":
            raise ValueError(f"a {self.format} picture is not text")
        return self.data.decode("utf-8")


# -- graphviz json ---------------------------------------------------------------------------------------------------
# Read coordinates from the JSON of Graphviz (`json0`); its texts are ignored, since the graph has its own.


_INCH = 72.0


class LayoutError(Exception):
    """The output of Graphviz is not a layout of the graph; the text gives the reason."""


def read_layout(output: bytes, graph: Graph) -> Layout:
    """The layout of a graph from the output of Graphviz; LayoutError unless every node and edge has a place."""
    try:
        # Some versions of Graphviz do not escape control characters; strict=False accepts them.
        answer = json.loads(output.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError) as problem:
        raise LayoutError("not JSON") from problem
    try:
        return _layout(answer, graph)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as problem:
        raise LayoutError("something is missing in the layout") from problem


def _layout(answer: dict[str, Any], graph: Graph) -> Layout:
    _, _, width, height = _numbers(answer["bb"])
    objects = {item["name"]: item for item in answer.get("objects", ())}
    edges = {item["id"]: item for item in answer.get("edges", ())}
    return Layout(
        nodes=tuple(_node(objects[f"n{number}"], height) for number in range(len(graph.nodes))),
        edges=tuple(_curve(edges[f"e{number}"], height) for number in range(len(graph.edges))),
        clusters=tuple(
            _cluster(objects.get(f"cluster_{number}"), height) for number in range(len(graph.clusters))
        ),
        width=width,
        height=height,
    )


def _numbers(text: str) -> list[float]:
    values = [float(part) for part in text.split(",")]
    if not all(math.isfinite(value) for value in values):
        raise ValueError("a coordinate is not finite")
    return values


def _node(item: dict[str, Any], height: float) -> Box:
    x, y = _numbers(item["pos"])
    width, tall = _numbers(f"{item['width']},{item['height']}")
    return Box(x, height - y, width * _INCH, tall * _INCH)


def _cluster(item: dict[str, Any] | None, height: float) -> Box | None:
    if item is None or "bb" not in item:
        return None
    left, bottom, right, top = _numbers(item["bb"])
    return Box((left + right) / 2, height - (bottom + top) / 2, right - left, top - bottom)


def _curve(item: dict[str, Any], height: float) -> Curve:
    """The control points; Graphviz writes them as `s,x,y e,x,y p0 p1 …`, where the arrow ends `s` and `e` are optional."""
    points: list[Point] = []
    tip: Point | None = None
    for part in item["pos"].split():
        ended = part.startswith("e,")
        x, y = _numbers(part[2:] if ended else part)
        if ended:
            tip = (x, height - y)
        else:
            points.append((x, height - y))
    if len(points) < 4 or len(points) % 3 != 1:
        raise ValueError("not a curve")
    if tip is not None:
        points[-1] = tip  # extend the last curve to the tip of the arrow, which `svg` draws
    label = None
    if item.get("lp"):
        x, y = _numbers(item["lp"])
        label = (x, height - y)
    return Curve(tuple(points), label)


# -- dot -------------------------------------------------------------------------------------------------------------


Engine = Literal["auto", "pygraphviz", "dot", "builtin"]
ENGINES: tuple[Engine, ...] = ("auto", "pygraphviz", "dot", "builtin")

# Beyond the first limits our own engine is much faster: 2,000 nodes take Graphviz 2 to 4 seconds. Only Graphviz writes PNG.
GRAPHVIZ_FAST_NODES, GRAPHVIZ_FAST_EDGES = 1_000, 2_000
GRAPHVIZ_MAX_NODES, GRAPHVIZ_MAX_EDGES = 3_000, 6_000

_FACE = "Helvetica,Arial,sans-serif"
_SHAPES = {
    Kind.PARAMETER: "invtrapezium",
    Kind.CONSTANT: "box",
    Kind.CALL: "component",
    Kind.TUPLE: "box",
    Kind.OUTPUT: "box",
    Kind.MATCH_CAST: "parallelogram",
    Kind.BRANCH: "hexagon",
}
_EDGE_STYLES = {
    EdgeKind.SHAPE: "dotted",
    EdgeKind.ORDER: "dashed",
    EdgeKind.MORE: "dotted",
    EdgeKind.REMOVED: "dashed",
}


class DrawError(Exception):
    """No engine made a picture; the text gives the reason of each in one line."""


class _EngineFailed(Exception):
    """One engine gave no usable result; the text is a reason that completes 'not used: …'."""


def dot_label(lines: Iterable[str]) -> str:
    """Lines of user text as a DOT label that shows them literally: without escapes, entities or HTML."""
    text = r"\n".join(graphviz.escape(visible(line, LABEL_LIMIT)).replace("&", "&amp;") for line in lines)
    label: str = graphviz.nohtml(text)
    return label


def dot_text(graph: Graph) -> str:
    """The graph in the DOT language, light colours; the same graph always gives the same text."""
    graph = without_repeated_counts(shapes_in_boxes(graph))
    dot = graphviz.Digraph("relax", comment=None)
    dot.attr("graph", rankdir="TB", ranksep="0.3", nodesep="0.3", fontname=_FACE, fontsize="11")
    dot.attr("graph", label=dot_label([graph.title, *graph.notes]), labelloc="t", labeljust="l")
    dot.attr("graph", fontcolor=LIGHT.text, bgcolor=LIGHT.background)
    dot.attr(
        "node",
        shape="box",
        style="rounded,filled",
        margin="0.12,0.05",
        fontname=_FACE,
        fontsize="12",
        fixedsize="true",
    )
    dot.attr("node", fontcolor=LIGHT.text)
    dot.attr(
        "edge",
        color=LIGHT.edge,
        fontcolor=LIGHT.text,
        fontname=_FACE,
        fontsize=str(LABEL_SIZE),
        arrowsize="0.7",
    )
    _write_members(dot, graph)
    for number, (source, target) in enumerate(graph.pairs):
        edge = graph.edges[number]
        shown = edge_text(edge)
        look = {"style": _EDGE_STYLES[edge.kind]} if edge.kind in _EDGE_STYLES else {}
        if shown:
            look["label"] = dot_label([f" {shown} "])
        dot.edge(f"n{source}", f"n{target}", id=f"e{number}", **look)
    text: str = dot.source
    return text


def _write_members(dot: graphviz.Digraph, graph: Graph) -> None:
    """Write the nodes of a graph inside their clusters."""
    paths = {cluster.id: graph.cluster_path(cluster.id) for cluster in graph.clusters}
    drawings: dict[str | None, graphviz.Digraph] = {None: dot}
    for number, cluster in enumerate(graph.clusters):
        drawings[cluster.id] = graphviz.Digraph(f"cluster_{number}")
        look = {
            "style": "dashed,rounded",
            "color": LIGHT.muted,
            "fontcolor": LIGHT.muted,
            "fontsize": str(LINE_SIZE),
        }
        drawings[cluster.id].attr(
            "graph", label=dot_label([cluster.title]), labelloc="t", labeljust="l", **look
        )
    for number, node in enumerate(graph.nodes):
        drawings[node.cluster].node(f"n{number}", **_node_attributes(node))
    for cluster in sorted(graph.clusters, key=lambda item: -len(paths[item.id])):
        drawings[cluster.parent].subgraph(drawings[cluster.id])


def _node_attributes(node: Node) -> dict[str, str]:
    width, height = node_size(node)
    paint = LIGHT.node(node.look)
    mark = node.strongest_mark
    look = {
        "label": dot_label([title_text(node), *line_texts(node)]),
        "width": f"{width / 72:.3f}",
        "height": f"{height / 72:.3f}",
        "fillcolor": paint.fill,
        "color": LIGHT.change(mark).stroke if mark else paint.stroke,
    }
    if mark:
        look["penwidth"] = "2.6"
    if node.is_output:
        look["peripheries"] = "2"
    if mark in FILLED:
        look["fillcolor"] = LIGHT.change(mark).fill
    if node.kind in _SHAPES:
        look |= {
            "shape": _SHAPES[node.kind],
            "style": "rounded,filled" if node.kind is Kind.OUTPUT else "filled",
        }
    if node.kind is Kind.MORE or mark is Mark.REMOVED:
        look["style"] = "rounded,filled,dashed"
    return look


def draw(graph: Graph, format: str = "svg", engine: Engine = "auto", timeout: float = 10.0) -> Picture:
    """Draw a graph with the first engine that works: pygraphviz, then `dot`, then our own; or with the named engine only.

    `timeout` is in seconds for each child process. Raises DrawError when a named engine fails, or when a PNG is asked for
    without Graphviz; ValueError for an unknown engine or format.
    """
    if engine not in ENGINES:
        raise ValueError(f"unknown engine {engine!r}; there are {', '.join(ENGINES)}")
    if format not in ("svg", "png"):
        raise ValueError(f"unknown picture format {format!r}; there are svg and png")
    graph = without_repeated_counts(shapes_in_boxes(graph))
    notices: list[str] = []
    timed_out = False
    names = ENGINES[1:] if engine == "auto" else (engine,)
    if engine == "auto" and _is_slow(graph, format):
        names = ("builtin",)
        notices.append(
            f"Graphviz not used: too slow for {len(graph.nodes)} nodes and {len(graph.edges)} edges"
        )
    for name in names:
        try:
            if timed_out and name == "dot":
                raise _EngineFailed("the same layout program just ran out of time")
            data, remarks = _draw_with(graph, format, name, timeout)
            return Picture(data, format, name, (*notices, *remarks))
        except ChildTimeout:
            timed_out = True
            notices.append(f"{name} not used: stopped after {timeout:g} s")
        except _EngineFailed as failure:
            notices.append(f"{name} not used: {failure}")
    raise DrawError("; ".join(notices))


def _is_slow(graph: Graph, format: str) -> bool:
    """True if Graphviz takes too long for a graph."""
    nodes, edges = len(graph.nodes), len(graph.edges)
    if format == "png":
        return nodes > GRAPHVIZ_MAX_NODES or edges > GRAPHVIZ_MAX_EDGES
    return nodes > GRAPHVIZ_FAST_NODES or edges > GRAPHVIZ_FAST_EDGES


def _draw_with(graph: Graph, format: str, name: str, timeout: float) -> tuple[bytes, tuple[str, ...]]:
    if name == "builtin":
        if format != "svg":
            raise _EngineFailed(
                "it writes SVG only; a PNG needs `pip install pygraphviz` or Graphviz's `dot`"
            )
        return _checked_svg(graph, lay_out(graph))
    command = _COMMANDS[name]()
    source = dot_text(graph).encode("utf-8")
    if format == "png":
        return _checked_png(_run(command("png"), source, timeout)), _notes(graph)
    output = _run(command("json0"), source, timeout)
    try:
        layout = read_layout(output, graph)
    except LayoutError as problem:
        raise _EngineFailed(f"its answer can't be read ({problem})") from problem
    return _checked_svg(graph, layout)


def _run(command: list[str], source: bytes, timeout: float) -> bytes:
    """Standard output of Graphviz; if it fails, its output is dropped, since it may be half a picture."""
    start = time.monotonic()
    try:
        finished = run_child(
            command, source, timeout, memory=MOST_MEMORY, is_python=command[0] == sys.executable
        )
    except OSError as problem:
        raise _EngineFailed(f"can't be started ({problem.strerror or problem})") from problem
    except ChildOutputTooLong as problem:
        raise _EngineFailed("it wrote more than 64 MiB") from problem
    if finished.status == 0:
        return finished.output
    if finished.status < 0:
        raise _EngineFailed(f"crashed with signal {-finished.status} after {time.monotonic() - start:.1f} s")
    lines = [line for line in finished.errors.decode("utf-8", "replace").splitlines() if line.strip()]
    errors = visible(" ".join(lines[-1].split()), 160) if lines else ""  # also of a stack of Python
    raise _EngineFailed(f"exit status {finished.status}" + (f" ({errors})" if errors else ""))


def _pygraphviz_command() -> Callable[[str], list[str]]:
    program = Path(__file__).with_name("graphviz_child.py")
    return lambda format: python(str(program), format)


def _dot_command() -> Callable[[str], list[str]]:
    program = shutil.which("dot")
    if program is None:
        raise _EngineFailed("there is no `dot` on the PATH")
    return lambda format: [program, f"-T{format}"]


_COMMANDS: dict[str, Callable[[], Callable[[str], list[str]]]] = {
    "pygraphviz": _pygraphviz_command,
    "dot": _dot_command,
}


def _checked_svg(graph: Graph, layout: Layout) -> tuple[bytes, tuple[str, ...]]:
    """The SVG of a layout, parsed once to be sure that it is well-formed XML."""
    data = svg_text(graph, layout).encode("utf-8")
    try:
        expat.ParserCreate().Parse(data, True)
    except expat.ExpatError as problem:
        raise _EngineFailed(f"the SVG is not well-formed XML ({problem})") from problem
    return data, (*_notes(graph), *layout.notices)


def _notes(graph: Graph) -> tuple[str, ...]:
    return tuple(visible(note) for note in graph.notes)


def _checked_png(data: bytes) -> bytes:
    if not (data.startswith(b"\x89PNG\r\n\x1a\n") and data.endswith(b"IEND\xaeB`\x82")):
        raise _EngineFailed("its answer is not a whole PNG file")
    return data
