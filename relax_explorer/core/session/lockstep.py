"""Two runs in lock-step: their values pair by pair, in the order in which the runs made them.

A position is the number of pairs that are done: 0 is the start. `last` is behind all pairs, where the results are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from relax_explorer.core.exec.interrupt import polled
from relax_explorer.core.session.compare import Pairing, Report, Trial, Verdict, judged, runs_of
from relax_explorer.core.session.counterparts import Match
from relax_explorer.core.session.recording import Production, Recording


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair of values: how far they are apart, the values themselves, and the operands of B if they differ."""

    pairing: Pairing
    a: Production | None
    b: Production | None
    operands: tuple[Pairing, ...] = ()

    @property
    def differs(self) -> bool:
        """True if both sides have a value, and the values are not equal."""
        return self.pairing.delta is not None and not self.pairing.equal

    @property
    def depth(self) -> int:
        """The calls around the pair; of the outer side if a function was inlined."""
        return min([side.depth for side in (self.a, self.b) if side is not None])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of both sides."""
        return tuple([side.name for side in (self.a, self.b) if side is not None])


@dataclass(frozen=True, slots=True)
class Lockstep:
    """Two recorded runs on the inputs of `trial`, and the verdict on their results."""

    trial: Trial
    a: Recording
    b: Recording
    pairs: tuple[Pair, ...]
    verdict: Verdict

    @property
    def last(self) -> int:
        """The position of the results."""
        return len(self.pairs) + 1

    def pair(self, at: int) -> Pair | None:
        """The pair that was done last; None at the start and at the results."""
        return self.pairs[at - 1] if 0 < at < self.last else None

    def step(self, at: int, count: int) -> int:
        """The position `count` pairs further on, or back if it is negative."""
        return max(0, min(at + count, self.last))

    def over(self, at: int, direction: int) -> int:
        """The next position that is not inside a call from here; with -1, the one before."""
        here = self.pair(at)
        depth = 0 if here is None else here.depth
        return self.to(at, direction, lambda pair: pair.depth <= depth)

    def to_difference(self, at: int, direction: int) -> int:
        """The next pair that differs, or the results; with -1, the one before, or the start."""
        return self.to(at, direction, lambda pair: pair.differs)

    def to(self, at: int, direction: int, is_reached: Callable[[Pair], bool]) -> int:
        """The next position at which a pair has a property, or the results; with -1, the one before, or the start."""
        at = self.step(at, direction)
        while (pair := self.pair(at)) is not None and not is_reached(pair):
            at += direction
        return at


def lockstep(trial: Trial) -> Lockstep:
    """Run both stages of a trial, and pair their values. Raises Cancelled if the trial was interrupted."""
    runs = runs_of(trial)
    verdict, report = judged(trial, runs, pairs=True)
    assert report is not None  # pairs were asked for
    pairs = tuple([_pair(report, match) for match in polled(_in_order(report.matches), trial.interrupt)])
    return Lockstep(trial, runs[0].run, runs[1].run, pairs, verdict)


def _pair(report: Report, match: Match) -> Pair:
    a = None if match.a is None else report.a.productions[match.a]
    b = None if match.b is None else report.b.productions[match.b]
    pair = Pair(report.pairing(match), a, b)
    if b is None or not pair.differs:
        return pair
    return Pair(pair.pairing, a, b, report.operands(b.reads))


def _in_order(matches: Sequence[Match]) -> Iterator[Match]:
    """The matches in the order of the new run. A value that only the old run has stands behind its predecessor there."""
    alone = {match.a: match for match in matches if match.b is None and match.a is not None}

    def followers(place: int) -> Iterator[Match]:
        while (match := alone.pop(place + 1, None)) is not None:
            yield match
            place += 1

    yield from followers(-1)
    for match in matches:
        if match.b is not None:
            yield match
            if match.a is not None:
                yield from followers(match.a)
