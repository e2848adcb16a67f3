"""The lines at the foot of the screen: `:` for commands, with a menu, history and completion, and `/` for a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.segment import Segment
from rich.text import Text
from textual.binding import Binding
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from relax_explorer.viz.visible import columns, fit, visible

ROWS = 6  # of the menu
_LABEL = 30  # cells at most


class Choice(NamedTuple):
    """One way to go on: the whole line, how it is listed, and what it is."""

    text: str
    label: str
    doc: str = ""


class BarInput(Input):
    """An input that is only there while something is typed."""

    DEFAULT_CSS = "BarInput { display: none; }"

    lead = "/"  # the cell before the text: the key that opened the line

    def render_lines(self, crop: Region) -> list[Strip]:
        """The line, with its key in the padding."""
        lines = super().render_lines(crop)
        if lines and not crop.x:
            key = Segment(self.lead, self.rich_style)  # the padding has no colour of its own for text
            lines[0] = Strip([key, *lines[0].crop(1)])
        return lines

    def begin(self, text: str = "") -> None:
        """Show the line with a text, and take the focus."""
        self.value = text
        self.display = True
        self.screen.set_focus(self)  # at once: `focus()` would let the next keys go to the screen
        self.cursor_position = len(text)

    def on_blur(self) -> None:
        """Close when the focus goes elsewhere."""
        self.display = False


class CommandMenu(Widget):
    """What may follow in the command line, above it; the choice that was taken is marked."""

    DEFAULT_CSS = "CommandMenu { display: none; }"

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._choices: Sequence[Choice] = ()
        self._taken = -1

    def show(self, choices: Sequence[Choice], taken: int, title: str) -> None:
        """Show choices under a title; without any, nothing is shown but a title."""
        self._choices, self._taken = choices, taken
        self.border_title = title.replace("[", "\\[")
        more = len(choices) - ROWS
        self.border_subtitle = f"{more} more" if more > 0 else ""
        self.display = bool(choices or title)
        self.styles.height = min(ROWS, len(choices)) + 2
        self.refresh()

    def render(self) -> Text:
        """The choices around the one that was taken."""
        width = max(0, self.content_size.width - 1)
        first = max(0, min(self._taken - ROWS // 2, len(self._choices) - ROWS))
        shown = self._choices[first : first + ROWS]
        wide = min(_LABEL, max([columns(visible(item.label)) for item in shown], default=0))
        text = Text(no_wrap=True, overflow="ellipsis")
        for number, item in enumerate(shown, first):
            label = fit(visible(item.label), wide)
            room = width - wide - 3
            line = f"{label}{' ' * (wide - columns(label) + 2)}"
            text.append("▌" if number == self._taken else " ")
            text.append(line, "bold" if number == self._taken else "")
            text.append(f"{fit(visible(item.doc), room) if room > 0 else ''}\n", "dim")
        text.rstrip()
        return text


class CommandInput(BarInput):
    """Up and down go through the commands typed before; Tab completes. With `usage`, which tells what a line begins with, there is a menu."""

    BINDINGS = [  # noqa: RUF012  # as Textual declares it
        Binding("up", "older", show=False),
        Binding("down", "newer", show=False),
        Binding("tab", "complete", show=False),
        Binding("shift+tab", "complete(-1)", show=False),
    ]

    def __init__(
        self,
        history: list[str],
        complete: Callable[[str], list[Choice]],
        name: str,
        usage: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__(id=name, select_on_focus=False)
        self.history, self._complete, self._usage = history, complete, usage
        self.lead = ":" if usage is not None else " "
        self._place = 0
        self._choices: list[Choice] = []  # what may follow the text that was typed
        self._taken = -1  # the choice that Tab put into the line

    def begin(self, text: str = "") -> None:
        """Show the line with a text, and take the focus."""
        self._place = len(self.history)
        super().begin(text)
        self._list()

    def on_blur(self) -> None:
        """Close the menu, too."""
        super().on_blur()
        if self._usage is not None:
            self._menu.display = False

    def on_input_changed(self, event: Input.Changed) -> None:
        """List what may follow now."""
        if self.display and self.has_focus:
            self._list()

    @property
    def _menu(self) -> CommandMenu:
        return self.screen.query_one(CommandMenu)

    def _list(self) -> None:
        """List what may follow, unless the text is one of the choices listed already."""
        if not (0 <= self._taken < len(self._choices) and self._choices[self._taken].text == self.value):
            self._choices, self._taken = self._complete(self.value), -1
        if self._usage is not None:
            self._menu.show(self._choices, self._taken, self._usage(self.value))

    def remember(self, text: str) -> None:
        """Add a command to the history."""
        if text.strip() and self.history[-1:] != [text]:
            self.history.append(text)

    def action_older(self) -> None:
        """Show the command before."""
        self._show(self._place - 1)

    def action_newer(self) -> None:
        """Show the command behind."""
        self._show(self._place + 1)

    def _show(self, place: int) -> None:
        if 0 <= place <= len(self.history):
            self._place = place
            self._set(self.history[place] if place < len(self.history) else "")

    def action_complete(self, by: int = 1) -> None:
        """Complete the last word; Tab again takes the next choice."""
        self._list()
        if self._choices:
            before = self._taken if self._taken >= 0 or by > 0 else 0
            self._taken = (before + by) % len(self._choices)
            self._set(self._choices[self._taken].text)
            self._list()

    def _set(self, text: str) -> None:
        self.value = text
        self.cursor_position = len(text)
