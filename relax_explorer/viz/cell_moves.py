"""From box to box of a graph in terminal cells: along its edges where there are any, else to the nearest box."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from relax_explorer.viz.cells import CellPicture
from relax_explorer.viz.graph import Graph

Direction = Literal["up", "down", "left", "right"]
_TALL = 2  # a cell is about this many times as high as wide


def neighbour(graph: Graph, picture: CellPicture, here: int, way: Direction) -> int | None:
    """The box to go to: up to an input, down to a reader, sideways within the row; None at the border."""
    if way in ("left", "right"):
        return _beside(picture, here, way)
    ends = (
        [graph.pairs[edge][1] for edge in graph.outgoing[here]]
        if way == "down"
        else [graph.pairs[edge][0] for edge in graph.incoming[here]]
    )
    row, sign = picture.boxes[here].row, 1 if way == "down" else -1
    ahead = [other for other in ends if sign * (picture.boxes[other].row - row) > 0]
    if not ahead:
        ahead = [other for other, box in enumerate(picture.boxes) if sign * (box.row - row) > 0]
    return _nearest(picture, here, ahead)


def paged(picture: CellPicture, here: int, rows: int) -> int:
    """The box about this many rows of cells further down."""
    box = picture.boxes[here]
    target = max(0, min(box.top + rows, picture.height))
    return min(
        range(len(picture.boxes)),
        key=lambda other: (
            abs(picture.boxes[other].top - target),
            abs(picture.boxes[other].middle - box.middle),
        ),
    )


def _beside(picture: CellPicture, here: int, way: Direction) -> int | None:
    """The next box of the row, else the nearest one that lies more to the side than above or below."""
    box, sign = picture.boxes[here], 1 if way == "right" else -1
    aside = [other for other, at in enumerate(picture.boxes) if sign * (at.middle - box.middle) > 0]
    same = [other for other in aside if picture.boxes[other].row == box.row]
    near = [
        other
        for other in aside
        if abs(picture.boxes[other].middle - box.middle) > _TALL * abs(picture.boxes[other].top - box.top)
    ]
    return _nearest(picture, here, same or near)


def _nearest(picture: CellPicture, here: int, others: Iterable[int]) -> int | None:
    box = picture.boxes[here]

    def distance(other: int) -> int:
        at = picture.boxes[other]
        return abs(at.middle - box.middle) + _TALL * abs(at.top - box.top)

    return min(others, key=distance, default=None)
