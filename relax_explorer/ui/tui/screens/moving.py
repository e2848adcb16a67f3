"""What every screen and popup does with lines: moving, searching, copying."""

from __future__ import annotations

from typing import cast

from textual.widgets import Input

from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.keys import KEYS, chord, with_table
from relax_explorer.ui.tui.screens.settling import Settling
from relax_explorer.ui.tui.widgets.command_input import BarInput
from relax_explorer.ui.tui.widgets.line_view import STEP, LineView
from relax_explorer.viz.tokens import Tokens
from relax_explorer.viz.visible import visible

IN_INPUT = frozenset({"close", "cancel", "quit"})
"""The actions that keys have while a line is typed; all other keys are its text."""


class Moving(Settling):
    """Actions on the line view that has the focus."""

    keys_ = ""  # its name in the table of keys
    found: str = ""  # the text of the last search

    @property
    def explorer(self) -> Controls:
        """The app."""
        return cast(Controls, self.app)

    @property
    def tokens(self) -> Tokens:
        """The theme."""
        return self.explorer.tokens

    @property
    def view(self) -> LineView:
        """The view that movement keys move."""
        raise NotImplementedError

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key is the screen's: not while a line is typed, but for Esc."""
        if isinstance(self.focused, Input) and action not in IN_INPUT:
            return False
        return super().check_action(action, parameters)

    def take_keys(self, screen: str) -> None:
        """Take the keys of the user, if they are not those of the project."""
        self.keys_ = screen
        if self.explorer.keymap is not KEYS:
            self._bindings = with_table(self._bindings, screen, self.explorer.keymap)

    def action_chord(self, first: str) -> None:
        following = chord(self.keys_, first, self.explorer.keymap)
        lines = [f"{key.label:<12} {key.description}" for key in following.values()]

        def done(second: str) -> None:
            key = following.get(second)
            if key is not None:
                self.call_later(self.app.run_action, key.action, self)
            elif second:
                self.explorer.say("no action has these two keys")

        self.explorer.ask_key("the second key; Esc leaves", lines, done)

    def action_down(self) -> None:
        self.view.move(self.view.cursor + 1)

    def action_up(self) -> None:
        self.view.move(self.view.cursor - 1)

    def action_page(self, pages: int) -> None:
        self.view.page(pages)

    def action_top(self) -> None:
        self.view.move(0)

    def action_bottom(self) -> None:
        self.view.move(len(self.view.rows) - 1)

    def action_side(self, by: int) -> None:
        self.view.side(by * STEP)

    def action_copy(self) -> None:
        row = self.view.row
        if row is not None:
            self.explorer.copied(row.text.strip())

    def action_copy_command(self) -> None:
        self.explorer.action_copy_command()

    def action_next_theme(self) -> None:
        self.explorer.action_next_theme()

    async def action_quit(self) -> None:
        self.explorer.leave()

    # -- search ---------------------------------------------------------------------------------------------------

    def action_search(self) -> None:
        self.query_one("#search", BarInput).begin()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take what was typed."""
        self.submitted(event)

    def submitted(self, event: Input.Submitted) -> None:
        """Find the text."""
        if event.input.id == "search":
            view = self.view_before
            self.set_focus(view)
            self.search(event.value)

    @property
    def view_before(self) -> LineView:
        """The view that had the focus before a line was typed."""
        return self.view

    def search(self, text: str) -> None:
        """Go to the next line with a text; `all:` lists the lines of all stages."""
        from relax_explorer.ui.tui import search

        problem = search.problem(text)
        if problem:
            self.explorer.say(visible(problem))
            return
        if text.startswith(search.EVERYWHERE):
            self.explorer.pictures.search_everywhere(text.removeprefix(search.EVERYWHERE).strip())
            return
        self.found = text
        count = len(search.rows_with(self.view.rows, text))
        if count:
            self.action_match(1)
            self.explorer.say(f"{count} line{'s' * (count > 1)} with {visible(text, 30)}; n next, N previous")
        elif text:
            self.explorer.say(f"nothing has {visible(text)}")

    def action_match(self, step: int) -> None:
        from relax_explorer.ui.tui import search
        from relax_explorer.ui.tui.table_rows import TableRows

        view = self.view
        here = view.rows.number_of(view.cursor) if isinstance(view.rows, TableRows) else view.cursor
        found = search.rows_with(view.rows, self.found)
        ahead = [n for n in found if (n > here if step > 0 else n < here)]
        if found:
            self.to_match((ahead or found)[0 if step > 0 else -1], step)

    def to_match(self, number: int, step: int) -> None:
        """Go to a row that matches the search."""
        self.view.move(number)
