"""A screen that settles at the size of the terminal, over the screen that it was opened on."""

from __future__ import annotations

from typing import Any, cast

from rich.console import RenderableType
from textual.events import Resize
from textual.renderables.background_screen import BackgroundScreen
from textual.renderables.blank import Blank
from textual.screen import Screen


class Settling(Screen[Any]):
    """Takes only the present size of the terminal.

    A screen of Textual answers each change of its size with an event for itself. Two sizes that arrive together would
    follow each other for ever, and the explorer would work without end.
    """

    @property
    def is_filled(self) -> bool:
        """True if its widgets are there. They are not if a key closed it before, or if the explorer leaves."""
        return self in self.app.screen_stack and bool(self.children)

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
        plain = Blank(self.app.styles.background if background.is_transparent else background)
        return cast(RenderableType, plain)  # as Textual's own screens, whose annotation leaves it out
