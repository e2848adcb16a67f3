"""Makes a program smaller while it shows the same fault, by delta debugging (Zeller and Hildebrandt 2002).

Passes, bindings, results, operands, branches, constants and lengths are left out or replaced (`smaller`) as long as what remains is
well-formed and fails in the same way. At the end no single one of them can be left out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.phases import module_check as rules
from relax_explorer.core.session import smaller
from relax_explorer.core.session.bisect import NoNan, Predicate, SameOutput, WellFormed, first_failing
from relax_explorer.core.session.call_inputs import REST
from relax_explorer.core.session.compare import Told, mapped, untold
from relax_explorer.core.session.difference import BY_DTYPE, Tolerance
from relax_explorer.core.session.recorded import built
from relax_explorer.core.session.samples import Sample, function_of, sampled
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.smaller import Case, Lengths
from relax_explorer.core.session.stages import Stage

T = TypeVar("T")

# -- faults ----------------------------------------------------------------------------------------------------------

SAME_OUTPUT, NO_NAN, WELL_FORMED = "same-output", "no-nan", "well-formed"
_DETAILS = re.compile(r"\s*[(:].*|\bout\d+\b,?\s*|\d+", re.DOTALL)


@dataclass(frozen=True)
class Fault:
    """How a fault is looked for: a test of `bisect` after each pass, or a predicate of stages (`given`).

    `sources` give values of parameters by name; parameters that a smaller program has instead of bindings get random ones.
    """

    test: str = SAME_OUTPUT
    given: Predicate | None = None
    sources: tuple[tuple[str, str], ...] = ()
    samples: int | None = None
    tolerance: Tolerance = BY_DTYPE
    profile: str = "spec"
    cache: Path | None = None
    interrupt: Interrupt | None = None

    def kind(self, case: Case) -> str:
        """In which way a case fails: equal for equal ways. Empty if it does not, or can't be tested."""
        try:
            session = Session(case.module, case.passes, "", self.cache, "tvm")
            session.run_all()
            for stage in session.stages[1:]:
                for problem in stage.problems:
                    if problem.is_error:
                        return f"{stage.made_by} reports {problem.code}"
            stages = built(session).changing()
            attempts = first_failing(stages, self._predicate(case, stages[0]))
        except Failure:
            return ""
        is_of_passes = self.given is None and self.test == SAME_OUTPUT
        return "" if is_of_passes and len(attempts) == 1 else self._kind(attempts[-1].reason)

    def _kind(self, reason: str) -> str:
        if self.given is None and self.test == WELL_FORMED:
            return reason.partition(":")[0]
        if self.given is None and self.test == NO_NAN:
            return "NaN" if reason else ""
        if self.given is not None:
            return reason.partition(":")[0]
        return _DETAILS.sub("", reason).replace("differs", "differ").strip()

    def _predicate(self, case: Case, first: Stage) -> Predicate:
        if self.given is not None:
            return self.given
        if self.test == WELL_FORMED:
            return WellFormed(self.profile)
        chosen = self._samples(case)
        if self.test == NO_NAN:
            return NoNan(first, case.entry, chosen, self.cache, self.interrupt)
        return SameOutput(first, case.entry, chosen, self.tolerance, (), self.cache, self.interrupt)

    def _samples(self, case: Case) -> Sequence[Sample]:
        fn = function_of(case.module, case.entry)
        names = {param.name for param in fn.params}
        sources = {name: source for name, source in self.sources if name in names or name == REST}
        free = set(smaller.free_names(case))
        return sampled(fn, self.samples, sources, {k: n for k, n in case.lengths if k in free})


# -- reduction -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reduction:
    """The smallest case found, the way in which it fails, the sizes on the way (bindings), and the number of tries.

    `least` are the least lengths of shape variables that show the fault; 1 shows it where a name is missing.
    """

    case: Case
    kind: str
    sizes: tuple[int, ...]
    tries: int
    seconds: float
    least: Lengths = ()
    is_whole: bool = True  # False if time ran out

    @property
    def operators(self) -> list[str]:
        """What the bindings that are left compute, in order."""
        return [_value_name(binding.value) for binding in bindings(self.case.function)]


def _value_name(value: e.Expr) -> str:
    if type(value) is not e.Call:
        return type(value).__name__
    if type(value.op) is e.OpRef and value.args and type(value.args[0]) is e.GlobalVar:
        return f"{value.op.name.removeprefix('relax.')} @{value.args[0].name}"
    return str(getattr(value.op, "name", type(value.op).__name__)).removeprefix("relax.")


def reduce(
    case: Case,
    fault: Fault,
    *,
    executor: Executor | None = None,
    workers: int = 1,
    seconds: float | None = None,
    told: Told = untold,
) -> Reduction | None:
    """The smallest program found that shows the same fault as `case`. None if the case shows none.

    An executor tests so many candidates side by side as it has `workers`. After `seconds` the smallest one so far is taken.
    """
    case = case.with_module(case.module)
    own = fault if executor is None else replace(fault, interrupt=None)
    kind = own.kind(case)
    if not kind:
        return None
    work = _Work(case, own, kind, executor, workers, seconds, told)
    if fault.sources and (plain := replace(own, sources=())).kind(case) == kind:
        work.fault = plain  # made-up values show it, too
    work.run()
    return Reduction(
        work.case, kind, tuple(work.sizes), work.tries, time.monotonic() - work.start, work.least, not work.is_late()
    )  # fmt: skip


@dataclass(frozen=True)
class _Question:
    fault: Fault
    case: Case
    errors: frozenset[str]  # of the whole program, which a smaller one may have, too


def _answer(question: _Question) -> str:
    if not _errors(question.case, question.fault.profile) <= question.errors:
        return ""
    return question.fault.kind(question.case)


def _errors(case: Case, profile: str) -> frozenset[str]:
    found = rules.check(case.module, profile, allow_unknown_ops=True)
    return frozenset([str(item.code) for item in found if item.is_error])


class _Work:
    """The smallest case so far, and what was tried."""

    def __init__(
        self,
        case: Case,
        fault: Fault,
        kind: str,
        executor: Executor | None,
        workers: int,
        seconds: float | None,
        told: Told,
    ) -> None:
        self.case, self.fault, self.kind = case, fault, kind
        self.executor, self.workers, self.told = executor, workers, told
        self.errors = _errors(case, fault.profile)
        self.sizes, self.tries, self.least = [case.size], 0, Lengths()
        self.start, self.seconds = time.monotonic(), seconds

    def is_late(self) -> bool:
        """True if the time is over."""
        return self.seconds is not None and time.monotonic() - self.start > self.seconds

    def run(self) -> None:
        """Make the case smaller until nothing more can be left out."""
        self.parts(lambda case: case.passes, smaller.without_passes)
        self.first(smaller.other_entries)
        before = None
        while before != (state := (self.case.size, len(self.case.module.script()))) and not self.is_late():
            before = state
            self.result()
            self.parts(smaller.bindings_of, smaller.without_bindings)
            self.first(smaller.without_dead)
            for change in (
                smaller.without_branches,
                smaller.bypassed,
                smaller.without_constants,
                smaller.shorter,
            ):
                while self.first(change):
                    pass
            self.parts(lambda case: case.function.params, smaller.without_parameters)
            self.parts(lambda case: case.passes, smaller.without_passes)
        self.lengths()

    # -- candidates -----------------------------------------------------------------------------------------------

    def place(self, makers: Sequence[smaller.Maker]) -> int | None:
        """The place of the first smaller case that shows the fault, which is taken. None if none does."""
        self.told("try", self.tries + 1, self.tries + 2)
        found = [(n, item) for n, make in enumerate(makers) if (item := _possible(make)) is not None]
        questions = [_Question(self.fault, item, self.errors) for _, item in found]
        for (n, item), kind in zip(found, mapped(self.executor, _answer, questions), strict=False):
            self.tries += 1
            if kind == self.kind:
                self.case = item
                if item.size != self.sizes[-1]:
                    self.sizes.append(item.size)
                return n
        return None

    def first(self, change: smaller.Smaller) -> bool:
        """Take the first of the smaller cases that shows the fault. False if none does."""
        candidates = change(self.case)
        while not self.is_late() and (some := list(islice(candidates, self.workers))):
            if self.place(some) is not None:
                return True
        return False

    def parts(
        self, items: Callable[[Case], Sequence[T]], without: Callable[[Case, Sequence[T]], Case | None]
    ) -> None:
        """Leave out halves, then smaller parts, down to single items."""
        size = (len(items(self.case)) + 1) // 2
        while size and not self.is_late():
            start = 0
            while start < len(found := items(self.case)) and not self.is_late():
                starts = range(start, len(found), size)[: self.workers]
                place = self.place([partial(without, self.case, found[n : n + size]) for n in starts])
                start = starts[-1] + size if place is None else starts[place]
            size //= 2

    def result(self) -> None:
        """Take the earliest result that shows the fault: what stands behind it goes."""
        found = smaller.results_of(self.case)
        low, high = 0, len(found) - 1
        case = self.case
        while low < high and not self.is_late():
            middle = (low + high) // 2
            if self.place([partial(smaller.with_result, case, found[middle])]) is not None:
                high = middle
            else:
                low = middle + 1

    def lengths(self) -> None:
        """Find the least length of each shape variable, the others as they are."""
        for name in smaller.free_names(self.case):
            for length in range(1, 9):
                if self.is_late():
                    return
                if self.place([partial(smaller.with_length, self.case, name, length)]) is not None:
                    if length > 1:
                        self.least = (*self.least, (name, length))
                    break


def _possible(make: smaller.Maker) -> Case | None:
    """A smaller case. None if it has no normal form."""
    try:
        return make()
    except Failure:
        return None
