"""A text that an editor changes piece by piece, with its lines and positions. Columns are code points; a client may count others."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from relax_explorer.core.source import Span, with_line_feeds

Units: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
"""What a client counts as columns: bytes, 16-bit units or code points."""


class Position(NamedTuple):
    """A place in a text: line and column, both from 0."""

    line: int
    column: int


class Range(NamedTuple):
    """A part of a text, the end exclusive."""

    start: Position
    end: Position

    def holds(self, position: Position) -> bool:
        """True if a position lies in it or at its end."""
        return self.start <= position <= self.end

    def meets(self, other: Range) -> bool:
        """True if two ranges have a position in common."""
        return self.start <= other.end and other.start <= self.end


@dataclass(frozen=True, slots=True)
class TextEdit:
    """A change of a document: other text for a range."""

    range: Range
    text: str


@dataclass(frozen=True)
class Document:
    """One text with its name. Lines end with LF, CRLF or CR, as in the protocol of editors."""

    name: str
    text: str

    @cached_property
    def starts(self) -> list[int]:
        """The offset of the first character of each line."""
        text, starts, at = self.text, [0], 0
        has_returns = "\r" in text
        while True:
            feed = text.find("\n", at)
            back = text.find("\r", at, feed if feed >= 0 else len(text)) if has_returns else -1
            if feed < 0 and back < 0:
                return starts
            at = back + 1 if back >= 0 and text[back : back + 2] != "\r\n" else feed + 1
            starts.append(at)

    @cached_property
    def plain(self) -> str:
        """The text with line feeds alone, as the reader of programs takes it. Its lines and columns are the same."""
        return with_line_feeds(self.text)

    def line(self, number: int) -> str:
        """The text of a line without its end. Empty outside of the text."""
        if not 0 <= number < len(self.starts):
            return ""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[number] : end].rstrip("\r\n")

    def offset(self, position: Position) -> int:
        """The offset of a position. One outside of the text means the nearest inside."""
        if position.line < 0:
            return 0
        if position.line >= len(self.starts):
            return len(self.text)
        return self.starts[position.line] + max(0, min(position.column, len(self.line(position.line))))

    def position(self, offset: int) -> Position:
        """The position of an offset."""
        line = bisect_right(self.starts, max(0, offset)) - 1
        return Position(line, max(0, offset) - self.starts[line])

    def part(self, place: Range) -> str:
        """The text in a range."""
        return self.text[self.offset(place.start) : self.offset(place.end)]

    @property
    def whole(self) -> Range:
        """The range of all of it."""
        last = len(self.starts) - 1
        return Range(Position(0, 0), Position(last, len(self.line(last))))

    def edited(self, edit: TextEdit) -> Document:
        """The document after a change."""
        first, last = sorted((self.offset(edit.range.start), self.offset(edit.range.end)))
        return Document(self.name, self.text[:first] + edit.text + self.text[last:])


def with_edits(document: Document, edits: list[TextEdit]) -> Document:
    """The document after changes that do not overlap, each in the positions of the old text."""
    for edit in sorted(edits, key=lambda item: item.range, reverse=True):
        document = document.edited(edit)
    return document


def column_of(line: str, units: int, kind: Units) -> int:
    """The column of a place in a line that a client counts in its units. A place inside a character means its start."""
    if units <= 0 or kind == "utf-32" or line.isascii():
        return max(0, min(units, len(line)))
    count = 0
    for column, character in enumerate(line):
        count += _width(character, kind)
        if count > units:
            return column
    return len(line)


def units_of(line: str, column: int, kind: Units) -> int:
    """The number of units of a client before a column of a line."""
    column = max(0, min(column, len(line)))
    if kind == "utf-32" or line.isascii():
        return column
    return sum(_width(character, kind) for character in line[:column])


def _width(character: str, kind: Units) -> int:
    if kind == "utf-16":
        return 1 + (character > "\uffff")
    return len(character.encode("utf-8", "surrogatepass"))


def range_of(span: Span) -> Range:
    """The place in the document of a span of one of its programs."""
    start = Position(span.line - 1, span.file_column - 1)
    return Range(start, max(start, Position(span.end_line - 1, span.file_end_column - 1)))
