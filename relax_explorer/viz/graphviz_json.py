"""Read coordinates from the JSON of Graphviz (`json0`); its texts are ignored, since the graph has its own."""

from __future__ import annotations

import json
import math
from typing import Any

from relax_explorer.viz.graph import Graph
from relax_explorer.viz.layered import Point
from relax_explorer.viz.layout import Box, Curve, Layout

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
