"""A page as data: its title and its parts, each with a form as text. The site of the documentation has another form of the same parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prose:
    """Paragraphs."""

    text: str

    def plain(self) -> str:
        """The text as it is."""
        return self.text


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows in columns under a title."""

    title: str
    rows: Sequence[tuple[str, ...]]

    @property
    def filled(self) -> list[tuple[str, ...]]:
        """The rows without columns that are empty in all of them."""
        kept = [n for n in range(len(self.rows[0])) if any(row[n] for row in self.rows)]
        return [tuple([row[n] for n in kept]) for row in self.rows]

    def plain(self) -> str:
        """The last column is not padded."""
        rows = self.filled
        widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return f"{self.title}:\n" + "\n".join(f"  {line}" for line in lines)


@dataclass(frozen=True, slots=True)
class Items:
    """Lines under a title, with a remark below them."""

    title: str
    lines: Sequence[str]
    remark: str = ""

    def plain(self) -> str:
        """The lines, indented."""
        text = f"{self.title}:\n" + "\n".join(f"  {line}" for line in self.lines)
        return f"{text}\n\n  {self.remark}" if self.remark else text


@dataclass(frozen=True, slots=True)
class Facts:
    """Short sentences, each about another side of the subject."""

    lines: Sequence[str]

    def plain(self) -> str:
        """A list."""
        return "\n".join(f"* {line}" for line in self.lines)


@dataclass(frozen=True, slots=True)
class Code:
    """A program under a title."""

    title: str
    text: str

    def plain(self) -> str:
        """The lines are indented, so that they are not joined to paragraphs."""
        lines = [f"    {line}".rstrip() for line in self.text.rstrip().splitlines()]
        return f"{self.title}:\n\n" + "\n".join(lines)


Part = Prose | Columns | Items | Facts | Code


@dataclass(frozen=True, slots=True)
class Page:
    """What is told about one subject."""

    title: str
    parts: Sequence[Part]

    def plain(self) -> str:
        """The page as text."""
        return "\n\n".join([self.title, *[part.plain() for part in self.parts]])
