"""Printed text whose lines refer to their nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings, operands, sequences
from relax_explorer.core.source import Source, Span


@dataclass(slots=True)
class Line:
    """One line: its text, its node (a binding, a function, a statement, or None), and the name of its function."""

    text: str
    node: Any = None
    function: str = ""


@dataclass(slots=True)
class Printed:
    """The printed lines of a module or function."""

    lines: list[Line] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)  # function name -> its display names
    _where: dict[int, int] | None = None

    @property
    def text(self) -> str:
        """The whole text."""
        return "\n".join([line.text for line in self.lines]) + "\n"

    def line_of(self, node: object) -> int | None:
        """Number (from 0) of the line that shows `node`."""
        if self._where is None:
            numbers: dict[int, int] = {}
            for number, line in enumerate(self.lines):
                if line.node is not None:
                    numbers.setdefault(id(line.node), number)
            self._where = numbers
        return self._where.get(id(node))


# -- placed ----------------------------------------------------------------------------------------------------------
# Places the diagnostics of generated programs in the printed text of the program.


def placed(problems: Iterable[Diagnostic], printed: Printed, title: str) -> tuple[Diagnostic, ...]:
    """The problems with new places for labels outside the user's text: the line of `printed` that shows the node.

    `title` names the printed text, for example `after LegalizeOps`. Labels in the user's text are unchanged.
    """
    diagnostics = list(problems)
    if all(label.span is not None for diagnostic in diagnostics for label in diagnostic.labels):
        return tuple(diagnostics)
    places = _Places(printed, title)
    return tuple(
        [
            replace(diagnostic, labels=tuple(map(places.label, diagnostic.labels)))
            for diagnostic in diagnostics
        ]
    )


class _Places:
    def __init__(self, printed: Printed, title: str) -> None:
        self.printed, self.source = printed, Source(printed.text, title)
        self._owners: dict[int, Any] | None = None

    def label(self, label: Label) -> Label:
        """The label with a place in the printed text, if its node is there."""
        if label.span is not None or label.place is None:
            return label
        span = self._span(label.place)
        return label if span is None else Label(span, label.text, label.primary)

    def _span(self, node: object) -> Span | None:
        number = self.printed.line_of(node)
        if number is None:
            number = self.printed.line_of(self._owner(node))
        if number is None:
            return None
        text = self.printed.lines[number].text
        return self.source.span(number + 1, len(text) - len(text.lstrip()), number + 1, len(text))

    def _owner(self, node: object) -> Any:
        """The binding or function that contains an expression or a variable."""
        if self._owners is None:
            self._owners = {}
            for line in self.printed.lines:
                if type(line.node) is e.Function:
                    self._note(line.node)
        return self._owners.get(id(node))

    def _note(self, fn: e.Function) -> None:
        assert self._owners is not None  # the caller has set it
        for param in fn.params:
            self._owners.setdefault(id(param), fn)
        for binding in bindings(fn):
            if binding.var is not None:
                self._owners.setdefault(id(binding.var), binding)
            for expr in _parts(binding.value):
                self._owners.setdefault(id(expr), binding)


def _parts(value: e.Expr) -> Iterator[e.Expr]:
    stack = [value, *sequences(value)]
    while stack:
        part = stack.pop()
        yield part
        if not isinstance(part, e.Var):
            stack.extend(operands(part))
