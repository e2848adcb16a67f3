"""Graphs of the command line that need more than one stage, or a run."""

from __future__ import annotations

from dataclasses import replace

import click

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.one_run import BindingTimes
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.cli.interruptible import interruptible
from relax_explorer.ui.cli.progress import compiling
from relax_explorer.ui.cli.run import Choice, check_alone, started
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.marked_graph import Measure, diff_graph, heated


def between_stages(
    session: Session, left: Snapshot, right: Snapshot, func: str | None, weights: str
) -> Drawing:
    """The graph of a function with what differs between two stages."""
    difference = session.between(left, right)
    drawing = diff_graph(left.module, right.module, difference, func or right.entry, weights)
    stages = " → ".join(f"{stage.label} {stage.made_by}" for stage in (left, right))
    return replace(drawing, title=f"{drawing.title}: {stages}")


def with_heat(
    session: Session, stage: Snapshot, drawing: Drawing, measure: Measure, choice: Choice, calls: str | None,
) -> Drawing:  # fmt: skip
    """The heat map of a graph after one run of its function, or after the calls of a file."""
    check_alone(calls, choice[1:3])
    start = started(session, calls, (drawing.title, *choice[1:]), True, stage)

    def measured(interrupt: Interrupt) -> BindingTimes:
        machine = Machine(
            start.module, start.name, start.args, cache=session.cache, interrupt=interrupt, private=True
        )
        times = BindingTimes()
        with compiling(machine.kernels):
            times.run(machine)
        return times

    times: BindingTimes = interruptible(measured)
    return heated(drawing, times, measure)


def of_stage(
    stage: Snapshot, func: str | None, block: int | None, weights: str, layers: str, inside: str | None
) -> Drawing:
    """The graph of one function of a stage, or of one of its blocks."""
    opened = opened_functions(stage.module, inside)
    try:
        return graph(
            stage.module, func or stage.entry, block=block, weights=weights, layers=layers, inside=opened
        )
    except ValueError as error:  # it has no such block
        raise click.UsageError(str(error)) from None


def opened_functions(module: IRModule, names: str | None) -> frozenset[str]:
    """The functions of `--inside`."""
    known = frozenset(module.relax_functions)
    if names is None or names == "all":
        return known if names else frozenset()
    asked = frozenset(name.strip() for name in names.split(","))
    if unknown := sorted(asked - known):
        raise click.UsageError(
            f"the module has no Relax function {unknown[0]!r}; it has {', '.join(sorted(known))}"
        )
    return asked


def check_options(
    between: str | None,
    of_one: tuple[str | None, ...],
    heat: str | None,
    of_run: tuple[object, ...],
    is_mixed: bool,
    is_more_than_block: bool,
) -> None:
    """Refuse options that have no effect together."""
    if between is not None and any(option is not None for option in of_one):
        raise click.UsageError("--between draws two stages: leave --stage, --heat and --inside out")
    if is_mixed:
        raise click.UsageError(
            "--calls draws all functions: leave --func, --inside, --heat and --between out"
        )
    if is_more_than_block:
        raise click.UsageError(
            "--block draws one block of one function: leave --calls, --inside and --between out"
        )
    if heat is None and any(of_run):
        raise click.UsageError("--input, --shape and --run-calls are for the run of --heat")
