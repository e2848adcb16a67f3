"""Compares two programs by running them on equal inputs, and names the first binding where their values part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.exec.interrupt import Interrupt, polled
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import diff_kernels, unit_text
from relax_explorer.core.session.arrays import read_as
from relax_explorer.core.session.builds import as_stage
from relax_explorer.core.session.call_program import CallProgram
from relax_explorer.core.session.counterparts import Origins, counterparts
from relax_explorer.core.session.difference import BY_DTYPE, Delta, Tolerance, delta
from relax_explorer.core.session.equal_terms import on_equal_terms
from relax_explorer.core.session.judging import Judge, Ran, Traced, ran_of, weigh
from relax_explorer.core.session.recording import Recording
from relax_explorer.core.session.samples import Sample, program_of, sample_run, samples_of
from relax_explorer.core.session.shadows import Shadows
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.session.verdict import (
    Comparison,
    Judgement,
    Pairing,
    Report,
    Side,
    Verdict,
    WideRuns,
    outcome,
    plain_verdict,
    side_of,
)
from relax_explorer.core.tir.stmt import PrimFunc

__all__ = [
    "BY_DTYPE",
    "Comparison",
    "Links",
    "Pairing",
    "Report",
    "Side",
    "Told",
    "Trial",
    "Verdict",
    "against",
    "beside",
    "compare",
    "judged",
    "links_between",
    "mapped",
    "origins_of",
    "outcome",
    "runs_of",
    "side_of",
    "untold",
    "verdict_of",
]

MOST_KERNEL_LINES = 12
Place = tuple[str, int]
"""A function and the number of a binding in it."""
Links = tuple[tuple[Place, Place], ...]
"""Places of the first stage, each with the place of the second that came from it."""


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
"""A listener that is called before each part of long work: with what it is, its number, and how many there are."""


def untold(what: str, number: int, total: int) -> None:
    """A listener that does nothing."""


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

    >>> rxe.compare(module, rxe.apply_pass(module, "LegalizeOps")).equal
    True
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
    trial = trial_on_equal_terms(trial)
    verdict = judged(trial, runs_of(trial))[0]
    kernel = _kernel_changes(trial.a.module, trial.b.module, verdict.first)
    return replace(verdict, kernel=kernel, call=call_of(trial, verdict))


def trial_on_equal_terms(trial: Trial) -> Trial:
    """The trial on a sample that gives one stage the values that the other one has as constants."""
    (sample,) = on_equal_terms((trial.sample,), (trial.a, trial.b), trial.function)
    return replace(trial, sample=sample)


def call_of(trial: Trial, verdict: Verdict) -> str:
    """The call of a file in which two runs part; empty for one call, and for equal runs."""
    first = verdict.first
    side = None if first is None else first.b or first.a
    if trial.sample.calls is None or side is None:
        return ""
    return program_of(trial.a.module, trial.sample).label(side.call)


def runs_of(trial: Trial) -> tuple[Ran, Ran]:
    """The recorded runs of both stages on the same inputs."""
    given = sample_run(trial.a, trial.function, trial.sample)
    a, b = [
        ran_of(given, stage.module, given.recorded(stage.module, trial.cache, trial.interrupt))
        for stage in (trial.a, trial.b)
    ]
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


def judged(trial: Trial, runs: tuple[Ran, Ran], pairs: bool = False) -> tuple[Verdict, Report | None]:
    """The verdict on two recorded runs, and the report on their values if `pairs` or a difference asks for it.

    Raises Cancelled if it was interrupted.
    """
    a, b = runs
    pairs = pairs or trial.everything
    links, interrupt = origins_of(trial), trial.interrupt
    weighed = weigh(
        Judge(trial.cache, interrupt, Shadows(trial.cache, interrupt), pairs), a, b, trial.tolerance, links
    )
    verdict = plain_verdict(a.run, b.run, str(trial.sample), weighed.reason, weighed.results)
    verdict = replace(verdict, judgement=weighed.judgement)
    if not weighed.reason and not pairs:
        return verdict, None
    report = _report(a.run, b.run, weighed.traced, links, trial)
    if weighed.reason:
        source = report
        if weighed.traced is not None and report.wide is None:  # rounding decided a branch
            source = weighed.traced.report
        first, operands = source.first()
        verdict = replace(verdict, first=first, operands=operands)
    if trial.everything:
        found = [report.pairing(match) for match in polled(report.matches, interrupt)]
        verdict = replace(verdict, pairs=tuple(found))
    return verdict, report


def _report(a: Recording, b: Recording, traced: Traced | None, links: Origins, trial: Trial) -> Report:
    """The pairs of two runs. If they were traced in float64, value by value, their pairs there count."""
    if traced is not None:
        sides = ((a, traced.a), (b, traced.b))
        if all(len(run.productions) == len(shadow.productions) for run, shadow in sides):
            wide = WideRuns(traced.a, traced.b, traced.tolerance)
            return Report(a, b, traced.matches, trial.tolerance, wide, trial.interrupt)
    matches = counterparts(a.productions, b.productions, links, trial.tolerance, trial.interrupt)
    return Report(a, b, matches, trial.tolerance, interrupt=trial.interrupt)


def _as(stored: Value, value: Value) -> Value:
    """A stored value in the dtype of another: files keep dtypes unknown to numpy as raw bytes."""
    return read_as(stored, getattr(value, "dtype", None))


def random_rounding(
    judge: Judge, ran: Ran, values: Mapping[str, Value], found: Sequence[tuple[str, Delta]]
) -> Judgement | None:
    """What random rounding says of results that are out of the bound beside recorded ones; None if they have another form."""
    if any(apart.reason not in ("", "values") for _, apart in found):
        return None
    results = list(enumerate(ran.run.last_results(ran.program)))
    places = ran.run.ends_at if ran.program is not None else range(len(results))
    given = [(places[n], x, _as(values[f"out{n}"], x)) for n, x in results if f"out{n}" in values]
    return judge.recorded(ran, given)


def against(
    stage: Stage, function: str, sample: Sample, values: Mapping[str, Value], tolerance: Tolerance, cache: Path | None = None,
    interrupt: Interrupt | None = None,
) -> Comparison:  # fmt: skip
    """Compare a run with recorded values: results called `out0`, `out1`, …, and values by the names of variables."""
    name = function or stage.entry
    given = sample_run(stage, name, sample)
    run = given.recorded(stage.module, cache, interrupt)
    judge = Judge(cache, interrupt, Shadows(cache, interrupt))
    ran = ran_of(given, stage.module, run)
    verdict = beside(
        run, values, tolerance, lambda found: random_rounding(judge, ran, values, found), given.program
    )
    return Comparison("recorded values", str(stage), name, (replace(verdict, sample=str(sample)),))


def beside(
    run: Recording, values: Mapping[str, Value], tolerance: Tolerance, judged: Callable[[Sequence[tuple[str, Delta]]], Judgement | None],
    program: CallProgram | None = None,
) -> Verdict:  # fmt: skip
    """The verdict on a run beside recorded values. `judged` tells whether rounding explains results that are out of the bound."""
    last = {item.name: item for item in run.productions if item.name in values}
    pairs = []
    for item in run.productions:
        if last.get(item.name) is item:
            apart = delta(_as(values[item.name], item.value), item.value, tolerance)
            pairs.append((item, Pairing(Side("", item.name, "recorded"), side_of(item), apart, "name")))
    results = [] if run.failure is not None else run.last_results(program)
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
    judgement = None
    is_judged = first is None or any(not apart.equal for _, apart in found)
    if wrong and is_judged and run.failure is None and not tolerance.is_given:
        judgement = judged(found)
        reason = reason if judgement is None or judgement.is_fault else ""
    stopped = "" if run.failure is None else run.failure.message
    listed = tuple([pair for _, pair in pairs])
    return Verdict(
        "", reason, tuple(found), ("", stopped), first, (), listed, run.unkept, judgement=judgement
    )
