"""A line at the foot of the screen that waits for one key, with what may follow."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Static

from relax_explorer.ui.tui.screens.settling import Settling
from relax_explorer.viz.visible import visible

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
        if self.app.screen is self:
            self.dismiss("" if event.key == "escape" else event.key)
