"""The source of a program that can't be shown: each problem stands below its line, with carets, remarks and the hint; others on top."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from textwrap import wrap

from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.source import Source, Span
from relax_explorer.viz.lexer import Piece, highlight
from relax_explorer.viz.tables import MAX_WIDTH, LazyRows, Row
from relax_explorer.viz.visible import columns, visible

FIX = " (f applies it)"
LEAST = 24  # cells of a sentence; what has no room is scrolled to


def broken_source(problems: Sequence[Diagnostic]) -> Source | None:
    """The text to show: that of the first problem with a place in one."""
    spans = (problem.span for problem in problems)
    return next((span.source for span in spans if span is not None and span.source.text.strip()), None)


class SourceRows(LazyRows[Row]):
    """The lines of a source with the problems below theirs; the node of a row is the problem that it is about, else None.

    Only lines with problems are made before they are seen: a text may have 100,000.
    """

    def __init__(self, source: Source, problems: Sequence[Diagnostic], width: int) -> None:
        """Sentences take at most `width` cells."""
        super().__init__()
        self.source = source
        self._digits = len(str(source.above + len(source.line_starts)))
        self._room = max(LEAST, width - self._digits - 1)
        self._top: list[Row] = []
        self._below: dict[int, list[Row]] = {}  # by the number of the line in the text, from 0
        for problem in sorted(problems, key=Diagnostic.order):
            self._add(problem)
        self._lines = sorted(self._below)
        counts = accumulate(len(self._below[line]) for line in self._lines)
        ends = [line + count for line, count in zip(self._lines, counts, strict=True)]
        self._ends = [len(self._top) + end for end in ends]  # the last row below each of these lines

    def __len__(self) -> int:
        extra = self._ends[-1] - self._lines[-1] if self._lines else len(self._top)
        return len(self.source.line_starts) + extra

    def _made(self, number: int) -> Row:
        if number < len(self._top):
            return self._top[number]
        place = bisect_left(self._ends, number)  # of the first line whose rows end here or later
        if place < len(self._lines):
            line = self._lines[place]
            behind = self._ends[place] - number
            below = self._below[line]
            if behind < len(below):
                return below[len(below) - 1 - behind]
        shift = self._ends[place - 1] - self._lines[place - 1] if place else len(self._top)
        return self._code(number - shift)

    # -- places ---------------------------------------------------------------------------------------------------

    @property
    def starts(self) -> list[int]:
        """The rows of the problems: the line of the first one there, for others the row of their carets."""
        found = [number for number, row in enumerate(self._top) if row.kind == "first"]
        for line, end in zip(self._lines, self._ends, strict=True):
            head = end - len(self._below[line])
            firsts = [n for n, row in enumerate(self._below[line], head + 1) if row.kind == "first"]
            found += [head, *firsts[1:]] if firsts else []
        return found

    def number_at(self, row: int) -> int:
        """Which problem, from 1, stands at or above a row; 0 if all stand below it."""
        return bisect_right(self.starts, row)

    # -- rows -----------------------------------------------------------------------------------------------------

    def _code(self, line: int) -> Row:
        """A line of the source; the first problem below it marks it."""
        text = visible(self.source.line(line + 1 + self.source.above), MAX_WIDTH)
        first = next((row for row in self._below.get(line, ()) if row.kind == "first"), None)
        mark = " " if first is None else "✗" if first.node.is_error else "*"
        number = str(line + 1 + self.source.above).rjust(self._digits)
        return Row(text, mark, first and first.node, pieces=(("muted", f"{number} "), *highlight(text)))

    def _add(self, problem: Diagnostic) -> None:
        main = problem.primary
        span = None if main is None else main.span
        message = f"{visible(problem.message, 600)}  {problem.code}"
        if main is None or span is None or not self._is_here(span):
            place = "" if span is None else f"{span}: "
            self._top += self._sentences(f"{visible(place)}{message}", problem, "breakpoint", "first")
            self._top += self._remarks(problem)
            return
        rows = self._below.setdefault(self._line(span), [])
        rows += self._marked(span, "^", message, problem, "first")
        if main.text:
            rows += self._sentences(visible(main.text), problem, "text")
        for label in problem.labels:
            if label is not main:
                self._add_label(label, problem, rows)
        rows += self._remarks(problem)

    def _add_label(self, label: Label, problem: Diagnostic, rows: list[Row]) -> None:
        """A second place of a problem: in its own line, or told below the problem if it is in no line of this text."""
        span = label.span
        if span is not None and self._is_here(span):
            line = self._line(span)
            self._below.setdefault(line, []).extend(self._marked(span, "-", visible(label.text), problem))
        elif span is not None and label.text:
            rows += self._sentences(f"{visible(str(span))}: {visible(label.text)}", problem, "muted")

    def _is_here(self, span: Span) -> bool:
        own, other = self.source, span.source
        return own is other or (own.filename, own.above, own.text) == (
            other.filename,
            other.above,
            other.text,
        )

    def _line(self, span: Span) -> int:
        """The line of a place, from 0. What is missing at the end of a text is told below its last line."""
        return max(0, min(span.line - self.source.above, len(self.source.line_starts)) - 1)

    def _marked(
        self, span: Span, mark: str, text: str, problem: Diagnostic, kind: str = "more"
    ) -> Iterator[Row]:
        """Carets below a place, with a text behind them, or below them if it is too long."""
        line = self.source.line(span.line)
        end = span.end_column if span.end_line == span.line else len(line)
        left = columns(visible(line[: span.column], MAX_WIDTH))
        carets = mark * max(1, min(columns(visible(line[span.column : end], MAX_WIDTH)), MAX_WIDTH - left))
        role = "breakpoint" if mark == "^" else "dimension"
        margin = " " * (self._digits + 1 + left)
        if left + len(carets) + 1 + columns(text) <= self._room:
            yield _row([("muted", margin), (role, f"{carets} {text}".rstrip())], problem, kind)
            return
        yield _row([("muted", margin), (role, carets)], problem, kind)
        yield from self._sentences(text, problem, role)

    def _remarks(self, problem: Diagnostic) -> Iterator[Row]:
        for note in problem.remarks:
            yield from self._sentences(f"note: {visible(note)}", problem, "muted")
        if problem.origin:
            yield from self._sentences(f"origin: {visible(problem.origin)}", problem, "muted")
        if problem.help:
            yield from self._sentences(
                f"hint: {visible(problem.help, 600)}{FIX if problem.edits else ''}", problem, "call"
            )

    def _sentences(self, text: str, problem: Diagnostic, role: str, kind: str = "more") -> Iterator[Row]:
        """A sentence in as many rows as it needs; the first one is of a kind."""
        margin = ("muted", " " * (self._digits + 3))
        parts = wrap(text, self._room - 2, subsequent_indent="  ", break_on_hyphens=False)
        for number, part in enumerate(parts):
            yield _row([margin, (role, part)], problem, kind if number == 0 else "more")


def _row(pieces: Sequence[Piece], problem: Diagnostic, kind: str) -> Row:
    return Row("".join(text for _, text in pieces).strip(), " ", problem, pieces=tuple(pieces), kind=kind)
