"""Finds the first stage of a build that fails a test, and the smallest set of passes whose removal repairs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import combinations

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.passes.pipeline import Step, run, steps
from relax_explorer.core.passes.properties import holding
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.builds import Build, as_build
from relax_explorer.core.session.compare import Comparison, Side, Told, compare, links_between, mapped, untold
from relax_explorer.core.session.difference import Delta
from relax_explorer.core.session.judgement import Judgement
from relax_explorer.core.session.predicates import NoNan, Predicate, SameOutput, Tested
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.stages import Stage

_MOST_PAIRS = 120  # pairs of passes that are tried before the search becomes approximate


@dataclass(frozen=True, slots=True)
class Attempt:
    """The test of one stage: `reason` tells why it failed, and is empty if it held. `judgement` tells what decided about its
    results, on the sample that told most; `worst` is the distance of a result there that is out of the bound.
    """

    number: int
    made_by: str
    reason: str
    judgement: Judgement | None = None
    worst: Delta | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Passes whose removal makes the test hold. `smallest` if no smaller set does; else no pass of the set can be put back."""

    passes: tuple[tuple[int, str], ...]
    smallest: bool


@dataclass(frozen=True, slots=True)
class Bisection:
    """The tests of the stages in order; the last one is the first that failed, unless all hold.

    `left_out` are passes to leave out, None if no set is known. `comparison` compares the first bad stage with the one before,
    for the test of equal results; `place` is the first binding with NaN, for the test of NaN.
    """

    attempts: tuple[Attempt, ...]
    left_out: LeftOut | None = None
    comparison: Comparison | None = None
    place: Side | None = None

    @property
    def failed(self) -> Attempt | None:
        """The first failing stage."""
        return self.attempts[-1] if self.attempts[-1].reason else None


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
    """
    build = as_build(source)
    stages = build.changing()
    test = SameOutput(stages[0], stages[0].entry) if predicate is None else predicate
    attempts = first_failing(stages, test, executor, told)
    failed = attempts[-1]
    if not failed.reason or len(attempts) == 1:
        return Bisection(tuple(attempts))
    out = None
    if build.snapshots:
        changing = [item.number - 1 for item in build.snapshots[1:] if item.changed]
        changing.sort(key=lambda number: (number != failed.number - 1, -number))
        out = left_out(stages[0], build.passes, changing, test, executor, told)
    before, bad = stages[len(attempts) - 2 : len(attempts)]
    comparison = place = None
    if isinstance(test, SameOutput):
        comparison = _wrong_binding(build, test, before, bad, interrupt)
    elif isinstance(test, NoNan):
        found = test.first_nan(bad)
        place = found[0] if found is not None else None
    return Bisection(tuple(attempts), out, comparison, place)


def _wrong_binding(
    build: Build, test: SameOutput, before: Stage, bad: Stage, interrupt: Interrupt | None
) -> Comparison:
    """The comparison of the last good stage with the first bad one, on the samples of the test."""
    links = links_between(build.snapshots, before.number, bad.number) if build.snapshots else ()
    result = compare(
        before,
        bad,
        test.function,
        test.chosen,
        test.tolerance,
        links=links,
        cache=test.cache,
        interrupt=interrupt,
    )
    return replace(result, a=build.title(before), b=build.title(bad))


def first_failing(
    stages: Sequence[Stage], predicate: Predicate, executor: Executor | None = None, told: Told = untold
) -> list[Attempt]:
    """Test the stages in order until one fails. The last attempt is the first failing one, or the test holds everywhere.

    Every stage is tested, because a later pass may hide or repair a mistake. An executor tests them side by side.
    """
    attempts = []
    found = mapped(executor, _tested, [_Test(predicate, stage) for stage in stages], "stage", told)
    for stage, tested in zip(stages, found, strict=False):
        attempts.append(Attempt(stage.number, stage.made_by, tested.reason, tested.judgement, tested.worst))
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
    return (
        predicate.tested(test.stage) if isinstance(predicate, SameOutput) else Tested(predicate(test.stage))
    )


def left_out(
    first: Stage,
    passes: Sequence[Step],
    changing: Sequence[int],
    predicate: Predicate,
    executor: Executor | None = None,
    told: Told = untold,
) -> LeftOut | None:
    """The smallest set of passes to leave out so that the test holds at the end; None if it fails even without all of them.

    `changing` are the numbers of the passes to try, the most suspicious one first. Sets of one and two passes are tried one by
    one, larger ones by delta debugging.
    """

    sendable: list[Step | str] = [*passes] if executor is None else [*map(str, passes)]

    def hold(sets: Sequence[Sequence[int]]) -> Sequence[int] | None:
        tasks = [
            _Build(first, tuple([step for n, step in enumerate(sendable) if n not in out]), predicate)
            for out in sets
        ]
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
