"""Lines between two rows of boxes in a terminal: each horizontal run gets a track, so that none share a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wire:
    """One line through a channel: the number of its value, its columns at top and bottom, and the place of its arrow."""

    net: int
    top: int
    bottom: int
    head: str = ""


@dataclass(slots=True)
class _Run:
    """All wires of one value that enter at one column: they share a horizontal run."""

    top: int
    low: int
    high: int
    bottoms: list[int]
    wires: list[int]


def tracks_of(wires: Sequence[Wire]) -> list[int]:
    """The track (0 is the uppermost) of each wire, -1 for a straight one.

    A run that enters in a column lies above every run that leaves downwards in the same column. If such constraints
    form a cycle, the leftmost run goes first.
    """
    runs = _runs(wires)
    above = _demands(runs)
    tracks = [-1] * len(wires)
    chosen = [-1] * len(runs)
    taken: list[list[tuple[int, int]]] = []
    for number in _order(above):
        run = runs[number]
        track = max([chosen[other] + 1 for other in above[number]], default=0)
        while _occupied(taken, track, run):
            track += 1
        while len(taken) <= track:
            taken.append([])
        taken[track].append((run.low, run.high))
        chosen[number] = track
        for wire in run.wires:
            tracks[wire] = track
    return tracks


def _occupied(taken: list[list[tuple[int, int]]], track: int, run: _Run) -> bool:
    return track < len(taken) and any(low <= run.high and run.low <= high for low, high in taken[track])


def _runs(wires: Sequence[Wire]) -> list[_Run]:
    """Runs by value and column of entry; a straight wire joins one only if another wire of the same entry turns off."""
    runs: dict[tuple[int, int], _Run] = {}
    for number, wire in enumerate(wires):
        if wire.top == wire.bottom:
            continue
        run = runs.setdefault((wire.net, wire.top), _Run(wire.top, wire.top, wire.top, [], []))
        run.low, run.high = min(run.low, wire.bottom), max(run.high, wire.bottom)
        run.bottoms.append(wire.bottom)
        run.wires.append(number)
    return sorted(runs.values(), key=lambda run: (run.low, run.high))


def _demands(runs: list[_Run]) -> list[list[int]]:
    """For each run the runs that must lie above it."""
    entering = {run.top: number for number, run in enumerate(runs)}
    return [
        [entering[x] for x in run.bottoms if x in entering and entering[x] != number]
        for number, run in enumerate(runs)
    ]


def _order(above: list[list[int]]) -> list[int]:
    """The runs, each after the runs that must lie above it, as far as that is possible."""
    below: list[list[int]] = [[] for _ in above]
    missing = [len(others) for others in above]
    for number, others in enumerate(above):
        for other in others:
            below[other].append(number)
    order: list[int] = []
    done = bytearray(len(above))
    for start in range(2 * len(above)):
        number = start % len(above)
        forced = start >= len(above)  # runs left after the first round form cycles
        waiting = [number] if not done[number] and (forced or not missing[number]) else []
        while waiting:
            current = waiting.pop()
            if done[current]:
                continue
            done[current] = 1
            order.append(current)
            for other in below[current]:
                missing[other] -= 1
                if not missing[other]:
                    waiting.append(other)
    return order
