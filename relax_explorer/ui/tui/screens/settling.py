"""A screen that settles at the size of the terminal."""

from __future__ import annotations

from typing import Any

from textual.events import Resize
from textual.screen import Screen


class Settling(Screen[Any]):
    """Takes only the present size of the terminal.

    A screen of Textual answers each change of its size with an event for itself. Two sizes that arrive together would
    follow each other for ever, and the explorer would work without end.
    """

    def on_resize(self, event: Resize) -> None:
        """Drop a size that the terminal no longer has."""
        if event.size != self.app.size:
            event.prevent_default()
            event.stop()
