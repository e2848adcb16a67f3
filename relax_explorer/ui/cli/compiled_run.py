"""`compare` on a recording with values: the compiled run beside ours, binding by binding."""

from __future__ import annotations

from collections.abc import Mapping
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

_MOST_RUNS = 50


def recording_with_values(text: str) -> Container | None:
    """The recording at `PATH` or `PATH@STAGE`, if it has calls of the virtual machine. Raises ParseError."""
    path = address(text)[0]
    if not is_container(path):
        return None
    container = open_container(path)
    return container if any(told.lines[recorder.CALL] for told in container.told) else None


def compare_compiled(container: Container, text: str, func: str | None, tolerance: Tolerance) -> Comparison:
    """Run what the compiled program ran, on the same values, and compare. Of another stage than the last, the results count alone.

    A cache that a run takes is the one that an earlier run has returned here.
    """
    path, name = address(text)
    build = build_at(path)
    last = build.stages[-1]
    stage = last if name is None else stage_of(build, name)
    runs = list(compiled_runs(container, last.module))[:_MOST_RUNS]
    known = dict.fromkeys([run.name for run in runs])
    if func is not None and func not in known:
        raise click.UsageError(
            f"no run of {func} is recorded in {path}; there are {', '.join(known) or 'none'}"
        )
    returned: list[Value] = []
    verdicts = []
    for number, run in enumerate(runs, 1):
        arguments = run.completed(returned)
        if arguments is None:
            output.say(
                f"run {number}, {run.name}, is left out: no call tells {', '.join(run.unknown)}", err=True
            )
            continue
        values = run.values if stage is last else _results(run)
        verdict, result = interruptible(partial(_beside, stage, run, arguments, values, tolerance))
        returned.append(result)
        if func not in (None, run.name):
            continue
        if verdict.equal and not verdict.results and not verdict.pairs:
            output.say(f"run {number}, {run.name}, has no value to compare", err=True)
        else:
            label = f"run {number}, {run.name}, {run.calls} calls, {run.seconds * 1000:.1f} ms there"
            verdicts.append(replace(verdict, sample=label))
    if not verdicts:
        raise click.UsageError(f"the calls in {path} are no run of a function whose arguments are known")
    names = ", ".join(known) if func is None else func
    return Comparison(f"the compiled run in {path}", build.title(stage), names, tuple(verdicts))


def _beside(
    stage: Stage, run: CompiledRun, arguments: tuple[Value, ...], values: Mapping[str, Value], tolerance: Tolerance, interrupt: Interrupt
) -> tuple[Verdict, Value]:  # fmt: skip
    """The verdict on one run, and what it returned."""
    given = SampleRun(run.name, Arguments(arguments))
    here = given.recorded(stage.module, directories.kernel_cache(), interrupt)
    return beside(here, values, tolerance, lambda found: None), here.returned


def _results(run: CompiledRun) -> dict[str, Value]:
    return {name: value for name, value in run.values.items() if name.startswith("out")}
