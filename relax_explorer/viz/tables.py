"""Tables: rows that are made when they are read, columns, and lines of pieces that are cut to cells.

Whatever is listed is made of them: programs, differences, values, pairs, checks, problems, stages, steps of a solver. Views of the
explorer draw rows, `viz/report.py` writes them as HTML and as text.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from textwrap import wrap
from typing import Any, TypeVar, overload

from relax_explorer.core.ir import expr as e
from relax_explorer.viz.lexer import Piece, highlight
from relax_explorer.viz.visible import character_columns, columns, fit, visible

T = TypeVar("T")
FARTHER = "~›"  # at the right of a line: more of it changed behind the cut
CHANGED = frozenset({"old", "new"})  # roles of pieces that changed
MAX_WIDTH = 2000
WIDEST_INFO = 48


@dataclass(
    slots=True, eq=False
)  # frozen, it would take three times as long to make, and tables make thousands
class Row:
    """One line: its text, the mark before it, what it shows, in which function, and a text at the right edge.

    `pieces` (role, text) colour the text; a row without them shows a line of a program. `note` stands behind the text, which is cut
    off before it. `kind` is that of its place in a program, or of its change.
    """

    text: str
    mark: str = " "
    node: Any = None
    function: str = ""
    right: str = ""
    pieces: tuple[Piece, ...] = ()
    note: str = ""
    kind: str = ""

    @property
    def binding(self) -> e.Binding | None:
        """Its node, if that is a binding."""
        return self.node if isinstance(self.node, (e.VarBinding, e.MatchCast)) else None

    @property
    def look(self) -> tuple[object, ...]:
        """What is seen of the row."""
        return self.text, self.mark, self.right, self.pieces, self.note

    @property
    def colored(self) -> Sequence[Piece]:
        """Its pieces, or those of a line of a program."""
        return self.pieces or highlight(visible(self.text, MAX_WIDTH))


def colored_row(
    pieces: Iterable[Piece],
    mark: str = " ",
    node: object = None,
    function: str = "",
    right: str = "",
    kind: str = "",
) -> Row:
    """The row of some pieces."""
    shown = tuple(pieces)
    return Row(plain(shown), mark, node, function, right, shown, "", kind)


def plain(pieces: Iterable[Piece]) -> str:
    """The text of pieces."""
    return "".join([text for _, text in pieces])


def wrapped(lines: Iterable[str], width: int) -> list[Row]:
    """Sentences as rows of at most `width` cells."""
    return text_lines(part for line in lines for part in wrap(line, width, subsequent_indent="  "))


def text_lines(lines: Iterable[str], role: str = "text") -> list[Row]:
    """Lines of plain text as rows."""
    return [colored_row(((role, line),)) for line in lines]


# -- lazy rows -------------------------------------------------------------------------------------------------------


class LazyRows(Sequence[T]):
    """Many rows, of which few are seen. A class that extends it tells how many there are, and makes one when it is read first."""

    def __init__(self) -> None:
        self._rows: dict[int, T] = {}

    @overload
    def __getitem__(self, number: int) -> T: ...
    @overload
    def __getitem__(self, number: slice) -> list[T]: ...
    def __getitem__(self, number: int | slice) -> T | list[T]:
        if isinstance(number, slice):
            return [self[n] for n in range(*number.indices(len(self)))]
        row = self._rows.get(number)
        if row is None:
            at = range(len(self))[number]
            row = self._rows[at] = self._made(at)
        return row

    @abstractmethod
    def _made(self, number: int) -> T:
        """The row of a number."""


class LazyLines(LazyRows[T]):
    """A number of rows, each made by a function of its number."""

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        super().__init__()
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    def _made(self, number: int) -> T:
        return self._make(number)


class TextRows(LazyLines[Row]):
    """The lines of a program that is being read. The node of a line is its number in the text."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        super().__init__(len(lines), lambda number: Row(lines[number], node=number + 1))


# -- columns ---------------------------------------------------------------------------------------------------------


def cell(text: str, width: int, align: str = "<") -> str:
    """A visible text in exactly `width` cells, at the left or at the right (>) of them."""
    if len(text) <= width and text.isascii():  # most texts of tables, which are made at each step
        return text.rjust(width) if align == ">" else text.ljust(width)
    shown = fit(text, width)
    gap = " " * (width - columns(shown))
    return gap + shown if align == ">" else shown + gap


def apart(left: str, right: str, width: int, least: int = 1) -> str:
    """Two texts at both ends of `width` cells, with some space between them at least."""
    return f"{left}{' ' * max(least, width - columns(left) - columns(right))}{right}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, its width (0 leaves it out, None takes what a text needs), and where texts stand in it.

    A text that `is_whole`, such as a number, is never cut: it pushes the next ones to the right.
    """

    title: str
    width: int | None = None
    align: str = "<"
    role: str = "text"
    is_whole: bool = False

    def shown(self, text: str) -> str:
        """A text in its place, with a blank behind it."""
        if self.width is None:
            return text
        if not self.is_whole:
            return cell(text, self.width, self.align) + " "
        gap = " " * (self.width - columns(text))
        return f"{gap}{text} " if self.align == ">" else f"{text}{gap} "


class Columns(tuple[Column, ...]):
    """The columns of a table, a blank between two of them."""

    def line(self, *texts: str) -> str:
        """The texts of a row in their columns."""
        cells = [column.shown(text) for column, text in zip(self, texts, strict=True) if column.width != 0]
        return "".join(cells).rstrip()

    def pieces(self, *texts: str, **roles: str) -> list[Piece]:
        """The texts of a row with the roles of their columns, or with others in place of these. Neighbours of one role are one piece."""
        cells: list[Piece] = []
        for column, text in zip(self, texts, strict=True):
            if column.width != 0:
                cells.append((roles.get(column.role, column.role), column.shown(text)))
        runs = groupby(cells, lambda piece: piece[0])
        pieces = [(role, plain(run)) for role, run in runs]
        return [*pieces[:-1], (pieces[-1][0], pieces[-1][1].rstrip())]

    @property
    def heading(self) -> str:
        """The titles of the columns."""
        return self.line(*[column.title for column in self])


# -- cuts ------------------------------------------------------------------------------------------------------------
# Lines of pieces, cut to some cells.


def cells(pieces: Iterable[Piece]) -> int:
    """The cells of some pieces."""
    return sum([columns(text) for _, text in pieces])


def cut(pieces: Sequence[Piece], left: int, width: int, role: str = "muted") -> list[Piece]:
    """At most `width` cells of some pieces, from cell `left` on. `…` of a role marks what is cut at the right."""
    sizes = [columns(text) for _, text in pieces]
    is_cut = sum(sizes) - left > width
    end = left + width - is_cut
    kept: list[Piece] = []
    at = 0
    for (name, text), size in zip(pieces, sizes, strict=True):
        start, at = at, at + size
        if at <= left:
            continue
        if max(start, left) >= end:
            break
        kept.append((name, text if start >= left and at <= end else _part(text, left - start, end - start)))
    if is_cut and width > 0:
        kept.append((role, "…"))
    return kept


def _part(text: str, left: int, end: int) -> str:
    """The cells of a text from `left` up to `end`. Half of a wide character is a blank."""
    if text.isascii():
        return text[max(0, left) : end]
    shown, at = "", 0
    for character in text:
        start, at = at, at + character_columns(character)
        if start >= left and at <= end:
            shown += character
        elif at > left and start < end:
            shown += " "
    return shown


def filled(pieces: list[Piece], width: int, role: str) -> list[Piece]:
    """Pieces with blanks behind them, `width` cells in all."""
    room = width - cells(pieces)
    return [*pieces, (role, " " * room)] if room > 0 else pieces


def goes_farther(pieces: Iterable[Piece], end: int) -> bool:
    """True if pieces are cut off at cell `end`, and one that changed begins behind the cut."""
    at = 0
    is_behind = False
    for role, text in pieces:
        is_behind = is_behind or (role in CHANGED and at >= end - 1 - len(FARTHER))
        at += columns(text)
    return is_behind and at > end


def side(row: Row | None, width: int, shift: int = 0, role: str = "", note: str = "") -> list[Piece]:
    """A row in exactly `width` cells: the text from cell `shift` on, a note that is never cut off by it, its StructInfo at the right."""
    if row is None:
        return [("text", " " * width)]
    info = fit(visible(row.right, WIDEST_INFO), width // 2)
    room = width - columns(info) - 1 if info else width
    pieces = [(role, row.text)] if role else row.pieces
    clean = [(name, visible(text, MAX_WIDTH)) for name, text in pieces]
    left = max(0, room - columns(note))
    farther = [("new", FARTHER)] if left > len(FARTHER) and goes_farther(clean, shift + left) else []
    shown = [*cut(clean, shift, left - cells(farther)), *farther, *([("muted", note)] if note else [])]
    return [*filled(shown, room, "text"), *([("text", " "), ("dimension", info)] if info else [])]
