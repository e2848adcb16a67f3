"""A benchmark, its result, and the registry of benchmarks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np

from tests.support.oracle import Answer, Oracle

Work = Callable[[], object]
ASKED = 60.0  # seconds that `theirs` may take


class Seconds(float):
    """What a work gives back that measures itself: it prepares something each time, which does not count."""


@dataclass(frozen=True)
class Result:
    """The fastest of several times, in seconds; `tvm` is None if TVM was not asked or has no counterpart, `hand` if nobody wrote one."""

    name: str
    ours: float
    tvm: float | None
    goal: float | None
    hand: float | None = None
    most: float | None = None
    limit: float | None = None
    over: float | None = None  # TVM was stopped after so many seconds
    rate: str = ""  # what is moved or computed in a second, and its part of what the machine can do

    @property
    def times(self) -> float | None:
        """How many times as long as the work by hand this project takes."""
        return None if self.hand is None else self.ours / self.hand

    @property
    def ratio(self) -> float | None:
        """How many times as fast as TVM this project is."""
        return None if self.tvm is None else self.tvm / self.ours

    @property
    def verdict(self) -> str:
        """Return whether the goal is met, or an empty text if there is nothing to compare."""
        met = []
        if self.goal is not None and self.ratio is not None:
            met.append(self.ratio >= self.goal)
        if self.most is not None and self.times is not None:
            met.append(self.times <= self.most)
        if self.limit is not None:
            met.append(self.ours <= self.limit)
        return "" if not met else "ok" if all(met) else "below the goal"


@dataclass(frozen=True)
class Benchmark:
    """One measured piece of work.

    `prepare` returns the text and the work on it, outside of the measured time. `tvm` names the work that the oracle times
    on the same text (see `Oracle.time`), or on as many bindings: `rounds` times the body of the text. `goal` is the smallest
    accepted ratio. `theirs` asks TVM in another way, once. `hand` prepares the same work written by hand (`by_hand`); ours may
    take `most` times as long, and `limit` seconds.
    """

    name: str
    prepare: Callable[[], tuple[str, Work]]
    tvm: str | None = None
    goal: float | None = None
    repeat: int = 5
    tvm_repeat: int = 3
    rounds: int = 1
    hand: Callable[[], Work] | None = None
    most: float | None = None
    limit: float | None = None
    theirs: Callable[[Oracle], Answer[float]] | None = None
    amount: tuple[float, str] | None = None  # bytes with "GB/s", or operations with "GFLOP/s"

    def measure(self, oracle: Oracle | None) -> Result:
        """Measure both sides in turns, so that a slow minute of the machine falls on both. The fastest time of each counts."""
        text, work = self.prepare()
        work()
        is_asked = oracle is not None and self.tvm is not None
        turns = min(self.repeat, self.tvm_repeat, 5) if is_asked else 1
        ours, theirs = [], []
        for _ in range(turns):
            ours += [_seconds(work) for _ in range(self.repeat // turns)]
            if oracle is not None and self.tvm is not None:
                repeat = -(-self.tvm_repeat // turns)
                times = oracle.time(text, [self.tvm], repeat=repeat, rounds=self.rounds).get()
                theirs.append(times[self.tvm])
        over = None
        if oracle is not None and self.theirs is not None:
            answer = self.theirs(oracle)
            theirs += [answer.get()] if answer.ok else []
            over = ASKED if answer.kind == "timeout" else None
        by_hand = []
        if self.hand is not None:  # in turns with more times of ours
            other = self.hand()
            other()
            for _ in range(self.repeat):
                by_hand.append(_seconds(other))
                ours.append(_seconds(work))
        hand = min(by_hand, default=None)
        return Result(
            self.name, min(ours), min(theirs, default=None), self.goal, hand, self.most, self.limit, over,
            self._rate(min(ours)),
        )  # fmt: skip

    def _rate(self, seconds: float) -> str:
        if self.amount is None:
            return ""
        number, unit = self.amount
        rate = number / seconds / 1e9
        return f"{rate:.3g} {unit}, {100 * rate / peak(unit):.0f} %"


@cache
def peak(unit: str) -> float:
    """What the machine can do in a second: copy bytes, on as many threads as it has processors, or multiply matrices."""
    ones, other = [np.ones(1 << 25, "float32") for _ in range(2)]
    if unit == "GFLOP/s":
        a, b = ones[: 2048**2].reshape(2048, 2048), other[: 2048**2].reshape(2048, 2048)
        return 2 * 2048**3 / min([_seconds(lambda: a @ b) for _ in range(5)]) / 1e9
    count = os.cpu_count() or 1
    with ThreadPoolExecutor(count) as pool:

        def copied() -> None:
            list(pool.map(np.copyto, np.array_split(other, count), np.array_split(ones, count)))

        return 2 * ones.nbytes / min([_seconds(copied) for _ in range(5)]) / 1e9


def _seconds(work: Work) -> float:
    started = time.perf_counter()
    own = work()
    return own if isinstance(own, Seconds) else time.perf_counter() - started
