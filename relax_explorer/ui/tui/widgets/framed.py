"""Frames with a title."""

from __future__ import annotations

from typing import Self

from textual.containers import Vertical
from textual.geometry import Region
from textual.widget import Widget


class Framed(Widget):
    """A widget with a frame. Another title draws its upper edge only.

    It stands behind the widget that it extends, for Textual takes the style of the first base.
    """

    _title = ""
    _draws_title = False

    def show_title(self, title: str) -> None:
        """Show a title. The same title is not drawn again."""
        if title != self._title:
            self._title, self._draws_title = title, True
            self.border_title = title.replace("[", "\\[")
            self._draws_title = False

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Self:
        """Draw the widget, or only some regions."""
        if self._draws_title:
            regions = (Region(-1, -1, self.outer_size.width, 1),)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)


class Box(Vertical, Framed):
    """A framed place for other widgets."""
