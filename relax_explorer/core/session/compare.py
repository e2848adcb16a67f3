"""Compares two programs by running them on equal inputs, and names the first binding where their values part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.exec.interrupt import Interrupt, polled
from relax_explorer.core.exec.values import UNKNOWN, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import binding_text, diff_kernels, unit_text
from relax_explorer.core.session.arrays import read_as
from relax_explorer.core.session.counterparts import Match, Origins, counterparts
from relax_explorer.core.session.difference import BY_DTYPE, Delta, Tolerance, delta, leaves_of
from relax_explorer.core.session.dumps import Stage, as_stage
from relax_explorer.core.session.holders import Holders
from relax_explorer.core.session.recording import Production, Recording, differing
from relax_explorer.core.session.sample_runs import program_of, sample_run
from relax_explorer.core.session.samples import Sample, samples_of
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.wrong_rows import wrong_row
from relax_explorer.core.tir.stmt import PrimFunc

MOST_KERNEL_LINES = 12
Place = tuple[str, int]
"""A function and the number of a binding in it."""
Links = tuple[tuple[Place, Place], ...]
"""Places of the first stage, each with the place of the second that came from it."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a pair: the function, the variable, its operation, its binding as text, and its line in its file (0: none).

    `stale` are operands that something overwrote after they were made, each with its writer. `shape` is that of an array.
    `call` is the number of the call of a file, from 1, and `place` that of the binding in its function.
    """

    function: str
    name: str
    operation: str = ""
    text: str = ""
    line: int = 0
    stale: tuple[str, ...] = ()
    shape: tuple[int, ...] | None = None
    call: int = 0
    place: int = 0


@dataclass(frozen=True, slots=True)
class Pairing:
    """A value of A beside its counterpart of B. `by` tells how they were matched.

    For a value that only A has, `within` names the value of B whose computation holds it, if there is one. `row` is the first
    place in a cache where they differ: `row 3`.
    """

    a: Side | None
    b: Side | None
    delta: Delta | None = None
    by: str = ""
    within: str = ""
    row: str = ""

    @property
    def equal(self) -> bool:
        """True if both sides have equal values."""
        return self.delta is not None and self.delta.equal


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison of two runs on one sample.

    `reason` tells why they differ; it is empty if they are equal. `first` is the first binding where the values part, with
    the operands of B there. A run that stopped has its message in `stopped`. `kernel` are the lines in which the kernels called
    there differ, old ones with `-` and new ones with `+`, if both have one name. `call` is that of a file in which they part.
    """

    sample: str
    reason: str = ""
    results: tuple[tuple[str, Delta], ...] = ()
    stopped: tuple[str, str] = ("", "")
    first: Pairing | None = None
    operands: tuple[Pairing, ...] = ()
    pairs: tuple[Pairing, ...] = ()
    unkept: int = 0
    kernel: tuple[str, ...] = ()
    call: str = ""

    @property
    def equal(self) -> bool:
        """True if the programs cannot be told apart by this sample."""
        return not self.reason

    @property
    def ran(self) -> bool:
        """True if both runs ended with a result."""
        return not any(self.stopped)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two programs: one verdict for each sample."""

    a: str
    b: str
    function: str
    verdicts: tuple[Verdict, ...]

    @property
    def equal(self) -> bool:
        """True if no sample tells the programs apart."""
        return all(verdict.equal for verdict in self.verdicts)

    @property
    def ran(self) -> bool:
        """True if at least one sample has results on both sides, or a difference."""
        return any(verdict.ran or not verdict.equal for verdict in self.verdicts)

    @property
    def first(self) -> Verdict | None:
        """The first sample that tells the programs apart."""
        return next((verdict for verdict in self.verdicts if not verdict.equal), None)


@dataclass(frozen=True, slots=True)
class Trial:
    """The work of comparing two stages on one sample. It can be sent to another process."""

    a: Stage
    b: Stage
    function: str
    sample: Sample
    tolerance: Tolerance = BY_DTYPE
    links: Links = ()
    cache: Path | None = None
    everything: bool = False  # list all pairs
    interrupt: Interrupt | None = field(default=None, compare=False)  # only within this process


Told = Callable[[str, int, int], None]
"""Hears of long work before each part: what it is, its number, and how many there are."""


def untold(what: str, number: int, total: int) -> None:
    """Nobody listens."""


def compare(
    a: Stage | IRModule,
    b: Stage | IRModule,
    function: str = "",
    samples: Sequence[Sample] | None = None,
    tolerance: Tolerance = BY_DTYPE,
    *,
    links: Links = (),
    cache: Path | None = None,
    everything: bool = False,
    executor: Executor | None = None,
    interrupt: Interrupt | None = None,
    told: Told = untold,
) -> Comparison:
    """Run `function` of both programs on equal inputs and compare results and bindings.

    Without `samples`, those of `samples_of`. `links` tell which binding came from which (`links_between`). `everything` lists
    all pairs. An executor runs the samples side by side; it gets the programs as text. `told` hears of each sample. Raises
    Failure if no inputs can be made.
    """
    first, second = as_stage(a), as_stage(b, 1)
    name = function or first.entry
    chosen = samples_of(first.module, name) if samples is None else samples
    own = interrupt if executor is None else None
    trials = [Trial(first, second, name, item, tolerance, links, cache, everything, own) for item in chosen]
    verdicts = mapped(executor, verdict_of, trials, "sample", told)
    return Comparison(str(first), str(second), name, tuple(verdicts))


def mapped(
    executor: Executor | None,
    work: Callable[[Any], Any],
    tasks: Sequence[Any],
    what: str = "",
    told: Told = untold,
) -> Iterator[Any]:
    """The results of `work` on each task in order, one by one, or side by side in an executor. `told` hears of each."""
    if executor is None:
        for number, task in enumerate(tasks, 1):
            told(what, number, len(tasks))
            yield work(task)
        return
    futures = [executor.submit(work, task) for task in tasks]
    try:
        for number, future in enumerate(futures, 1):
            told(what, number, len(futures))
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def verdict_of(trial: Trial) -> Verdict:
    """Compare two stages on one sample."""
    a, b = runs_of(trial)
    verdict = judged(
        a, b, str(trial.sample), trial.tolerance, origins_of(trial), trial.everything, trial.interrupt
    )
    kernel = _kernel_changes(trial.a.module, trial.b.module, verdict.first)
    return replace(verdict, kernel=kernel, call=call_of(trial, verdict))


def call_of(trial: Trial, verdict: Verdict) -> str:
    """The call of a file in which two runs part; empty for one call, and for equal runs."""
    first = verdict.first
    side = None if first is None else first.b or first.a
    if trial.sample.calls is None or side is None:
        return ""
    return program_of(trial.a.module, trial.sample).label(side.call)


def runs_of(trial: Trial) -> tuple[Recording, Recording]:
    """The recorded runs of both stages on the same inputs."""
    run = sample_run(trial.a, trial.function, trial.sample)
    a, b = [run.recorded(stage.module, trial.cache, trial.interrupt) for stage in (trial.a, trial.b)]
    return a, b


def _kernel_changes(a: IRModule, b: IRModule, pair: Pairing | None) -> tuple[str, ...]:
    """The lines in which the kernels differ that both sides of a pair call by one name."""
    if pair is None or pair.a is None or pair.b is None or pair.a.operation != pair.b.operation:
        return ()
    name = pair.a.operation
    old, new = a.functions.get(name), b.functions.get(name)
    if type(old) is not PrimFunc or type(new) is not PrimFunc:
        return ()
    diff = diff_kernels(name, old, new)
    lines: list[str] = []
    for item in diff.pairs:
        if item.kind not in ("same", "renamed"):
            lines += [f"- {unit_text(diff.old[item.a])}"] if item.a is not None else []
            lines += [f"+ {unit_text(diff.new[item.b])}"] if item.b is not None else []
    return tuple(lines[:MOST_KERNEL_LINES])


def origins_of(trial: Trial) -> Origins:
    """The links as bindings. Places number the bindings of each function in text order."""
    if not trial.links:
        return {}
    numbered = [
        {name: list(bindings(fn)) for name, fn in normal_form_of(stage.module).relax_functions.items()}
        for stage in (trial.a, trial.b)
    ]
    old, new = numbered
    return {
        new[to][m]: old[source][n]
        for (source, n), (to, m) in trial.links
        if n < len(old.get(source, ())) and m < len(new.get(to, ()))
    }


def links_between(snapshots: Sequence[Snapshot], i: int, j: int) -> Links:
    """The recorded provenance between stages `i` and `j` of a session, for bindings that are not the same object."""
    origin: dict[e.Binding, e.Binding] = {}
    for snapshot in snapshots[i + 1 : j + 1]:
        for rewrite in snapshot.rewrites:
            for before, after in zip(rewrite.before[-1:], rewrite.after[-1:], strict=False):
                origin[after] = origin.get(before, before)
    places = [
        {
            binding: (name, number)
            for name, fn in snapshots[k].module.relax_functions.items()
            for number, binding in enumerate(bindings(fn))
        }
        for k in (i, j)
    ]
    pairs = [(places[0].get(origin.get(binding, binding)), place) for binding, place in places[1].items()]
    return tuple([(source, place) for source, place in pairs if source is not None])


# -- verdicts -----------------------------------------------------------------------------------------------------------


def outcome(a: Recording, b: Recording, tolerance: Tolerance) -> tuple[str, tuple[tuple[str, Delta], ...]]:
    """Why two runs differ for their caller (empty if they do not), and the distances of their results.

    Compared are results, inputs that were overwritten, and printed lines. Two runs that both stop are equal.
    """
    if a.failure is not None or b.failure is not None:
        if a.failure is not None and b.failure is not None:
            return f"A stops in call {a.call}, B in call {b.call}" if a.call != b.call else "", ()
        stopped = "A" if a.failure is not None else "B"
        return f"only {stopped} stops", ()
    left, right = list(leaves_of(a.result)), list(leaves_of(b.result))
    if len(left) != len(right):
        return f"{len(left)} results against {len(right)}", ()
    found = [(name, delta(x, y, tolerance)) for name, x, y in zip(b.labels, left, right, strict=True)]
    names = [*a.names, *[f"input {n}" for n in range(len(a.names), len(a.inputs))]]
    for name, x, y in zip(names, a.inputs, b.inputs, strict=False):
        apart = delta(x, y, tolerance)
        if not apart.equal:
            found.append((f"{name} (overwritten)", apart))
    wrong = [name for name, apart in found if not apart.equal]
    if not wrong and a.output != b.output:
        return "they print different lines", tuple(found)
    return differing(wrong) if wrong else "", tuple(found)


def judged(
    a: Recording,
    b: Recording,
    sample: str,
    tolerance: Tolerance,
    links: Origins,
    everything: bool = False,
    interrupt: Interrupt | None = None,
) -> Verdict:
    """The verdict on two recorded runs. Raises Cancelled if it was interrupted."""
    reason, results = outcome(a, b, tolerance)
    if not reason and not everything:
        return _verdict(a, b, sample, reason, results)
    matches = counterparts(a.productions, b.productions, links, tolerance, interrupt)
    report = Report(a, b, matches, tolerance)
    verdict = report.verdict(sample, reason, results)
    pairs = [report.pairing(match) for match in polled(matches, interrupt)] if everything else ()
    return replace(verdict, pairs=tuple(pairs))


def _verdict(
    a: Recording, b: Recording, sample: str, reason: str, results: tuple[tuple[str, Delta], ...]
) -> Verdict:
    a_stops, b_stops = ["" if run.failure is None else run.failure.message for run in (a, b)]
    return Verdict(sample, reason, results, (a_stops, b_stops), unkept=a.unkept + b.unkept)


class Report:
    """Turns matches of two runs into pairs with texts."""

    def __init__(self, a: Recording, b: Recording, matches: Sequence[Match], tolerance: Tolerance) -> None:
        self.a, self.b, self.tolerance = a, b, tolerance
        self.of_b = {match.b: match for match in matches if match.b is not None}
        self._within = Holders(a, b, matches)

    def verdict(self, sample: str, reason: str, results: tuple[tuple[str, Delta], ...]) -> Verdict:
        """The verdict, with the first pair that differs if there is a reason."""
        verdict = _verdict(self.a, self.b, sample, reason, results)
        if not reason:
            return verdict
        first, operands = self.first()
        return replace(verdict, first=first, operands=operands)

    def pairing(self, match: Match) -> Pairing:
        """A match with the distance of its values."""
        left = None if match.a is None else self.a.productions[match.a]
        right = None if match.b is None else self.b.productions[match.b]
        sides = [None if item is None else side_of(item) for item in (left, right)]
        if left is None or right is None:
            within = "" if match.a is None else self._within.of(match.a)
            return Pairing(sides[0], sides[1], None, match.by, within)
        if left.value is UNKNOWN or right.value is UNKNOWN:  # beyond the memory limit
            return Pairing(sides[0], sides[1], None, "not kept")
        apart = delta(left.value, right.value, self.tolerance)
        row = "" if apart.equal else wrong_row(left, right, self.tolerance)
        return Pairing(sides[0], sides[1], apart, match.by, row=row)

    def first(self) -> tuple[Pairing | None, tuple[Pairing, ...]]:
        """The first pair that differs among the values that the wrong result depends on, and its operands in B."""
        wrong = self._wrong()
        for number in wrong:
            pair = self.pairing(self.of_b[number])
            if pair.delta is not None and not pair.equal:
                return pair, self.operands(self.b.productions[number].reads)
        for number in wrong:  # values that only B has
            if self.of_b[number].a is None and self.b.productions[number].value is not UNKNOWN:
                return self.pairing(self.of_b[number]), self.operands(self.b.productions[number].reads)
        if self.b.failure is not None and self.b.last is not None:
            return Pairing(None, _of_binding(self.b.last), None, "stopped"), self.operands(self.b.last_reads)
        if self.a.failure is not None and self.a.last is not None:
            return Pairing(_of_binding(self.a.last), None, None, "stopped"), ()
        return self._by_name() or self._results(), ()

    def _by_name(self) -> Pairing | None:
        """The first variable of B that had another value in A, if every wrong value has an equal one elsewhere in A."""
        named = {(item.function, item.name): item for item in reversed(self.a.productions)}
        for item in self.b.productions:
            before = named.get((item.function, item.name))
            if before is not None and not (apart := delta(before.value, item.value, self.tolerance)).equal:
                return Pairing(side_of(before), side_of(item), apart, "name")
        return None

    def _wrong(self) -> list[int]:
        """Numbers in B of the values without an equal one in A, from which the results or the stop of B follow."""
        start = self.b.last_reads if self.b.failure is not None else self.b.ends_in
        wrong = self._before(start)
        if wrong or self.b.failure is not None:
            return wrong
        inputs = set(self.b.names)
        found = [self.b.productions[n] for n, match in self.of_b.items() if not match.equal]
        return sorted([item.number for item in found if item.written and item.name in inputs])

    def _before(self, start: Iterable[int]) -> list[int]:
        seen: set[int] = set()
        stack = list(start)
        while stack:
            number = stack.pop()
            if number >= 0 and number not in seen and not self.of_b[number].equal:
                seen.add(number)
                stack.extend(self.b.productions[number].reads)
        return sorted(seen)

    def operands(self, reads: Sequence[int]) -> tuple[Pairing, ...]:
        """The operands of a value of B, as pairs."""
        found = []
        for number in reads:
            if number >= 0:
                found.append(self.pairing(self.of_b[number]))
            elif -number <= len(self.b.names):
                name = self.b.names[-number - 1]
                found.append(Pairing(Side("", name, "input"), Side("", name, "input"), Delta(), "input"))
        return tuple(found)

    def _results(self) -> Pairing | None:
        """The bindings that the results come from, when every value has an equal one but the results differ."""
        sides = [
            side_of(run.productions[run.ends_in[0]]) if run.ends_in and run.ends_in[0] >= 0 else None
            for run in (self.a, self.b)
        ]
        return Pairing(sides[0], sides[1], None, "result") if any(sides) else None


def side_of(item: Production) -> Side:
    """The names and texts of a recorded value."""
    side = _of_binding(item.binding)
    shape = item.value.shape if isinstance(item.value, np.ndarray) else None
    return Side(
        item.function,
        item.name,
        item.operation,
        side.text,
        side.line,
        item.stale,
        shape,
        item.call,
        item.place,
    )


def _of_binding(binding: e.Binding) -> Side:
    span = binding.span
    name = binding.var.name if binding.var is not None else ""
    return Side("", name, "", binding_text(binding), span.line if span is not None else 0)


def _as(stored: Value, value: Value) -> Value:
    """A stored value in the dtype of another: files keep dtypes unknown to numpy as raw bytes."""
    return read_as(stored, getattr(value, "dtype", None))


def against(
    stage: Stage, function: str, sample: Sample, values: Mapping[str, Value], tolerance: Tolerance, cache: Path | None = None,
    interrupt: Interrupt | None = None,
) -> Comparison:  # fmt: skip
    """Compare a run with recorded values: results called `out0`, `out1`, …, and values by the names of variables."""
    name = function or stage.entry
    given = sample_run(stage, name, sample)
    run = given.recorded(stage.module, cache, interrupt)
    last = {item.name: item for item in run.productions if item.name in values}
    pairs = []
    for item in run.productions:
        if last.get(item.name) is item:
            apart = delta(_as(values[item.name], item.value), item.value, tolerance)
            pairs.append((item, Pairing(Side("", item.name, "recorded"), side_of(item), apart, "name")))
    results = [] if run.failure is not None else run.last_results(given.program)
    found = [
        (f"out{n}", delta(_as(values[f"out{n}"], value), value, tolerance))
        for n, value in enumerate(results)
        if f"out{n}" in values
    ]
    wrong = [
        *[item.name for item, pair in pairs if not pair.equal],
        *[key for key, apart in found if not apart.equal],
    ]
    reason = f"{wrong[0]} differs" if wrong else ""
    if run.failure is not None:
        reason = "the program stops"
    first = next((pair for _, pair in pairs if not pair.equal), None)
    stopped = "" if run.failure is None else run.failure.message
    verdict = Verdict(
        str(sample),
        reason,
        tuple(found),
        ("", stopped),
        first,
        (),
        tuple([pair for _, pair in pairs]),
        run.unkept,
    )
    return Comparison("recorded values", str(stage), name, (verdict,))
