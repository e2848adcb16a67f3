"""The source of a program that can't be shown, with its problems below their lines."""

from __future__ import annotations

from pathlib import Path

from textual.app import ComposeResult

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.broken_source import SourceRows
from relax_explorer.viz.visible import counted, visible

EDGES = 8  # cells of a line that are not text: frame, cursor, gutter, scrollbar


class SourceScreen(Frame):
    """Stands in the place of Passes while there is no program, but a text with problems."""

    BINDINGS = keys.bindings("source")
    name_ = "source"
    panes = ("source",)

    def compose_body(self) -> ComposeResult:
        """The text."""
        yield LineView("source")

    @property
    def tab(self) -> str:
        """The screen that will be shown once the program can be read."""
        return "passes"

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
        """Draw the text anew if its problems or the size changed; the cursor goes to the first problem."""
        source = state.broken
        if source is None or state.failures is old.failures:
            return
        view, before = self.lines("source"), self.rows
        rows = SourceRows(source, state.failures, self.app.size.width - EDGES)
        is_same = before is not None and before.source is source  # only the size changed
        place = before.number_at(view.cursor) - 1 if before is not None and is_same else 0
        view.show(rows, rows.starts[max(0, place)])
        view.centre()
        view.show_title(visible(source.filename, 60))
        view.border_subtitle = "not checked further"

    def position(self, state: State) -> str:
        """What stands at the right of the header: how much is wrong."""
        return f"{counted(len(state.failures), 'problem')}, not checked further"

    def file_name(self, state: State) -> str:
        """The file with the problems."""
        return Path(state.broken.filename).name if state.broken is not None else super().file_name(state)

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

    def action_back(self) -> None:
        self.explorer.leave()
