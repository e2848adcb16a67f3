"""The `:` line: an input with a history of commands."""

from __future__ import annotations

from textual.binding import Binding
from textual.widgets import Input


class CommandInput(Input):
    """Up and down go through the commands typed before."""

    BINDINGS = [  # noqa: RUF012  # as Textual declares it
        Binding("up", "older", show=False),
        Binding("down", "newer", show=False),
    ]
    history: list[str]
    place: int

    def begin(self, text: str = "") -> None:
        """Show the line with a text, and take the focus."""
        if not hasattr(self, "history"):
            self.history = []
        self.place = len(self.history)
        self.value = text
        self.display = True
        self.screen.set_focus(self)  # at once: `focus()` would let the next keys go to the screen
        self.cursor_position = len(text)

    def remember(self, text: str) -> None:
        """Add a command to the history."""
        if text.strip() and self.history[-1:] != [text]:
            self.history.append(text)

    def action_older(self) -> None:
        """Show the command before."""
        self._show(self.place - 1)

    def action_newer(self) -> None:
        """Show the command behind."""
        self._show(self.place + 1)

    def _show(self, place: int) -> None:
        if 0 <= place <= len(self.history):
            self.place = place
            self.value = self.history[place] if place < len(self.history) else ""
            self.cursor_position = len(self.value)
