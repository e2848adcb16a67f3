"""What opens over a screen: lines, a line that waits for one key, and the command palette."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding
from textual.command import CommandList, DiscoveryHit, Hit, Hits, Provider
from textual.containers import Vertical
from textual.events import Click, Key, Mount
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.host import Host
from relax_explorer.ui.tui.screens.moving import Moving, Settling
from relax_explorer.ui.tui.shortcuts import LatePalette
from relax_explorer.ui.tui.state import room
from relax_explorer.ui.tui.typed import TYPED
from relax_explorer.ui.tui.widgets.framed import BarInput, RowChosen
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.tables import Row
from relax_explorer.viz.visible import columns, visible

MOST_LINES = 12
_T = TypeVar("_T")


def if_taken(then: Callable[[_T], object]) -> Callable[[_T | None], None]:
    """What follows a dialog: `then` with what it gives; nothing if it was left."""

    def done(taken: _T | None) -> None:
        if taken is not None:
            then(taken)

    return done


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


# -- command palette -------------------------------------------------------------------------------------------------
# The command palette: every action of the screen and the commands of the `:` line, safe for fast keys and clicks and
# for low terminals.


class KeyCommands(Provider):
    """The actions of the screen below the palette."""

    def _entries(self) -> Iterator[tuple[str, str, Callable[[], object]]]:
        app = cast(Host, self.app)
        seen: set[str] = set()  # what two do stands once, with the key
        for key in keys.keys_of(app.screen_name, app.keymap):
            if key.description not in seen:
                seen.add(key.description)
                yield key.description, key.label, partial(app.act, key.action)
        for item in TYPED:
            if item.doc.rstrip(".") not in seen:
                yield item.doc, f":{item.name}", partial(app.ask, f"{item.name} ")

    async def discover(self) -> Hits:
        """All actions."""
        for description, label, action in self._entries():
            yield DiscoveryHit(description, action, help=label)

    async def search(self, query: str) -> Hits:
        """Actions whose description matches."""
        matcher = self.matcher(query)
        for description, label, action in self._entries():
            score = matcher.match(description)
            if score > 0:
                yield Hit(score, matcher.highlight(description), action, help=label)


# -- command palette -------------------------------------------------------------------------------------------------
# The command palette of Textual, made safe for fast keys and clicks and for low terminals.


class Entries(CommandList):
    """The commands that were found. A click may arrive when fewer are listed than were drawn."""

    def on_click(self, event: Click) -> None:
        """Don't choose a line that is gone: Textual would raise IndexError."""
        if event.style.meta.get("option", -1) >= self.option_count:
            event.prevent_default()

    def action_page_down(self) -> None:
        """Go a page down. Without room for a line there are no pages: Textual would raise KeyError."""
        move: Callable[[], None] = super().action_page_down  # it has no types
        if self.scrollable_content_region:
            move()

    def action_page_up(self) -> None:
        """Go a page up, unless there is no room for a line."""
        move: Callable[[], None] = super().action_page_up  # it has no types
        if self.scrollable_content_region:
            move()


class Palette(LatePalette, Settling):
    """The palette of the current screen."""

    def compose(self) -> ComposeResult:
        """The palette of Textual with a list that takes late clicks."""
        for widget in super().compose():
            yield Entries() if type(widget) is CommandList else widget

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close, unless an earlier key or click did: Textual would then close the screen below."""
        return super().dismiss(result) if self.app.screen is self else AwaitComplete()

    def on_mount(self, event: Mount) -> None:
        """Don't list commands in a palette that a click closed at once: its list is gone."""
        self._drop_if_closed(event)

    def on_click(self, event: Click) -> None:
        """Take no click beside the screen, as when the terminal shrank meanwhile: Textual would raise NoWidget."""
        if not self.region.contains_point(event.screen_offset):
            event.prevent_default()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Don't search in a palette that is closed."""
        self._drop_if_closed(event)

    def _drop_if_closed(self, event: Mount | Input.Changed) -> None:
        if self.app.screen is not self:
            event.prevent_default()
