"""A graph as boxes and lines, with a cursor on one box, and its map. Its rows are the nodes, so that searches and copying work as for lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from relax_explorer.ui.tui.widgets.framed import CursorMoved, RowChosen
from relax_explorer.ui.tui.widgets.line_view import LineView, style
from relax_explorer.viz import palette
from relax_explorer.viz.cells import HEIGHT, CellBox, CellPicture, mini_map, place_of, window
from relax_explorer.viz.graph import Graph, Mark, Node
from relax_explorer.viz.storage_view import NOWHERE
from relax_explorer.viz.tables import Row
from relax_explorer.viz.tokens import DARK, Tokens
from relax_explorer.viz.visible import visible

_EMPTY = CellPicture((), (), 0)
_NO_LINE = Style(
    underline=False
)  # below a frame it would be a second one; a box that changed has dashes and a sign
_MARK_ROLES = {
    Mark.ADDED: "new", Mark.REMOVED: "removed", Mark.CHANGED: "new", Mark.CURRENT: "now", Mark.SELECTED: "title",
    Mark.MERGED: "new", Mark.SPLIT: "new", Mark.MOVED: "new",
}  # fmt: skip


class Panned(Message):
    """Another part of the drawing is visible."""


class GraphCanvas(LineView):
    """A drawing larger than the view is panned by the cursor."""

    def __init__(self, name: str) -> None:
        super().__init__(name, colored=False)
        self.graph: Graph = Graph("")
        self.picture = _EMPTY
        self.text = ""  # shown instead of a drawing
        self._marks: Mapping[int, tuple[Mark, ...]] = {}
        self._on_line: dict[int, list[int]] = {}

    def show_text(self, text: str) -> None:
        """Show text instead of a drawing."""
        self.text = text
        self._set(Graph(""), _EMPTY, (), 0)

    def show_graph(
        self, graph: Graph, picture: CellPicture, rows: Sequence[Row], cursor: int, stays: bool = False
    ) -> None:
        """Show another drawing; each node has a row. If it `stays`, the box under the cursor keeps its place on the screen."""
        old, (x, y) = self.box, self.scroll_offset
        self.text = ""
        self._set(graph, picture, rows, cursor)
        box = self.box
        if stays and old is not None and box is not None:
            self._pan_to(box.middle - old.middle + int(x), box.top - old.top + int(y))
            self._follow()  # it may have been out of sight
        else:
            self.centre()

    def _set(self, graph: Graph, picture: CellPicture, rows: Sequence[Row], cursor: int) -> None:
        self.graph, self.picture, self.rows = graph, picture, rows
        self.cursor = max(0, min(cursor, len(rows) - 1))
        self._marks, self._on_line = {}, {}
        for number, box in enumerate(picture.boxes):
            for y in range(box.top, box.top + HEIGHT):
                self._on_line.setdefault(y, []).append(number)
        self.virtual_size = Size(picture.width, max(1, picture.height))
        self.refresh()

    def mark(self, marks: Mapping[int, tuple[Mark, ...]]) -> None:
        """Show other marks; nothing is laid out again."""
        if marks != self._marks:
            self._marks = marks
            self.refresh()

    @property
    def box(self) -> CellBox | None:
        """The box under the cursor."""
        return self.picture.boxes[self.cursor] if self.picture.boxes else None

    @property
    def is_cut(self) -> bool:
        """True if the drawing is larger than the view."""
        return self.exceeds(0)

    def exceeds(self, more: int) -> bool:
        """True if the drawing is larger than the view with so many more columns."""
        shown = self.scrollable_content_region
        return self.picture.width > shown.width + more or self.picture.height > shown.height

    def legend(self, legend: Sequence[tuple[str, str]]) -> str:
        """The line below the drawing that explains its grounds: of a storage its name and its bytes. Squares only where there are colours."""
        parts = []
        for look, text in legend:
            ground = _ground(self.tokens, look).bgcolor
            square = "" if ground is None else f"[on {ground.name}]  [/] "
            parts.append(square + visible(text.partition(":")[0], 40).replace("[", "\\["))
        return "  ".join(parts)

    # -- moving ---------------------------------------------------------------------------------------------------

    def move(self, to: int, tell: bool = True) -> None:
        """Put the cursor on a node."""
        old, place = self.box, self.scroll_offset
        self.cursor = max(0, min(to, len(self.rows) - 1))
        self._follow()
        if self.scroll_offset == place:  # else all of it is drawn anew anyway
            for box in (old, self.box):
                if box is not None:
                    self.refresh_lines(box.top, HEIGHT)
        if tell and len(self.rows):
            self.screen.post_message(CursorMoved(self.id or "", self.cursor))

    def centre(self) -> None:
        """Pan so that the box under the cursor is in the middle."""
        box, shown = self.box, self.scrollable_content_region
        if box is not None:
            self._pan_to(box.middle - shown.width // 2, box.top + 1 - shown.height // 2)

    def pan(self, columns: int, rows: int) -> None:
        """Pan without moving the cursor."""
        self._pan_to(int(self.scroll_offset.x) + columns, int(self.scroll_offset.y) + rows)

    def _pan_to(self, x: int, y: int) -> None:
        shown = self.scrollable_content_region
        x = max(0, min(x, self.picture.width - shown.width))
        y = max(0, min(y, self.picture.height - shown.height))
        self.scroll_to(x=x, y=y, animate=False, force=True)

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        """Tell that another part is visible."""
        super().watch_scroll_x(old_value, new_value)
        self.post_message(Panned())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell that another part is visible."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(Panned())

    def _follow(self) -> None:
        """Pan as little as possible, so that the box under the cursor and a row around it are visible."""
        box, shown = self.box, self.scrollable_content_region
        if box is None or not shown.width:
            return
        self._pan_to(
            _within(int(self.scroll_offset.x), shown.width, box.left - 2, box.right + 3),
            _within(int(self.scroll_offset.y), shown.height, box.top - 2, box.top + HEIGHT + 2),
        )

    def clicked(self, column: int, line: int) -> None:
        """Put the cursor on the clicked box; a click on the box under it chooses it."""
        boxes = self.picture.boxes
        found = [n for n in self._on_line.get(line, ()) if boxes[n].left <= column <= boxes[n].right]
        if found == [self.cursor]:
            self.post_message(RowChosen(self.id or "", self.cursor))
        elif found:
            self.move(found[0])

    # -- drawing --------------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips of some rows of the widget. A row of a drawing is not a line of text: none is kept."""
        return ScrollView.render_lines(self, crop)

    def render_line(self, y: int) -> Strip:
        """The strip of visible line `y`."""
        width, (x, top) = self.scrollable_content_region.width, self.scroll_offset
        number = int(top) + y
        if self.text:
            lines = self.text.split("\n")
            segments = [Segment(f" {lines[number]}" if number < len(lines) else "")]
            return Strip(segments).extend_cell_length(width).crop(0, width).apply_style(self.rich_style)
        strip = Strip(self._line(number, int(x), int(x) + width))
        return (
            strip.extend_cell_length(int(x) + width).crop(int(x), int(x) + width).apply_style(self.rich_style)
        )

    def _line(self, y: int, first: int, last: int) -> list[Segment]:
        """The segments of a row of the drawing up to column `last`. Boxes left of `first` are blank."""
        wires = self.picture.lines[y] if 0 <= y < len(self.picture.lines) else ""
        muted, at, segments = style(self.tokens, "muted"), 0, []
        boxes = self.picture.boxes
        for number in sorted(self._on_line.get(y, ()), key=lambda item: boxes[item].left):
            box = boxes[number]
            if box.right < first or box.left > last:
                continue
            segments.append(Segment(wires[at : box.left].ljust(box.left - at), muted))
            segments += self._face(number, y - box.top)
            at = box.right + 1
        segments.append(Segment(wires[at : last + 1], muted))
        return segments

    def _face(self, number: int, offset: int) -> list[Segment]:
        """One row of a box."""
        node, box, tokens = self.graph.nodes[number], self.picture.boxes[number], self.tokens
        is_cursor = number == self.cursor
        marks = self._marks.get(number, ()) + ((Mark.SELECTED,) if is_cursor else ())
        text = box.face(marks)[offset]
        ground = Style(bgcolor=tokens.cursor or None, bold=True) if is_cursor else Style()
        role = _MARK_ROLES.get(marks[-1], "") if marks else ""
        ground = ground if is_cursor or not _is_filled(node) else _ground(tokens, node.look)
        edge = style(tokens, role or _role(node)) + _NO_LINE + ground
        if offset != 1:
            return [Segment(text, edge)]
        inside = style(tokens, _role(node)) + ground
        return [Segment(text[0], edge), Segment(text[1:-1], inside), Segment(text[-1], edge)]


def _is_filled(node: Node) -> bool:
    """True for a box whose ground tells its heat or its storage."""
    return node.heat >= 0 or (bool(node.tint) and node.tint != NOWHERE)


def _ground(tokens: Tokens, look: str) -> Style:
    """The ground of a level of heat or of a storage. Without colours the highest levels are reversed."""
    if not tokens.ground:
        return Style(reverse=look == f"heat-{palette.HEAT_LEVELS - 1}" or None)
    return Style(
        color=tokens.role("text").color,
        bgcolor=(palette.DARK if tokens.dark else palette.LIGHT).node(look).fill,
    )


def _role(node: Node) -> str:
    """The role of the colours of a box: the class of its operation, as in tables."""
    if node.tint == NOWHERE:
        return "muted"
    return node.look.removeprefix("is-") if node.look.startswith("is-") else "text"


def _within(start: int, shown: int, low: int, high: int) -> int:
    """The start of the view nearest to the present one that shows all cells from `low` to below `high`, or at least `low`."""
    return min(max(start, high - shown), max(low, 0)) if high - low <= shown else low


# -- map view --------------------------------------------------------------------------------------------------------
# The map of a drawing that is larger than its view: boxes as dots, the visible part on another ground.


class MapView(Widget):
    """Shows where the view and the cursor of a canvas are. The dots are drawn once for a drawing."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._canvas: GraphCanvas | None = None
        self._made: tuple[CellPicture, int, int] | None = None  # what the dots were drawn for
        self._dots: list[list[str]] = []
        self._cursor = (0, 0)
        self._rows, self._columns = range(0), range(0)

    def show(self, canvas: GraphCanvas) -> None:
        """Show the present position of a canvas."""
        self._canvas = canvas
        if not canvas.picture.boxes or not self.content_size.width:
            return  # its size is not known yet
        picture, shown = canvas.picture, canvas.scrollable_content_region
        width = max(4, self.content_size.width)
        height = max(4, min(shown.height, picture.height * width // (2 * max(1, picture.width)) + 1))
        if self._made is None or self._made[0] is not picture or self._made[1:] != (width, height):
            marked = [
                number for number, node in enumerate(canvas.graph.nodes) if node.marks - {Mark.SELECTED}
            ]
            self._dots, self._made = mini_map(picture, width, height, marked), (picture, width, height)
            self.refresh()
        x, y = (int(value) for value in canvas.scroll_offset)
        rows, columns = (
            window(y, shown.height, picture.height, height),
            window(x, shown.width, picture.width, width),
        )
        place = (place_of(picture, canvas.cursor, width, height), rows, columns)
        if place != (self._cursor, self._rows, self._columns):
            self._cursor, self._rows, self._columns = place
            self.refresh()

    def on_resize(self) -> None:
        """Draw the map for its new size."""
        if self._canvas is not None:
            self.show(self._canvas)

    def render_line(self, y: int) -> Strip:
        """One row of the map."""
        width = self.content_size.width
        if y >= len(self._dots):
            return Strip.blank(width, self.rich_style)
        tokens = DARK if self._canvas is None else self._canvas.tokens
        here = Style(bgcolor=tokens.cursor) if tokens.cursor else Style(reverse=True)
        cells = list(self._dots[y])
        if y == self._cursor[0]:
            cells[self._cursor[1]] = "*"

        def look(column: int) -> tuple[bool, bool]:
            return cells[column] in "*~", y in self._rows and column in self._columns

        segments = []
        for (is_mark, is_seen), columns in groupby(range(len(cells)), look):
            shown = style(tokens, "new" if is_mark else "muted") + _NO_LINE
            segments.append(
                Segment("".join(cells[column] for column in columns), shown + here if is_seen else shown)
            )
        return Strip(segments).adjust_cell_length(width, self.rich_style).apply_style(self.rich_style)
