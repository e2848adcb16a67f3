"""A view of many lines, with Textual's Line API. Only visible lines are drawn, and drawn lines are cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.events import Click
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from relax_explorer.ui.tui.messages import CursorMoved
from relax_explorer.viz.lexer import highlight
from relax_explorer.viz.visible import visible

MAX_WIDTH = 2000
_STYLES: dict[str, Style] = {
    "comment": Style(dim=True),
    "keyword": Style(color="#cc79a7"),
    "string": Style(color="#e69f00"),
    "number": Style(color="#e69f00"),
    "decorator": Style(color="#cc79a7"),
    "module": Style(dim=True),
    "operator": Style(color="#56b4e9", bold=True),
    "function": Style(color="#f0e442", bold=True),
    "type": Style(color="#35b18c"),
    "punctuation": Style(dim=True),
}
_GUTTERS: dict[str, Style] = {
    "+": Style(color="#56b4e9", bold=True),
    "-": Style(color="#e69f00", bold=True),
    "~": Style(color="#cc79a7", bold=True),
    "t": Style(color="#35b18c", bold=True),
    ">": Style(color="#56b4e9"),
    "▶": Style(color="#f0e442", bold=True),
    "✓": Style(dim=True),
    "●": Style(color="#ff7a45", bold=True),
}
_PLAIN = Style()
_CURSOR = Style(reverse=True)
_MORE = Style(dim=True)


def _cut(strip: Strip, left: int, width: int, style: Style) -> Strip:
    """The visible part of a line, exactly `width` cells. `…` marks a cut."""
    if strip.cell_length - left <= width:
        return strip.crop(left).extend_cell_length(width, style)
    kept = strip.crop(left, left + max(0, width - 1)).extend_cell_length(max(0, width - 1), style)
    return Strip.join([kept, Strip([Segment("…", _MORE + style)])])


@dataclass(frozen=True, slots=True)
class Row:
    """One line: gutter glyph, text, its IR node, its function."""

    text: str
    gutter: str = " "
    node: Any = None
    function: str = ""
    ghost: str = ""  # shown dim at the right edge if there is room


class LineView(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines with a gutter and a cursor. Moving the cursor redraws two lines.

    It binds no keys: the keys of a scrolling widget would move the text away from the cursor.
    """

    def __init__(self, name: str, colored: bool = True) -> None:
        super().__init__(id=name)
        self.rows: Sequence[Row] = ()
        self.cursor = 0
        self.colored = colored
        self._strips: dict[tuple[int, bool], Strip] = {}

    def show(self, rows: Sequence[Row], cursor: int | None = None) -> None:
        """Show other lines. Without `cursor` the cursor stays."""
        self.rows = rows
        self._strips.clear()
        widest = min(max((len(row.text) for row in rows), default=0) + 3, MAX_WIDTH)
        self.virtual_size = Size(widest, len(rows))
        self.cursor = max(0, min(self.cursor if cursor is None else cursor, len(rows) - 1))
        self._follow()
        self.refresh()

    def move(self, to: int, tell: bool = True) -> None:
        """Put the cursor on a line."""
        new = max(0, min(to, len(self.rows) - 1))
        old, self.cursor = self.cursor, new
        self._follow()
        for line in {old, new}:
            self.refresh_line(line)
        if tell and self.rows:
            row = self.rows[new]
            self.post_message(CursorMoved(self.id or "", row.node, row.function))

    def page(self, pages: int) -> None:
        """Move by whole pages."""
        self.move(self.cursor + pages * max(1, self.lines_shown - 1))

    @property
    def lines_shown(self) -> int:
        """The number of visible lines, without the scrollbar."""
        return max(1, self.scrollable_content_region.height)

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self._follow()

    def on_click(self, event: Click) -> None:
        """Put the cursor on the clicked line."""
        self.move(int(self.scroll_offset.y) + event.y)

    def _follow(self) -> None:
        height = self.lines_shown
        top = int(self.scroll_offset.y)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def refresh_line(self, line: int) -> None:
        """Redraw one line."""
        y = line - int(self.scroll_offset.y)
        if 0 <= y < self.lines_shown:
            self.refresh_lines(line, 1)

    def render_line(self, y: int) -> Strip:
        """The strip of visible line `y`."""
        x, top = self.scroll_offset
        number = int(top) + y
        width = self.scrollable_content_region.width
        if number >= len(self.rows):
            return Strip.blank(width, self.rich_style)
        strip = self._strip(number, number == self.cursor)
        base = self._base(number == self.cursor)
        ghost = self.rows[number].ghost
        room = width - len(ghost) - 1 if ghost and len(ghost) < width // 2 else width
        shown = _cut(strip, int(x), room, base)
        if room < width:
            shown = Strip.join(
                [shown, Strip([Segment(f" {ghost}", Style(dim=True, color="#35b18c") + base)])]
            )
        return shown.apply_style(self.rich_style)

    def _base(self, selected: bool) -> Style:
        return _CURSOR if selected and self.has_focus_within else Style(bold=True) if selected else _PLAIN

    def _strip(self, number: int, selected: bool) -> Strip:
        strip = self._strips.get((number, selected))
        if strip is None:
            if len(self._strips) > 4000:
                self._strips.clear()
            strip = self._strips[number, selected] = Strip(self._segments(self.rows[number], selected))
        return strip

    def _segments(self, row: Row, selected: bool) -> list[Segment]:
        base = _CURSOR if selected else _PLAIN
        text = visible(row.text, MAX_WIDTH)
        segments = [Segment(f"{row.gutter} ", _GUTTERS.get(row.gutter, _PLAIN) + base)]
        if not self.colored:
            return [*segments, Segment(text, base)]
        return segments + [
            Segment(piece, _STYLES.get(role, _PLAIN) + base) for role, piece in highlight(text)
        ]
