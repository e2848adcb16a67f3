"""Finds the first stage of a build that fails a test, and the smallest set of passes whose removal repairs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.values import Value
from relax_explorer.core.passes.pipeline import Step, run, steps
from relax_explorer.core.phases import module_check as rules
from relax_explorer.core.phases.module_properties import holding
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.arrays import read_as
from relax_explorer.core.session.builds import Build
from relax_explorer.core.session.compare import (
    Comparison,
    Side,
    Told,
    Trial,
    links_between,
    mapped,
    side_of,
    untold,
    verdict_of,
)
from relax_explorer.core.session.difference import BY_DTYPE, Delta, Tolerance, delta, is_float, leaves_of
from relax_explorer.core.session.equal_terms import on_equal_terms
from relax_explorer.core.session.recorded import as_build, stage_of
from relax_explorer.core.session.recording import Recording
from relax_explorer.core.session.samples import Sample, sample_run, samples_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.session.tested_functions import not_run
from relax_explorer.core.session.validate import AgainstFirst
from relax_explorer.core.session.verdict import Judgement, Verdict
from relax_explorer.core.shown import Readable

# -- predicates ------------------------------------------------------------------------------------------------------
# Tests of one stage of a build. Each returns the reason why it fails, or an empty text; it can be sent to another
# process.


Predicate = Callable[[Stage], str]


@dataclass(frozen=True, slots=True)
class Tested:
    """The test of a stage: why it fails (empty if it holds), and what decided on the sample with the weightiest judgement.

    `unknown` tells why a stage that does not fail can't be judged: it can't be run here.
    """

    reason: str
    judgement: Judgement | None = None
    worst: Delta | None = None  # of a result that is out of the bound
    unknown: str = ""


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
        unknown = next((item for item in found if item.unknown), None)
        if unknown is not None:
            return unknown
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
        unknown = run.not_here or self._against.first_run(sample).not_here
        if unknown:
            return Tested("", unknown=unknown), run
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
        if run.not_here:
            return Tested("", unknown=run.not_here)
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
        return self.tested(stage).reason

    def tested(self, stage: Stage) -> Tested:
        """Why the stage fails, or can't be judged."""
        unknown = ""
        for ran, sample in self._runs(stage):
            found = _first_nan(ran)
            if found is not None:
                call = f" in call {found.call}" if found.call else ""
                return Tested(f"{found.name or 'a value'} holds NaN{call} ({sample})")
            unknown = unknown or ran.not_here
        return Tested("", unknown=unknown)

    def first_nan(self, stage: Stage) -> Side | None:
        """The first binding whose value holds NaN."""
        return next((found for ran, _ in self._runs(stage) if (found := _first_nan(ran)) is not None), None)

    def _runs(self, stage: Stage) -> Iterator[tuple[Recording, Sample]]:
        """The runs of a stage on the samples that hold no NaN themselves."""
        for sample in self.samples:
            given = sample_run(self.first, self.function, sample)
            if not any(map(_has_nan, given.values)):
                yield given.recorded(stage.module, self.cache, self.interrupt), sample


def _first_nan(run: Recording) -> Side | None:
    return next((side_of(item) for item in run.productions if _has_nan(item.value)), None)


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
    """The stage breaks no rule of the language, and its plan of memory destroys nothing. TVM made stages that are recorded."""

    profile: str = "spec"
    is_recorded: bool = False

    def __call__(self, stage: Stage) -> str:
        """Why the stage fails."""
        try:
            problems = rules.check(stage.module, self.profile)
        except Cancelled:
            raise
        except Failure as failure:
            problems = list(failure.diagnostics)
        if self.is_recorded:
            problems = list(rules.of_recorded(problems))
        errors = [item for item in problems if item.is_error or item.unchecked or item.code.unchecked]
        return f"{errors[0].code}: {errors[0].message}" if errors else ""


# -- bisect ----------------------------------------------------------------------------------------------------------


_MOST_PAIRS = 120  # pairs of passes that are tried before the search becomes approximate


@dataclass(frozen=True, slots=True, repr=False)
class Attempt(Readable):
    """The test of one stage: `reason` tells why it failed, `unknown` why it can't be judged here; both are empty if it held.

    `judgement` tells what decided about its results, on the sample with the weightiest judgement; `worst` is the distance of a
    result there that is out of the bound.
    """

    number: int
    made_by: str
    reason: str
    judgement: Judgement | None = None
    worst: Delta | None = None
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Passes whose removal makes the test hold. `smallest` if no smaller set does; else no pass of the set can be put back."""

    passes: tuple[tuple[int, str], ...]
    smallest: bool


@dataclass(frozen=True, slots=True, repr=False)
class Bisection(Readable):
    """The tests of the stages in order; the last one is the first that failed, unless all hold or can't be judged.

    `left_out` are passes to leave out, None if no set is known. `comparison` compares the first bad stage with the one before,
    for the test of equal results; `place` is the first binding with NaN, for the test of NaN. `not_run` are public functions that
    these tests do not call.
    """

    attempts: tuple[Attempt, ...]
    left_out: LeftOut | None = None
    comparison: Comparison | None = None
    place: Side | None = None
    not_run: tuple[str, ...] = ()

    @property
    def failed(self) -> Attempt | None:
        """The first failing stage."""
        return self.attempts[-1] if self.attempts[-1].reason else None

    @property
    def unknown(self) -> tuple[Attempt, ...]:
        """The stages that can't be judged here."""
        return tuple([attempt for attempt in self.attempts if attempt.unknown])


@dataclass(frozen=True, slots=True)
class _Test:
    predicate: Predicate
    stage: Stage


@dataclass(frozen=True, slots=True)
class _Build:
    """The work of building without some passes and testing the result."""

    first: Stage
    passes: tuple[Step | str, ...]  # names for other processes
    predicate: Predicate


def bisect(
    source: Build | Session | Sequence[Stage | IRModule],
    predicate: Predicate | None = None,
    *,
    executor: Executor | None = None,
    interrupt: Interrupt | None = None,
    told: Told = untold,
) -> Bisection:
    """Find the first stage that fails a test, the passes to leave out, and the binding that is wrong.

    Without `predicate`, every stage must give the results of the first one. An executor runs the tests side by side. Passes can
    only be left out of a session. `told` hears of each stage, and of each set of passes that is left out.

    >>> rxe.bisect(rxe.Session(module, "LegalizeOps,FuseOps"))
    <Bisection the test holds after every pass>
    """
    build = as_build(source)
    stages = build.changing()
    test = SameOutput(stages[0], stages[0].entry) if predicate is None else predicate
    aside: tuple[str, ...] = ()
    if isinstance(test, (SameOutput, NoNan)):
        given = test.chosen if isinstance(test, SameOutput) else test.samples
        chosen = on_equal_terms(given, stages, test.function)
        test = test if chosen is given else replace(test, samples=chosen)
        aside = not_run(stages, chosen, test.function)
    attempts = first_failing(stages, test, executor, told)
    failed = attempts[-1]
    if not failed.reason or len(attempts) == 1:
        return Bisection(tuple(attempts), not_run=aside)
    out = None
    if build.snapshots:
        changing = [item.number - 1 for item in build.snapshots[1:] if item.changed]
        changing.sort(key=lambda number: (number != failed.number - 1, -number))
        out = left_out(stages[0], build.passes, changing, test, executor, told, _right(build.snapshots))
    bad = stages[len(attempts) - 1]
    before = next(stages[n] for n in range(len(attempts) - 2, -1, -1) if n == 0 or not attempts[n].unknown)
    comparison = place = None
    if isinstance(test, SameOutput):
        comparison = _wrong_binding(build, test, before, bad, interrupt)
    elif isinstance(test, NoNan):
        place = test.first_nan(bad)
    return Bisection(tuple(attempts), out, comparison, place, aside)


def _right(snapshots: Sequence[Snapshot]) -> list[Stage]:
    """The first stages of a session, up to one with an error."""
    found = takewhile(lambda item: not any(problem.is_error for problem in item.problems), snapshots)
    return [stage_of(item) for item in found]


def _wrong_binding(
    build: Build, test: SameOutput, before: Stage, bad: Stage, interrupt: Interrupt | None
) -> Comparison:
    """The comparison of the last good stage with the first bad one, on the samples of the test up to the first that differs."""
    links = links_between(build.snapshots, before.number, bad.number) if build.snapshots else ()
    verdicts: list[Verdict] = []
    for sample in test.chosen:
        trial = Trial(
            before, bad, test.function, sample, test.tolerance, links, test.cache, interrupt=interrupt
        )
        verdicts.append(verdict_of(trial))
        if not verdicts[-1].equal:
            break
    return Comparison(build.title(before), build.title(bad), test.function, tuple(verdicts))


def first_failing(
    stages: Sequence[Stage], predicate: Predicate, executor: Executor | None = None, told: Told = untold
) -> list[Attempt]:
    """Test the stages in order until one fails. The last attempt is the first failing one, or the test holds everywhere.

    Every stage is tested, because a later pass may hide or repair a mistake. An executor tests them side by side.
    """
    attempts = []
    found = mapped(executor, _tested, [_Test(predicate, stage) for stage in stages], "stage", told)
    for stage, tested in zip(stages, found, strict=False):
        parts = (tested.reason, tested.judgement, tested.worst, tested.unknown)
        attempts.append(Attempt(stage.number, stage.made_by, *parts))
        if tested.reason:
            break
    return attempts


def _tested(test: _Test) -> Tested:
    try:
        _ = test.stage.module
    except Failure as failure:  # its text is no program
        problem = failure.diagnostics[0]
        return Tested(f"{problem.code}: {problem.message}")
    predicate = test.predicate
    if isinstance(predicate, (SameOutput, NoNan)):
        return predicate.tested(test.stage)
    return Tested(predicate(test.stage))


def left_out(
    first: Stage,
    passes: Sequence[Step],
    changing: Sequence[int],
    predicate: Predicate,
    executor: Executor | None = None,
    told: Told = untold,
    known: Sequence[Stage] = (),
) -> LeftOut | None:
    """The smallest set of passes to leave out so that the test holds at the end; None if it fails even without all of them.

    `changing` are the numbers of the passes to try, the most suspicious one first. Sets of one and two passes are tried one by
    one, larger ones by delta debugging. `known` are `first` and the stages after the first passes, which do not run again in
    this process.
    """

    sendable: list[Step | str] = [*passes] if executor is None else [*map(str, passes)]
    starts = [first] if executor is not None or not known else known

    def without(out: Sequence[int]) -> _Build:
        start = min(*out, len(starts) - 1)
        rest = [step for n, step in enumerate(sendable) if n >= start and n not in out]
        return _Build(starts[start], tuple(rest), predicate)

    def hold(sets: Sequence[Sequence[int]]) -> Sequence[int] | None:
        tasks = [without(out) for out in sets]
        results = mapped(executor, _holds, tasks, "set of passes", told)
        return next((out for out, good in zip(sets, results, strict=False) if good), None)

    found = hold([[number] for number in changing])
    smallest = True
    pairs = list(combinations(changing, 2))
    if found is None and len(pairs) <= _MOST_PAIRS:
        found = hold(pairs)
    if found is None and len(changing) > 2:
        found = hold([list(changing)])
        if found is not None:
            found = _reduced(list(changing), lambda sets: hold(sets))
            smallest = len(found) <= 3 and len(pairs) <= _MOST_PAIRS
    if found is None:
        return None
    return LeftOut(tuple([(number, str(passes[number])) for number in sorted(found)]), smallest)


def _reduced(out: list[int], hold: Callable[[Sequence[Sequence[int]]], Sequence[int] | None]) -> list[int]:
    """A subset of `out` for which the test holds too, and from which no pass can be put back (ddmin)."""
    parts = 2
    while len(out) > 1:
        size = -(-len(out) // parts)
        chunks = [out[n : n + size] for n in range(0, len(out), size)]
        rests = [[item for item in out if item not in chunk] for chunk in chunks]
        smaller = hold([*chunks, *rests] if parts > 2 else chunks)
        if smaller is not None:
            parts = 2 if len(smaller) <= size else max(parts - 1, 2)
            out = list(smaller)
        elif parts >= len(out):
            break
        else:
            parts = min(2 * parts, len(out))
    return out


def _holds(build: _Build) -> bool:
    """True if the test holds after the passes. A pass that fails breaks the build."""
    module = build.first.module
    try:
        for result in run(module, steps(build.passes), holding(module), False):
            if result.failure is not None:
                return False
            module = result.module
    except Cancelled:
        raise
    except Failure:
        return False
    return not _tested(_Test(build.predicate, Stage(len(build.passes), "build", module))).reason
