"""`graph` and `report`: graphs of a stage, of two, or of a run, and a session as one HTML file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from relax_explorer.core.cost.program_cost import ModuleCosts
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.one_run import BindingTimes, copied, warm_times
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.compiled_beside import BesideOurs, first_of
from relax_explorer.core.session.inputs import call_values
from relax_explorer.core.session.model_weights import with_weights
from relax_explorer.core.session.run_log import RunLog, logged
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.ui.cli import output, streams
from relax_explorer.ui.cli.compiled_run import compiled_in
from relax_explorer.ui.cli.input_options import inputs_given, lengths_given
from relax_explorer.ui.cli.interruptible import compiling, interruptible
from relax_explorer.ui.cli.opening import build_at, chosen
from relax_explorer.ui.cli.output import Exact, Result
from relax_explorer.ui.cli.programs import begun_session, open_session, stage_at, two_stages
from relax_explorer.ui.cli.run import Choice, check_alone, most_bytes, relax_function, started
from relax_explorer.ui.files import STANDARD_OUTPUT, Target
from relax_explorer.viz.call_structure import call_structure
from relax_explorer.viz.dot import DrawError, Engine
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.ir_graph import graph as function_graph
from relax_explorer.viz.marked_graph import Counted, Measure, diff_graph, heated, heated_by_cost
from relax_explorer.viz.node_history import heirs
from relax_explorer.viz.solver_steps import read_solving, solving_report
from relax_explorer.viz.storage_view import by_storage
from relax_explorer.viz.visible import json_document

if TYPE_CHECKING:
    from relax_explorer.viz.live_page import LivePage


def between_stages(
    session: Session, left: Snapshot, right: Snapshot, func: str | None, weights: str, memory: bool
) -> Drawing:
    """The graph of a function with what differs between two stages."""
    difference = session.between(left, right)
    name = func or right.entry
    followed = heirs(session, left, right, name, memory)
    drawing = diff_graph(left.module, right.module, difference, name, weights, memory, followed)
    stages = " → ".join(f"{stage.label} {stage.made_by}" for stage in (left, right))
    return replace(drawing, title=f"{drawing.title}: {stages}")


def with_heat(
    session: Session, stage: Snapshot, drawing: Drawing, measure: Measure, choice: Choice, calls: str | None,
) -> Drawing:  # fmt: skip
    """The heat map of a graph after warm runs of its function, or of the calls of a file."""
    check_alone(calls, choice[1:3])
    start = started(session, calls, (drawing.title, *choice[1:]), True, stage)

    def measured(interrupt: Interrupt) -> BindingTimes:
        def machine() -> Machine:
            args = list(map(copied, start.args))  # a kernel may overwrite them
            return Machine(
                start.module, start.name, args, cache=session.cache, interrupt=interrupt, private=True
            )

        made = [machine()]
        with compiling(made[0].kernels):
            return warm_times(lambda: made.pop() if made else machine())

    times: BindingTimes = interruptible(measured)
    return heated(drawing, times, measure)


def with_counted_heat(
    stage: Snapshot, drawing: Drawing, measure: Counted, shape: tuple[str, ...], of_run: tuple[object, ...]
) -> Drawing:
    """The heat map of a graph by FLOPs, bytes or memory, which no run is needed for."""
    if any(of_run):
        raise click.UsageError(f"--heat {measure} runs nothing: leave --input and --run-calls out")
    if drawing.title not in stage.module.relax_functions:
        raise click.UsageError(f"there is no Relax function {drawing.title!r}")
    cost = ModuleCosts(stage.module).of(drawing.title)
    try:
        return heated_by_cost(drawing, cost.at(lengths_given(shape)), measure)
    except Failure as failure:  # a variable that it does not have
        raise click.UsageError(f"--shape: {failure.diagnostics[0].message}") from None


def with_machine_heat(session: Session, input: str, stage: Snapshot, drawing: Drawing) -> Drawing:
    """The heat map of a graph after what the compiled program of a recording took."""
    known = compiled_in(session, input)
    if known is None:
        raise click.UsageError("--heat machine needs a recording with values: rxe record --values -- …")
    if stage.module is not known.last:
        last = session.stages[-1]
        raise click.UsageError(f"the recorded calls belong to the last stage: --stage {last.label}")
    times = known.times(drawing.title)
    if not times.rows:
        ran = ", ".join(known.names) or "none"
        raise click.UsageError(f"no run of {drawing.title} is recorded; there are {ran}")
    return heated(drawing, times, "machine")


def _one_stage(
    input: str, passes: str | None, stage: str | None, heat: Measure | None
) -> tuple[Session, Snapshot]:
    """The session and the stage. What a recording tells of the compiled program is known of the last stage alone."""
    if heat == "machine":
        session = open_session(input, passes)
        return session, chosen(session, stage)
    return stage_at(input, passes, stage)


def coloured(
    session: Session, stage: Snapshot, drawing: Drawing, heat: Measure | None, storages: bool, choice: Choice, input: str, calls: str | None,
) -> Drawing:  # fmt: skip
    """A graph with the colours that were asked for."""
    if storages:
        return by_storage(drawing, stage.module.relax_functions[drawing.title])
    if heat is None:
        return drawing
    if heat == "machine":
        return with_machine_heat(session, input, stage, drawing)
    if heat in ("flops", "moved", "peak"):
        return with_counted_heat(stage, drawing, heat, choice[2], (choice[1], calls))
    return with_heat(session, stage, drawing, heat, choice, calls)


def of_stage(
    stage: Snapshot,
    func: str | None,
    block: int | None,
    weights: str,
    layers: str,
    inside: str | None,
    memory: bool,
) -> Drawing:
    """The graph of one function of a stage, or of one of its blocks."""
    opened = opened_functions(stage.module, inside)
    try:
        return function_graph(
            stage.module,
            func or stage.entry,
            block=block,
            weights=weights,
            layers=layers,
            inside=opened,
            memory=memory,
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
    is_more_than_storages: bool,
) -> None:
    """Refuse options that have no effect together."""
    if between is not None and any(option is not None for option in of_one):
        raise click.UsageError("--between draws two stages: leave --stage, --heat and --inside out")
    if is_mixed:
        raise click.UsageError(
            "--calls draws all functions: leave --func, --inside, --heat, --memory and --between out"
        )
    if is_more_than_block:
        raise click.UsageError(
            "--block draws one block of one function: leave --calls, --inside and --between out"
        )
    if is_more_than_storages:
        raise click.UsageError("--storages colours one function: leave --between, --calls and --heat out")
    if heat in (None, "machine") and any(of_run):
        raise click.UsageError("--input, --shape and --run-calls are for the run of --heat")


def graph(
    input: str, func: str | None, passes: str | None, stage: str | None, output_: Target | None, format: str | None, engine: Engine,
    around: str | None, radius: int, max_nodes: int, weights: str, expand: bool, memory: bool, between: str | None, heat: Measure | None,
    input_: tuple[str, ...], shape: tuple[str, ...], max_input: float, inside: str | None, calls: bool, block: int | None, run_calls: str | None,
    storages: bool,
) -> Result:  # fmt: skip
    """Draw a graph."""
    check_format(output_ or STANDARD_OUTPUT, format)
    check_options(
        between,
        (stage, heat, inside),
        heat,
        (input_, shape, run_calls),
        calls and bool(func or inside or heat or between or memory),
        block is not None and bool(calls or inside or between),
        storages and bool(between or calls or heat),
    )
    if between is not None:
        session = open_session(input, passes)
        drawing = between_stages(session, *two_stages(session, between), func, weights, memory)
    elif calls:
        drawing = call_structure(stage_at(input, passes, stage)[1].module)
    else:
        session, snapshot = _one_stage(input, passes, stage, heat)
        layers = "each" if expand or around is not None or block is not None else "once"
        drawing = of_stage(snapshot, func, block, weights, layers, inside, memory)
        choice = (None, input_, shape, max_input)
        drawing = coloured(session, snapshot, drawing, heat, storages, choice, input, run_calls)
    if around is not None:
        named = (node.id for node in drawing.nodes if around in (node.title, *node.lines))
        centre = around if around in drawing.number else next(named, None)
        if centre is None:
            raise click.UsageError(f"the graph has no {'function' if calls else 'variable'} {around!r}")
        drawing = drawing.neighbourhood(centre, radius, max_nodes)
    return draw(drawing.scoped(max_nodes), output_ or STANDARD_OUTPUT, format, engine)


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


def draw(graph: Drawing, target: Target, format: str | None, engine: Engine) -> Result:
    """Draw `graph` in `format`. Without one, the file's extension decides; a terminal gets text."""
    is_view = target.name is None and streams.is_ascii()
    style = format or (_style_of(target.name) if target.name else "unicode")
    if style in ("svg", "png"):
        return _picture(graph, target, style, engine)
    style = "ascii" if is_view and style == "unicode" else style
    texts: dict[str, Callable[[], str]] = {
        "dot": graph.dot,
        "mermaid": graph.mermaid,
        "json": lambda: output.json_text(json_document("graph", graph.data()), 2),
        "model-explorer": lambda: output.json_text(graph.graph_collection(), 2),
        "netron": graph.netron,
        "unicode": lambda: graph.terminal(shutil.get_terminal_size().columns),
        "ascii": lambda: graph.terminal(shutil.get_terminal_size().columns, ascii=True),
    }
    return Result("graph", graph.data, [Exact(texts[style]())], file=target)


def check_format(target: Target, format: str | None) -> None:
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


def _picture(graph: Drawing, target: Target, style: str, engine: Engine) -> Result:
    try:
        picture = graph.draw(style, engine)
    except DrawError as error:
        return Result("graph", graph.data, (), output.CANNOT, remarks=[f"relax-explorer: {error}"])
    size = f"{len(graph.nodes)} nodes, {len(graph.edges)} edges"
    written = [f"{target.name}: {size}, laid out by {picture.engine}"] * (target.name is not None)
    return Result("graph", graph.data, picture.data, remarks=[*picture.notices, *written], file=target)


# -- reporting -------------------------------------------------------------------------------------------------------
# `report`: a session as one HTML file.


def report(
    input: str, passes: str | None, profile: str, func: str | None, input_: tuple[str, ...], shape: tuple[str, ...], max_input: float,
    no_run: bool, output_: Target | None, calls: str | None,
) -> Result:  # fmt: skip
    """Write a session, with a run of a function or of a file of calls; or the steps of type relations or shape contracts.

    A function that can't be run leaves its reason in the report's place for the run, and a warning.
    """
    from relax_explorer.viz.report import report as page  # only this command needs the page

    target, solving = output_ or STANDARD_OUTPUT, read_solving(input)
    if solving is not None:
        return Result("report", {}, [Exact(solving_report(solving))], file=target)
    session, choice = open_session(input, passes, "default", profile), (func, input_, shape, max_input)
    log, compiled = (None, None) if no_run else interruptible(partial(runs_of, session, input, choice, calls))
    return Result("report", {}, [Exact(page(session, log, compiled=compiled))], file=target)


Runs = tuple["RunLog | None", "BesideOurs | None"]


def runs_of(session: Session, input: str, choice: Choice, calls: str | None, interrupt: Interrupt) -> Runs:
    """A run of the first stage, and the recorded one of the compiled program; a warning tells why there is none, unless it was asked for."""
    try:
        log = _log(session, choice, calls, interrupt)
        return log, first_of(input, session.stages[-1].module, session.cache, interrupt)
    except Failure as failure:
        if calls is not None or any(choice[:3]):
            raise
        output.say(f"warning: no run is recorded: {failure.diagnostics[0].message}", err=True)
        return None, None


def live_page(input: str, passes: str | None, profile: str) -> LivePage:
    """The page that a server shows, made anew from the file. Its session has the first stage."""
    from relax_explorer.viz.live_page import LivePage  # as above

    session = begun_session(build_at(input), passes, "default", profile)
    return LivePage(session, lambda known: runs_of(known, input, (None, (), (), 4.0), None, Interrupt()))


def _log(session: Session, choice: Choice, calls: str | None, interrupt: Interrupt) -> RunLog | None:
    func, sources, shape, gigabytes = choice
    stage = session.stages[0]
    if calls is not None:
        check_alone(calls, choice[:3])
        start = started(session, calls, choice, True, stage)
        debugger = Debugger(start.module, start.name, start.args, session.cache, interrupt, private=True)
        return logged(debugger, start.program.summary if start.program is not None else "")
    name = func or stage.entry
    if func is None and type(stage.module.functions.get(name)) is not e.Function:
        return None
    fn = relax_function(stage.module, name)
    values, note = call_values(
        fn, with_weights(inputs_given(sources, shape, name), [stage.module], name), most_bytes(gigabytes)
    )
    debugger = Debugger(stage.module, name, values, session.cache, interrupt, private=True)
    return logged(debugger, note)
