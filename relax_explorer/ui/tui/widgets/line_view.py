"""A view of many lines, with Textual's Line API. Only visible lines are drawn, and drawn lines are cached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import groupby

from rich.segment import Segment
from rich.style import Style
from textual.color import TRANSPARENT, Color
from textual.events import Click
from textual.filter import LineFilter
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from relax_explorer.ui.tui.shortcuts import resize_content, take_bar
from relax_explorer.ui.tui.widgets.framed import CursorMoved, Fitted, Framed, QuickBar, RowChosen
from relax_explorer.viz.lexer import Piece
from relax_explorer.viz.tables import FARTHER, MAX_WIDTH, Row, cells, cut, filled, goes_farther
from relax_explorer.viz.tokens import DARK, GLYPH_ROLES, Tokens
from relax_explorer.viz.visible import visible

STEP = 8  # columns of a scroll to the side
MOST_KEPT = 1_000  # drawn lines
AHEAD = 0.02  # seconds after a scroll until the next lines are drawn


@lru_cache(maxsize=512)
def style(tokens: Tokens, role: str) -> Style:
    """The style of a role in a theme."""
    token = tokens.role(role)
    return Style(
        color=token.color or None,
        bgcolor=token.ground or None,
        bold=token.bold or None,
        dim=token.dim or None,
        underline=token.underline or None,
        strike=token.strike or None,
    )


class FramedStrip(Strip):
    """A line in its frame. Drawing asks for it without the right edge, which a scrollbar hides: that part is kept, not cut anew."""

    def __init__(self, segments: Sequence[Segment], width: int, body: Strip) -> None:
        super().__init__(segments, width)
        self._body = body

    def crop(self, start: int, end: int | None = None) -> Strip:
        """The cells of a part of the line."""
        body = self._body
        return body if start == 0 and end == body.cell_length else super().crop(start, end)


def _right(row: Row, width: int) -> str:
    """What stands at the right of a row, if half of the line is left."""
    return f" {row.right}" if row.right and len(row.right) < width // 2 else ""


def _are_alike(old: tuple[bool, Row | None], new: tuple[bool, Row | None]) -> bool:
    """True if two lines look alike."""
    (was_cursor, before), (is_cursor, row) = old, new
    if was_cursor != is_cursor or before is row:
        return was_cursor == is_cursor
    return before is not None and row is not None and before.look == row.look


def _runs(lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Lines that follow each other: the first, and how many."""
    for _, group in groupby(enumerate(lines), lambda pair: pair[1] - pair[0]):
        run = [line for _, line in group]
        yield run[0], len(run)


@dataclass(frozen=True, slots=True)
class _Look:
    """What all lines of a view have in common."""

    x: int = 0  # the first visible cell
    top: int = 0  # the first visible row
    width: int = 0  # cells between the edges, without the scrollbar
    outer: Size = Size()  # noqa: RUF009  # with the edges: a view that loses a cell and its scrollbar keeps its width
    below: Style = Style()  # noqa: RUF009  # the style below the rows
    ground: Color = TRANSPARENT
    border: object = None
    filters: tuple[LineFilter, ...] = ()
    has_focus: bool = False
    is_active: bool = False  # is the cursor marked?


class LineView(ScrollView, Framed, can_focus=True, inherit_bindings=False):
    """Lines with a gutter and a cursor. Moving the cursor redraws two lines.

    It binds no keys: the keys of a scrolling widget would move the text away from the cursor.
    """

    def __init__(self, name: str, colored: bool = True, is_menu: bool = False) -> None:
        super().__init__(id=name)
        self.rows: Sequence[Row] = ()
        self.cursor = 0
        self.colored = colored
        self.is_menu = is_menu  # one click chooses a line; elsewhere the first one puts the cursor there
        self._was_left = False  # for something that is no view, such as a line below
        self.tokens = DARK
        self._strips: dict[tuple[int, bool], tuple[Row | None, Strip]] = {}  # by identity of the row
        self._styles: dict[tuple[str, bool], Style] = {}
        self._look = _Look()

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """The scrollbar, made when it is asked for."""
        take_bar(
            self, lambda: QuickBar(vertical=True, name="vertical", thickness=self.scrollbar_size_vertical)
        )
        return super().vertical_scrollbar

    def show(self, rows: Sequence[Row], cursor: int | None = None) -> None:
        """Show other lines. Without `cursor` the cursor stays. Lines that look as before are not drawn again."""
        before = self._shown()
        self.rows = rows
        size = Size(MAX_WIDTH, len(rows))  # to measure all rows would write them all
        resize_content(self, size)
        self.cursor = max(0, min(self.cursor if cursor is None else cursor, len(rows) - 1))
        self._follow()
        shown = self._shown()
        seen = {id(row) for _, row in shown}  # other rows would keep their program alive
        self._strips = {key: kept for key, kept in self._strips.items() if key[0] in seen}
        changed = [
            line
            for line, (old, new) in enumerate(zip(before, shown, strict=False), int(self.scroll_offset.y))
            if not _are_alike(old, new)
        ]
        for first, count in _runs(changed):
            self.refresh_lines(first, count)

    def _shown(self) -> list[tuple[bool, Row | None]]:
        """The visible lines: is the cursor there, and the row, if there is one."""
        top = int(self.scroll_offset.y)
        rows = self.rows[top : top + self.lines_shown]
        return [
            *[(n == self.cursor, row) for n, row in enumerate(rows, top)],
            *[(False, None)] * (self.lines_shown - len(rows)),
        ]

    def move(self, to: int, tell: bool = True) -> None:
        """Put the cursor on a line."""
        new = max(0, min(to, len(self.rows) - 1))
        old, self.cursor = self.cursor, new
        self._follow()
        for line in {old, new}:
            self.refresh_line(line)
        if tell and len(self.rows):
            self.screen.post_message(CursorMoved(self.id or "", new))

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if len(self.rows) else None

    @property
    def row_node(self) -> object:
        """The IR node of the row under the cursor."""
        row = self.row
        return None if row is None else row.node

    def centre(self) -> None:
        """Scroll the line under the cursor to the middle, if it is near an edge."""
        height, top = self.lines_shown, int(self.scroll_offset.y)
        if not top + 2 <= self.cursor < top + height - 3:
            self.scroll_to(
                y=max(0, min(self.cursor - height // 3, len(self.rows) - height)), animate=False, force=True
            )

    def page(self, pages: int) -> None:
        """Move by whole pages."""
        self.move(self.cursor + pages * max(1, self.lines_shown - 1))

    def side(self, columns: int) -> None:
        """Scroll to the side, as far as a visible line goes behind what stands at its right."""
        top, width = int(self.scroll_offset.y), self.scrollable_content_region.width
        shown = self.rows[top : top + self.lines_shown]
        widest = max([len(row.text) + len(_right(row, width)) for row in shown], default=0)
        end = max(0, widest + STEP - width)
        self.scroll_to(x=max(0, min(end, int(self.scroll_offset.x) + columns)), animate=False, force=True)

    def recolor(self, tokens: Tokens) -> None:
        """Draw in another theme."""
        self.tokens = tokens
        self._forget()
        self.refresh()

    @property
    def lines_shown(self) -> int:
        """The number of visible lines, without the scrollbar."""
        return max(1, self.scrollable_content_region.height)

    def on_unmount(self) -> None:
        """Forget what was drawn: Textual holds the lines of widgets that are gone."""
        self._strips.clear()
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor in sight. Tell the screen, which may make other lines for another width."""
        self._follow()
        self.post_message(Fitted(self.id or ""))

    def on_click(self, event: Click) -> None:
        """Put the cursor on the clicked line; a click on the line under it chooses the line."""
        place = event.get_content_offset(self)
        if place is not None:
            self.clicked(int(self.scroll_offset.x) + place.x, int(self.scroll_offset.y) + place.y)

    def clicked(self, column: int, line: int) -> None:
        """Take a click on a cell of the content."""
        is_here = line == self.cursor
        if line >= len(self.rows):
            return
        if not is_here:
            self.move(line)
        if is_here or self.is_menu:
            self.post_message(RowChosen(self.id or "", line))

    def _follow(self) -> None:
        height = self.scrollable_content_region.height
        top = int(self.scroll_offset.y)
        if not height:  # not laid out yet: to follow now would scroll away what stands above the cursor
            return
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def refresh_line(self, line: int) -> None:
        """Redraw one line."""
        y = line - int(self.scroll_offset.y)
        if 0 <= y < self.lines_shown:
            self.refresh_lines(line, 1)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of some rows of the widget. Place, style and frame hold for all lines; Textual derives them anew for each."""
        look = self._looked()
        if replace(look, top=0) != replace(self._look, top=0):  # other lines alone change no line
            self._forget()
        by, self._look = look.top - self._look.top, look
        gutter, size = self.styles.gutter, self.outer_size
        lines = range(gutter.top, size.height - gutter.bottom)
        strips: list[Strip] = []
        for y in crop.line_range:
            if y in lines:
                strips.append(self._framed(y - gutter.top))
            else:
                strips += super().render_lines(Region(0, y, size.width, 1))
        if by:
            self.set_timer(AHEAD, partial(self._draw_ahead, 1 if by > 0 else -1))
        if crop.column_span != (0, size.width):
            return [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _framed(self, y: int) -> Strip:
        """Visible line `y` between the edges of the frame."""
        number = self._look.top + y
        row = self.rows[number] if number < len(self.rows) else None
        key = id(row), row is not None and number == self.cursor
        kept = self._strips.get(key)
        if kept is not None:
            return kept[1]
        if len(self._strips) > MOST_KEPT:
            self._strips.clear()
        cells = list(self.render_line(y)) if row is None else self._drawn(row, key[1])
        for line_filter in self._look.filters:
            cells = line_filter.apply(cells, self._look.ground)
        left, right = self._edges
        body = Strip([*left, *cells], left.cell_length + self._look.width)
        strip = FramedStrip([*body, *right], self.outer_size.width, body)
        self._strips[key] = row, strip
        return strip

    def _draw_ahead(self, pages: int) -> None:
        """Draw the lines of the page that follows, while nothing else is to do: the next key that scrolls will need them."""
        height, top = self.lines_shown, self._look.top
        start = top + pages * height
        for line in range(max(0, start), min(start + height, len(self.rows))):
            self._framed(line - top)

    @cached_property
    def _edges(self) -> tuple[Strip, Strip]:
        """What stands left and right of each line, as Textual draws it."""
        gutter, size = self.styles.gutter, self.outer_size
        whole = super().render_lines(Region(0, gutter.top, size.width, 1))[0]
        return whole.crop(0, gutter.left), whole.crop(gutter.left + self._look.width)

    def _forget(self) -> None:
        """Draw each line anew."""
        self._strips.clear()
        self._styles.clear()
        self.__dict__.pop("_edges", None)

    def _looked(self) -> _Look:
        """What the lines look like now."""
        x, top = self.scroll_offset
        return _Look(
            int(x),
            int(top),
            self.scrollable_content_region.width,
            self.outer_size,
            self.rich_style,
            self.background_colors[1],
            self.styles.border,
            tuple(self.get_line_filters()),
            self.has_focus_within,
            self._is_active,
        )

    def render_line(self, y: int) -> Strip:
        """The strip of visible line `y`, without the frame."""
        number, width = self._look.top + y, self._look.width
        if number >= len(self.rows):
            return Strip.blank(width, self._look.below)
        return Strip(self._drawn(self.rows[number], number == self.cursor), width)

    def _drawn(self, row: Row, is_cursor: bool) -> list[Segment]:
        """The visible part of a row: the text, cut off before its note, and its right text if half of the line is left."""
        x, width = self._look.x, self._look.width
        right = _right(row, width)
        tail = [("muted", row.note)] if row.note else []
        line, room = self._pieces(row, is_cursor), width - len(right)
        if row.pieces and goes_farther(line, x + room - cells(tail)):
            tail.insert(0, ("new", FARTHER))
        if tail:
            line, x = [*cut(line, x, max(0, room - cells(tail)), "plain"), *tail], 0
        line = [*filled(cut(line, x, room, "plain"), room, "plain"), ("dimension", right)]
        return [Segment(text, self._style(role, is_cursor)) for role, text in line if text]

    def _base(self, is_cursor: bool) -> Style:
        """The ground of a line. Without colours the cursor line is bold."""
        if not is_cursor:
            return Style()
        if self.tokens.cursor:
            return Style(bgcolor=self.tokens.cursor, bold=self._look.has_focus or None)
        return Style(bold=True)

    @property
    def _is_active(self) -> bool:
        """True for the view with the focus, and for the one that a dialog covers or a line below interrupts."""
        return self.screen.focused is self or self._was_left

    def on_focus(self) -> None:
        """Mark the cursor."""
        self._was_left = False
        self.refresh()

    def on_blur(self) -> None:
        """Unmark the cursor, if another view took the focus."""
        self._was_left = not isinstance(self.screen.focused, LineView)
        self.refresh()

    def _style(self, role: str, is_cursor: bool) -> Style:
        """The style of a role in a line of this view. Of the screen's own roles, plain has no colour and focus marks the cursor."""
        found = self._styles.get((role, is_cursor))
        if found is None:
            if role == "plain":
                own = Style()
            elif role == "focus":
                own = Style(color=self.tokens.focus or None)
            else:
                own = style(self.tokens, role)
            found = self._styles[role, is_cursor] = self._look.below + own + self._base(is_cursor)
        return found

    def _pieces(self, row: Row, is_cursor: bool) -> list[Piece]:
        """The cursor, the mark and the text of a row."""
        is_marked = is_cursor and self._look.is_active
        pieces = row.colored if self.colored else (("plain", row.text),)
        return [
            ("focus", "▌" if is_marked else " "),
            (GLYPH_ROLES.get(row.mark, "text"), row.mark),
            ("plain", " "),  # apart, for a glyph may be underlined
            *[(role, visible(text, MAX_WIDTH)) for role, text in pieces],
        ]
