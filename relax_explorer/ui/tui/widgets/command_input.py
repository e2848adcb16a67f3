"""The lines at the foot of the screen: `:` for commands, with history and completion, and `/` for a search."""

from __future__ import annotations

from collections.abc import Callable

from textual.binding import Binding
from textual.widgets import Input


class BarInput(Input):
    """An input that is only there while something is typed."""

    DEFAULT_CSS = "BarInput { display: none; }"

    def begin(self, text: str = "") -> None:
        """Show the line with a text, and take the focus."""
        self.value = text
        self.display = True
        self.screen.set_focus(self)  # at once: `focus()` would let the next keys go to the screen
        self.cursor_position = len(text)

    def on_blur(self) -> None:
        """Close when the focus goes elsewhere."""
        self.display = False


class CommandInput(BarInput):
    """Up and down go through the commands typed before; Tab completes."""

    BINDINGS = [  # noqa: RUF012  # as Textual declares it
        Binding("up", "older", show=False),
        Binding("down", "newer", show=False),
        Binding("tab", "complete", show=False),
    ]

    def __init__(self, history: list[str], complete: Callable[[str], list[str]], name: str) -> None:
        super().__init__(id=name, select_on_focus=False)
        self.history, self._complete = history, complete
        self._place = 0
        self._choices: list[str] = []  # the completions that Tab goes through
        self._chosen = ""

    def begin(self, text: str = "") -> None:
        """Show the line with a text, and take the focus."""
        self._place = len(self.history)
        super().begin(text)

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

    def action_complete(self) -> None:
        """Complete the last word; Tab again shows the next choice."""
        if self.value != self._chosen or not self._choices:
            self._choices = self._complete(self.value)
        else:
            self._choices = [*self._choices[1:], self._choices[0]]
        if self._choices:
            self._chosen = self._choices[0]
            self._set(self._chosen)

    def _set(self, text: str) -> None:
        self.value = text
        self.cursor_position = len(text)
