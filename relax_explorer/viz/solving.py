"""The steps of a solver for views: where each stands in the text, and what is known after it.

Position 0 is before the first step. Behind the last step is one more position, the end, with the verdict and the problems.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.source import Source, Span
from relax_explorer.viz.tables import LazyLines, Row

TABLES = ("types", "made", "left", "program")


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a table at a position, and the one to keep in sight, if a step is about one. The node of a row is the position that it leads to."""

    lines: Sequence[Row]
    shown: int | None = None


def placed(span: Span | None, text: str) -> str:
    """A text behind the number of the line that it is about."""
    return f"{span.line if span is not None else '':>4}  {text}"


class Solving(ABC):
    """The steps of one program. `titles` names its tables: what is known, what was made of it, what is left, and the text."""

    command: ClassVar[str]
    schema: ClassVar[str]  # of its data
    titles: ClassVar[Mapping[str, str]]
    functions: Sequence[str] = ()  # those with a contract

    def __init__(
        self, text: str, path: str, problems: Sequence[Diagnostic], spans: Sequence[Span | None]
    ) -> None:
        self.path, self.problems = path, tuple(problems)
        self._source, self._spans = Source(text, path), spans
        lines = sorted((span.line, n) for n, span in enumerate(spans, 1) if span is not None)
        self._lines = [line for line, _ in lines]
        self._steps = [n for _, n in lines]

    @property
    def count(self) -> int:
        """The number of steps."""
        return len(self._spans)

    @property
    def last(self) -> int:
        """The position of the end."""
        return self.count + 1

    def place(self, position: int) -> Span | None:
        """The text that a step is about."""
        return self._spans[position - 1] if 0 < position < self.last else None

    def line(self, position: int) -> Row:
        """A position as one line."""
        if position == 0:
            return Row("start", node=0)
        if position == self.last:
            return Row(self.verdict, self.verdict_glyph, position)
        text, glyph = self.step(position - 1)
        return Row(placed(self.place(position), text), glyph, position)

    def lines(self) -> LazyLines[Row]:
        """All positions."""
        return LazyLines(self.last + 1, self.line)

    def about(self, position: int) -> list[str]:
        """What happened in a step, in lines."""
        if position == 0:
            return self.beginning()
        if position == self.last:
            problems = [f"{item.code.id} {item.message}" for item in self.problems]
            return [self.verdict, *self.ending(), *problems]
        return self.details(position - 1)

    def table(self, name: str, position: int) -> Table:
        """One of the tables as it was after a step."""
        return self._program(position) if name == "program" else self.known(name, position)

    def next_open(self, position: int, by: int) -> int | None:
        """The next step in a direction that failed or left something open."""
        steps = range(position + by, self.last if by > 0 else 0, by)
        return next((n for n in steps if 0 < n < self.last and self.line(n).mark in "·✗"), None)

    def _program(self, position: int) -> Table:
        span = self.place(position)

        def line(number: int) -> Row:
            is_here = span is not None and span.line <= number + 1 <= span.end_line
            return Row(self._source.line(number + 1), "▶" if is_here else " ", self.at_line(number + 1))

        return Table(LazyLines(len(self._source.line_starts), line), None if span is None else span.line - 1)

    def at_line(self, line: int) -> int | None:
        """The first step in a line of the text, or behind it."""
        at = bisect_left(self._lines, line)
        return self._steps[at] if at < len(self._steps) else None

    @property
    @abstractmethod
    def verdict(self) -> str:
        """The result in one line."""

    @property
    @abstractmethod
    def verdict_glyph(self) -> str:
        """`✓`, `·` if something is left open, or `✗`."""

    @abstractmethod
    def step(self, number: int) -> tuple[str, str]:
        """A step, counted from 0, in a few words, and its glyph."""

    @abstractmethod
    def details(self, number: int) -> list[str]:
        """A step in lines."""

    @abstractmethod
    def beginning(self) -> list[str]:
        """What there is before the first step."""

    @abstractmethod
    def ending(self) -> list[str]:
        """What happened after the last step."""

    @abstractmethod
    def known(self, name: str, position: int) -> Table:
        """A table as it was after a step, apart from the text: what is known, what was made of it, or what is left."""

    @abstractmethod
    def origin(self, name: str, position: int, number: int) -> int | None:
        """The position that a line of a table leads to: of the step that made it so."""

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """The result and the steps as plain data."""
