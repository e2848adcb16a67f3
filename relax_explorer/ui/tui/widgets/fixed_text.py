"""Text in a place whose size does not depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.events import Click
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from relax_explorer.ui.tui.widgets.buttons import Button, ButtonLine, ButtonPressed, pressed
from relax_explorer.ui.tui.widgets.line_messages import Fitted
from relax_explorer.viz.visible import columns, fit, visible


class FixedText(Widget):
    """Text in a place of fixed size. Another text needs no new layout of the screen; only the rows of the two texts are drawn."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.text = Text()
        self.buttons: Sequence[Button] = ()  # of a single line

    def show_line(self, line: ButtonLine) -> None:
        """Show a line with words to click."""
        self.buttons = line.buttons
        self._show(line.text)

    def show(self, text: Text) -> None:
        """Show a text. The same text is not drawn again."""
        self.buttons = ()
        self._show(text)

    def on_click(self, event: Click) -> None:
        """Tell the screen which word was clicked."""
        action = pressed(self.buttons, event.x)
        if action:
            self.post_message(ButtonPressed(self.id or "", action))

    def _show(self, text: Text) -> None:
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


class FixedLines(Widget):
    """Lines of plain text in a place of fixed size, each cut at its width. Only lines that differ are drawn."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.lines: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The lines in one text."""
        return "\n".join(self.lines)

    def show(self, lines: Sequence[str]) -> None:
        """Show other lines."""
        old, self.lines = self.lines, lines
        changed = [y for y, (before, line) in enumerate(zip_longest(old, lines)) if before != line]
        if changed and changed[0] < self.size.height:
            height = min(changed[-1] + 1, self.size.height) - changed[0]
            self.refresh(Region(0, changed[0], self.size.width, height))

    def on_resize(self) -> None:
        """Tell the screen, which may make other lines for another width."""
        self.post_message(Fitted(self.id or ""))

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of some lines. Style and ground hold for all of them; Textual derives them anew for each."""
        style, ground, filters = self.rich_style, self.background_colors[1], self.get_line_filters()
        strips = []
        for y in crop.line_range:
            strip = self._line(y, style)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, ground)
            strips.append(strip.crop(*crop.column_span))
        return strips

    def render_line(self, y: int) -> Strip:
        """The strip of line `y`."""
        return self._line(y, self.rich_style)

    def _line(self, y: int, style: Style) -> Strip:
        width = self.size.width
        text = fit(visible(self.lines[y], 2 * width + 1), width) if y < len(self.lines) else ""
        return Strip([Segment(text + " " * (width - columns(text)), style)], width)
