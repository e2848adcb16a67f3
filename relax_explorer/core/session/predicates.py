"""Tests of one stage of a build. Each returns the reason why it fails, or an empty text; it can be sent to another process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from relax_explorer.core import check as rules
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.values import Value
from relax_explorer.core.session.against_first import AgainstFirst
from relax_explorer.core.session.arrays import read_as
from relax_explorer.core.session.compare import Side, side_of
from relax_explorer.core.session.difference import BY_DTYPE, Delta, Tolerance, delta, is_float, leaves_of
from relax_explorer.core.session.judgement import Judgement
from relax_explorer.core.session.recording import Recording
from relax_explorer.core.session.sample_runs import sample_run
from relax_explorer.core.session.samples import Sample, samples_of
from relax_explorer.core.session.stages import Stage

Predicate = Callable[[Stage], str]


@dataclass(frozen=True, slots=True)
class Tested:
    """The test of a stage: why it fails (empty if it does not), and what decided on the sample that told most."""

    reason: str
    judgement: Judgement | None = None
    worst: Delta | None = None  # of a result that is out of the bound


@dataclass(frozen=True)
class SameOutput:
    """The stage gives the results of `first` on every sample, or the recorded results `out0`, `out1`, … in `recorded`.

    Rounding is no difference (`judging`). It fails if the program stops on every sample, because then nothing is known about its results.
    """

    first: Stage
    function: str
    samples: Sequence[Sample] | None = None
    tolerance: Tolerance = BY_DTYPE
    recorded: tuple[tuple[str, Any], ...] = ()
    cache: Path | None = None
    interrupt: Interrupt | None = None

    def __call__(self, stage: Stage) -> str:
        """Why the stage fails."""
        return self.tested(stage).reason

    def tested(self, stage: Stage) -> Tested:
        """Why the stage fails, and what decided."""
        stops: list[str] = []
        found: list[Tested] = []
        for sample in self.chosen:
            tested, run = self._on(stage, sample)
            if tested.reason:
                return replace(tested, reason=f"{tested.reason} ({sample})")
            found.append(tested)
            stops += [run.failure.message] if run.failure is not None else []
        if stops and len(stops) == len(found):
            return Tested(f"it stops on every sample: {stops[0]}")
        judged = [(item.judgement.weight, item) for item in found if item.judgement is not None]
        return max(judged, key=lambda pair: pair[0], default=(None, Tested("")))[1]

    def _on(self, stage: Stage, sample: Sample) -> tuple[Tested, Recording]:
        """The test on one sample, and the run."""
        if self.recorded:
            run = self._against.run(stage, sample)
            return self._against_recorded(run, sample), run
        weighed, run = self._against.weighed(stage, sample)
        return Tested(_with_message(weighed.reason, run), weighed.judgement, weighed.worst), run

    @cached_property
    def _against(self) -> AgainstFirst:
        return AgainstFirst(self.first, self.function, self.tolerance, self.cache, self.interrupt)

    @property
    def chosen(self) -> Sequence[Sample]:
        """The samples, by default those of `samples_of`."""
        return samples_of(self.first.module, self.function) if self.samples is None else self.samples

    def __reduce__(self) -> tuple[Any, ...]:
        """The flag of an interrupt belongs to this process."""
        parts = (self.first, self.function, self.samples, self.tolerance, self.recorded, self.cache)
        return SameOutput, parts

    def _against_recorded(self, run: Recording, sample: Sample) -> Tested:
        """The test beside recorded results. Those out of the bound may be rounded otherwise: random rounding tells."""
        if run.failure is not None:
            return Tested(_with_message("it stops", run))
        results = run.last_results(self._against.program(sample))
        if len(self.recorded) != len(results):
            return Tested(f"{len(results)} results, {len(self.recorded)} are recorded")
        given = [(int(key[3:]), value) for key, value in self.recorded]
        both = [(n, results[n], read_as(value, getattr(results[n], "dtype", None))) for n, value in given]
        found = [(delta(value, x, self.tolerance), n) for n, x, value in both]
        wrong = [(apart, n) for apart, n in found if not apart.equal]
        if not wrong:
            return Tested("")
        names = [f"out{n}" for _, n in wrong]
        reason = f"{', '.join(names)} differ{'s' * (len(names) == 1)}"
        if self.tolerance.is_given or any(apart.reason != "values" for apart, _ in wrong):
            return Tested(reason)
        places = run.ends_at or range(len(results))
        judgement = self._against.beside([(places[n], value, x) for n, value, x in both], sample)
        worst = max([apart for apart, _ in wrong], key=lambda apart: apart.count)
        return Tested(reason if judgement.is_fault else "", judgement, worst)


def _with_message(reason: str, run: Recording) -> str:
    return f"{reason}: {run.failure.message}" if reason and run.failure is not None else reason


@dataclass(frozen=True)
class NoNan:
    """No value of the run is NaN: neither a result nor the value of a binding. A program that stops has none."""

    first: Stage
    function: str
    samples: Sequence[Sample]
    cache: Path | None = None
    interrupt: Interrupt | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """The flag of an interrupt belongs to this process."""
        return NoNan, (self.first, self.function, self.samples, self.cache)

    def __call__(self, stage: Stage) -> str:
        """Why the stage fails."""
        found = self.first_nan(stage)
        if found is None:
            return ""
        call = f" in call {found[0].call}" if found[0].call else ""
        return f"{found[0].name or 'a value'} holds NaN{call} ({found[1]})"

    def first_nan(self, stage: Stage) -> tuple[Side, Sample] | None:
        """The first binding whose value holds NaN, and the sample."""
        for sample in self.samples:
            given = sample_run(self.first, self.function, sample)
            if any(map(_has_nan, given.values)):
                continue  # NaN is given
            run = given.recorded(stage.module, self.cache, self.interrupt)
            for item in run.productions:
                if _has_nan(item.value):
                    return side_of(item), sample
        return None


def _has_nan(value: Value) -> bool:
    for part in leaves_of(value):
        if isinstance(part, (np.ndarray, np.generic)) and is_float(part.dtype):
            if bool(np.isnan(np.asarray(part).astype(np.float64)).any()):
                return True
        elif isinstance(part, float) and part != part:
            return True
    return False


@dataclass(frozen=True)
class WellFormed:
    """The stage breaks no rule of the language, and its plan of memory destroys nothing."""

    profile: str = "spec"

    def __call__(self, stage: Stage) -> str:
        """Why the stage fails."""
        try:
            problems = rules.check(stage.module, self.profile)
        except Cancelled:
            raise
        except Failure as failure:
            problems = list(failure.diagnostics)
        errors = [item for item in problems if item.is_error or item.unchecked or item.code.unchecked]
        return f"{errors[0].code}: {errors[0].message}" if errors else ""
