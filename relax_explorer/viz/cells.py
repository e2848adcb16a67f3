"""A graph laid out in terminal cells: boxes of three rows, and the lines between them as text.

Only box-drawing characters and glyphs of neutral width are used; with `ascii` only ASCII. Clusters have no frames here.
Where lines of two values cross, one is drawn over the other, so a branching sign always means a joint. Marks take no
room, so another selection or step needs no other layout.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from relax_explorer.viz.graph import FUNCTIONS, Graph, Kind, Mark, Node
from relax_explorer.viz.layered import Placement, Point, place
from relax_explorer.viz.layers import Spacing
from relax_explorer.viz.visible import columns, fit, visible

# -- channel ---------------------------------------------------------------------------------------------------------
# Lines between two rows of boxes in a terminal: each horizontal run gets a track, so that none share a cell.


@dataclass(frozen=True, slots=True)
class Wire:
    """One line through a channel: the number of its value, its columns at top and bottom, and the place of its arrow."""

    net: int
    top: int
    bottom: int
    head: str = ""


@dataclass(slots=True)
class _Run:
    """All wires of one value that enter at one column: they share a horizontal run."""

    top: int
    low: int
    high: int
    bottoms: list[int]
    wires: list[int]


def tracks_of(wires: Sequence[Wire]) -> list[int]:
    """The track (0 is the uppermost) of each wire, -1 for a straight one.

    A run that enters in a column lies above every run that leaves downwards in the same column. If such constraints
    form a cycle, the leftmost run goes first.
    """
    runs = _runs(wires)
    above = _demands(runs)
    tracks = [-1] * len(wires)
    chosen = [-1] * len(runs)
    taken: list[list[tuple[int, int]]] = []
    for number in _order(above):
        run = runs[number]
        track = max([chosen[other] + 1 for other in above[number]], default=0)
        while _occupied(taken, track, run):
            track += 1
        while len(taken) <= track:
            taken.append([])
        taken[track].append((run.low, run.high))
        chosen[number] = track
        for wire in run.wires:
            tracks[wire] = track
    return tracks


def _occupied(taken: list[list[tuple[int, int]]], track: int, run: _Run) -> bool:
    return track < len(taken) and any(low <= run.high and run.low <= high for low, high in taken[track])


def _runs(wires: Sequence[Wire]) -> list[_Run]:
    """Runs by value and column of entry; a straight wire joins one only if another wire of the same entry turns off."""
    runs: dict[tuple[int, int], _Run] = {}
    for number, wire in enumerate(wires):
        if wire.top == wire.bottom:
            continue
        run = runs.setdefault((wire.net, wire.top), _Run(wire.top, wire.top, wire.top, [], []))
        run.low, run.high = min(run.low, wire.bottom), max(run.high, wire.bottom)
        run.bottoms.append(wire.bottom)
        run.wires.append(number)
    return sorted(runs.values(), key=lambda run: (run.low, run.high))


def _demands(runs: list[_Run]) -> list[list[int]]:
    """For each run the runs that must lie above it."""
    entering = {run.top: number for number, run in enumerate(runs)}
    return [
        [entering[x] for x in run.bottoms if x in entering and entering[x] != number]
        for number, run in enumerate(runs)
    ]


def _order(above: list[list[int]]) -> list[int]:
    """The runs, each after the runs that must lie above it, as far as that is possible."""
    below: list[list[int]] = [[] for _ in above]
    missing = [len(others) for others in above]
    for number, others in enumerate(above):
        for other in others:
            below[other].append(number)
    order: list[int] = []
    done = bytearray(len(above))
    for start in range(2 * len(above)):
        number = start % len(above)
        forced = start >= len(above)  # runs left after the first round form cycles
        waiting = [number] if not done[number] and (forced or not missing[number]) else []
        while waiting:
            current = waiting.pop()
            if done[current]:
                continue
            done[current] = 1
            order.append(current)
            for other in below[current]:
                missing[other] -= 1
                if not missing[other]:
                    waiting.append(other)
    return order


# -- cells -----------------------------------------------------------------------------------------------------------


HEIGHT = 3  # rows of a box
_CUT = 36  # cells of a text in a box
_SPACING = Spacing(node=3, dummy=2, rank=1, group=2, label_rank=1)
_UNNAMED = (Kind.PARAMETER, Kind.CONSTANT, Kind.OUTPUT, Kind.MORE, *FUNCTIONS)
Texts = tuple[str, str, str, str]
NORTH, SOUTH, EAST, WEST = 1, 2, 4, 8
_LINES = {
    NORTH: "│", SOUTH: "│", NORTH | SOUTH: "│", EAST: "─", WEST: "─", EAST | WEST: "─",
    SOUTH | EAST: "┌", SOUTH | WEST: "┐", NORTH | EAST: "└", NORTH | WEST: "┘",
    NORTH | SOUTH | EAST: "├", NORTH | SOUTH | WEST: "┤", EAST | WEST | SOUTH: "┬", EAST | WEST | NORTH: "┴",
    NORTH | SOUTH | EAST | WEST: "┼",
}  # fmt: skip
# Corners from the upper left clockwise, then horizontal, vertical, and the joint below.
_PLAIN = "╭╮╯╰─│┬"
_BORDERS = {Mark.CURRENT: "┏┓┛┗━┃┯", Mark.SELECTED: "╔╗╝╚═║╤", Mark.CHANGED: "╭╮╯╰╌┆┬", Mark.ADDED: "╭╮╯╰╌┆┬", Mark.REMOVED: "╭╮╯╰┄┊┬"}  # fmt: skip
_BORDERS |= dict.fromkeys([Mark.MERGED, Mark.SPLIT, Mark.MOVED], "╭╮╯╰╌┆┬")
_OUTPUT = "╭╮╛╘─│╤"  # of a dataflow block: the lower border is double
_ASCII_PLAIN = "++++-|+"
_ASCII_OUTPUT = "++##-|+"
_ASCII_BORDERS = {Mark.CURRENT: "####=#+", Mark.SELECTED: "####=#+"}


@dataclass(frozen=True, slots=True)
class CellBox:
    """A box: its upper left cell, its width, its texts, and the cells of its lower border where lines begin."""

    left: int
    top: int
    width: int
    row: int
    name: str
    title: str
    below: str
    place: str = ""
    joints: frozenset[int] = frozenset()
    is_output: bool = False

    @property
    def right(self) -> int:
        """Its last column."""
        return self.left + self.width - 1

    @property
    def middle(self) -> int:
        """The column in its middle."""
        return self.left + self.width // 2

    def face(self, marks: Sequence[Mark] = (), ascii: bool = False) -> tuple[str, str, str]:
        """Its rows with marks: glyphs in the upper border, and the border of the last mark."""
        last = marks[-1] if marks else None
        plain, marked = (_ASCII_PLAIN, _ASCII_BORDERS) if ascii else (_PLAIN, _BORDERS)
        if self.is_output:
            plain = _ASCII_OUTPUT if ascii else _OUTPUT
        ul, ur, lr, ll, flat, side, joint = tuple(plain if last is None else marked.get(last, plain))
        below = ("=" if ascii else "═") if self.is_output and last in (None, Mark.DONE) else flat
        room = self.width - 2
        glyphs = "".join(mark.glyph for mark in marks) or flat
        glyphs = glyphs.replace(Mark.DONE.glyph, "v") if ascii else glyphs
        corner = f" {self.place} {flat}" if self.place else ""
        head = _bar(f"{glyphs} {self.name} " if self.name else glyphs, flat, room - columns(corner)) + corner
        body = f" {self.title}"
        foot = list(_bar(f"{below} {self.below} " if self.below else "", below, room))
        taken = columns("".join(foot)) == len(foot)  # else a cell is no character
        for x in self.joints:
            if taken and foot[x - 1] == below:
                foot[x - 1] = joint
        return (
            f"{ul}{head}{ur}",
            f"{side}{body}{' ' * (room - columns(body))}{side}",
            f"{ll}{''.join(foot)}{lr}",
        )


def _bar(text: str, flat: str, room: int) -> str:
    return text + flat * (room - columns(text))


@dataclass(frozen=True, slots=True)
class CellPicture:
    """A layout: boxes in the order of the graph's nodes, and rows of text with the lines between them.

    `untraced` is the number of edges that are too long to be drawn.
    """

    boxes: tuple[CellBox, ...]
    lines: tuple[str, ...]
    width: int
    untraced: int = 0

    @property
    def height(self) -> int:
        """Its rows."""
        return len(self.lines)


def plain(text: str, ascii: bool) -> str:
    """A visible text, with escapes instead of other characters if only ASCII may be used."""
    shown = visible(text)
    if ascii:
        shown = shown.replace("×", "x").replace("↻", "*")
    return shown.encode("ascii", "backslashreplace").decode("ascii") if ascii else shown


def cell_picture(graph: Graph, ascii: bool = False) -> CellPicture:
    """Lay a graph out in cells, as wide and high as it needs."""
    if not graph.nodes:
        return CellPicture((), (), 0)
    pairs = list(dict.fromkeys(pair for pair in graph.pairs if pair[0] != pair[1]))
    texts = [_texts(node, ascii) for node in graph.nodes]
    degree = [0] * len(texts)
    for _, target in pairs:
        degree[target] += 1
    sizes = [(_width(found, degree[number]), float(HEIGHT)) for number, found in enumerate(texts)]
    outputs = [node.is_output for node in graph.nodes]
    return _Drawing(texts, sizes, place(sizes, pairs, spacing=_SPACING), pairs, outputs, ascii).picture()


def _texts(node: Node, ascii: bool) -> Texts:
    """What the upper border, the middle, the lower border and the upper right corner say."""
    name = "" if node.kind in _UNNAMED or node.id == node.title else node.id
    badge = f"  {plain(node.badge, ascii)}" if node.badge else ""
    room = max(_CUT - columns(badge), _CUT // 3)  # a long name leaves room for what the box has to tell
    title = fit(" ".join(filter(None, [node.letter, node.title])), room, "...") + badge
    found = [fit(plain(text, ascii), _CUT, "...") for text in (name, title, node.shape_text, node.place)]
    return found[0], found[1], found[2], found[3]


def _width(texts: Texts, inputs: int) -> float:
    name, title, below, place = map(columns, texts)
    head = (name + 7 if name else 5) + (place + 3 if place else 0)
    return float(max(head, title + 4, below + 6, min(2 * inputs + 1, _CUT)))


@dataclass(slots=True)
class _Place:
    """A box while lines are led to it."""

    left: int
    width: int
    row: int

    @property
    def middle(self) -> int:
        return self.left + self.width // 2


class _Drawing:
    """The lines of one drawing; rows of boxes alternate with channels in which the lines run."""

    def __init__(
        self, texts: list[Texts], sizes: list[tuple[float, float]], placed: Placement, pairs: list[tuple[int, int]],
        outputs: list[bool], ascii: bool,
    ) -> None:  # fmt: skip
        self.texts, self.outputs, self.ascii = texts, outputs, ascii
        traced = [
            (pair, route[1:-1]) for pair, route in zip(pairs, placed.routes, strict=True)
            if len(route) > abs(placed.row_of[pair[0]] - placed.row_of[pair[1]])
        ]  # fmt: skip
        self.pairs = [pair for pair, _ in traced]
        self.untraced = len(pairs) - len(traced)  # the layout did not lead them around other boxes
        self.boxes = [
            _Place(round(x - width / 2), int(width), row)
            for (x, _), (width, _), row in zip(placed.centres, sizes, placed.row_of, strict=True)
        ]
        self.cells: list[dict[int, str]] = []
        self.channels: list[list[Wire]] = [[] for _ in placed.rows]
        self.passing: list[list[int]] = [[] for _ in placed.rows]
        self._lead([route for _, route in traced])

    def picture(self) -> CellPicture:
        """The lines and the boxes."""
        tops = []
        for row in range(len(self.channels)):
            tops.append(len(self.cells))
            self._pass_row(row)
            if row + 1 < len(self.channels):
                self._draw_channel(self.channels[row])
        leaving = [{wire.top for wire in wires} for wires in self.channels]
        boxes = tuple(
            CellBox(
                box.left, tops[box.row], box.width, box.row, *texts, _joints(box, leaving[box.row]), is_output
            )
            for box, texts, is_output in zip(self.boxes, self.texts, self.outputs, strict=True)
        )
        lines = tuple(_joined(cells) for cells in self.cells)
        width = max([*map(len, lines), *(box.right + 1 for box in boxes)])
        return CellPicture(boxes, lines, width, self.untraced)

    def _lead(self, routes: list[list[Point]]) -> None:
        """Collect the wires of each channel, and the columns where long lines pass a row of boxes."""
        columns_of = [self._columns(number, route) for number, route in enumerate(routes)]
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

    def _columns(self, number: int, route: list[Point]) -> list[int]:
        """The columns of a line from the upper box down to the last row before the lower one."""
        source, target = self.pairs[number]
        down = self.boxes[source].row < self.boxes[target].row
        inner = [round(x) for x, _ in route]
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

    def _pass_row(self, row: int) -> None:
        """The rows of a row of boxes: only the lines that pass it."""
        passing = dict.fromkeys(self.passing[row], self._line(NORTH | SOUTH))
        self.cells += [dict(passing) for _ in range(HEIGHT)]

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


def _joints(box: _Place, leaving: set[int]) -> frozenset[int]:
    return frozenset(
        x - box.left for x in leaving.intersection(range(box.left + 1, box.left + box.width - 1))
    )


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


def _joined(cells: dict[int, str]) -> str:
    if not cells:
        return ""
    line = [" "] * (max(cells) + 1)
    for x, shape in cells.items():
        line[x] = shape
    return "".join(line)


# -- cell moves ------------------------------------------------------------------------------------------------------
# From box to box of a graph in terminal cells: along its edges where there are any, else to the nearest box.


Direction = Literal["up", "down", "left", "right"]
_TALL = 2  # a cell is about this many times as high as wide


def neighbour(graph: Graph, picture: CellPicture, here: int, way: Direction) -> int | None:
    """The box to go to: up to an input, down to a reader, sideways within the row; None at the border."""
    if way in ("left", "right"):
        return _beside(picture, here, way)
    edges, end = (graph.outgoing, 1) if way == "down" else (graph.incoming, 0)
    ends = [graph.pairs[edge][end] for edge in edges[here]]
    row, sign = picture.boxes[here].row, 1 if way == "down" else -1
    ahead = [other for other in ends if sign * (picture.boxes[other].row - row) > 0]
    if not ahead:
        ahead = [other for other, box in enumerate(picture.boxes) if sign * (box.row - row) > 0]
    return _nearest(picture, here, ahead)


def paged(picture: CellPicture, here: int, rows: int) -> int:
    """The box about this many rows of cells further down."""
    box = picture.boxes[here]
    target = max(0, min(box.top + rows, picture.height))
    return min(
        range(len(picture.boxes)),
        key=lambda other: (
            abs(picture.boxes[other].top - target),
            abs(picture.boxes[other].middle - box.middle),
        ),
    )


def _beside(picture: CellPicture, here: int, way: Direction) -> int | None:
    """The next box of the row, else the nearest one that lies more to the side than above or below."""
    box, sign = picture.boxes[here], 1 if way == "right" else -1
    aside = [other for other, at in enumerate(picture.boxes) if sign * (at.middle - box.middle) > 0]
    same = [other for other in aside if picture.boxes[other].row == box.row]
    near = [
        other
        for other in aside
        if abs(picture.boxes[other].middle - box.middle) > _TALL * abs(picture.boxes[other].top - box.top)
    ]
    return _nearest(picture, here, same or near)


def _nearest(picture: CellPicture, here: int, others: Iterable[int]) -> int | None:
    box = picture.boxes[here]

    def distance(other: int) -> int:
        at = picture.boxes[other]
        return abs(at.middle - box.middle) + _TALL * abs(at.top - box.top)

    return min(others, key=distance, default=None)


# -- mini map --------------------------------------------------------------------------------------------------------
# A small map of a drawing in terminal cells, in braille: each cell holds two by four dots.


_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_EMPTY = 0x2800


def mini_map(picture: CellPicture, width: int, height: int, marked: Collection[int] = ()) -> list[list[str]]:
    """The map in cells: boxes as dots, `~` where a marked box stands."""
    masks = [[0] * width for _ in range(height)]
    for box in picture.boxes:
        x, y = _scaled(box.middle, picture.width, 2 * width), _scaled(box.top + 1, picture.height, 4 * height)
        masks[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
    cells = [[chr(_EMPTY + mask) if mask else " " for mask in row] for row in masks]
    for number in marked:
        row, column = place_of(picture, number, width, height)
        cells[row][column] = "~"
    return cells


def place_of(picture: CellPicture, number: int, width: int, height: int) -> tuple[int, int]:
    """The row and the column of the map in which a box stands."""
    box = picture.boxes[number]
    return _scaled(box.top + 1, picture.height, height), _scaled(box.middle, picture.width, width)


def window(start: int, shown: int, whole: int, cells: int) -> range:
    """The cells of a map, along one side, that stand for the visible part."""
    first = _scaled(start, whole, cells)
    last = _scaled(min(start + shown, whole) - 1, whole, cells)
    return range(first, last + 1)


def _scaled(place: int, whole: int, cells: int) -> int:
    return max(0, min(cells - 1, place * cells // max(1, whole)))
