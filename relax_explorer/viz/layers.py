"""Layers of a drawing: real nodes and the dummy nodes of long edges, each layer ordered so that few edges cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field

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
