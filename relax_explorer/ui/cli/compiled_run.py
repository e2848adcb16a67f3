"""`compare` on a recording with values: the compiled run beside ours, binding by binding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import click

from relax_explorer import recorder
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.values import Value
from relax_explorer.core.session.compare import Comparison, Verdict, beside
from relax_explorer.core.session.compiled_values import CompiledRun, compiled_runs
from relax_explorer.core.session.containers import Container, open_container
from relax_explorer.core.session.difference import Tolerance
from relax_explorer.core.session.folders import address, is_container
from relax_explorer.core.session.recording import Arguments
from relax_explorer.core.session.samples import SampleRun
from relax_explorer.core.session.stages import Stage
from relax_explorer.ui import directories
from relax_explorer.ui.cli import output
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.opening import build_at, stage_of

_MOST_RUNS = 20


def recording_with_values(text: str) -> Container | None:
    """The recording at `PATH` or `PATH@STAGE`, if it has calls of the virtual machine. Raises ParseError."""
    path = address(text)[0]
    if not is_container(path):
        return None
    container = open_container(path)
    return container if any(told.lines[recorder.CALL] for told in container.told) else None


def compare_compiled(container: Container, text: str, func: str | None, tolerance: Tolerance) -> Comparison:
    """Run what the compiled program ran, on the same values, and compare. Of another stage than the last, the results count alone."""
    path, name = address(text)
    build = build_at(path)
    last = build.stages[-1]
    stage = last if name is None else stage_of(build, name)
    runs = list(compiled_runs(container, last.module))
    chosen = _chosen(runs, func, path)
    verdicts = []
    for number, run in enumerate(chosen[:_MOST_RUNS], 1):
        values = run.values if stage is last else _results(run)
        verdict = interruptible(partial(_beside, stage, run, values, tolerance))
        label = f"run {number}, {run.calls} calls, {run.seconds * 1000:.1f} ms there"
        verdicts.append(replace(verdict, sample=label))
    return Comparison(f"the compiled run in {path}", build.title(stage), chosen[0].function, tuple(verdicts))


def _beside(
    stage: Stage, run: CompiledRun, values: Mapping[str, Value], tolerance: Tolerance, interrupt: Interrupt
) -> Verdict:
    given = SampleRun(run.function, Arguments(run.arguments))
    return beside(stage, given, values, tolerance, directories.kernel_cache(), interrupt)


def _results(run: CompiledRun) -> dict[str, Value]:
    return {name: value for name, value in run.values.items() if name.startswith("out")}


def _chosen(runs: Sequence[CompiledRun], func: str | None, path: str) -> list[CompiledRun]:
    """The runs of one function whose arguments are known. Remarks name the others."""
    known = [run for run in runs if not run.unknown]
    counts = Counter(run.function for run in known)
    name = func or next(iter(counts), "")
    chosen = [run for run in known if run.function == name]
    for run in {run.function: run for run in runs if run.unknown}.values():
        output.say(f"{run.function} is left out: no call tells {', '.join(run.unknown[:5])}", err=True)
    others = [f"{other} ({output.counted(count, 'run')})" for other, count in counts.items() if other != name]
    if others:
        output.say(f"also recorded: {', '.join(others)}; --func chooses", err=True)
    if not chosen:
        text = f"the calls in {path} are no run of {name or 'a function of its last stage'}"
        raise click.UsageError(f"{text}, of which all arguments are known")
    if len(chosen) > _MOST_RUNS:
        output.say(f"the first {_MOST_RUNS} of {len(chosen)} runs are compared", err=True)
    return chosen
