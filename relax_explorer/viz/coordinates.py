"""Horizontal coordinates of ordered layers, after Brandes and Köpf (2002): the median of four aligned drawings.

Each drawing joins nodes that are median neighbours of each other into one vertical block, and then packs the blocks.
Packing takes longest paths over the blocks and closes gaps in a second pass, so it needs no recursion. The walls of a
group (its left and right side) are blocks too; they keep outsiders out of the group.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from relax_explorer.viz.layers import Layers, Path

Conflicts = set[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Spacing:
    """Distances between things, in the unit of the sizes: points for a picture, cells for a terminal."""

    node: float = 22.0
    dummy: float = 14.0
    rank: float = 20.0
    group: float = 12.0
    label_rank: float = 10.0


def horizontal(layers: Layers, widths: Sequence[float], real: int, spacing: Spacing) -> list[float]:
    """The centre of each node; nodes numbered below `real` are real, the others are dummies of long edges."""
    if not layers.rows:
        return []
    conflicts = _conflicts(layers, real)
    corners = [(upwards, from_right) for upwards in (False, True) for from_right in (False, True)]
    drawings = [_drawing(layers, widths, real, spacing, conflicts, *corner) for corner in corners]
    walled = [drawing for drawing in drawings if drawing.walled]
    chosen = walled or drawings
    _align_to_narrowest(chosen, widths)
    low, high = (len(chosen) - 1) // 2, len(chosen) // 2
    middles = (sorted(values) for values in zip(*(drawing.x for drawing in chosen), strict=True))
    return [(values[low] + values[high]) / 2 for values in middles]


@dataclass(slots=True)
class _Drawing:
    """One of the four drawings: centres, packing direction, and if outsiders stay outside the walls."""

    x: list[float]
    from_right: bool
    walled: bool


def _conflicts(layers: Layers, real: int) -> Conflicts:
    """Edge pieces that cross a piece between two dummies: long edges stay straight, so these must bend."""
    conflicts: Conflicts = set()
    position = layers.position
    for upper_row, row in pairwise(layers.rows):
        low, start = 0, 0
        for place, node in enumerate(row):
            inner = next((up for up in layers.above[node] if up >= real), None) if node >= real else None
            if inner is None and place != len(row) - 1:
                continue
            high = position[inner] if inner is not None else len(upper_row)
            for other in row[start : place + 1]:
                for up in layers.above[other]:
                    if (position[up] < low or position[up] > high) and not (up >= real and other >= real):
                        conflicts.add((up, other))
            low, start = high, place + 1
    return conflicts


def _drawing(
    layers: Layers,
    widths: Sequence[float],
    real: int,
    spacing: Spacing,
    conflicts: Conflicts,
    upwards: bool,
    from_right: bool,
) -> _Drawing:
    root = _align(layers, conflicts, upwards, from_right)
    rows = [row[::-1] for row in layers.rows] if from_right else layers.rows
    gaps = list(_gaps(rows, root, widths, real, spacing))
    count = len(root)
    walls = list(_walls(layers, rows, root, widths, spacing, count))
    total = max([count, *(max(left, right) + 1 for left, right, _ in walls)])
    x = _pack(total, gaps + walls)
    walled = x is not None
    x = x or _pack(total, gaps)
    if x is None:  # alignments never cross inside a layer, so blocks are always ordered
        raise AssertionError("blocks of a layered drawing form a cycle")
    sign = -1.0 if from_right else 1.0
    return _Drawing([sign * x[root[node]] for node in range(count)], from_right, walled)


def _align(layers: Layers, conflicts: Conflicts, upwards: bool, from_right: bool) -> list[int]:
    """The block of each node, identified by its first node."""
    root = list(range(len(layers.rank)))
    taken = bytearray(len(root))
    near = layers.below if upwards else layers.above
    rows = layers.rows[::-1] if upwards else layers.rows
    sign = -1 if from_right else 1
    position = layers.position
    for row in rows[1:]:
        border: float = float("-inf")
        for node in reversed(row) if from_right else row:
            others = sorted(near[node], key=lambda other: sign * position[other])
            if not others:
                continue
            half = (len(others) - 1) // 2
            for other in dict.fromkeys((others[half], others[len(others) // 2])):
                edge = (node, other) if upwards else (other, node)
                if layers.group[node] != layers.group[other] or edge in conflicts:
                    continue  # members of one block can't lie on both sides of a wall
                if not taken[other] and border < sign * position[other]:
                    root[node] = root[other]
                    taken[other] = 1
                    border = sign * position[other]
                    break
    return root


def _gaps(
    rows: list[list[int]], root: list[int], widths: Sequence[float], real: int, spacing: Spacing
) -> Iterator[tuple[int, int, float]]:
    """For each pair of neighbours in a layer: their blocks and the least distance between the centres."""
    for row in rows:
        for left, right in pairwise(row):
            room = spacing.node if left < real and right < real else spacing.dummy
            yield root[left], root[right], (widths[left] + widths[right]) / 2 + room


def _walls(
    layers: Layers,
    rows: list[list[int]],
    root: list[int],
    widths: Sequence[float],
    spacing: Spacing,
    first: int,
) -> Iterator[tuple[int, int, float]]:
    """Distances that keep each group between two walls; the blocks of the walls are numbered from `first`."""
    wall: dict[Path, int] = {}
    for row in rows:
        for place, node in enumerate(row):
            path = layers.group[node]
            left = layers.group[row[place - 1]] if place else ()
            right = layers.group[row[place + 1]] if place + 1 < len(row) else ()
            for depth in range(1, len(path) + 1):
                group = path[:depth]
                number = wall.setdefault(group, first + 2 * len(wall))
                pad = spacing.group * (1 + len(path) - depth)
                yield number, root[node], widths[node] / 2 + pad
                yield root[node], number + 1, widths[node] / 2 + pad
                if place and left[:depth] != group:
                    other = row[place - 1]
                    yield root[other], number, widths[other] / 2 + spacing.group
                if place + 1 < len(row) and right[:depth] != group:
                    other = row[place + 1]
                    yield number + 1, root[other], widths[other] / 2 + spacing.group
    yield from _wall_pairs(layers, rows, wall, spacing)


def _wall_pairs(
    layers: Layers, rows: list[list[int]], wall: dict[Path, int], spacing: Spacing
) -> Iterator[tuple[int, int, float]]:
    """Distances between the walls of groups that stand side by side in some layer."""
    for row in rows:
        for left, right in pairwise(row):
            one, other = layers.group[left], layers.group[right]
            for depth in range(1, min(len(one), len(other)) + 1):
                if one[:depth] != other[:depth]:
                    yield wall[one[:depth]] + 1, wall[other[:depth]], spacing.group
                    break


def _pack(count: int, gaps: list[tuple[int, int, float]]) -> list[float] | None:
    """Positions of blocks: as far left as the gaps allow, then as far right as their right neighbours allow.

    None if the gaps contradict each other.
    """
    nearest: list[dict[int, float]] = [{} for _ in range(count)]
    for left, right, gap in gaps:
        if gap > nearest[left].get(right, -1.0):
            nearest[left][right] = gap
    x = [0.0] * count
    order = _pushed_right(nearest, x)
    if len(order) < count:
        return None
    for block in reversed(order):
        if nearest[block]:
            x[block] = min([x[right] - gap for right, gap in nearest[block].items()])
    return x


def _pushed_right(nearest: list[dict[int, float]], x: list[float]) -> list[int]:
    """Move each block, in place, right of its left neighbours; return the blocks in that order, without cycles."""
    missing = [0] * len(x)
    for rights in nearest:
        for right in rights:
            missing[right] += 1
    ready = deque(block for block in range(len(x)) if not missing[block])
    order = []
    while ready:
        block = ready.popleft()
        order.append(block)
        for right, gap in nearest[block].items():
            x[right] = max(x[right], x[block] + gap)
            missing[right] -= 1
            if not missing[right]:
                ready.append(right)
    return order


def _align_to_narrowest(drawings: list[_Drawing], widths: Sequence[float]) -> None:
    """Shift the drawings in place to the narrowest one: left-packed ones to its left edge, the others to its right."""
    edges = []
    for drawing in drawings:
        left = min([x - width / 2 for x, width in zip(drawing.x, widths, strict=True)])
        right = max([x + width / 2 for x, width in zip(drawing.x, widths, strict=True)])
        edges.append((left, right))
    low, high = min(edges, key=lambda pair: pair[1] - pair[0])
    for drawing, (left, right) in zip(drawings, edges, strict=True):
        shift = high - right if drawing.from_right else low - left
        drawing.x = [x + shift for x in drawing.x]
