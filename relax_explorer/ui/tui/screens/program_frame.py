"""A screen with a program that folds: functions, blocks, branches and kernels, at the cursor or all at once."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from relax_explorer.ui.tui import rows
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.table_rows import TableRows
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.table_folds import Fold, Folded
from relax_explorer.viz.tables import Row


class ProgramFrame(Frame):
    """A screen whose view `program_` shows a program. What is folded is an option, so that it stays from screen to screen."""

    program_: ClassVar[str] = ""

    @property
    def program(self) -> LineView:
        """The view of the program."""
        return self.lines(self.program_)

    @property
    def table(self) -> TableRows | None:
        """The program as a table; None if it is shown as text."""
        shown = self.program.rows
        return shown if isinstance(shown, TableRows) else None

    def select_row(self, row: Row) -> None:
        """Select the binding and the function of a row."""
        selection = self.explorer.state.selection
        self.explorer.select(
            replace(selection, binding=row.binding, function=row.function or selection.function)
        )

    def action_uses(self) -> None:
        """Go to the next reader of the selected value; behind the last one, back to its definition."""
        state = self.explorer.state
        found = rows.uses(state.stage, state.selection) if state.stage is not None else []
        if len(found) < 2:
            self.explorer.say("nothing reads this value" if found else "select a binding first")
            return
        self.explorer.stage_control.go_to(state.selection.stage, state.selection.function, found[1])
        self.explorer.say(f"read by {len(found) - 1}; ctrl+o goes back")

    # -- going to rows --------------------------------------------------------------------------------------------

    def reveal(self, number: int) -> None:
        """Go to a row of the program. Folds that hide it open."""
        table = self.table
        hiding = table.hiding(number) if table is not None else frozenset()
        if hiding:
            self.explorer.show_with(folded=self.explorer.state.options.folded.opened(hiding))
        table = self.table
        self.program.move(number if table is None else table.line_of(number))

    def to_match(self, number: int, step: int) -> None:
        """Go to a row that matches the search; folds that hide it open."""
        if self.view is self.program:
            self.reveal(number)
        else:
            super().to_match(number, step)

    def action_mark(self) -> None:
        self.explorer.ask_key("mark this place with a letter; Esc leaves", (), self.explorer.marks.set)

    def action_to_mark(self) -> None:
        marks = [row.text for row in self.explorer.marks.rows()] or ["no marks yet; m and a letter set one"]
        self.explorer.ask_key("go to a mark, ' goes back; Esc leaves", marks, self.explorer.marks.go)

    # -- folding --------------------------------------------------------------------------------------------------

    def action_fold(self) -> None:
        table = self.table
        if table is None:
            self.explorer.say("only the compact table folds; t shows it")
            return
        fold = table.fold_at(self.program.cursor)
        if fold is None:
            self.explorer.say("nothing folds here: functions, blocks, branches, kernels and checks do")
            return
        self.fold(self.explorer.state.options.folded.toggled(fold.key), fold)

    def fold(self, folded: Folded, at: Fold | None = None) -> None:
        """Fold these places; the cursor goes to the head of `at`, or stays on its row."""
        table = self.table
        if table is None:
            return
        number = table.number_of(self.program.cursor) if at is None else table.row_at(at.head)
        self.explorer.show_with(folded=folded)
        table = self.table
        if table is not None:
            self.program.move(table.line_of(number))

    @property
    def head(self) -> Fold | None:
        """The fold whose head is under the cursor."""
        table = self.table
        fold = table.fold_at(self.program.cursor) if table is not None else None
        if table is None or fold is None:
            return None
        return fold if table.in_table(table.number_of(self.program.cursor)) == fold.head else None

    @property
    def is_on_closed(self) -> bool:
        """True if the cursor is on the head of a closed fold."""
        fold = self.head
        return fold is not None and fold.key in self.explorer.state.options.folded
