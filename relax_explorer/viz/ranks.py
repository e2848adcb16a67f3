"""Ranks of a directed graph: break cycles, take longest paths, remove slack; linear per sweep."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

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
