"""A benchmark, its result, and the registry of benchmarks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from tests.perf import by_torch
from tests.perf.by_torch import Clock
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
    torch: float | None = None
    beside: float | None = None
    rate: str = ""  # what is moved or computed in a second, and its part of what the machine can do

    @property
    def times(self) -> float | None:
        """How many times as long as the work by hand this project takes."""
        return None if self.hand is None else self.ours / self.hand

    @property
    def to_torch(self) -> float | None:
        """How many times as long as PyTorch this project takes."""
        return None if self.torch is None else self.ours / self.torch

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
        if self.beside is not None and self.to_torch is not None:
            met.append(self.to_torch <= self.beside)
        if self.limit is not None:
            met.append(self.ours <= self.limit)
        return "" if not met else "ok" if all(met) else "below the goal"


@dataclass(frozen=True)
class Benchmark:
    """One measured piece of work.

    `prepare` returns the text and the work on it, outside of the measured time. `tvm` names the work that the oracle times
    on the same text (see `Oracle.time`), or on as many bindings: `rounds` times the body of the text. `goal` is the smallest
    accepted ratio. `theirs` asks TVM in another way, once. `hand` prepares the same work written by hand (`by_hand`); ours may
    take `most` times as long, and `limit` seconds. `torch` is what PyTorch runs (`torch_child`); ours may take `beside` times as long.
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
    torch: str | None = None
    beside: float | None = None
    amount: tuple[float, str] | None = None  # bytes with "GB/s", or operations with "GFLOP/s"

    def measure(self, oracle: Oracle | None, clock: Clock = time.perf_counter) -> Result:
        """Measure all sides in turns, so that a slow minute of the machine falls on each. The fastest time of each counts."""
        text, work = self.prepare()
        work()
        ours, theirs = self._beside_tvm(text, work, oracle, clock)
        over = None
        if oracle is not None and self.theirs is not None:
            answer = self.theirs(oracle)
            theirs += [answer.get()] if answer.ok else []
            over = ASKED if answer.kind == "timeout" else None
        by_hand: list[float] = []
        if self.hand is not None:
            other = self.hand()
            other()
            by_hand = self._in_turns(work, partial(_seconds, other, clock), ours, clock)
        torch: list[float] = []
        if self.torch is not None and by_torch.is_installed():
            with by_torch.asked(self.torch, "processor" if clock is time.process_time else "wall") as seconds:
                torch = self._in_turns(work, seconds, ours, clock)
        return Result(
            self.name, min(ours), min(theirs, default=None), self.goal, min(by_hand, default=None), self.most, self.limit,
            over, min(torch, default=None), self.beside, self._rate(min(ours), clock),
        )  # fmt: skip

    def _beside_tvm(
        self, text: str, work: Work, oracle: Oracle | None, clock: Clock
    ) -> tuple[list[float], list[float]]:
        is_asked = oracle is not None and self.tvm is not None
        turns = min(self.repeat, self.tvm_repeat, 5) if is_asked else 1
        ours, theirs = [], []
        for _ in range(turns):
            ours += [_seconds(work, clock) for _ in range(self.repeat // turns)]
            if oracle is not None and self.tvm is not None:
                repeat = -(-self.tvm_repeat // turns)
                times = oracle.time(text, [self.tvm], repeat=repeat, rounds=self.rounds).get()
                theirs.append(times[self.tvm])
        return ours, theirs

    def _in_turns(
        self, work: Work, other: Callable[[], float], ours: list[float], clock: Clock
    ) -> list[float]:
        """The seconds of the other side, in turns with more times of ours."""
        theirs = []
        for _ in range(self.repeat):
            theirs.append(other())
            ours.append(_seconds(work, clock))
        return theirs

    def _rate(self, seconds: float, clock: Clock) -> str:
        if self.amount is None:
            return ""
        number, unit = self.amount
        rate = number / seconds / 1e9
        return f"{rate:.3g} {unit}, {100 * rate / peak(unit, clock):.0f} %"


@cache
def peak(unit: str, clock: Clock) -> float:
    """What the machine can do in a second: copy bytes, on as many threads as it has processors, or multiply matrices."""
    ones, other = [np.ones(1 << 25, "float32") for _ in range(2)]
    if unit == "GFLOP/s":
        a, b = ones[: 2048**2].reshape(2048, 2048), other[: 2048**2].reshape(2048, 2048)
        return 2 * 2048**3 / min([_seconds(lambda: a @ b, clock) for _ in range(5)]) / 1e9
    count = os.cpu_count() or 1
    with ThreadPoolExecutor(count) as pool:

        def copied() -> None:
            list(pool.map(np.copyto, np.array_split(other, count), np.array_split(ones, count)))

        return 2 * ones.nbytes / min([_seconds(copied, clock) for _ in range(5)]) / 1e9


def _seconds(work: Work, clock: Clock) -> float:
    started = clock()
    own = work()
    return own if isinstance(own, Seconds) else clock() - started
