"""Lines over a screen, and a line that waits for one key."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.events import Click, Key
from textual.screen import ModalScreen
from textual.widgets import Static

from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.screens.moving import Moving, Settling
from relax_explorer.ui.tui.state import room
from relax_explorer.ui.tui.widgets.command_input import BarInput
from relax_explorer.ui.tui.widgets.framed import RowChosen
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.tables import Row
from relax_explorer.viz.visible import columns, visible

MOST_LINES = 12


class KeyPrompt(Settling, ModalScreen[str]):
    """Returns the name of the next key; empty for Esc."""

    def __init__(self, title: str, lines: Sequence[str] = ()) -> None:
        super().__init__()
        more = [f"… and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
        self._lines = [*lines[:MOST_LINES], *more, title]

    def compose(self) -> ComposeResult:
        """The lines; the last one tells what is waited for."""
        text = "\n".join(f" {visible(line, 300)}" for line in self._lines)
        yield Static(Text(text, no_wrap=True, overflow="ellipsis"), id="key_prompt")

    def on_key(self, event: Key) -> None:
        """Take the key."""
        event.stop()
        self.leave("" if event.key == "escape" else event.key)


# -- popup -----------------------------------------------------------------------------------------------------------
# Lines over a screen: help, histories, values, problems. Enter returns the line under the cursor, Esc nothing.


MOST_MEASURED = 500  # rows that are looked at for a width


class Popup(Moving, ModalScreen["Row | None"]):
    """A list of lines in a frame. Searching and scrolling work as on the screens."""

    BINDINGS = [  # noqa: RUF012  # as Textual declares it
        *keys.bindings("popup"),
        Binding("escape", "close", "Close", show=False, priority=True),
        Binding("q", "close", "Close", show=False, priority=True),
        Binding("enter", "choose", "Go to the line", show=False, priority=True),
    ]

    def __init__(self, title: str, rows: Sequence[Row], cursor: int = 0, chooses: bool = False) -> None:
        super().__init__()
        self._title, self._rows, self._cursor, self._chooses = title, rows, cursor, chooses

    def compose(self) -> ComposeResult:
        """The frame with its lines, and the search line."""
        with Vertical(id="popup_frame"):
            yield LineView("popup", colored=False)
            yield BarInput(id="search", placeholder="find text")

    def on_mount(self) -> None:
        """Fill the list."""
        if not self.is_filled:
            return
        frame = self.query_one("#popup_frame")
        frame.border_title = self._title.replace("[", "\\[")
        is_wide = any(columns(row.text) > room(self.app.size.width) for row in self._rows[:MOST_MEASURED])
        side = "l scrolls right · " if is_wide else ""
        frame.border_subtitle = f"{side}{'Enter goes there' if self._chooses else '/ finds'} · Esc closes"
        self.take_keys("popup")
        view = self.lines("popup")
        view.recolor(self.tokens)
        view.show(self._rows, self._cursor)
        view.move(self._cursor, tell=False)
        view.focus()
        frame.styles.max_height = len(self._rows) + 3  # with the frame and the search line

    @property
    def view(self) -> LineView:
        """The list."""
        return self.lines("popup")

    def action_close(self) -> None:
        """Close the search line, or the popup."""
        if isinstance(self.focused, BarInput):
            self.view.focus()
        else:
            self.leave(None)

    def action_choose(self) -> None:
        """Return the line under the cursor."""
        self.leave(self.view.row if self._chooses else None)

    def on_click(self, event: Click) -> None:
        """A click beside the lines closes them."""
        if not self.query_one("#popup_frame").region.contains_point(event.screen_offset):
            self.leave(None)

    def on_row_chosen(self, message: RowChosen) -> None:
        """A click on the line under the cursor chooses it."""
        if self._chooses:
            self.action_choose()
