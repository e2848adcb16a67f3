"""Finds the first stage of a build that fails a test, and the smallest set of passes whose removal repairs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import combinations

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.interrupt import Cancelled
from relax_explorer.core.passes.pipeline import run, steps
from relax_explorer.core.passes.properties import holding
from relax_explorer.core.session.compare import mapped
from relax_explorer.core.session.dumps import Stage
from relax_explorer.core.session.predicates import Predicate

_MOST_PAIRS = 120  # pairs of passes that are tried before the search becomes approximate


@dataclass(frozen=True, slots=True)
class Attempt:
    """The test of one stage: `reason` tells why it failed, and is empty if it held."""

    number: int
    made_by: str
    reason: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Passes whose removal makes the test hold. `smallest` if no smaller set does; else no pass of the set can be put back."""

    passes: tuple[tuple[int, str], ...]
    smallest: bool


@dataclass(frozen=True, slots=True)
class _Test:
    predicate: Predicate
    stage: Stage


@dataclass(frozen=True, slots=True)
class _Build:
    """The work of building without some passes and testing the result."""

    first: Stage
    passes: tuple[str, ...]
    predicate: Predicate


def first_failing(
    stages: Sequence[Stage], predicate: Predicate, executor: Executor | None = None
) -> list[Attempt]:
    """Test the stages in order until one fails. The last attempt is the first failing one, or the test holds everywhere.

    Every stage is tested, because a later pass may hide or repair a mistake. An executor tests them side by side.
    """
    attempts = []
    reasons = mapped(executor, _tested, [_Test(predicate, stage) for stage in stages])
    for stage, reason in zip(stages, reasons, strict=False):
        attempts.append(Attempt(stage.number, stage.made_by, reason))
        if reason:
            break
    return attempts


def _tested(test: _Test) -> str:
    try:
        return test.predicate(test.stage)
    except Cancelled:
        raise
    except Failure as failure:
        return failure.diagnostics[0].message


def left_out(
    first: Stage,
    passes: Sequence[str],
    changing: Sequence[int],
    predicate: Predicate,
    executor: Executor | None = None,
) -> LeftOut | None:
    """The smallest set of passes to leave out so that the test holds at the end; None if it fails even without all of them.

    `changing` are the numbers of the passes to try, the most suspicious one first. Sets of one and two passes are tried one by
    one, larger ones by delta debugging.
    """

    def hold(sets: Sequence[Sequence[int]]) -> Sequence[int] | None:
        tasks = [
            _Build(first, tuple([name for n, name in enumerate(passes) if n not in out]), predicate)
            for out in sets
        ]
        results = mapped(executor, _holds, tasks)
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
    return LeftOut(tuple([(number, passes[number]) for number in sorted(found)]), smallest)


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
    return not _tested(_Test(build.predicate, Stage(len(build.passes), "build", module)))
