"""Reads conditions over shape variables, such as `n == 7, m <= 2 * n`. Nothing in them is executed."""

from __future__ import annotations

from collections.abc import Mapping

from relax_explorer.core.codes import relations as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.source import Source
from relax_explorer.core.syntax.notes import NoteReader

_COMPARISONS: dict[str, type[p.Comparison]] = {
    "==": p.EQ, "=": p.EQ, "!=": p.NE, "<": p.LT, "<=": p.LE, ">": p.GT, ">=": p.GE,
}  # fmt: skip


def read_conditions(text: str, names: Mapping[str, p.PrimVar]) -> list[p.PrimExpr]:
    """The conditions of a text, between commas. Raises Failure with the place of a mistake or of an unknown name."""
    return _Reader(text, names).whole()


class _Reader(NoteReader):
    def __init__(self, text: str, names: Mapping[str, p.PrimVar]) -> None:
        self.names = names
        super().__init__(Source(text, "<condition>"))

    def whole(self) -> list[p.PrimExpr]:
        """`a == b, c < d`, up to the end of the text."""
        found = [self.condition()]
        while self.takes(","):
            found.append(self.condition())
        self.ended()
        return found

    def condition(self) -> p.PrimExpr:
        """Two lengths and a comparison."""
        left = self.arithmetic()
        if not self.sees(*_COMPARISONS):
            self.fail(f"a comparison is expected here, not {self.shown()}: {' '.join(_COMPARISONS)}")
        compare = _COMPARISONS[self.advance()]
        return compare(left, self.arithmetic())

    def variable(self) -> p.PrimExpr:
        """A shape variable."""
        start, name = self.start, self.word("a shape variable or a number")
        if name not in self.names:
            known = ", ".join(self.names) or "none"
            hint = f"The shape variables here are {known}."
            self.fail(f"there is no shape variable {name}", self.span(start), codes.UNBOUND, hint)
        return self.names[name]
