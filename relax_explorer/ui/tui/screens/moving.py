"""What every screen and popup does: it settles at the size of the terminal, and moves, searches and copies lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.events import Resize
from textual.renderables.background_screen import BackgroundScreen
from textual.renderables.blank import Blank
from textual.screen import Screen
from textual.widgets import Input

from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.keys import KEYS, chord
from relax_explorer.ui.tui.shortcuts import take_keys
from relax_explorer.ui.tui.widgets.framed import BarInput
from relax_explorer.ui.tui.widgets.line_view import STEP, LineView
from relax_explorer.viz.tokens import Tokens
from relax_explorer.viz.visible import counted, visible


class _Dim(BackgroundScreen):
    """A screen below another one in a terminal without colours: dim, since no colour can be mixed with its own."""

    @classmethod
    def process_segments(cls, segments: Iterable[Segment], color: Color) -> Iterable[Segment]:
        """The segments, dim and without links."""
        for text, style, control in segments:
            below = Style() if style is None else style.clear_meta_and_links()
            yield Segment(text, style if control else below + _FAINT, control)


_FAINT = Style(dim=True, bold=False, reverse=False)


class Settling(Screen[Any]):
    """Takes only the present size of the terminal.

    A screen of Textual answers each change of its size with an event for itself. Two sizes that arrive together would
    follow each other for ever, and the explorer would work without end.
    """

    @property
    def is_filled(self) -> bool:
        """True if its widgets are there. They are not if a key closed it before, or if the explorer leaves."""
        return self in self.app.screen_stack and bool(self.children)

    def leave(self, result: object = None) -> None:
        """Close with a result, unless an earlier key or click closed it."""
        if self.app.screen is self:
            self.dismiss(result)

    def on_resize(self, event: Resize) -> None:
        """Drop a size that the terminal no longer has."""
        if event.size != self.app.size:
            event.prevent_default()
            event.stop()

    def render(self) -> RenderableType:
        """The screen below, through the colour of this one.

        Textual takes it from a list that each drawing uses up from the top. A screen that is not drawn anew takes nothing, the next
        one takes what was meant for it, and two screens may then show each other without end.
        """
        background, stack = self.styles.background, self.app.screen_stack
        place = stack.index(self) if self in stack else 0
        if place and background.a < 1:
            return BackgroundScreen(stack[place - 1], background)
        if place and background.ansi is not None:
            return _Dim(stack[place - 1], background)
        plain = Blank(self.app.styles.background if background.is_transparent else background)
        return cast(RenderableType, plain)  # as Textual's own screens, whose annotation leaves it out


# -- moving ----------------------------------------------------------------------------------------------------------
# What every screen and popup does with lines: moving, searching, copying.


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

    def lines(self, name: str) -> LineView:
        """The view of this name."""
        return self.query_one(f"#{name}", LineView)

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
            take_keys(self, screen, self.explorer.keymap)

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
        from relax_explorer.ui.tui.table_rows import EVERYWHERE, mistake, rows_with

        if wrong := mistake(text):
            self.explorer.say(visible(wrong))
            return
        if text.startswith(EVERYWHERE):
            self.explorer.pictures.search_everywhere(text.removeprefix(EVERYWHERE).strip())
            return
        self.found = text
        count = len(rows_with(self.view.rows, text))
        if count:
            self.action_match(1)
            self.explorer.say(f"{counted(count, 'line')} with {visible(text, 30)}; n next, N previous")
        elif text:
            self.explorer.say(f"nothing has {visible(text)}")

    def action_match(self, step: int) -> None:
        from relax_explorer.ui.tui.table_rows import TableRows, rows_with

        view = self.view
        here = view.rows.number_of(view.cursor) if isinstance(view.rows, TableRows) else view.cursor
        found = rows_with(view.rows, self.found)
        ahead = [n for n in found if (n > here if step > 0 else n < here)]
        if found:
            self.to_match((ahead or found)[0 if step > 0 else -1], step)

    def to_match(self, number: int, step: int) -> None:
        """Go to a row that matches the search."""
        self.view.move(number)
