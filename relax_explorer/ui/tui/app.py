"""The explorer: panes over one session and one selection. Work runs in workers, which answer by messages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.widgets import ContentSwitcher, Input, OptionList, Static
from textual.widgets.option_list import Option

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.debugger import Debugger, on_variable
from relax_explorer.core.session.commands import command
from relax_explorer.core.session.inputs import make_inputs
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.load import load
from relax_explorer.ui import places
from relax_explorer.ui.tui import keys, rows
from relax_explorer.ui.tui.messages import (
    CursorMoved,
    DebuggerMoved,
    GraphDrawn,
    GraphExported,
    SessionOpened,
    StageAdded,
    WorkFailed,
)
from relax_explorer.ui.tui.selection import Selection
from relax_explorer.ui.tui.widgets.line_view import LineView, Row
from relax_explorer.viz.visible import visible

SMALLEST = (60, 16)


class KeyCommands(Provider):
    """The palette: every action of the current pane."""

    async def discover(self) -> Hits:
        """All actions."""
        for action in keys.actions_of(self.app.pane):  # type: ignore[attr-defined]  # the app is ours
            yield DiscoveryHit(
                action.description,
                partial(self.app.press, action.key),  # type: ignore[attr-defined]  # narrowed by type() above
                help=action.label,
            )

    async def search(self, query: str) -> Hits:
        """Actions whose description matches."""
        matcher = self.matcher(query)
        for action in keys.actions_of(self.app.pane):  # type: ignore[attr-defined]  # as above
            score = matcher.match(action.description)
            if score > 0:
                yield Hit(
                    score,
                    matcher.highlight(action.description),
                    partial(self.app.press, action.key),  # type: ignore[attr-defined]  # narrowed by type() above
                    help=action.label,
                )


class Explorer(App[int]):
    """The application; `pane` is the pane that is shown."""

    CSS_PATH = "explorer.tcss"
    TITLE = "relax-explorer"
    COMMANDS: ClassVar[set[Any]] = {KeyCommands}
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[Any]] = [
        Binding(key, f"press('{key}')", show=False, priority=key in ("tab", "escape"))
        for key in dict.fromkeys(a.key for a in keys.ACTIONS)
    ]

    def __init__(self, path: str | None, pipeline: str = "default", screen: str = "passes") -> None:
        super().__init__()
        self.path, self.pipeline = path, pipeline
        self.first_pane = screen if path is not None else "home"
        self.pane = "home"
        self.session: Session | None = None
        self.debugger: Debugger | None = None
        self.selection = Selection()
        self.diff_mode = "marks"
        self.density = "ghost"
        self._driving = Lock()  # one move of the debugger at a time, in the order of the keys
        self.radius = 0  # 0: the whole graph
        self.matches: list[int] = []
        self.breakpoints: set[str] = set()
        self.notice = ""

    # -- layout ---------------------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """One switcher of panes between a header and a footer line."""
        yield Static(id="header")
        with ContentSwitcher(id="panes", initial="home"):
            yield OptionList(id="home", markup=False)
            with Horizontal(id="passes"):
                yield OptionList(id="stages", markup=False)
                with Vertical(id="passes_main"):
                    yield LineView("ir")
                    yield Static(id="details")
            with Vertical(id="debug"):
                yield LineView("debug_ir")
                yield LineView("values", colored=False)
            yield LineView("graph", colored=False)
            yield LineView("problems", colored=False)
            yield LineView("popup", colored=False)
        yield Input(id="search", placeholder="find text in this stage")
        yield Static(id="footer")

    def on_mount(self) -> None:
        """Fill the home pane and start reading the file."""
        self.query_one("#search", Input).display = False
        home = self.query_one("#home", OptionList)
        for sample in places.samples():
            home.add_option(Option(Text(_sample_title(sample)), id=str(sample)))
        self.go("home")
        if self.path is not None:
            self.open(self.path)

    def on_resize(self, event: Resize) -> None:
        """Adapt: a list of stages beside the text when there is room."""
        self.query_one("#panes").display = not self.is_small
        self.query_one("#stages").display = event.size.width >= 100
        self.paint_header()
        if self.pane == "graph":
            self.draw_graph()

    @property
    def is_small(self) -> bool:
        """Whether the terminal is too small for the panes."""
        return self.size.width < SMALLEST[0] or self.size.height < SMALLEST[1]

    def paint_header(self) -> None:
        """File, function, panes, stage."""
        if self.is_small:
            self.query_one("#header", Static).update(
                Text(f"needs {SMALLEST[0]}×{SMALLEST[1]}; the same data: relax-explorer show …")
            )
            return
        name = Path(self.path).name if self.path else "relax-explorer"
        text = Text(f" {visible(name, 24)}", style="bold")
        for number, pane in ((1, "passes"), (2, "debug"), (3, "graph"), (4, "problems")):
            text.append(f"  {number} {pane.title()}", style="reverse" if pane == self.pane else "dim")
        if self.session is not None:
            stage = self.session.stages[self.selection.stage]
            total = len(self.session.pipeline)
            text.append(f"  stage {stage.number}/{total} ", style="bold")
            text.append(visible(stage.made_by, 30))
        self.query_one("#header", Static).update(text)
        parts = [f"{action.label} {action.hint}" for action in keys.hints(self.pane)]
        footer = Text("  ".join(parts), style="dim")
        if self.notice:
            footer = Text(visible(self.notice, 300))
        self.query_one("#footer", Static).update(footer)

    def say(self, text: str) -> None:
        """A notice in the footer, until the next key."""
        self.notice = text
        self.paint_header()

    def go(self, pane: str) -> None:
        """Show a pane; the selection stays."""
        self.pane = pane
        self.query_one("#panes", ContentSwitcher).current = pane
        focus = {"passes": "#ir", "debug": "#debug_ir"}.get(pane, f"#{pane}")
        self.query_one(focus).focus()
        self.paint_header()
        if pane == "graph":
            self.draw_graph()
        elif pane == "debug" and self.debugger is None and self.session is not None:
            self.start_debugger()
        elif pane == "problems":
            self.paint_problems()

    @property
    def view(self) -> LineView:
        """The view of lines that movement keys move."""
        names = {"passes": "#ir", "debug": "#debug_ir", "graph": "#graph", "problems": "#problems"}
        return self.query_one(names.get(self.pane, "#ir"), LineView)

    # -- keys -----------------------------------------------------------------------------------------------------

    def action_press(self, key: str) -> None:
        """A key was pressed."""
        self.press(key)

    def press(self, key: str) -> None:
        """Do what a key means on this pane."""
        action = keys.find(self.pane, key)
        if action is None or (self.query_one("#search").has_focus and key != "escape"):
            return
        self.notice = ""
        getattr(self, f"do_{action.name}")()

    def do_show_passes(self) -> None:
        self.go("passes" if self.session is not None else "home")

    def do_show_debug(self) -> None:
        self.go("debug" if self.session is not None else "home")

    def do_show_graph(self) -> None:
        self.go("graph" if self.session is not None else "home")

    def do_show_problems(self) -> None:
        self.go("problems")

    def do_show_home(self) -> None:
        self.go("home")

    def do_quit(self) -> None:
        self.exit(0)

    def do_back(self) -> None:
        if self.query_one("#panes", ContentSwitcher).current == "popup" or self.pane in (
            "debug",
            "graph",
            "problems",
        ):
            self.go("passes" if self.session is not None else "home")
        else:
            self.exit(0)

    def do_cancel(self) -> None:
        search = self.query_one("#search", Input)
        if search.display:
            search.display = False
            self.view.focus()
        elif self.query_one("#panes", ContentSwitcher).current == "popup":
            self.go(self.pane)
        else:
            self.workers.cancel_all()

    def do_help(self) -> None:
        shown = [Row(f"{action.label:<10} {action.description}") for action in keys.actions_of(self.pane)]
        self.popup([Row(f"Keys of {self.pane} (Esc closes; ctrl+p searches them)"), Row(""), *shown])

    def popup(self, shown: list[Row]) -> None:
        """Show lines over the pane."""
        view = self.query_one("#popup", LineView)
        view.show(shown, 0)
        self.query_one("#panes", ContentSwitcher).current = "popup"
        view.focus()

    def do_copy_command(self) -> None:
        names = {"debug": "run", "graph": "graph", "problems": "check"}
        item = command(names.get(self.pane, "show"))
        values = {
            "input": self.path,
            "inputs": self.path,
            "passes": self.pipeline,
            "func": self.selection.function or None,
        }
        if self.session is not None and self.pane == "passes":
            values["stage"] = str(self.selection.stage)
        text = item.text(values)
        self.copy_to_clipboard(text)
        self.say(text)

    def do_down(self) -> None:
        self.view.move(self.view.cursor + 1)

    def do_up(self) -> None:
        self.view.move(self.view.cursor - 1)

    def do_page_down(self) -> None:
        self.view.page(1)

    def do_page_up(self) -> None:
        self.view.page(-1)

    def do_top(self) -> None:
        self.view.move(0)

    def do_bottom(self) -> None:
        self.view.move(len(self.view.rows) - 1)

    def do_left(self) -> None:
        self.view.scroll_relative(x=-8, animate=False, force=True)

    def do_right(self) -> None:
        self.view.scroll_relative(x=8, animate=False, force=True)

    # -- stages ---------------------------------------------------------------------------------------------------

    @work(thread=True, exclusive=True, group="session", exit_on_error=False)
    def open(self, path: str) -> None:
        """Read a file and run its pipeline, away from the screen."""
        try:
            session = Session(load(path), self.pipeline, path, places.kernel_cache())
        except Failure as failure:
            self.post_message(WorkFailed(failure.diagnostics))
            return
        self.post_message(SessionOpened(session, path))
        while session.advance() is not None:
            self.post_message(StageAdded(len(session.stages) - 1))

    def on_session_opened(self, message: SessionOpened) -> None:
        """The first stage can be shown."""
        self.session, self.path, self.debugger = message.session, message.path, None
        self.selection = Selection(0, message.session.stages[0].entry)
        self.query_one("#stages", OptionList).clear_options()
        self.on_stage_added(StageAdded(0))
        self.show_stage(0)
        self.go("passes" if self.first_pane == "home" else self.first_pane)

    def on_stage_added(self, message: StageAdded) -> None:
        """Another line in the list of stages."""
        if self.session is None:
            return
        stage = self.session.stages[message.number]
        mark = "✗" if any(p.is_error for p in stage.problems) else "●" if stage.changed else "○"
        stages = self.query_one("#stages", OptionList)
        if stages.option_count == message.number:
            stages.add_option(
                Option(
                    Text(
                        f"{mark} {stage.number} {visible(stage.made_by, 24)}",
                        no_wrap=True,
                        overflow="ellipsis",
                    ),
                    id=str(stage.number),
                )
            )

    def on_work_failed(self, message: WorkFailed) -> None:
        """Say why; the last good state stays."""
        self.popup([row for item in message.diagnostics for row in rows.problem_rows(item)])
        self.notice = (
            f"{len(message.diagnostics)} problems; Esc closes"
            if len(message.diagnostics) > 1
            else "Esc closes"
        )
        self.paint_header()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A sample or a stage was chosen."""
        if event.option_list.id == "home" and event.option_id is not None:
            self.first_pane = "passes"
            self.open(event.option_id)
        elif event.option_id is not None:
            self.show_stage(int(event.option_id))
            self.query_one("#ir").focus()

    def show_stage(self, number: int) -> None:
        """Show a stage; the selected binding is found again where it went."""
        if self.session is None:
            return
        moved = number != self.selection.stage
        self.selection.stage = max(0, min(number, len(self.session.stages) - 1))
        stage = self.session.stages[self.selection.stage]
        shown = rows.stage_rows(self.session, stage, self.diff_mode, self.density)
        cursor = next(
            (n for n, row in enumerate(shown) if row.node is not None and row.node is self.selection.binding),
            None,
        )
        if cursor is None and self.selection.variable:
            name = self.selection.variable
            cursor = next(
                (
                    n
                    for n, row in enumerate(shown)
                    if getattr(getattr(row.node, "var", None), "name", "") == name
                ),
                None,
            )
        if cursor is None:
            cursor = next((n for n, row in enumerate(shown) if row.gutter != " "), None) if moved else None
        if cursor is None:
            cursor = next((n for n, row in enumerate(shown) if row.function == stage.entry), 0)
        view = self.query_one("#ir", LineView)
        view.show(shown, cursor)
        view.move(cursor)
        if moved:
            self.debugger = None
        self.paint_header()

    def on_cursor_moved(self, message: CursorMoved) -> None:
        """The selection follows the cursor."""
        if message.view not in ("ir", "debug_ir") or self.session is None:
            return
        self.selection.binding = message.node if hasattr(message.node, "var") else None
        self.selection.function = message.function or self.selection.function
        lines = rows.detail_lines(self.session, self.session.stages[self.selection.stage], self.selection)
        self.query_one("#details", Static).update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"))

    def _stage_by(self, step: int, changing: bool) -> None:
        if self.session is None:
            return
        number = self.selection.stage + step
        while 0 <= number < len(self.session.stages):
            if not changing or self.session.stages[number].changed:
                self.show_stage(number)
                if self.pane == "graph":
                    self.draw_graph()
                return
            number += step
        self.say("no further stage" if not changing else "no further stage that changed the module")

    def do_next_change(self) -> None:
        self._stage_by(1, True)

    def do_previous_change(self) -> None:
        self._stage_by(-1, True)

    def do_next_stage(self) -> None:
        self._stage_by(1, False)

    def do_previous_stage(self) -> None:
        self._stage_by(-1, False)

    def do_toggle_list(self) -> None:
        stages = self.query_one("#stages", OptionList)
        if stages.has_focus:
            stages.display = self.size.width >= 100
            self.query_one("#ir").focus()
        else:
            stages.display = True
            stages.highlighted = self.selection.stage
            stages.focus()

    def do_cycle_diff(self) -> None:
        order = ["marks", "only", "plain"]
        self.diff_mode = order[(order.index(self.diff_mode) + 1) % 3]
        self.say(
            {"marks": "changes are marked", "only": "only what changed", "plain": "no marks"}[self.diff_mode]
        )
        self.show_stage(self.selection.stage)

    def do_cycle_types(self) -> None:
        order = ["ghost", "full", "none"]
        self.density = order[(order.index(self.density) + 1) % 3]
        self.say(
            {"ghost": "StructInfo at the right", "full": "StructInfo as written", "none": "no StructInfo"}[
                self.density
            ]
        )
        self.show_stage(self.selection.stage)

    def do_who(self) -> None:
        if self.session is None or not self.selection.variable:
            self.say("select a binding first")
            return
        self.popup(
            [
                Row(f"History of {self.selection.variable} (Esc closes)"),
                Row(""),
                *rows.history_rows(self.session, self.selection),
            ]
        )

    def _function_by(self, step: int) -> None:
        view = self.view
        starts = [
            n
            for n, row in enumerate(view.rows)
            if row.function and (n == 0 or view.rows[n - 1].function != row.function)
        ]
        ahead = [n for n in starts if (n > view.cursor if step > 0 else n < view.cursor)]
        if ahead:
            view.move(ahead[0] if step > 0 else ahead[-1])

    def do_next_function(self) -> None:
        self._function_by(1)

    def do_previous_function(self) -> None:
        self._function_by(-1)

    def do_search(self) -> None:
        search = self.query_one("#search", Input)
        search.display = True
        search.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Find the text in the view."""
        self.query_one("#search").display = False
        view = self.view
        view.focus()
        self.matches = [n for n, row in enumerate(view.rows) if event.value and event.value in row.text]
        self.say(
            f"{len(self.matches)} lines with {event.value!r}"
            if self.matches
            else f"nothing has {event.value!r}"
        )
        self._match_by(1)

    def _match_by(self, step: int) -> None:
        ahead = [n for n in self.matches if (n > self.view.cursor if step > 0 else n < self.view.cursor)]
        if self.matches:
            self.view.move((ahead or self.matches)[0 if step > 0 else -1])

    def do_next_match(self) -> None:
        self._match_by(1)

    def do_previous_match(self) -> None:
        self._match_by(-1)

    def paint_problems(self) -> None:
        """Every problem of every stage."""
        shown: list[Row] = []
        if self.session is not None:
            for note in self.session.notes:
                shown += rows.problem_rows(note)
            for stage, problem in self.session.problems:
                shown += rows.problem_rows(problem, f"stage {stage.number} {stage.made_by}")
        self.query_one("#problems", LineView).show(shown or [Row("no problems")], 0)

    # -- debug ----------------------------------------------------------------------------------------------------

    def start_debugger(self) -> None:
        """Make inputs and stand before the first binding."""
        assert self.session is not None  # the caller looked
        stage = self.session.stages[self.selection.stage]
        name = stage.entry
        fn = stage.module.functions.get(name)
        try:
            if fn is None or not hasattr(fn, "body") or name not in stage.module.relax_functions:
                self.say("the module has no Relax function to run")
                return
            self.debugger = self.session.debug(name, make_inputs(fn, {}), stage.number)  # type: ignore[arg-type]  # narrowed by type() above
        except Failure as failure:
            self.post_message(WorkFailed(failure.diagnostics))
            return
        self.paint_debugger()

    def paint_debugger(self) -> None:
        """The text with its marks, and the values."""
        if self.debugger is None or self.session is None:
            return
        stage = self.session.stages[self.selection.stage]
        shown = rows.debug_rows(stage, self.debugger, self.breakpoints)
        now = next((n for n, row in enumerate(shown) if row.gutter == "▶"), None)
        self.query_one("#debug_ir", LineView).show(shown, now if now is not None else len(shown) - 1)
        self.query_one("#values", LineView).show(rows.value_rows(self.debugger, 200), 0)
        self.paint_header()

    @work(thread=True, group="debug", exit_on_error=False)
    def drive(self, move: Callable[[Debugger], Any]) -> None:
        """Move the debugger, away from the screen."""
        debugger = self.debugger
        if debugger is None:
            return
        with self._driving:
            try:
                move(debugger)
            except Failure as failure:
                self.post_message(WorkFailed(failure.diagnostics))
        self.post_message(DebuggerMoved(debugger))

    def on_debugger_moved(self, message: DebuggerMoved) -> None:
        """Show where it stands."""
        if message.debugger is self.debugger:
            self.paint_debugger()

    def do_step(self) -> None:
        self.drive(Debugger.step)

    def do_back_step(self) -> None:
        self.drive(Debugger.back)

    def do_next(self) -> None:
        self.drive(Debugger.next)

    def do_back_next(self) -> None:
        self.drive(Debugger.back_next)

    def do_finish(self) -> None:
        self.drive(Debugger.finish)

    def do_back_finish(self) -> None:
        self.drive(Debugger.back_finish)

    def do_continue(self) -> None:
        self.drive(Debugger.continue_)

    def do_back_continue(self) -> None:
        self.drive(Debugger.back_continue)

    def do_first_step(self) -> None:
        self.drive(lambda debugger: debugger.goto(0))

    def do_last_step(self) -> None:
        self.drive(lambda debugger: debugger.goto(10**9))

    def do_restart(self) -> None:
        self.debugger = None
        if self.session is not None:
            self.start_debugger()

    def do_breakpoint(self) -> None:
        name = self.selection.variable
        if not name or self.debugger is None:
            self.say("select a binding first")
            return
        self.breakpoints ^= {name}
        self.debugger.breakpoints = [on_variable(item) for item in sorted(self.breakpoints)]
        self.say(f"breakpoint {'at' if name in self.breakpoints else 'cleared at'} {name}")
        self.paint_debugger()

    # -- graph ----------------------------------------------------------------------------------------------------

    def _graph(self) -> Any:
        from relax_explorer.viz.ir_graph import graph

        assert self.session is not None  # the callers looked
        stage = self.session.stages[self.selection.stage]
        relax = stage.module.relax_functions
        name = self.selection.function if self.selection.function in relax else stage.entry
        changed = [fn.new[pair.b] for fn in self.session.diff(stage.number - 1, stage.number).functions for pair in fn.pairs
                   if pair.b is not None and pair.kind in ("added", "changed", "type")] if stage.number else []  # fmt: skip
        made = graph(stage.module, name, changed, None, self.selection.binding)
        selected = next(
            (node.id for node in made.nodes if "selected" in {str(mark) for mark in node.marks}), None
        )
        if self.radius and selected is not None:
            made = made.neighbourhood(selected, self.radius)
        return made.scoped(200)

    @work(thread=True, exclusive=True, group="graph", exit_on_error=False)
    def draw_graph(self) -> None:
        """Draw the graph as text, away from the screen."""
        if self.session is None:
            return
        try:
            text = self._graph().terminal(max(40, self.size.width - 4))
        except Failure as failure:
            self.post_message(WorkFailed(failure.diagnostics))
            return
        self.post_message(GraphDrawn(text))

    def on_graph_drawn(self, message: GraphDrawn) -> None:
        """Show the drawing."""
        self.query_one("#graph", LineView).show([Row(line) for line in message.text.split("\n")], 0)

    def do_wider(self) -> None:
        self.radius = self.radius + 1 if self.radius else 2
        self.draw_graph()

    def do_narrower(self) -> None:
        self.radius = max(1, self.radius - 1)
        self.draw_graph()

    def do_all(self) -> None:
        self.radius = 0
        self.draw_graph()

    @work(thread=True, exclusive=True, group="export", exit_on_error=False)
    def do_export(self) -> None:
        """Write the graph as SVG beside the place where the explorer was started."""
        if self.session is None:
            return
        made = self._graph()
        path = Path(f"{Path(self.path or 'graph').stem}-{made.title}-{self.selection.stage}.svg")
        try:
            picture = made.draw("svg")
            path.write_bytes(picture.data)
        except OSError as error:
            self.post_message(GraphExported("", f"{path} can't be written: {error.strerror}"))
            return
        self.post_message(GraphExported(str(path), f"laid out by {picture.engine}"))

    def on_graph_exported(self, message: GraphExported) -> None:
        """Say where it is."""
        self.say(f"wrote {message.path}, {message.note}" if message.path else message.note)


def _sample_title(path: Path) -> str:
    first = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ") if path.is_file() else ""
    return f"{path.stem:<24} {first}"


def run_app(path: str | None, pipeline: str = "default", screen: str = "passes") -> int:
    """Open the explorer; the exit status. An error of its own ends with 70, and the terminal is as it was."""
    app = Explorer(path, pipeline, screen)
    result = app.run()
    if app.return_code:
        sys.stderr.write("relax-explorer: the explorer failed; the session's file is untouched\n")
        return 70
    return result or 0
