"""The passes pane and the problems pane: files, stages, problems."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from rich.text import Text
from textual import work
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerState

from relax_explorer.core.check import problems
from relax_explorer.core.codes import internal
from relax_explorer.core.diagnostics import Diagnostic, Failure, ParseError
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.recorded import RecordedSession, recorded
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.syntax.load import load
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.ui import directories
from relax_explorer.ui.crash import write_report
from relax_explorer.ui.tui import rows
from relax_explorer.ui.tui.messages import CursorMoved, SessionOpened, StageAdded, WorkFailed
from relax_explorer.ui.tui.selection import Selection
from relax_explorer.ui.tui.shell import Shell
from relax_explorer.ui.tui.widgets.line_view import LineView, Row
from relax_explorer.viz.stage_line import stage_line

RAIL = 34  # cells of a line in the list of stages


class Stages(Shell):
    """The actions of the passes pane and the problems pane."""

    def started(self) -> None:
        """Open the file named on the command line."""
        if self.path is not None:
            self.open(self.path)

    def shown(self) -> None:
        """List the problems when their pane is shown."""
        super().shown()
        if self.pane == "problems":
            self.paint_problems()

    @work(thread=True, exclusive=True, group="session", exit_on_error=False)
    def open(self, path: str) -> None:
        """Read a file and run its pipeline in a worker."""
        try:
            session = self._session(path)
        except ParseError as failure:
            self.post_message(WorkFailed(problems(failure, self.profile)))
            return
        except Failure as failure:
            self.post_message(WorkFailed(failure.diagnostics))
            return
        self.post_message(SessionOpened(session, path))
        while (stage := session.advance()) is not None:
            if stage.changed:
                session.diff(stage.number - 1, stage.number)  # here, since it takes long for large modules
            self.post_message(StageAdded(stage.number))

    def _session(self, path: str) -> Session:
        stages = recorded(path)
        if stages:
            return RecordedSession(stages, path, directories.kernel_cache(), self.profile)
        return Session(load(path), self.pipeline, path, directories.kernel_cache(), self.profile)

    def on_session_opened(self, message: SessionOpened) -> None:
        """Show the first stage."""
        self.stop_running()
        self.session, self.path, self.debugging = message.session, message.path, None
        self.failures = ()
        self.selection = Selection(0, message.session.stages[0].entry)
        self.query_one("#stages", OptionList).clear_options()
        self.on_stage_added(StageAdded(0))
        self.show_stage(0)
        self.go("passes" if self.first_pane == "home" else self.first_pane)

    def on_stage_added(self, message: StageAdded) -> None:
        """Add a line to the list of stages."""
        if self.session is None:
            return
        stage = self.session.stages[message.number]
        stages = self.query_one("#stages", OptionList)
        if stages.option_count == message.number:
            diff = (
                self.session.diff(stage.number - 1, stage.number) if stage.number and stage.changed else None
            )
            line = stage_line(stage, diff, RAIL)
            stages.add_option(Option(Text(line, no_wrap=True, overflow="ellipsis"), id=str(stage.number)))

    def on_work_failed(self, message: WorkFailed) -> None:
        """Show the reason. The last good state stays."""
        self.failures = message.diagnostics
        self.popup([row for item in message.diagnostics for row in rows.problem_rows(item)])
        self.notice = (
            f"{len(message.diagnostics)} problems; Esc closes"
            if len(message.diagnostics) > 1
            else "Esc closes"
        )
        self.paint_header()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report work that ended with an internal error."""
        error = event.worker.error
        if event.state is not WorkerState.ERROR or error is None:
            return
        text = f"{type(error).__name__}: {error}"
        found = Diagnostic(
            internal.OWN_FAULT, text, help=f"{internal.OWN_FAULT.fix} The report: {write_report(error)}"
        )
        self.on_work_failed(WorkFailed((found,)))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open the chosen sample, or show the chosen stage."""
        if event.option_list.id == "home" and event.option_id is not None:
            self.first_pane = "passes"
            self.open(event.option_id)
        elif event.option_id is not None:
            self.show_stage(int(event.option_id))
            self.query_one("#ir").focus()

    def show_stage(self, number: int) -> None:
        """Show a stage, and select the same binding there."""
        if self.session is None:
            return
        moved = number != self.selection.stage
        self.selection.stage = max(0, min(number, len(self.session.stages) - 1))
        stage = self.session.stages[self.selection.stage]
        shown = self.stage_rows(stage)
        cursor = self._cursor_in(shown, stage, moved)
        view = self.query_one("#ir", LineView)
        view.show(shown, cursor)
        view.move(cursor)
        if moved:
            self.stop_running()
            self.debugging, self.left = None, self.debugging or self.left
        self.paint_header()

    def stage_rows(self, stage: Snapshot) -> Sequence[Row]:
        """The rows of a stage in the chosen density."""
        assert self.session is not None  # the caller checked this
        if self.density == "compact":
            return rows.compact_rows(self.session, stage, self.diff_mode, frozenset(self.opened))
        return rows.text_rows(self.session, stage, self.diff_mode, self.density == "full")

    def _cursor_in(self, shown: Sequence[Row], stage: Snapshot, moved: bool) -> int:
        """The row to put the cursor on: the same binding, the same variable, the first change, or the entry."""
        if isinstance(shown, rows.TableRows):
            found = shown.row_of(self.selection.binding) if self.selection.binding is not None else None
            if found is None and self.selection.variable:
                found = shown.row_called(self.selection.function, self.selection.variable)
            changes = shown.changes() if found is None and moved else []
            return found if found is not None else changes[0] if changes else shown.start_of(stage.entry)
        same = (
            n for n, row in enumerate(shown) if row.node is not None and row.node is self.selection.binding
        )
        named = (n for n, row in enumerate(shown) if self._has_variable(row))
        changed = (n for n, row in enumerate(shown) if moved and row.gutter != " ")
        entry = (n for n, row in enumerate(shown) if row.function == stage.entry)
        return next(chain(same, named, changed, entry), 0)

    def _has_variable(self, row: Row) -> bool:
        var = row.node.var if isinstance(row.node, (e.VarBinding, e.MatchCast)) else None
        return var is not None and bool(self.selection.variable) and var.name == self.selection.variable

    def on_cursor_moved(self, message: CursorMoved) -> None:
        """Move the selection to the cursor."""
        if message.view not in ("ir", "debug_ir") or self.session is None:
            return
        self.selection.binding = (
            message.node if isinstance(message.node, (e.VarBinding, e.MatchCast)) else None
        )
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
                self.shown()
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
        order = ["inline", "only", "off"]
        self.diff_mode = order[(order.index(self.diff_mode) + 1) % 3]
        said = {"inline": "changes are marked", "only": "only what changed", "off": "no marks"}
        self.say(said[self.diff_mode])
        self.show_stage(self.selection.stage)

    def do_cycle_types(self) -> None:
        order = ["compact", "ghost", "full"]
        self.density = order[(order.index(self.density) + 1) % 3]
        said = {
            "compact": "compact",
            "ghost": "TVMScript, StructInfo at the right",
            "full": "TVMScript as written",
        }
        self.say(said[self.density])
        self.show_stage(self.selection.stage)

    def do_fold(self) -> None:
        row = self.view.rows[self.view.cursor] if len(self.view.rows) else None
        stage = None if self.session is None else self.session.stages[self.selection.stage]
        if row is None or stage is None or type(stage.module.functions.get(row.function)) is not PrimFunc:
            self.say("only kernels fold; select a line of one")
            return
        self.opened ^= {row.function}
        self.selection.binding, self.selection.function = None, row.function
        self._refold(row.function)

    def do_fold_all(self) -> None:
        if self.session is None:
            return
        functions = self.session.stages[self.selection.stage].module.functions
        kernels = {name for name, fn in functions.items() if type(fn) is PrimFunc}
        self.opened = set() if self.opened else kernels
        self._refold(self.selection.function)

    def _refold(self, function: str) -> None:
        self.show_stage(self.selection.stage)
        shown = self.view.rows
        if isinstance(shown, rows.TableRows) and self.selection.binding is None:
            self.view.move(shown.start_of(function))

    def _change_by(self, step: int) -> None:
        shown = self.view.rows
        starts = shown.changes() if isinstance(shown, rows.TableRows) else _marked_runs(shown)
        ahead = [n for n in starts if (n > self.view.cursor if step > 0 else n < self.view.cursor)]
        if ahead:
            target = ahead[0] if step > 0 else ahead[-1]
            self.view.move(target)
            self.say(f"change {starts.index(target) + 1} of {len(starts)}")
        else:
            self.say("no further change in this stage" if starts else "this stage shows no change")

    def do_next_in_stage(self) -> None:
        self._change_by(1)

    def do_previous_in_stage(self) -> None:
        self._change_by(-1)

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
        self.set_focus(search)  # at once: `focus()` would let the next keys go to the screen

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Find the text in the view, or execute the command."""
        event.input.display = False
        if event.input.id == "command":
            self.do_typed(event.value)
            return
        view = self.view
        view.focus()
        self.matches = [n for n, row in enumerate(view.rows) if event.value and event.value in row.text]
        self.say(
            f"{len(self.matches)} lines with {event.value!r}"
            if self.matches
            else f"nothing has {event.value!r}"
        )
        self._match_by(1)

    def do_typed(self, text: str) -> None:
        """Execute a typed command; the debug pane overrides it."""

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
        shown = [row for item in self.failures for row in rows.problem_rows(item)]
        if self.session is not None:
            for note in self.session.notes:
                shown += rows.problem_rows(note)
            for stage, problem in self.session.problems:
                shown += rows.problem_rows(problem, f"stage {stage.number} {stage.made_by}")
        self.query_one("#problems", LineView).show(
            shown or [Row("no problems" if self.session is not None else "no program is open")], 0
        )


def _marked_runs(shown: Sequence[Row]) -> list[int]:
    """The first row of each run of rows with a mark."""
    return [n for n, row in enumerate(shown) if row.gutter != " " and (not n or shown[n - 1].gutter == " ")]
