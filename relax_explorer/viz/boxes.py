"""A graph for a terminal: boxes joined by lines if they fit, else an indented tree of definitions.

Only box-drawing characters and glyphs of neutral width are used; with `ascii` only ASCII. Clusters are not framed
here. Where lines of two values cross, one is drawn over the other, so a branching sign always means a joint.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_explorer.viz.channel import Wire, tracks_of
from relax_explorer.viz.coordinates import Spacing
from relax_explorer.viz.graph import Graph, Mark, Node
from relax_explorer.viz.layered import Placement, place
from relax_explorer.viz.tree import tree_text
from relax_explorer.viz.visible import columns, fit, visible

MAX_BOXES = 300
_TITLE_CELLS, _SHAPE_CELLS = 36, 36
_SPACING = Spacing(node=3, dummy=2, rank=1, group=2, label_rank=1)

NORTH, SOUTH, EAST, WEST = 1, 2, 4, 8
_LINES = {
    NORTH: "│", SOUTH: "│", NORTH | SOUTH: "│", EAST: "─", WEST: "─", EAST | WEST: "─",
    SOUTH | EAST: "┌", SOUTH | WEST: "┐", NORTH | EAST: "└", NORTH | WEST: "┘",
    NORTH | SOUTH | EAST: "├", NORTH | SOUTH | WEST: "┤", EAST | WEST | SOUTH: "┬", EAST | WEST | NORTH: "┴",
    NORTH | SOUTH | EAST | WEST: "┼",
}  # fmt: skip
Borders = dict[Mark | None, tuple[str, ...]]
# Corners from the upper left clockwise, then horizontal, vertical, and the joint below.
_BORDERS: Borders = {
    None: tuple("┌┐┘└─│┬"),
    Mark.CHANGED: tuple("┌┐┘└─│┬"),
    Mark.CURRENT: tuple("┏┓┛┗━┃┯"),
    Mark.SELECTED: tuple("╔╗╝╚═║╤"),
}
_ASCII_BORDERS: Borders = {
    None: tuple("++++-|+"),
    Mark.CHANGED: tuple("++++-|+"),
    Mark.CURRENT: tuple("####=#+"),
    Mark.SELECTED: tuple("####=#+"),
}


def terminal_text(graph: Graph, width: int, ascii: bool = False) -> str:
    """Boxes and lines if they fit in `width` cells, else the tree; the text ends without a line break."""
    return box_text(graph, width, ascii) or tree_text(graph, width, ascii)


def box_text(graph: Graph, width: int, ascii: bool = False) -> str | None:
    """Boxes and lines, or None if they need more than `width` cells or there are more than MAX_BOXES boxes."""
    if not graph.nodes or len(graph.nodes) > MAX_BOXES:
        return None
    pairs = list(dict.fromkeys(pair for pair in graph.pairs if pair[0] != pair[1]))
    texts = [_texts(node, ascii) for node in graph.nodes]
    degree = [0] * len(texts)
    for _, target in pairs:
        degree[target] += 1
    sizes = [(_box_width(lines, degree[number]), float(len(lines) + 2)) for number, lines in enumerate(texts)]
    placed = place(sizes, pairs, spacing=_SPACING)
    if placed.straight or placed.width > width + 1:
        return None
    drawing = _Drawing(graph, texts, sizes, placed, pairs, ascii)
    lines = drawing.lines()
    if max(map(columns, lines)) > width:
        return None
    head = [fit(_plain(text, ascii), width, "...") for text in (graph.title, *graph.notes) if text]
    return "\n".join([*head, *lines])


def _plain(text: str, ascii: bool) -> str:
    shown = visible(text)
    return shown.encode("ascii", "backslashreplace").decode("ascii") if ascii else shown


def _texts(node: Node, ascii: bool) -> list[str]:
    lines = [fit(_plain(node.marked_title, ascii), _TITLE_CELLS, "...")]
    if node.shape_text:
        lines.append(fit(_plain(node.shape_text, ascii), _SHAPE_CELLS, "..."))
    return lines


def _box_width(lines: list[str], inputs: int) -> float:
    return float(max([columns(line) + 4 for line in lines] + [min(2 * inputs + 1, _TITLE_CELLS)]))


@dataclass(slots=True)
class _Box:
    left: int
    width: int
    row: int

    @property
    def middle(self) -> int:
        return self.left + self.width // 2


class _Drawing:
    """The characters of one drawing; rows of boxes alternate with channels in which the lines run."""

    def __init__(
        self,
        graph: Graph,
        texts: list[list[str]],
        sizes: list[tuple[float, float]],
        placed: Placement,
        pairs: list[tuple[int, int]],
        ascii: bool,
    ) -> None:
        self.graph, self.texts, self.ascii, self.pairs = graph, texts, ascii, pairs
        self.boxes = [
            _Box(round(x - width / 2), int(width), row)
            for (x, _), (width, _), row in zip(placed.centres, sizes, placed.row_of, strict=True)
        ]
        self.heights = [round(bottom - top) for top, bottom in placed.rows]
        self.cells: list[dict[int, str]] = []
        self.channels: list[list[Wire]] = [[] for _ in placed.rows]
        self.passing: list[list[int]] = [[] for _ in placed.rows]
        self._lead(placed)

    def lines(self) -> list[str]:
        """The drawing as lines without trailing blanks."""
        members: list[list[int]] = [[] for _ in self.heights]
        for number, box in enumerate(self.boxes):
            members[box.row].append(number)
        for row, numbers in enumerate(members):
            self._draw_row(row, numbers)
            if row + 1 < len(members):
                self._draw_channel(self.channels[row])
        return [_joined(cells) for cells in self.cells]

    def _lead(self, placed: Placement) -> None:
        """Collect the wires of each channel, and the columns where long lines pass a row of boxes."""
        columns_of = [self._columns(placed, number) for number in range(len(self.pairs))]
        entry = self._entries(columns_of)
        for number, (source, target) in enumerate(self.pairs):
            down = self.boxes[source].row < self.boxes[target].row
            xs = [*columns_of[number], entry[number]]
            first = self.boxes[source if down else target].row
            for offset in range(len(xs) - 1):
                last = offset == len(xs) - 2
                head = "down" if last and down else "up" if not down and offset == 0 else ""
                net = source if down else -1 - number
                self.channels[first + offset].append(Wire(net, xs[offset], xs[offset + 1], head))
                if not last:
                    self.passing[first + offset + 1].append(xs[offset + 1])

    def _columns(self, placed: Placement, number: int) -> list[int]:
        """The columns of a line from the upper box down to the last row before the lower one."""
        source, target = self.pairs[number]
        down = self.boxes[source].row < self.boxes[target].row
        inner = [round(x) for x, _ in placed.routes[number][1:-1]]
        return [self.boxes[source].middle, *inner] if down else [self.boxes[target].middle + 1, *inner[::-1]]

    def _entries(self, columns_of: list[list[int]]) -> list[int]:
        """For each line the column where it meets the top of the lower box: spread, in order of direction."""
        arriving: list[list[tuple[int, int]]] = [[] for _ in self.boxes]
        for number, (source, target) in enumerate(self.pairs):
            down = self.boxes[source].row < self.boxes[target].row
            arriving[target if down else source].append((columns_of[number][-1], number))
        entry = [0] * len(self.pairs)
        for box, items in zip(self.boxes, arriving, strict=True):
            items.sort()
            for index, (x, number) in enumerate(items):
                if len(items) == 1:
                    entry[number] = x if box.left < x < box.left + box.width - 1 else box.middle
                else:
                    entry[number] = box.left + 1 + (box.width - 3) * (2 * index + 1) // (2 * len(items))
        return entry

    def _draw_row(self, row: int, numbers: list[int]) -> None:
        start = len(self.cells)
        self.cells += [{} for _ in range(self.heights[row])]
        for x in self.passing[row]:
            for y in range(self.heights[row]):
                self.cells[start + y][x] = self._line(NORTH | SOUTH)
        leaving = {wire.top for wire in self.channels[row]}
        for number in numbers:
            self._draw_box(start, number, leaving, self.heights[row])

    def _draw_box(self, start: int, number: int, leaving: set[int], height: int) -> None:
        box, node, texts = self.boxes[number], self.graph.nodes[number], self.texts[number]
        mark = node.strongest_mark
        corner_ul, corner_ur, corner_lr, corner_ll, flat, side, joint = (
            _ASCII_BORDERS if self.ascii else _BORDERS
        )[mark]
        right = box.left + box.width - 1
        bottom = start + len(texts) + 1
        for y, left_corner, right_corner in ((start, corner_ul, corner_ur), (bottom, corner_ll, corner_lr)):
            self.cells[y].update(dict.fromkeys(range(box.left + 1, right), flat))
            self.cells[y][box.left], self.cells[y][right] = left_corner, right_corner
        for offset, text in enumerate(texts, 1):
            cells = self.cells[start + offset]
            cells[box.left], cells[right] = side, side
            room = box.width - 2 - columns(text)
            padded = " " * (room // 2) + text + " " * (room - room // 2)
            _write(cells, box.left + 1, padded)
        for x in leaving.intersection(range(box.left + 1, right)):
            self.cells[bottom][x] = joint
            for y in range(bottom + 1, start + height):
                self.cells[y][x] = self._line(NORTH | SOUTH)

    def _draw_channel(self, wires: list[Wire]) -> None:
        tracks = tracks_of(wires)
        height = 1 + max(tracks, default=-1) + 1
        grid: list[dict[int, tuple[int, int]]] = [{} for _ in range(height)]
        for wire, track in zip(wires, tracks, strict=True):
            _run(grid, wire, track)
        rows = [{x: self._line(mask) for x, (mask, _) in row.items()} for row in grid]
        for wire in wires:
            if wire.head == "down":
                rows[-1][wire.bottom] = "v" if self.ascii else "▾"
            elif wire.head == "up":
                rows[0][wire.top] = "^" if self.ascii else "▴"
        self.cells += rows

    def _line(self, mask: int) -> str:
        shape = _LINES[mask]
        if not self.ascii:
            return shape
        return {"│": "|", "─": "-"}.get(shape, "+")


def _run(grid: list[dict[int, tuple[int, int]]], wire: Wire, track: int) -> None:
    """Draw one wire: down to its track, along it, and down to the bottom of the channel."""
    last = len(grid) - 1
    if wire.top == wire.bottom:
        for y in range(last + 1):
            _add(grid[y], wire.top, NORTH | SOUTH, wire.net)
        return
    for y in range(track):
        _add(grid[y], wire.top, NORTH | SOUTH, wire.net)
    towards, back = (EAST, WEST) if wire.bottom > wire.top else (WEST, EAST)
    _add(grid[track], wire.top, NORTH | towards, wire.net)
    for x in range(min(wire.top, wire.bottom) + 1, max(wire.top, wire.bottom)):
        _add(grid[track], x, EAST | WEST, wire.net)
    _add(grid[track], wire.bottom, back | SOUTH, wire.net)
    for y in range(track + 1, last + 1):
        _add(grid[y], wire.bottom, NORTH | SOUTH, wire.net)


def _add(row: dict[int, tuple[int, int]], x: int, mask: int, net: int) -> None:
    """Add a piece of line to a cell; of two different values, the vertical one is drawn over the other."""
    old, owner = row.get(x, (0, net))
    if owner == net:
        row[x] = (old | mask, net)
    elif mask == NORTH | SOUTH:
        row[x] = (mask, net)
    elif old != NORTH | SOUTH:
        row[x] = (old | mask, owner)


def _write(cells: dict[int, str], x: int, text: str) -> None:
    """Write a text into cells; a wide character leaves the next cell empty, a combining one joins the cell before it."""
    last = x
    for character in text:
        taken = columns(character)
        if not taken and last in cells:
            cells[last] += character
            continue
        cells[x] = character
        last = x
        if taken == 2:
            cells[x + 1] = ""
        x += max(taken, 1)


def _joined(cells: dict[int, str]) -> str:
    if not cells:
        return ""
    return "".join(cells.get(x, " ") for x in range(max(cells) + 1)).rstrip()
