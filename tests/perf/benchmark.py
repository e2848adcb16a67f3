"""A benchmark, its result, and the registry of benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.support.oracle import Oracle

Work = Callable[[], object]


@dataclass(frozen=True)
class Result:
    """The fastest of several times, in seconds; `tvm` is None if TVM was not asked or has no counterpart."""

    name: str
    ours: float
    tvm: float | None
    goal: float | None

    @property
    def ratio(self) -> float | None:
        """How many times as fast as TVM this project is."""
        return None if self.tvm is None else self.tvm / self.ours

    @property
    def verdict(self) -> str:
        """Return whether the goal is met, or an empty text if there is nothing to compare."""
        if self.goal is None or self.ratio is None:
            return ""
        return "ok" if self.ratio >= self.goal else "below the goal"


@dataclass(frozen=True)
class Benchmark:
    """One measured piece of work.

    `prepare` returns the text and the work on it, outside of the measured time. `tvm` names the work that the oracle times
    on the same text (see `Oracle.time`), or on as many bindings: `rounds` times the body of the text. `goal` is the smallest
    accepted ratio.
    """

    name: str
    prepare: Callable[[], tuple[str, Work]]
    tvm: str | None = None
    goal: float | None = None
    repeat: int = 5
    tvm_repeat: int = 3
    rounds: int = 1

    def measure(self, oracle: Oracle | None) -> Result:
        """Measure both sides in turns, so that a slow minute of the machine falls on both. The fastest time of each counts."""
        text, work = self.prepare()
        work()
        is_asked = oracle is not None and self.tvm is not None
        turns = min(self.repeat, self.tvm_repeat) if is_asked else 1
        ours, theirs = [], []
        for _ in range(turns):
            ours += [_seconds(work) for _ in range(self.repeat // turns)]
            if oracle is not None and self.tvm is not None:
                repeat = -(-self.tvm_repeat // turns)
                times = oracle.time(text, [self.tvm], repeat=repeat, rounds=self.rounds).get()
                theirs.append(times[self.tvm])
        return Result(self.name, min(ours), min(theirs, default=None), self.goal)


def _seconds(work: Work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
