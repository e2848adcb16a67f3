"""Problems as data: codes, labels, diagnostics, and the exception that core raises for a bad program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from relax_explorer.core.source import Span


class Severity(IntEnum):
    """The severity of a problem. Larger is worse."""

    NOTE = 0
    WARNING = 1
    ERROR = 2

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of problem: its number, its page (what, why, example, fix) and its usual severity.

    `unchecked` marks a fault in TVM, too, which it does not look for: with its profile, `check` warns of it.
    """

    id: str
    title: str
    why: str
    fix: str
    example: str = ""
    severity: Severity = Severity.ERROR
    unchecked: bool = False

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class Label:
    """A place with a remark: a span of text, or a node of the IR when there is no text."""

    place: Any
    text: str = ""
    primary: bool = False

    @property
    def span(self) -> Span | None:
        """The span of the place, or None if it is in no text."""
        return self.place if isinstance(self.place, Span) else getattr(self.place, "span", None)


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the text that fixes a problem: replace the text in `span` by `text`."""

    span: Span
    text: str


def with_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text of a file with some edits, of which none overlaps another. Lines that they add have the margin of their place."""
    starts = [0, *[at + 1 for at, character in enumerate(text) if character == "\n"]]
    for edit in sorted(edits, key=lambda item: (item.span.line, item.span.column), reverse=True):
        span, margin = edit.span, " " * edit.span.source.margin(edit.span.line)
        first = starts[span.line - 1] + span.file_column - 1
        end = starts[span.end_line - 1] + span.file_end_column - 1
        text = text[:first] + edit.text.replace("\n", f"\n{margin}") + text[end:]
    return text


ONLY_HERE = "this rule is in the specification but not in TVM"
A_WARNING_THERE = f"{ONLY_HERE}: with the profile tvm it is a warning"
ONLY_THERE = "TVM 0.27 refuses this; our language does not"


@dataclass(frozen=True, slots=True, repr=False)
class Diagnostic:
    """One problem: a sentence, labelled places, and a hint how to fix it.

    `spec_only` marks a rule of the specification that TVM 0.27 does not have, `unchecked` one without which nothing is known of the
    result, and `tvm_only` one that is an error for TVM only. All `edits` together are one fix.
    """

    code: Code
    message: str
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: str = ""
    severity: Severity | None = None
    origin: str = ""
    spec_only: bool = False
    edits: tuple[Edit, ...] = ()
    tvm_only: bool = False
    unchecked: bool = False

    @property
    def is_ours(self) -> bool:
        """True for a rule that TVM 0.27 does not have."""
        return self.spec_only or self.unchecked or self.code.unchecked

    @property
    def level(self) -> Severity:
        """The severity of this occurrence."""
        return self.code.severity if self.severity is None else self.severity

    @property
    def is_error(self) -> bool:
        """True if the program can't be accepted."""
        return self.level is Severity.ERROR

    @property
    def primary(self) -> Label | None:
        """The label that the message is about."""
        return next(
            (label for label in self.labels if label.primary), self.labels[0] if self.labels else None
        )

    @property
    def span(self) -> Span | None:
        """The span of the primary label, or None if the problem is in no text."""
        return self.primary.span if self.primary else None

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, plus one for a rule that only TVM has, or all but TVM."""
        if self.tvm_only:
            return (*self.notes, ONLY_THERE)
        if not self.spec_only and not self.unchecked:
            return self.notes
        return (*self.notes, A_WARNING_THERE if self.is_error else ONLY_HERE)

    def order(self) -> tuple[str, int, int, str]:
        """Sort key: by place, then by code."""
        span = self.span
        return (
            (span.source.filename, span.line, span.column, self.code.id) if span else ("", 0, 0, self.code.id)
        )

    def to_json(self) -> dict[str, Any]:
        """The diagnostic as plain data (columns from 1)."""
        return {
            "code": self.code.id,
            "severity": str(self.level),
            "message": self.message,
            "labels": [_label_json(label) for label in self.labels],
            "notes": list(self.remarks),
            "help": self.help,
            "origin": self.origin,
            "edits": [_place_json(edit.span) | {"text": edit.text} for edit in self.edits],
        }

    def __repr__(self) -> str:
        return f"<Diagnostic {self}>"

    def __str__(self) -> str:
        where = f"{self.span}: " if self.span else ""
        return f"{where}{self.level}[{self.code.id}]: {self.message}"


def _label_json(label: Label) -> dict[str, Any]:
    span = label.span
    place: dict[str, Any] = {"text": label.text, "primary": label.primary}
    return place if span is None else place | _place_json(span)


def _place_json(span: Span) -> dict[str, Any]:
    return {
        "file": span.source.filename,
        "line": span.line,
        "column": span.file_column,
        "end_line": span.end_line,
        "end_column": span.file_end_column,
    }


@dataclass(slots=True)
class Report:
    """Collects diagnostics. The same problem at the same place is kept once."""

    items: list[Diagnostic] = field(default_factory=list)
    _seen: set[tuple[Any, ...]] = field(default_factory=set)

    def add(self, diagnostic: Diagnostic) -> None:
        """Keep `diagnostic` unless the same problem at the same place is already there."""
        place = diagnostic.primary.place if diagnostic.primary else None
        key = (
            diagnostic.code.id,
            diagnostic.message,
            id(place) if diagnostic.span is None else diagnostic.order(),
        )
        if key not in self._seen:
            self._seen.add(key)
            self.items.append(diagnostic)

    def say(
        self, code: Code, message: str, place: object = None, label: str = "", **details: Any
    ) -> Diagnostic:
        """Make a diagnostic with one primary label, keep it and return it."""
        labels = (Label(place, label, primary=True),) if place is not None else ()
        diagnostic = Diagnostic(code, message, labels + tuple(details.pop("labels", ())), **details)
        self.add(diagnostic)
        return diagnostic

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Keep each of `diagnostics`."""
        for diagnostic in diagnostics:
            self.add(diagnostic)

    @property
    def errors(self) -> list[Diagnostic]:
        """The collected errors."""
        return [item for item in self.items if item.is_error]

    def sorted(self) -> list[Diagnostic]:
        """All collected diagnostics, ordered by place."""
        return sorted(self.items, key=Diagnostic.order)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class Failure(Exception):
    """The user's program can't be processed. `.diagnostics` has the reasons."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(str(item) for item in diagnostics))
        self.diagnostics: tuple[Diagnostic, ...] = diagnostics


class ParseError(Failure):
    """A text can't be read as a program. `module` has the readable part, or None if there is none."""

    def __init__(self, *diagnostics: Diagnostic, module: Any = None) -> None:
        super().__init__(*diagnostics)
        self.module = module
