"""`graph`: graphs of a stage, of two, or of a run, written to files and to the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.one_run import BindingTimes
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.cli import output, streams
from relax_explorer.ui.cli.interruptible import compiling, interruptible
from relax_explorer.ui.cli.run import Choice, check_alone, started
from relax_explorer.ui.files import Target
from relax_explorer.viz.dot import DrawError, Engine
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


# -- graph output ----------------------------------------------------------------------------------------------------
# Write graphs to files and to the terminal.


_ENDINGS = {
    ".svg": "svg",
    ".png": "png",
    ".dot": "dot",
    ".gv": "dot",
    ".txt": "unicode",
    ".json": "json",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
}


def draw(graph: Drawing, target: Target, format: str | None, engine: Engine) -> int:
    """Draw `graph` in `format`. Without one, the file's extension decides; a terminal gets text."""
    is_view = target.name is None and streams.is_ascii()
    style = format or (_style_of(target.name) if target.name else "unicode")
    if style in ("svg", "png"):
        return _picture(graph, target, style, engine)
    style = "ascii" if is_view and style == "unicode" else style
    texts: dict[str, Callable[[], str]] = {
        "dot": graph.dot,
        "mermaid": graph.mermaid,
        "json": lambda: _json(graph),
        "unicode": lambda: graph.terminal(shutil.get_terminal_size().columns),
        "ascii": lambda: graph.terminal(shutil.get_terminal_size().columns, ascii=True),
    }
    output.write(texts[style](), target)
    return output.OK


def check(target: Target, format: str | None) -> None:
    """Refuse a file whose ending tells no format, before the work begins."""
    if format is None and target.name:
        _style_of(target.name)


def _style_of(name: str) -> str:
    """The format that the ending of a file tells; that of a file without one is SVG."""
    ending = Path(name).suffix.lower()
    if ending and ending not in _ENDINGS:
        known = ", ".join(_ENDINGS)
        raise click.UsageError(f"-o {name}: no format has the ending {ending}; it takes {known}, or --format")
    return _ENDINGS.get(ending, "svg")


def _picture(graph: Drawing, target: Target, style: str, engine: Engine) -> int:
    try:
        picture = graph.draw(style, engine)
    except DrawError as error:
        output.say(f"relax-explorer: {error}", err=True)
        return output.CANNOT
    output.write(picture.data, target)
    for note in picture.notices:
        output.say(note, err=True)
    if target.name is not None:
        output.say(
            f"{target.name}: {len(graph.nodes)} nodes, {len(graph.edges)} edges, laid out by {picture.engine}",
            err=True,
        )
    return output.OK


def _json(graph: Drawing) -> str:
    return output.document("graph", graph.data())
