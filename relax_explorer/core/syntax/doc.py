"""Printed text whose lines refer to their nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


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

    def line_of(self, node: Any) -> int | None:
        """Number (from 0) of the line that shows `node`."""
        if self._where is None:
            numbers: dict[int, int] = {}
            for number, line in enumerate(self.lines):
                if line.node is not None:
                    numbers.setdefault(id(line.node), number)
            self._where = numbers
        return self._where.get(id(node))
