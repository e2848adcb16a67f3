"""Layered layout (after Sugiyama) of boxes and edges without an external program: iterative, deterministic, top-down.

Steps: break cycles and tighten ranks (`ranks`), give long edges a dummy node per rank and labels a place of their
own, order the layers (`layers`), and assign x coordinates (`coordinates`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from relax_explorer.viz.layers import Layers, Path, Spacing, common_group, horizontal, order_layers

# -- ranks -----------------------------------------------------------------------------------------------------------
# Ranks of a directed graph: break cycles, take longest paths, remove slack; linear per sweep.


Pair = tuple[int, int]

_TIGHTEN_SWEEPS = 8


def break_cycles(count: int, pairs: Sequence[Pair]) -> list[Pair]:
    """The edges of an acyclic graph: self-loops are dropped, and edges that close a cycle are reversed."""
    closing = closing_edges(count, pairs)
    return [
        (target, source) if number in closing else (source, target)
        for number, (source, target) in enumerate(pairs)
        if source != target
    ]


def closing_edges(count: int, pairs: Sequence[Pair]) -> set[int]:
    """The numbers of the edges that lead back into the path of a depth-first search started in node order."""
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for number, (source, _) in enumerate(pairs):
        outgoing[source].append(number)
    state = bytearray(count)  # 0 not seen, 1 on the path, 2 finished
    closing: set[int] = set()
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(outgoing[root]))]
        while stack:
            node, rest = stack[-1]
            number = next(rest, -1)
            if number < 0:
                state[node] = 2
                stack.pop()
                continue
            target = pairs[number][1]
            if state[target] == 1:
                closing.add(number)
            elif state[target] == 0:
                state[target] = 1
                stack.append((target, iter(outgoing[target])))
    return closing


def longest_path(count: int, pairs: Sequence[Pair]) -> list[int]:
    """For each node of an acyclic graph the number of edges on the longest path that leads to it."""
    outgoing: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for source, target in pairs:
        outgoing[source].append(target)
        missing[target] += 1
    rank = [0] * count
    ready = deque(node for node in range(count) if not missing[node])
    while ready:
        node = ready.popleft()
        for target in outgoing[node]:
            rank[target] = max(rank[target], rank[node] + 1)
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    return rank


def tight_ranks(count: int, pairs: Sequence[Pair]) -> list[int]:
    """Longest-path ranks, with nodes moved within their slack so that edges get shorter.

    A node with more users than inputs moves down to its nearest user. So does a chain with a single input of the program
    (for example a weight used far below and its transpose). A node with more inputs than users moves up. No move
    increases the sum of the edge lengths.
    """
    rank = longest_path(count, pairs)
    incoming: list[list[int]] = [[] for _ in range(count)]
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for source, target in pairs:
        incoming[target].append(source)
        outgoing[source].append(target)
    order = sorted(range(count), key=rank.__getitem__)
    loose = _loose(order, incoming, outgoing)
    for _ in range(_TIGHTEN_SWEEPS):
        moved = _pull_down(reversed(order), rank, loose, outgoing)
        moved |= _pull_up(order, rank, incoming, outgoing)
        if not moved:
            break
    lowest = min(rank, default=0)
    return [value - lowest for value in rank]


def _loose(order: list[int], incoming: list[list[int]], outgoing: list[list[int]]) -> list[bool]:
    """For each node: True if edges get shorter when it moves down together with the chain of single inputs above it."""
    loose = [False] * len(incoming)
    for node in order:
        inputs, users = incoming[node], len(outgoing[node])
        chained = users == len(inputs) == 1 and loose[inputs[0]] and len(outgoing[inputs[0]]) == 1
        loose[node] = users > len(inputs) or chained
    return loose


def _pull_down(order: Iterable[int], rank: list[int], loose: list[bool], outgoing: list[list[int]]) -> bool:
    moved = False
    for node in order:
        if loose[node]:
            place = min(rank[target] for target in outgoing[node]) - 1
            moved |= place != rank[node]
            rank[node] = place
    return moved


def _pull_up(
    order: Iterable[int], rank: list[int], incoming: list[list[int]], outgoing: list[list[int]]
) -> bool:
    moved = False
    for node in order:
        if len(incoming[node]) > len(outgoing[node]):
            place = max(rank[source] for source in incoming[node]) + 1
            moved |= place != rank[node]
            rank[node] = place
    return moved


# -- layered ---------------------------------------------------------------------------------------------------------


Size = tuple[float, float]
Point = tuple[float, float]

DUMMY_LIMIT = 30_000


@dataclass(frozen=True, slots=True)
class Placement:
    """The positions of a layout, y downwards; `routes` lead from source to target through the layers between.

    `row_of` is the row of each node and `rows` gives top and bottom of each row. The first and last point of a route lie
    on the border of its boxes. A self-loop has an empty route. `straight` counts edges that were too long to be routed
    around other boxes.
    """

    centres: list[Point]
    routes: list[list[Point]]
    labels: list[Point | None]
    row_of: list[int]
    rows: list[tuple[float, float]]
    width: float
    height: float
    crossings: int
    straight: int


@dataclass(slots=True)
class _Chain:
    """The nodes of the layers that one edge crosses, from top to bottom, and the node that holds its label."""

    nodes: list[int]
    label: int | None
    reversed: bool


def place(
    sizes: Sequence[Size],
    pairs: Sequence[tuple[int, int]],
    labels: Sequence[Size | None] | None = None,
    groups: Sequence[Path] | None = None,
    spacing: Spacing | None = None,
) -> Placement:
    """Lay out boxes of given (width, height), edges as pairs of box numbers, and labels of edges by their sizes.

    `groups` holds for each box the path of group numbers around it, outermost first; the members of a group stay
    together. Time and memory are linear in the number of boxes plus the ranks that edges span; the latter are limited.
    """
    spacing = spacing or Spacing()
    labels = labels or [None] * len(pairs)
    groups = groups or [()] * len(sizes)
    layers, chains, heights, widths, straight = _build(sizes, pairs, labels, groups)
    count = order_layers(layers)
    x = horizontal(layers, widths, len(sizes), spacing)
    rows = _rows(layers, heights, len(sizes), spacing, groups)
    left = min((x[node] - widths[node] / 2 for node in range(len(x))), default=0.0)
    x = [value - left for value in x]
    y = [(rows[rank][0] + rows[rank][1]) / 2 for rank in layers.rank]
    spread = _ports(chains, x, sizes)
    routes = [_route(chain, spread[number], x, y, heights) for number, chain in enumerate(chains)]
    return Placement(
        centres=[(x[node], y[node]) for node in range(len(sizes))],
        routes=routes,
        labels=[
            (x[chain.label], y[chain.label]) if chain is not None and chain.label is not None else None
            for chain in chains
        ],
        row_of=layers.rank[: len(sizes)],
        rows=rows,
        width=max((x[node] + widths[node] / 2 for node in range(len(x))), default=0.0),
        height=rows[-1][1] if rows else 0.0,
        crossings=count,
        straight=straight,
    )


def _build(
    sizes: Sequence[Size],
    pairs: Sequence[tuple[int, int]],
    labels: Sequence[Size | None],
    groups: Sequence[Path],
) -> tuple[Layers, list[_Chain | None], list[float], list[float], int]:
    """Layers with their dummies, the chain of each edge, and the size of every node in a layer."""
    closing = closing_edges(len(sizes), pairs)
    downward = [(t, s) if number in closing else (s, t) for number, (s, t) in enumerate(pairs)]
    ranks = tight_ranks(len(sizes), [pair for pair in downward if pair[0] != pair[1]])
    step = 2 if any(labels) else 1
    spans = [step * (ranks[lower] - ranks[upper]) for upper, lower in downward]
    longest = _longest_drawn(spans)
    layers = Layers(
        rank=[step * rank for rank in ranks],
        group=list(groups),
        above=[[] for _ in sizes],
        below=[[] for _ in sizes],
    )
    widths, heights = [width for width, _ in sizes], [height for _, height in sizes]
    chains: list[_Chain | None] = []
    straight = 0
    for number, (upper, lower) in enumerate(downward):
        if upper == lower:
            chains.append(None)
            continue
        if spans[number] > longest:
            straight += 1
            chains.append(_Chain([upper, lower], None, number in closing))
            continue
        nodes = _string(layers, upper, lower)
        widths.extend([0.0] * (len(nodes) - 2))
        heights.extend([0.0] * (len(nodes) - 2))
        held, label = None, labels[number]
        if label is not None:
            held = nodes[_label_place(spans[number])]
            widths[held], heights[held] = label
        chains.append(_Chain(nodes, held, number in closing))
    return layers, chains, heights, widths, straight


def _string(layers: Layers, upper: int, lower: int) -> list[int]:
    """Join two nodes through a new dummy in each layer between them."""
    group = common_group(layers.group[upper], layers.group[lower])
    between = range(layers.rank[upper] + 1, layers.rank[lower])
    nodes = [upper, *(layers.add(rank, group) for rank in between), lower]
    for one, other in pairwise(nodes):
        layers.connect(one, other)
    return nodes


def _label_place(span: int) -> int:
    """The dummy that holds the label: an odd one near the middle, since odd layers hold no boxes."""
    middle = span // 2
    return middle if middle % 2 else middle + 1


def _longest_drawn(spans: list[int]) -> int:
    """The longest span that still gets dummies, so that there are at most DUMMY_LIMIT of them."""
    total, longest = 0, 1
    for span in sorted(spans):
        total += max(0, span - 1)
        if total > DUMMY_LIMIT:
            return max(1, span - 1)
        longest = max(longest, span)
    return longest


def _rows(
    layers: Layers, heights: list[float], real: int, spacing: Spacing, groups: Sequence[Path]
) -> list[tuple[float, float]]:
    """Top and bottom of each layer, with more space where a group starts or ends."""
    count = len(layers.rows)
    starts: dict[Path, int] = {}
    ends: dict[Path, int] = {}
    for node in range(real):
        for depth in range(1, len(groups[node]) + 1):
            group, rank = groups[node][:depth], layers.rank[node]
            starts[group] = min(starts.get(group, rank), rank)
            ends[group] = max(ends.get(group, rank), rank)
    before, after = [0.0] * count, [0.0] * count
    for group, rank in starts.items():
        before[rank] = max(before[rank], spacing.group * 2 * len(group))
    for group, rank in ends.items():
        after[rank] = max(after[rank], spacing.group * len(group))
    rows: list[tuple[float, float]] = []
    bottom = 0.0
    for index, row in enumerate(layers.rows):
        height = max([heights[node] for node in row], default=0.0)
        boxes = any(node < real for node in row)
        gap = (
            0.0
            if not index
            else spacing.rank
            if boxes and not _holds_label(row, heights, real)
            else spacing.label_rank
        )
        top = bottom + gap + before[index]
        rows.append((top, top + height))
        bottom = top + height + after[index]
    return rows


def _holds_label(row: list[int], heights: list[float], real: int) -> bool:
    """True if a row holds the label of an edge."""
    return any(node >= real and heights[node] for node in row)


def _ports(chains: list[_Chain | None], x: list[float], sizes: Sequence[Size]) -> list[tuple[float, float]]:
    """For each chain the x where it leaves its upper box and enters its lower one: spread, in order of direction."""
    ends: list[list[float]] = [[0.0, 0.0] for _ in chains]
    lower: list[list[tuple[float, int]]] = [[] for _ in sizes]
    upper: list[list[tuple[float, int]]] = [[] for _ in sizes]
    for number, chain in enumerate(chains):
        if chain is not None:
            upper[chain.nodes[0]].append((x[chain.nodes[1]], number))
            lower[chain.nodes[-1]].append((x[chain.nodes[-2]], number))
    for side, places in ((0, upper), (1, lower)):
        for node, items in enumerate(places):
            items.sort()
            room = min(16.0, sizes[node][0] * 0.6 / max(1, len(items)))
            for index, (_, number) in enumerate(items):
                ends[number][side] = x[node] + (index - (len(items) - 1) / 2) * room
    return [(top, bottom) for top, bottom in ends]


def _route(
    chain: _Chain | None, ports: tuple[float, float], x: list[float], y: list[float], heights: list[float]
) -> list[Point]:
    if chain is None:
        return []
    first, last = chain.nodes[0], chain.nodes[-1]
    inner = [(x[node], y[node]) for node in chain.nodes[1:-1]]
    points = [(ports[0], y[first] + heights[first] / 2), *inner, (ports[1], y[last] - heights[last] / 2)]
    return points[::-1] if chain.reversed else points
