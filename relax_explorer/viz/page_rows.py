"""The rows of all stages for the page: each different row once, and each program as the numbers of its rows, with its folds.

A row has no number and no column of names in it, so that it is the same in every stage in which its binding reads the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from relax_explorer.core.ir import expr as e
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.viz.folding import pieces as layers_of
from relax_explorer.viz.folding import repeats
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.lexer import Piece, highlight
from relax_explorer.viz.table_folds import LAYER, Place
from relax_explorer.viz.tables import Row
from relax_explorer.viz.tokens import LIGHT
from relax_explorer.viz.visible import visible

KINDS = ("head", "block", "binding", "else", "result", "return", "kernel", "line", "text")
"""The kinds of rows; the page has their numbers."""
FOLDS = ("function", "block", "body", "checks", "kernel", LAYER)
"""The kinds of folds. That of a layer has no row of its own: a line above its rows stands for it."""
_PLAIN = frozenset({"text", "name", "other"})  # roles that look like the text around them
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
ROLES: dict[str, str] = dict(
    zip([role for role in LIGHT.roles if role not in _PLAIN], _LETTERS, strict=False)
)
"""A letter for each role. `` `a `` in a text begins a piece of that role, `` `. `` one of plain text, and two of them are one."""
_LONGEST = 600  # characters of a piece


class Line(NamedTuple):
    """What is seen of a row: its kind, how deep it is nested, its name, its text with roles, its StructInfo."""

    kind: int
    depth: int
    name: str
    text: str
    info: str


class Fold(NamedTuple):
    """The rows behind row `head` up to row `end`; those of a layer begin with `head`. `label` tells which layer."""

    head: int
    end: int
    kind: int
    bindings: int
    label: str = ""


@dataclass
class Body:
    """A program: the numbers of its rows, the first row of each function, the row of each node by identity, its folds."""

    rows: list[int] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)
    row_of: dict[int, int] = field(default_factory=dict)
    folds: list[Fold] = field(default_factory=list)

    def data(self) -> dict[str, object]:
        """The body for the page: runs of rows that follow each other, and folds."""
        return {"rows": list(runs_of(self.rows)), "folds": [list(fold) for fold in self.folds]}


def runs_of(numbers: Sequence[int]) -> Iterator[int]:
    """First and length of each run of numbers that follow each other."""
    start = 0
    for place in range(1, len(numbers) + 1):
        if place == len(numbers) or numbers[place] != numbers[place - 1] + 1:
            yield numbers[start]
            yield place - start
            start = place


def marked(pieces: Iterable[Piece]) -> str:
    """Pieces as one text in which roles are marked. Every text in it is made visible."""
    found: list[str] = []
    now = "."
    for role, part in pieces:
        letter = ROLES.get(role, ".")
        if letter != now and part.strip():
            found.append(f"`{letter}")
            now = letter
        is_plain = part.isascii() and part.isprintable() and len(part) <= _LONGEST
        shown = part if is_plain else visible(part, _LONGEST)
        found.append(shown.replace("`", "``") if "`" in shown else shown)
    return "".join(found)


class Rows:
    """Every different row, in the order in which they were first seen."""

    def __init__(self) -> None:
        self.numbers: dict[Line, int] = {}
        self._codes: dict[str, int] = {}  # rows of lines of kernels, which several stages have
        self._bindings: dict[
            tuple[int, int, int], int
        ] = {}  # rows of bindings that read the same in every stage

    def body(self, table: IrTable) -> Body:
        """The rows of a table in which kernels are one row each; their lines stand below it."""
        found = Body()
        places: list[int] = []  # of each row of the table
        plain = {name for name in table.starts if table.has_plain_names(name)}
        for number, place in enumerate(table.places):
            places.append(len(found.rows))
            if place.kind == "blank":
                continue
            found.starts.setdefault(place.function, len(found.rows))
            if place.node is not None and place.kind != "else":
                found.row_of.setdefault(id(place.node), len(found.rows))
            found.rows.append(self._row(table, number, place.function in plain))
            if place.kind == "kernel":
                self._add_kernel(found, table, place.function)
        places.append(len(found.rows))
        for fold in table.folds:
            kind = FOLDS.index(fold.key.kind)
            found.folds.append(Fold(places[fold.head], places[fold.end], kind, fold.bindings, fold.name))
        named = {fold.key.function for fold in table.folds if fold.key.kind == LAYER}
        found.folds += _repeated(table, found, named)
        found.folds.sort(key=lambda item: (item.head, -item.end))
        return found

    def _row(self, table: IrTable, number: int, is_plain: bool) -> int:
        """The number of a row. A binding whose variables have their own names reads as in other stages, if its callee is the same."""
        place = table.places[number]
        if place.kind != "binding" or not is_plain:
            return self._number(_line(table[number], place))
        callee = table.stage.module.functions.get(callee_in(place.node))
        key = (id(place.node), place.depth, id(callee))
        row = self._bindings.get(key)
        if row is None:
            row = self._bindings[key] = self._number(_line(table[number], place))
        return row

    def _add_kernel(self, found: Body, table: IrTable, name: str) -> None:
        head = len(found.rows) - 1
        found.rows += [self._code(line.text[4:]) for line in table.lines_of(name)]
        found.folds.append(Fold(head, len(found.rows), FOLDS.index("kernel"), 0))

    def _number(self, line: Line) -> int:
        return self.numbers.setdefault(line, len(self.numbers))

    def _code(self, text: str) -> int:
        """The row of a line of a kernel."""
        number = self._codes.get(text)
        if number is None:
            number = self._codes[text] = self._number(
                Line(KINDS.index("line"), 0, "", marked(highlight(text)), "")
            )
        return number

    def data(self, start: int = 0) -> list[list[object]]:
        """The rows for a page that has the first ones already."""
        return [list(line) for line in islice(self.numbers, start, None)]


def callee_in(binding: object) -> str:
    """The function of the module that a binding calls, which tells the class of its row; empty if it calls none."""
    value = binding.value if isinstance(binding, e.VarBinding) else None
    named = (value.op, *value.args[:1]) if isinstance(value, e.Call) else ()
    return next((item.name for item in named if isinstance(item, e.GlobalVar)), "")


def _line(row: Row, place: Place) -> Line:
    """A row without its number, the bars of its depth and the column of its name."""
    kind = KINDS.index(place.kind) if place.kind in KINDS else KINDS.index("text")
    info = visible(row.right, 200)
    pieces = row.pieces
    if place.kind in ("text", "head", "kernel"):
        name = place.function if place.kind != "text" else ""
        return Line(kind, place.depth, visible(name, 200), marked(pieces), info)
    pieces = pieces[1 + place.depth :]
    if place.kind == "binding":
        return Line(kind, place.depth, visible(pieces[0][1].strip(), 200), marked(pieces[2:]), info)
    return Line(kind, place.depth, "", marked(pieces), info)


def _repeated(table: IrTable, found: Body, named: Collection[str]) -> Iterator[Fold]:
    """The pieces that repeat, `layer 2 of 32`, of functions whose layers have no names."""
    for name, fn in table.stage.module.relax_functions.items():
        if name not in found.starts or name in named or isinstance(fn, PrimFunc):
            continue
        for repeat in repeats(fn):
            for number, piece in enumerate(layers_of(repeat), 1):
                first, last = (found.row_of.get(id(piece[end])) for end in (0, -1))
                if first is not None and last is not None:
                    end = _behind(found, last, piece[-1])
                    yield Fold(
                        first, end, FOLDS.index(LAYER), len(piece), f"layer {number} of {repeat.count}"
                    )


def _behind(found: Body, row: int, binding: e.Binding) -> int:
    """The row behind a binding, and behind the bodies that it has."""
    is_nested = isinstance(getattr(binding, "value", None), (e.If, e.Function))
    inner = [fold.end for fold in found.folds if fold.head == row and fold.kind == FOLDS.index("body")]
    return max(inner, default=row + 1) if is_nested else row + 1
