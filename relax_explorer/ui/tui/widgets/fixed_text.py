"""Text in a place whose size does not depend on it."""

from __future__ import annotations

from rich.text import Text
from textual.geometry import Region
from textual.widget import Widget

from relax_explorer.viz.visible import columns


class FixedText(Widget):
    """Text in a place of fixed size. Another text needs no new layout of the screen; only the rows of the two texts are drawn."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.text = Text()

    def show(self, text: Text) -> None:
        """Show a text. The same text is not drawn again."""
        old = self.text
        if text == old and text.style == old.style:
            return
        self.text = text
        rows = max(self._most_rows(old), self._most_rows(text))
        self.refresh(Region(0, 0, self.size.width, min(rows, self.size.height)))

    def render(self) -> Text:
        """The text."""
        return self.text

    def _most_rows(self, text: Text) -> int:
        """The rows of a text at most. Two rows that follow each other in a wrapped line are longer than the width."""
        width = max(1, self.size.width)
        return sum([1 + 2 * columns(line) // width for line in text.plain.split("\n")])
