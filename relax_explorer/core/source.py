"""Source texts and positions in them: lines, columns and spans."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property


def with_line_feeds(text: str) -> str:
    """A text whose lines end with a line feed. Python's `ast` counts carriage returns as line ends, too."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


class Source:
    """One text with its name. Columns are code points from 0, lines count from 1.

    `above` lines of the file stand before the text: its first line has the number `above + 1`. `folder` holds the files that the text
    names, if it is not that of its own file.
    """

    def __init__(self, text: str, filename: str = "<text>", above: int = 0, folder: str = "") -> None:
        self.text = text
        self.filename = filename
        self.above = above
        self.folder = folder

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of the first character of each line."""
        starts, at = [0], self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts

    @cached_property
    def is_ascii(self) -> bool:
        """True if byte columns and character columns are the same."""
        return self.text.isascii()

    def margin(self, line: int) -> int:
        """The number of columns that were cut off a line of the file."""
        return 0

    def line(self, number: int) -> str:
        """Text of line `number` of the file without its line end. Empty outside of the text."""
        number -= self.above
        if not 1 <= number <= len(self.line_starts):
            return ""
        start = self.line_starts[number - 1]
        end = self.line_starts[number] - 1 if number < len(self.line_starts) else len(self.text)
        return self.text[start:end]

    def lines(self, first: int, last: int) -> str:
        """The lines of the text from one to another, the first one of the text being 1."""
        starts = self.line_starts
        return self.text[starts[first - 1] : starts[last] if last < len(starts) else len(self.text)]

    def column(self, line: int, byte_column: int) -> int:
        """Character column (from 0) of a UTF-8 byte column. Python's `ast` counts bytes."""
        if self.is_ascii:
            return byte_column
        return len(self.line(line).encode("utf-8", "surrogatepass")[:byte_column].decode("utf-8", "replace"))

    def position(self, offset: int) -> tuple[int, int]:
        """Line (from 1) and character column (from 0) of a character offset."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1]

    def span(
        self, line: int, column: int, end_line: int | None = None, end_column: int | None = None
    ) -> Span:
        """Span between two positions, in character columns."""
        return Span(
            self,
            line,
            column,
            line if end_line is None else end_line,
            column + 1 if end_column is None else end_column,
        )

    def at(self, line: int, column: int) -> Span:
        """Span of one character in a line of the text, whose first line has the number 1 here."""
        return self.span(line + self.above, column)

    def whole(self) -> Span:
        """Span of the whole text."""
        last = len(self.line_starts) + self.above
        return Span(self, 1 + self.above, 0, last, len(self.line(last)))


@dataclass(slots=True, eq=False, repr=False)
class Span:
    """A part of a source: lines from 1, columns from 0, the end exclusive."""

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def file_column(self) -> int:
        """The column of the start in the file, from 1."""
        return self.column + self.source.margin(self.line) + 1

    @property
    def file_end_column(self) -> int:
        """The column of the end in the file, from 1."""
        return self.end_column + self.source.margin(self.end_line) + 1

    @property
    def text(self) -> str:
        """The text inside the span."""
        starts, above = self.source.line_starts, self.source.above + 1
        return self.source.text[
            starts[self.line - above] + self.column : starts[self.end_line - above] + self.end_column
        ]

    def __repr__(self) -> str:
        return f"{self.source.filename}:{self.line}:{self.file_column}"
