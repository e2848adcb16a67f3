"""The source of a program with its problems below their lines: of one that can't be shown, or of a stage."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from textual.app import ComposeResult

from relax_explorer.core.diagnostics import Diagnostic, with_edits
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.empty import no_marks
from relax_explorer.ui.tui.screens.pipeline_editor import TextEditor
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.source_edits import (
    NotEdited,
    problem_in,
    remark_in,
    text_of,
    text_to_edit,
    write_edited,
)
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.users_editor import edit_outside, users_editor
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.broken_source import SourceRows, broken_source
from relax_explorer.viz.tables import text_lines
from relax_explorer.viz.visible import counted, visible

EDGES = 8  # cells of a line that are not text: frame, cursor, gutter, scrollbar


class SourceScreen(Frame):
    """Stands in the place of Passes while there is no program, but a text with problems. Problems leads to the text of a stage."""

    BINDINGS = keys.bindings("source")
    name_ = "source"
    panes = ("source",)

    def compose_body(self) -> ComposeResult:
        """The text."""
        yield LineView("source")

    @property
    def tab(self) -> str:
        """The screen that will be shown once the program can be read, or that leads here."""
        return "passes" if self.explorer.state.session is None else "problems"

    @property
    def rows(self) -> SourceRows | None:
        """The lines with their problems; None before they are drawn."""
        rows = self.lines("source").rows
        return rows if isinstance(rows, SourceRows) else None

    @property
    def problem(self) -> Diagnostic | None:
        """The problem that the cursor is on or below."""
        node = self.view.row_node
        return node if isinstance(node, Diagnostic) else None

    def draw(self, state: State, old: State) -> None:
        """Draw the text anew if its problems or the size changed; the cursor goes to the problem that is selected, else the first."""
        view, before = self.lines("source"), self.rows
        source = broken_source(state.marked)
        if source is None:
            view.show(text_lines(no_marks(state)))
            return
        if state.marked is not old.marked or before is None:
            rows = SourceRows(source, state.marked, self.app.size.width - EDGES)
            is_same = before is not None and before.source is source  # only the size changed
            place = before.number_at(view.cursor) - 1 if before is not None and is_same else 0
            view.show(rows, rows.starts[max(0, place)])
            view.show_title(visible(source.filename, 60))
            view.border_subtitle = "not checked further" if state.session is None else "q goes back"
        self._to_selected(state, old)
        view.centre()

    def _to_selected(self, state: State, old: State) -> None:
        """Put the cursor on the problem of the binding that was selected elsewhere."""
        binding, rows = state.selection.binding, self.rows
        if binding is None or binding.span is None or rows is None or state.selection == old.selection:
            return
        span = binding.span
        for start in rows.starts:
            problem = rows[start].node
            place = problem.span if isinstance(problem, Diagnostic) else None
            if place is not None and place.source is span.source and span.line <= place.line <= span.end_line:
                self.lines("source").move(start)
                return

    def position(self, state: State) -> str:
        """What stands at the right of the header: how much is wrong."""
        watched = ", watched" if self.explorer.stage_control.watch.is_on else ""
        if state.session is not None:
            return f"{super().position(state)}{watched}"
        return f"{counted(len(state.failures), 'problem')}, not checked further{watched}"

    def file_name(self, state: State) -> str:
        """The file with the problems."""
        return Path(state.broken.filename).name if state.broken is not None else super().file_name(state)

    def idle_actions(self) -> set[str]:
        """No problem may have a fix that is sure, and no editor of the user may be set."""
        has_fix = any(problem.edits for problem in self.explorer.state.marked)
        idle = [("fix", not has_fix), ("edit_outside", not users_editor())]
        return super().idle_actions() | {action for action, is_idle in idle if is_idle}

    def action_problem(self, step: int) -> None:
        view, rows = self.view, self.rows
        if rows is None:
            return
        starts = rows.starts
        ahead = [n for n in starts if (n > view.cursor if step > 0 else n < view.cursor)]
        if not ahead:
            self.explorer.say("no further problem below" if step > 0 else "no further problem above")
            return
        view.move(ahead[0 if step > 0 else -1])
        view.centre()
        self.explorer.say(f"problem {rows.number_at(view.cursor)} of {len(starts)}")

    def action_watch_file(self) -> None:
        self.explorer.say(self.explorer.stage_control.watch.toggle())

    # -- editing --------------------------------------------------------------------------------------------------

    def action_edit(self) -> None:
        """Edit the file at the problem under the cursor, or at the first one."""
        self._edit(self.problem or self._first_problem)

    @property
    def _first_problem(self) -> Diagnostic | None:
        return next((item for item in self.explorer.state.marked if item.span), None)

    def action_edit_outside(self) -> None:
        """Edit the file in the user's editor, if there is one; read it when that ends."""
        source, explorer = broken_source(self.explorer.state.marked), self.explorer
        if source is None or not users_editor():
            self.action_edit()
            return
        problem = self.problem or self._first_problem
        span = None if problem is None else problem.span
        try:
            old = text_to_edit(source, explorer.stage_control.asked)
            refusal = edit_outside(explorer, source.filename, 1 if span is None else span.line)
            is_changed = text_of(source.filename) != old
        except NotEdited as refused:
            explorer.say(str(refused))
            return
        if is_changed:
            explorer.stage_control.open(source.filename)
        elif refusal:
            explorer.say(refusal)

    def action_fix(self) -> None:
        """Edit the file with the fix of the problem under the cursor."""
        problem = self.problem
        if problem is None or not problem.edits:
            self.explorer.say(
                "] goes to a problem" if problem is None else "this problem has no fix that is sure; e edits"
            )
            return
        self._edit(problem, is_to_fix=True)

    def _edit(self, problem: Diagnostic | None, is_to_fix: bool = False) -> None:
        source, explorer = broken_source(self.explorer.state.marked), self.explorer
        if source is None:
            return
        try:
            old = text_to_edit(source, explorer.stage_control.asked)
        except NotEdited as refusal:
            explorer.say(str(refusal))
            return
        span = None if problem is None else problem.span
        place = (0, 0) if span is None else (span.line - 1, span.file_column - 1)
        fix = problem.edits if is_to_fix and problem is not None else ()
        self._show_editor(source.filename, source.filename, (old, with_edits(old, fix)), place)

    def _show_editor(self, title: str, name: str, texts: tuple[str, str], place: tuple[int, int]) -> None:
        """Edit the second of two texts; the first one is that of the file."""
        problem, remark = partial(problem_in, name=name), partial(remark_in, name=name)
        editor = TextEditor(title, texts[1], problem, place, has_file=True, remark=remark)

        def done(text: str | None) -> None:
            if text is None:
                return
            refusal = self._written(name, texts[0], text) if editor.is_to_write else ""
            if refusal:  # nothing that was typed is lost
                self._show_editor(refusal, name, (texts[0], text), place)
            else:
                self.explorer.stage_control.open(name, None if editor.is_to_write else text)

        self.app.push_screen(editor, done)

    def _written(self, name: str, old: str, new: str) -> str:
        """Write the file; why it was not written, if it was not."""
        if refusal := self.explorer.permit.to_write(name):
            return refusal
        try:
            write_edited(name, old, new)
        except NotEdited as refused:
            return str(refused)
        return ""

    def chosen(self, view: str) -> None:
        """A click on the line under the cursor edits it."""
        self.action_edit()

    def action_back(self) -> None:
        if self.explorer.state.session is None:
            self.explorer.leave()
        else:
            self.explorer.show_screen("problems")
