"""Makes a program smaller while it shows the same fault, by delta debugging (Zeller and Hildebrandt 2002).

Passes, bindings, results, operands, branches, constants and lengths are left out or replaced (`smaller`) as long as what remains is
well-formed and fails in the same way. At the end no single one of them can be left out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TypeVar

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.phases import module_check as rules
from relax_explorer.core.session import smaller
from relax_explorer.core.session.anonymous import anonymous
from relax_explorer.core.session.arrays import archive, read_arrays
from relax_explorer.core.session.bisect import NoNan, Predicate, SameOutput, WellFormed, first_failing
from relax_explorer.core.session.call_inputs import REST, WEIGHTS
from relax_explorer.core.session.compare import Told, mapped, untold
from relax_explorer.core.session.difference import BY_DTYPE, Tolerance
from relax_explorer.core.session.model_weights import weight_numbers
from relax_explorer.core.session.recorded import built
from relax_explorer.core.session.recorded_inputs import fitting, values_of_run, with_own_names
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

    `sources` give values of parameters by name; parameters that a smaller program has instead of bindings get random ones, or those of
    a file with the values of a run (`recorded`).
    """

    test: str = SAME_OUTPUT
    given: Predicate | None = None
    sources: tuple[tuple[str, str], ...] = ()
    samples: int | None = None
    tolerance: Tolerance = BY_DTYPE
    profile: str = "spec"
    cache: Path | None = None
    interrupt: Interrupt | None = None
    recorded: Path | None = None

    def kind(self, case: Case) -> str:
        """In which way a case fails: equal for equal ways. Empty if it does not, or can't be tested. Raises Cancelled."""
        if self.interrupt is not None:
            self.interrupt.check()
        try:
            session = Session(case.module, case.passes, "", self.cache, "tvm")
            session.run_all()
            for stage in session.stages[1:]:
                for problem in stage.problems:
                    if problem.is_error:
                        return f"{stage.made_by} reports {problem.code}"
            stages = built(session).changing()
            with self._sources(case) as sources:
                attempts = first_failing(stages, self._predicate(case, stages[0], sources))
        except Cancelled:
            raise
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

    def _predicate(self, case: Case, first: Stage, sources: Mapping[str, str]) -> Predicate:
        if self.given is not None:
            return self.given
        if self.test == WELL_FORMED:
            return WellFormed(self.profile)
        chosen = self._samples(case, sources)
        if self.test == NO_NAN:
            return NoNan(first, case.entry, chosen, self.cache, self.interrupt)
        return SameOutput(first, case.entry, chosen, self.tolerance, (), self.cache, self.interrupt)

    def samples_of(self, case: Case) -> Sequence[Sample]:
        """The samples on which a case runs."""
        return self._samples(case, self._given(case))

    def _samples(self, case: Case, sources: Mapping[str, str]) -> Sequence[Sample]:
        free = set(smaller.free_names(case))
        lengths = {name: n for name, n in case.lengths if name in free}
        count = self.samples if self.recorded is None else 1
        return sampled(function_of(case.module, case.entry), count, sources, lengths)

    def _given(self, case: Case) -> dict[str, str]:
        names = {param.name for param in case.function.params}
        return {name: source for name, source in self.sources if name in names or name in (REST, WEIGHTS)}

    def values(self, case: Case) -> dict[str, Array]:
        """The recorded values for the parameters of a case, by name."""
        if self.recorded is None:
            return {}
        names = {param.name for param in case.function.params}
        return fitting(case, read_arrays(str(self.recorded), wanted=names.__contains__))

    @contextmanager
    def _sources(self, case: Case) -> Iterator[dict[str, str]]:
        """Where the values of parameters come from; those of a run stand in a file for as long as they are used."""
        given, values = self._given(case), self.values(case)
        if self.recorded is None or not values:
            yield given
            return
        with NamedTemporaryFile(suffix=".npz", dir=self.recorded.parent) as file:
            file.write(archive(values))
            file.flush()
            is_all = len(values) == len(case.function.params)
            others = {} if is_all else {name: source for name, source in given.items() if name not in values}
            yield {**others, **dict.fromkeys(values, file.name)}


# -- reduction -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reduction:
    """The smallest case found, the way in which it fails, the sizes on the way (bindings), and the number of tries.

    `least` are the least lengths of shape variables that show the fault; 1 shows it where a name is missing. `values` are those of
    parameters without which it does not show.
    """

    case: Case
    kind: str
    sizes: tuple[int, ...]
    tries: int
    seconds: float
    least: Lengths = ()
    is_whole: bool = True  # False if time ran out
    values: Mapping[str, Array] = field(default_factory=dict)
    remaining: tuple[str, ...] = ()  # names of an anonymous program that stay, since TVM looks them up

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
    folder: Path | None = None,
    is_anonymous: bool = False,
) -> Reduction | None:
    """The smallest program found that shows the same fault as `case`. None if the case shows none.

    An executor tests so many candidates side by side as it has `workers`. After `seconds` the smallest one so far is taken. With a
    folder for files of its own, it goes on with the values of a run where made-up ones show the fault no longer, and `is_anonymous`
    replaces the names of the program. Raises Failure if the fault depends on a name.
    """
    start = time.monotonic()
    case = with_own_names(case.with_module(case.module))
    own = fault if executor is None else replace(fault, interrupt=None)
    kind = own.kind(case)
    if not kind:
        return None
    if fault.sources and (plain := replace(own, sources=())).kind(case) == kind:
        own = plain  # made-up values show it, too
    first = own if folder is None else _with_named_weights(own, case, folder)
    work = _Work(case, first, kind, executor, workers, seconds, told)
    work.run()
    if folder is not None and not work.is_late():
        work = _further(work, case, own, folder)
    case, values = work.case, {} if folder is None else _needed_values(work, folder)
    found = Reduction(
        case, kind, tuple(work.sizes), work.tries, time.monotonic() - start, work.least, not work.is_late(), values
    )  # fmt: skip
    return found if folder is None or not is_anonymous else _renamed(found, work.fault, folder)


def _needed_values(work: _Work, folder: Path) -> Mapping[str, Array]:
    """The values of parameters without which the fault does not show: those of a run, or those that the user gave."""
    fault, case = work.fault, work.case
    if fault.recorded is not None or not fault.sources:
        return fault.values(case)
    fn = function_of(case.module, case.entry)
    values = dict(zip([param.name for param in fn.params], fault.samples_of(case)[0].values(fn), strict=True))
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    return arrays if _with_values(fault, arrays, folder).kind(case) == work.kind else {}


def _with_values(fault: Fault, values: Mapping[str, Array], folder: Path) -> Fault:
    """The fault with these values of parameters."""
    path = folder / "values.npz"
    path.write_bytes(archive(values))
    return replace(fault, sources=(), recorded=path if values else None)


def _renamed(found: Reduction, fault: Fault, folder: Path) -> Reduction:
    """The program without its names. Raises Failure if the fault depends on them."""
    old, new = found.case, anonymous(found.case.module)
    case = Case(new.module, new.functions[old.entry], new.steps(old.passes))
    names = {a.name: b.name for a, b in zip(old.function.params, case.function.params, strict=True)}
    dims = dict(zip(smaller.free_names(old), smaller.free_names(case), strict=True))
    lengths = tuple([(dims[name], n) for name, n in old.lengths if name in dims])
    case = replace(case, lengths=lengths).with_module(case.module)
    values = {names[name]: value for name, value in found.values.items()}
    if _with_values(fault, values, folder).kind(case) != found.kind:
        text = "the program does not show the fault under other names: it depends on one of them"
        raise Failure(Diagnostic(codes.WRONG_INPUT, text, help="leave --anonymous out"))
    least = tuple([(dims[name], n) for name, n in found.least])
    return replace(found, case=case, values=values, least=least, remaining=new.remaining)


def _with_named_weights(fault: Fault, case: Case, folder: Path) -> Fault:
    """The fault with the weights of a model by name. The model tells them by their place, which changes in smaller programs."""
    if WEIGHTS not in dict(fault.sources):
        return fault
    fn = function_of(case.module, case.entry)
    values = fault.samples_of(case)[0].values(fn)
    path = folder / "weights.npz"
    path.write_bytes(archive({fn.params[n].name: values[n] for n in weight_numbers(fn)}))
    return replace(fault, sources=tuple(item for item in fault.sources if item[0] != WEIGHTS), recorded=path)


def _further(done: _Work, whole: Case, fault: Fault, folder: Path) -> _Work:
    """Work that goes on with the values of a run of the whole program, or what was done already if that is as small.

    The run has the inputs of `fault`.
    """
    if done.case.size <= 1 or fault.given is not None or fault.test == WELL_FORMED:
        return done
    if done.case.entry != whole.entry:
        whole = with_own_names(replace(whole, entry=done.case.entry).with_module(whole.module))
    for number, sample in enumerate(fault.samples_of(whole)):
        try:
            values = values_of_run(whole, sample, fault.cache, fault.interrupt)
        except Cancelled:
            raise
        except Failure:
            continue
        path = folder / f"run{number}.npz"
        path.write_bytes(archive(values))
        own = replace(fault, recorded=path)
        start = next((case for case in (done.case, whole) if own.kind(case) == done.kind), None)
        if start is None:
            continue
        work = done.going_on(start, own)
        work.run()
        if work.case.size >= done.case.size:
            return done
        return work
    return done


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

    def going_on(self, case: Case, fault: Fault) -> _Work:
        """Work on another case, or with other values, that counts its tries and its time from here on."""
        work = _Work(case, fault, self.kind, self.executor, self.workers, self.seconds, self.told)
        work.errors, work.start, work.tries = self.errors, self.start, self.tries
        work.sizes = [*self.sizes, *([case.size] if case.size != self.sizes[-1] else [])]
        return work

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
