"""What takes a while to show: graphs, pictures, histories, searches through all stages, and files to take away. Each is a job."""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.app import App, SuspendNotSupported

from relax_explorer.core.cost.program_cost import ModuleCosts
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.one_run import BindingTimes, copied, warm_times
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.core.session.compiled_beside import first_of, runs_in, with_values
from relax_explorer.core.session.folders import address
from relax_explorer.core.session.run_log import RunLog, logged
from relax_explorer.core.session.samples import start_of
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.session.stages import Aside
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.ui.files import CannotWrite, target
from relax_explorer.ui.terminal_answers import answer_of, write_all
from relax_explorer.ui.tui import rows
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.line_words import COUNTED, MEASURES, STORAGES, TO
from relax_explorer.ui.tui.run_control import RunControl
from relax_explorer.ui.tui.stage_control import StageControl
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.table_rows import TableRows, found_in
from relax_explorer.viz.cells import CellPicture, cell_picture
from relax_explorer.viz.drawing import node_line
from relax_explorer.viz.graph import Graph, Mark
from relax_explorer.viz.node_history import NodeHistory, heirs, node_history
from relax_explorer.viz.report import Pane, html_page, panes_page, panes_text, picture_html
from relax_explorer.viz.solving import Solving
from relax_explorer.viz.tables import Row
from relax_explorer.viz.terminal_picture import NoPicture, shown_picture, speech
from relax_explorer.viz.visible import json_document, visible, visible_json

if TYPE_CHECKING:
    from relax_explorer.viz.drawing import Drawing

PATIENCE = 1.0  # seconds for the answer of a terminal
SILENT = "neither kitty's graphics nor sixel in this terminal; e writes the graph as SVG"
ABSENT = "pictures need a terminal of their own; e writes the graph as SVG"
BACK = "any key goes back"


def show_image(app: Host, png: bytes) -> None:
    """Leave the screen to a picture until a key is pressed, or tell why there is none."""
    width, height = app.size
    reading, writing = sys.__stdin__, sys.__stdout__
    try:
        with cast("App[int]", app).suspend():
            notice = ABSENT
            if reading is not None and writing is not None:
                notice = on_terminal(reading.fileno(), writing.fileno(), png, width, height)
    except (SuspendNotSupported, OSError, ValueError):  # no terminal, or a closed one
        notice = ABSENT
    app.say(notice)


def on_terminal(reading: int, writing: int, png: bytes, width: int, height: int) -> str:
    """Show a picture in a terminal, by its file descriptors, until a key is pressed. Returns why there is none; empty if there is."""
    try:
        before = termios.tcgetattr(reading)
    except termios.error:
        return ABSENT
    try:
        tty.setraw(reading)
        spoken = speech(answer_of(reading, writing, PATIENCE))
        if not spoken.protocol:
            return SILENT
        try:
            shown = shown_picture(png, spoken, width, height - 2)
        except NoPicture as problem:
            return str(problem)
        write_all(writing, b"\x1b[2J\x1b[H" + shown + f"\x1b[{height};1H {BACK}".encode())
        os.read(reading, 64)
        write_all(writing, b"\x1b_Ga=d,q=2\x1b\\" if spoken.protocol == "kitty" else b"")
        return ""
    finally:
        termios.tcsetattr(reading, termios.TCSAFLUSH, before)  # a late answer is no key


# -- pictures --------------------------------------------------------------------------------------------------------
# What takes a while to show: graphs, histories, and searches through all stages. Each is a job.


MOST_NODES = 2_000
MOST_FOUND = 2_000
MOST_TRACED = 2_000  # bindings of a function whose values are traced unasked; the trace would slow keys down


@dataclass(frozen=True, slots=True, eq=False)
class GraphPicture:
    """A graph laid out for the terminal, with a row for each node; `number` finds the node of a binding by its identity.

    `shown` is the session, the stage and the function of the graph of a whole function. `history` tells what became of the nodes of the
    graph that was shown before, of another stage.
    """

    graph: Graph
    picture: CellPicture
    rows: tuple[Row, ...]
    number: Mapping[int, int]
    shown: tuple[Session, int, str] | None = None
    history: NodeHistory | None = None


def graph_of(state: State, times: BindingTimes | None) -> Drawing:
    """The graph of the selected function, with what the stage changed, the selected binding, and the heat of a run."""
    from relax_explorer.viz.marked_graph import heated, heated_by_cost
    from relax_explorer.viz.storage_view import by_storage

    if state.options.calls:
        return _calls(state)
    drawing = _marked_graph(state)
    heat = state.options.heat
    if heat in COUNTED:
        cost = ModuleCosts(state.opened[1].module).of(graphed_function(state))
        drawing = heated_by_cost(drawing, cost.at_known(dict(state.options.lengths)), COUNTED[heat])
    elif heat == STORAGES:
        drawing = by_storage(drawing, state.opened[1].module.relax_functions[graphed_function(state)])
    elif times is not None:
        drawing = heated(drawing, times, MEASURES[heat])
    binding = state.selection.binding
    selected = next(
        (node.id for node in drawing.nodes if any(source is binding for source in node.sources)), None
    )
    if state.options.radius and selected is not None:
        drawing = drawing.neighbourhood(selected, state.options.radius)
    return drawing.scoped(MOST_NODES, selected)


def _marked_graph(state: State) -> Drawing:
    from relax_explorer.viz.ir_graph import CHANGED, graph
    from relax_explorer.viz.marked_graph import diff_graph, marks_of

    session, stage = state.opened
    name, options = graphed_function(state), state.options
    if not (stage.number and stage.changed):
        return graph(
            stage.module, name, layers=options.layers, inside=options.inside, memory=options.shows_memory
        )
    difference = session.diff(stage.number - 1, stage.number)
    if options.shows_removed:
        before, memory = session.stages[stage.number - 1], options.shows_memory
        followed = heirs(session, before, stage, name, memory)
        return diff_graph(before.module, stage.module, difference, name, memory=memory, heirs=followed)
    changed = {
        unit: marks - {Mark.ADDED} | CHANGED if Mark.ADDED in marks else marks
        for fn in difference.functions
        for unit, marks in marks_of(fn).items()
    }
    return graph(
        stage.module, name, changed, layers=options.layers, inside=options.inside, memory=options.shows_memory
    )


def _calls(state: State) -> Drawing:
    """Which function calls which, with what the stage changed."""
    from relax_explorer.viz.call_structure import call_structure

    session, stage = state.opened
    marks: dict[str, Mark] = {}
    if stage.number and stage.changed:
        difference = session.diff(stage.number - 1, stage.number)
        marks = {fn.name: Mark(fn.status) for fn in difference.functions if fn.status in ("added", "changed")}
    drawing = call_structure(stage.module, marks)
    name = graphed_function(state)
    if state.options.radius:
        drawing = drawing.neighbourhood(name, state.options.radius)
    return drawing.scoped(MOST_NODES, name)


def graphed_function(state: State) -> str:
    """The function that the graph shows: the selected one, else the entry."""
    stage, name = state.opened[1], state.selection.function
    return name if name in stage.module.relax_functions else stage.entry


def measured(
    session: Session, stage: Snapshot, name: str, given: CallInputs, interrupt: Interrupt
) -> BindingTimes | None:
    """The times of the bindings, medians of warm runs; None if the runs were cancelled."""
    earlier = [item.module for item in reversed(session.stages[: stage.number])]
    start = start_of(stage.module, name, given, earlier)

    def machine() -> Machine:
        args = list(map(copied, start.args))  # a kernel may overwrite them
        return Machine(start.module, start.name, args, cache=session.cache, interrupt=interrupt, private=True)

    try:
        return warm_times(machine)
    except Cancelled:
        return None


def taken_there(session: Session, name: str) -> BindingTimes | None:
    """What the calls of a function took in the recorded runs of the compiled program; None if there are none."""
    container = with_values(address(session.filename)[0])
    if container is None:
        return None
    times = runs_in(container, session.stages[-1].module, session.cache).times(name)
    return times if times.rows else None


def graph_picture(state: State, times: BindingTimes | None, last: GraphPicture | None = None) -> GraphPicture:
    """The graph laid out for the terminal, with what became of the nodes of the `last` one. The canvas marks the run."""
    drawing = graph_of(state, times)
    name, options = graphed_function(state), state.options
    is_whole = not (options.calls or options.radius or options.shows_removed)
    shown = (state.opened[0], state.selection.stage, name) if is_whole else None
    found = [
        Row(
            node_line(drawing, number),
            "",
            node.sources[0] if node.sources and Mark.REMOVED not in node.marks else None,
            node.id if state.options.calls else name,
            visible(node.shape_text, 40),
        )
        for number, node in enumerate(drawing.nodes)
    ]
    numbers: dict[int, int] = {}  # the first one of a binding that is drawn several times
    for number, node in enumerate(drawing.nodes):
        for source in node.sources:
            numbers.setdefault(id(source), number)
    history = _history(shown, drawing, last)
    return GraphPicture(drawing, cell_picture(drawing), tuple(found), numbers, shown, history)


def _history(
    shown: tuple[Session, int, str] | None, drawing: Drawing, last: GraphPicture | None
) -> NodeHistory | None:
    """What became of the nodes of the last graph, if it is that of the function in another stage."""
    if shown is None or last is None or last.shown is None:
        return None
    (session, number, name), (before, earlier, function) = shown, last.shown
    if session is not before or name != function or number == earlier:
        return None
    functions = session.diff(min(number, earlier), max(number, earlier)).functions
    found = next((item for item in functions if item.name == name), None)
    return None if found is None else node_history(last.graph, drawing, found, number < earlier)


class Pictures:
    """The jobs that draw, trace and search."""

    def __init__(self, app: Host, stages: StageControl, run: RunControl) -> None:
        self.app, self.stages, self.run = app, stages, run

    def image(self, times: BindingTimes | None) -> None:
        """Show the graph as a real picture, if the terminal can."""
        state = self.app.state
        if state.session is None:
            self.app.say("no program is open")
            return

        def work(job: Job) -> bytes | str:
            from relax_explorer.viz.dot import DrawError

            try:
                return graph_of(state, times).draw("png").data
            except DrawError as error:
                return f"no picture: {visible(str(error), 200)}"

        def done(found: bytes | str) -> None:

            if isinstance(found, str):
                self.app.say(found)
            else:
                show_image(self.app, found)

        self.app.jobs.start("graph picture", "drawing the picture", work, done)

    def history(self) -> None:
        """Show the history of the selected value or kernel; a line leads to its stage."""
        session, selection = self.app.state.session, self.app.state.selection
        name = selection.variable or selection.function
        stages = [] if session is None else session.stages
        if session is None or not (
            selection.variable or any(rows.has_kernel(stage, name) for stage in stages)
        ):
            self.app.say("select a binding or a line of a kernel first")
            return

        def work(job: Job) -> list[Row]:
            if selection.variable:
                return rows.history_rows(session, selection)
            return rows.kernel_rows(session, name, selection.stage)

        def done(found: list[Row]) -> None:
            here = next((n for n, row in enumerate(found) if row.mark == "▌"), 0)
            title = f"History of {'' if selection.variable else 'kernel '}{visible(name)}{rows.doubts(found)}"
            self.app.show_rows(title, found, here, self._to_trace)

        self.app.jobs.start("history", f"tracing {name}", work, done)

    def tracing(self) -> Callable[[], list[str]]:
        """What finds the stages that changed the selected value, in another thread."""
        session, selection, stage = self.app.state.session, self.app.state.selection, self.app.state.stage
        fn = stage.module.functions.get(selection.function) if stage is not None else None
        if session is None or type(fn) is not e.Function:
            return list
        if sum(len(block.bindings) for block in fn.body.blocks) > MOST_TRACED:
            return lambda: ["w traces it through the stages"]
        return lambda: rows.history_lines(session, selection)

    def _to_trace(self, row: Row) -> None:
        if isinstance(row.node, Aside):
            self.stages.open(row.node.path)
        elif isinstance(row.node, tuple):
            stage, binding = row.node
            self.stages.go_to(stage, row.function, binding)
            self.app.show_screen("passes")

    def who(self, name: str) -> None:
        """Show the history of a variable by name, from this stage or one before."""
        if self.stages.go_to_variable(name):
            self.history()
            return
        session = self.app.state.session
        for stage in reversed(session.stages if session is not None else []):
            if self.stages.go_to_variable(name, stage.number):
                self.history()
                return
        self.app.say(f"no stage has a variable {name!r}")

    # -- search ---------------------------------------------------------------------------------------------------

    def search_everywhere(self, text: str) -> None:
        """Find a text in all stages, and in the executable behind them; equal stages are searched once."""
        session = self.app.state.session
        if session is None:
            return

        def work(job: Job) -> list[Row]:
            return list(_all_matches(session, text, job))[:MOST_FOUND]

        def done(found: list[Row]) -> None:
            if found:
                self.app.show_rows(
                    f"{len(found)} lines with {visible(text)} in all stages", found, 0, self._to_match
                )
            else:
                self.app.say(f"no stage has {visible(text)}")

        self.app.jobs.start("search", f"searching {text}", work, done)

    def _to_match(self, row: Row) -> None:
        stage, binding = row.node
        self.stages.go_to(stage, row.function, binding)
        self.app.show_screen("passes")


def _all_matches(session: Session, text: str, job: Job) -> list[Row]:
    found: list[Row] = []
    for stage in list(session.stages):
        if job.is_stale or len(found) > MOST_FOUND:
            break
        if stage.changed:
            found += _matches_of(stage, text)
    return found if job.is_stale else [*found, *rows.instructions_with(session, text)]


def _matches_of(stage: Snapshot, text: str) -> list[Row]:
    """The lines of a stage with a text; those of one kernel are one line, else they would hide the bindings."""
    head, found = f"{stage.label:>3} {stage.made_by[:18]:<18} ", list[Row]()
    for name, group in groupby(found_in(TableRows(rows.table_of(stage)), text), key=lambda row: row.function):
        lines = list(group)
        if type(stage.module.functions.get(name)) is PrimFunc and len(lines) > 1:
            told = f"{head}kernel {name}: {len(lines)} lines"
            found.append(Row(visible(told), " ", (stage.number, None), name))
            continue
        for row in lines:
            line = f"{head}{row.text.strip()}"
            found.append(Row(visible(line), " ", (stage.number, row.binding), name, row.right))
    return found


# -- exporting -------------------------------------------------------------------------------------------------------
# Files to take away: the screen as SVG, HTML, JSON, text or Mermaid, and the session as a report. Each is written by
# a job.


ENDINGS = {"svg": ".svg", "html": ".html", "json": ".json", "text": ".txt", "mermaid": ".mmd"}
_USAGE = f"export takes {', '.join([*ENDINGS, *TO])} or a FILE"


class Exports:
    """The jobs that write files. The run that a report records can be cancelled."""

    def __init__(self, app: Host, run: RunControl) -> None:
        self.app, self.run = app, run
        self.interrupt = Interrupt()

    def cancel(self) -> None:
        """Cancel what runs."""
        self.interrupt.cancel()

    def export(self, text: str) -> None:
        """Write what the screen shows; `text` is a format, a file, or both."""
        state = self.app.state
        style, name = _asked(text)
        if not style:
            self.app.say(_USAGE)
        elif state.solving is not None:
            self._export_steps(state.solving, state.step, style, name)
        elif state.session is None or state.stage is None:
            self.app.say("no program is open")
        else:
            stem = f"{Path(state.path or 'program').stem}-{self.app.screen_name}-{state.stage.label}"
            made = self._maker(style)
            self.write(name or stem + ENDINGS[style], f"writing {style}", lambda: (made(), ""))

    def _export_steps(self, solving: Solving, step: int, style: str, name: str) -> None:
        """Write the steps of a solver: all as JSON, or the panes of the present one."""
        if style in ("svg", "mermaid"):
            self.app.say("type relations and shape contracts have no graph; export html, json or text")
            return
        shown, title = self.app.shown_panes(), f"{Path(solving.path).name} · step {step}"

        def made() -> tuple[str, str]:
            if style == "json":
                return _document(solving.schema, solving.data()), ""
            return _panes(style, title, shown), ""

        self.write(
            name or f"{Path(solving.path).stem}-solver-{step}{ENDINGS[style]}", f"writing {style}", made
        )

    def _maker(self, style: str) -> Callable[[], str]:
        """The function that makes the text of a format. It runs in a job, so it reads no widget."""
        state, screen = self.app.state, self.app.screen_name
        session, stage = state.opened
        if style in ("svg", "mermaid"):
            return lambda: graph_of(state, None).svg() if style == "svg" else graph_of(state, None).mermaid()
        if screen == "graph":
            makers: dict[str, Callable[[], str]] = {
                "html": lambda: _graph_page(graph_of(state, None)),
                "json": lambda: _document("graph", graph_of(state, None).data()),
                "text": lambda: graph_of(state, None).terminal(200) + "\n",
            }
            return makers[style]
        if style == "json":
            return lambda: _document("stage", _stage_data(session, stage))
        shown = self.app.shown_panes()
        title = f"{Path(state.path).name} · {screen.title()} · stage {stage.label} {stage.made_by}"
        return lambda: _panes(style, title, shown)

    def report(self, text: str) -> None:
        """Write the whole session as one page, with a run of the first stage if it runs; or all steps of a solver."""
        session, solving = self.app.state.session, self.app.state.solving
        if solving is not None:
            from relax_explorer.viz.solver_steps import solving_report

            name = text or f"{Path(solving.path).stem}-report.html"
            self.write(name, "writing the report", lambda: (solving_report(solving), ""))
            return
        if session is None:
            self.app.say("no program is open")
            return
        self.interrupt = interrupt = Interrupt()
        name = self.run.call.function or session.stages[0].entry
        given = self.run.given(name)

        def made() -> tuple[str, str]:
            from relax_explorer.viz.report import report

            log, remark = _log(session, name, given, interrupt)
            left = session.total + 1 - len(session.stages)
            compiled = first_of(session.filename, session.stages[-1].module, session.cache, interrupt)
            page = report(session, log, compiled=compiled if left <= 0 else None)
            return page, f"{remark}; {left} passes had not run" if left > 0 else remark

        self.write(
            text or f"{Path(session.filename or 'program').stem}-report.html", "writing the report", made
        )

    def graph(self, times: BindingTimes | None) -> None:
        """Write the graph as SVG into the folder where the explorer was started."""
        state = self.app.state
        if state.session is None:
            return

        def made() -> tuple[bytes, str]:
            picture = graph_of(state, times).draw("svg")
            return picture.data, f", laid out by {picture.engine}"

        shown = "calls" if state.options.calls else graphed_function(state)
        name = f"{Path(state.path or 'graph').stem}-{shown}-{state.selection.stage}.svg"
        self.write(name, "drawing the SVG", made)

    def write(self, name: str, what: str, made: Callable[[], tuple[str | bytes, str]]) -> None:
        """Write a file in a job, unless a recording asks for it: who recorded it may be a stranger.

        A browser gets it as a download, unless its name has a folder: that one is of the machine that serves.
        """
        if refusal := self.app.permit.to_write(name):
            self.app.say(refusal)
            return
        if not name.isprintable():
            self.app.say(f"a file name has no control characters: {visible(name, 60)}")
            return

        def work(job: Job) -> Callable[[], str]:
            try:
                if self.app.is_web and Path(name).name == name:
                    content, remark = made()
                    data = _bytes(content)
                    return lambda: _delivered(self.app, name, data, remark)
                goal = target(str(Path(name).expanduser()))
                if goal.name is None:
                    return lambda: "a file is written, not standard output"
                content, remark = made()
                goal.write(_bytes(content))
            except CannotWrite as error:
                reason = str(error)
                return lambda: reason
            return lambda: f"wrote {goal.name}{remark}"

        self.app.jobs.start("export", what, work, lambda told: self.app.say(told()))


def _bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace")


def _delivered(app: Host, name: str, data: bytes, remark: str) -> str:
    """Give a file to the browser, and tell it."""
    app.download(name, data)
    return f"{name} is among the downloads of the browser{remark}"


def _asked(text: str) -> tuple[str, str]:
    """The format and the file of `svg`, `svg a.svg` or `a.svg`. Empty for what is missing or unknown."""
    word, _, rest = text.strip().partition(" ")
    if word in ENDINGS:
        return word, rest.strip()
    ending = Path(text.strip()).suffix.lower()
    known = {own: style for style, own in ENDINGS.items()} | {".mermaid": "mermaid", ".htm": "html"}
    return known.get(ending, ""), text.strip()


def _panes(style: str, title: str, shown: Sequence[Pane]) -> str:
    """Panes as HTML or text."""
    return panes_page(title, shown) if style == "html" else panes_text(shown)


def _document(schema: str, content: dict[str, object]) -> str:
    return visible_json(json_document(schema, content), 2) + "\n"


def _graph_page(drawing: Drawing) -> str:
    return html_page(drawing.title, picture_html(drawing.svg().encode(), visible(drawing.title)))


def _stage_data(session: Session, stage: Snapshot) -> dict[str, object]:
    """A stage: its program, what it changed, and its problems."""
    stat = session.diff(stage.number - 1, stage.number).stat if stage.number else {}
    return {
        "file": session.filename, "stage": stage.label, "pass": stage.made_by, "phase": stage.phase, "changed": stage.changed, "stat": stat,
        "functions": list(stage.module.functions), "text": stage.text or stage.module.script(),
        "problems": [problem.to_json() for problem in stage.located],
    }  # fmt: skip


def _log(session: Session, name: str, given: CallInputs, interrupt: Interrupt) -> tuple[RunLog | None, str]:
    """A run of the first stage, or why there is none."""
    module = session.stages[0].module
    if not given.calls and type(module.functions.get(name)) is not e.Function:
        return None, ""
    try:
        start = start_of(module, name, given)
        debugger = Debugger(start.module, start.name, start.args, session.cache, interrupt, private=True)
        return logged(debugger, start.note), ""
    except Failure as failure:
        return None, f"; no run: {failure.diagnostics[0].message}"
