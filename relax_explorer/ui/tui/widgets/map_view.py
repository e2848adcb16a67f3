"""The map of a drawing that is larger than its view: boxes as dots, the visible part on another ground."""

from __future__ import annotations

from itertools import groupby

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from relax_explorer.ui.tui.widgets.graph_canvas import GraphCanvas
from relax_explorer.ui.tui.widgets.line_view import style
from relax_explorer.viz.cells import CellPicture, mini_map, place_of, window
from relax_explorer.viz.graph import Mark
from relax_explorer.viz.tokens import DARK


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
            shown = style(tokens, "new" if is_mark else "muted")
            segments.append(
                Segment("".join(cells[column] for column in columns), shown + here if is_seen else shown)
            )
        return Strip(segments).adjust_cell_length(width, self.rich_style).apply_style(self.rich_style)
