"""Layers of a drawing: real nodes and the dummy nodes of long edges, each layer ordered so that few edges cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Path = tuple[int, ...]

_TRANSPOSE_LIMIT = 6_000
_SWEEPS = 24
_SWEEP_BUDGET = 150_000


@dataclass
class Layers:
    """Nodes by number, real ones first; `above` and `below` are neighbours in the adjacent layers."""

    rank: list[int]
    group: list[Path]
    above: list[list[int]]
    below: list[list[int]]
    rows: list[list[int]] = field(default_factory=list)
    position: list[int] = field(default_factory=list)

    def add(self, rank: int, group: Path) -> int:
        """Add a dummy node and return its number."""
        self.rank.append(rank)
        self.group.append(group)
        self.above.append([])
        self.below.append([])
        return len(self.rank) - 1

    def connect(self, upper: int, lower: int) -> None:
        """Join two nodes of adjacent layers."""
        self.below[upper].append(lower)
        self.above[lower].append(upper)

    def set_row(self, index: int, row: list[int]) -> None:
        """Give a layer a new order."""
        self.rows[index] = row
        for place, node in enumerate(row):
            self.position[node] = place


def order_layers(layers: Layers) -> int:
    """Order every layer so that few edges cross and members of a group stand side by side; return the number of crossings."""
    _start(layers)
    grouped = any(layers.group)
    if grouped:
        _regroup_all(layers)
    best = crossings(layers)
    best_rows = [list(row) for row in layers.rows]
    sweeps = max(4, min(_SWEEPS, _SWEEP_BUDGET // max(1, len(layers.rank))))
    stale = 0
    for sweep in range(sweeps):
        if not best or stale > 5:
            break
        _median_sweep(layers, downwards=sweep % 2 == 0)
        if grouped:
            _regroup_all(layers)
        if len(layers.rank) <= _TRANSPOSE_LIMIT:
            _transpose(layers)
        now = crossings(layers)
        stale = 0 if now < best else stale + 1
        if now < best:
            best, best_rows = now, [list(row) for row in layers.rows]
    for index, row in enumerate(best_rows):
        layers.set_row(index, row)
    return best


def crossings(layers: Layers) -> int:
    """The number of pairs of edge pieces between adjacent layers that cross."""
    return sum(_crossings_below(layers, row) for row in layers.rows)


def _crossings_below(layers: Layers, row: list[int]) -> int:
    total = 0
    seen: list[int] = []
    position = layers.position
    for node in row:
        ends = sorted([position[lower] for lower in layers.below[node]])
        for end in ends:
            total += len(seen) - bisect_right(seen, end)
        for end in ends:
            insort(seen, end)
    return total


def _start(layers: Layers) -> None:
    """First order: depth-first from each source, in node order, so that a tree has no crossings."""
    depth = max(layers.rank, default=-1) + 1
    layers.rows = [[] for _ in range(depth)]
    layers.position = [0] * len(layers.rank)
    seen = bytearray(len(layers.rank))
    for root in range(len(layers.rank)):
        stack = [root]
        while stack:
            node = stack.pop()
            if seen[node]:
                continue
            seen[node] = 1
            layers.rows[layers.rank[node]].append(node)
            stack.extend(reversed(layers.below[node]))
            stack.extend(reversed(layers.above[node]))
    for index, row in enumerate(layers.rows):
        layers.set_row(index, row)


def _median_sweep(layers: Layers, *, downwards: bool) -> None:
    indices = range(1, len(layers.rows)) if downwards else range(len(layers.rows) - 2, -1, -1)
    near = layers.above if downwards else layers.below
    position = layers.position
    for index in indices:
        row = layers.rows[index]
        keys = {node: _median([position[other] for other in near[node]]) for node in row}
        layers.set_row(index, _sorted_with_gaps(row, keys))


def _median(places: list[int]) -> float:
    """The median of neighbours' places, weighted towards the denser side; -1 when there are none."""
    count = len(places)
    if not count:
        return -1.0
    places.sort()
    middle = count // 2
    if count % 2:
        return float(places[middle])
    if count == 2:
        return (places[0] + places[1]) / 2
    left, right = places[middle - 1] - places[0], places[-1] - places[middle]
    if not left + right:
        return (places[middle - 1] + places[middle]) / 2
    return (places[middle - 1] * right + places[middle] * left) / (left + right)


def _sorted_with_gaps(row: list[int], keys: dict[int, float]) -> list[int]:
    """The row sorted by key; nodes without a key keep their place."""
    movable = iter(sorted([node for node in row if keys[node] >= 0], key=keys.__getitem__))
    return [node if keys[node] < 0 else next(movable) for node in row]


def _transpose(layers: Layers) -> None:
    """Swap neighbours in a layer if that removes crossings, for a few rounds."""
    for _ in range(4):
        improved = False
        for row in layers.rows:
            for place in range(len(row) - 1):
                left, right = row[place], row[place + 1]
                if layers.group[left] == layers.group[right] and _gain(layers, left, right) > 0:
                    row[place], row[place + 1] = right, left
                    layers.position[left], layers.position[right] = place + 1, place
                    improved = True
        if not improved:
            return


def _gain(layers: Layers, left: int, right: int) -> int:
    """How many crossings disappear when two neighbours change places."""
    position = layers.position
    gain = 0
    for near in (layers.above, layers.below):
        if near[left] and near[right]:
            rights = [position[other] for other in near[right]]
            for one in [position[other] for other in near[left]]:
                gain += sum([(one > other) - (one < other) for other in rights])
    return gain


def _regroup_all(layers: Layers) -> None:
    """Bring the members of each group together in every layer, groups in the same order everywhere."""
    mean = _group_means(layers)
    for index, row in enumerate(layers.rows):
        size = max(1, len(row))
        keys = {}
        for place, node in enumerate(row):
            path = layers.group[node]
            prefixes = [(mean[path[: depth + 1]], path[depth]) for depth in range(len(path))]
            keys[node] = (*prefixes, (place / size, -1))
        layers.set_row(index, sorted(row, key=keys.__getitem__))


def _group_means(layers: Layers) -> dict[Path, float]:
    totals: dict[Path, list[float]] = {}
    for row in layers.rows:
        for place, node in enumerate(row):
            path = layers.group[node]
            for depth in range(len(path)):
                total = totals.setdefault(path[: depth + 1], [0.0, 0.0])
                total[0] += place / len(row)
                total[1] += 1
    return {path: total / count for path, (total, count) in totals.items()}


def common_group(one: Sequence[int], other: Sequence[int]) -> Path:
    """The innermost group that holds both paths."""
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return tuple(one[:shared])


# -- coordinates -----------------------------------------------------------------------------------------------------
# Horizontal coordinates of ordered layers, after Brandes and Köpf (2002): the median of four aligned drawings.
# Each drawing joins nodes that are median neighbours of each other into one vertical block, and then packs the
# blocks. Packing takes longest paths over the blocks and closes gaps in a second pass, so it needs no recursion. The
# walls of a group (its left and right side) are blocks too; they keep outsiders out of the group.


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
