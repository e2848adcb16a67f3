"""Reads conditions over shape variables, such as `n == 7, m <= 2 * n`. Nothing in them is executed."""

from __future__ import annotations

from collections.abc import Mapping

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.source import Source, Span
from relax_explorer.core.syntax.notes import NoteReader

_COMPARISONS: dict[str, type[p.Comparison]] = {
    "==": p.EQ, "=": p.EQ, "!=": p.NE, "<": p.LT, "<=": p.LE, ">": p.GT, ">=": p.GE,
}  # fmt: skip


def read_conditions(text: str, names: Mapping[str, p.PrimVar]) -> list[p.PrimExpr]:
    """The conditions of a text, between commas.

    Raises Failure with the place of a mistake, of an unknown name, or of a condition that never holds with those before it.
    """
    reader, known = _Reader(text, names), Assumptions()
    conditions = reader.whole()
    for condition, place in conditions:
        if known.prove(condition) is Answer.NO:
            because = " and ".join([str(fact) for fact in known.reasons(condition)])
            reason = f"it contradicts {because}" if because else "shape variables are lengths, at least 0"
            reader.fail(f"{condition} never holds: {reason}", place)
        known = known.plus(condition)
    return [condition for condition, _ in conditions]


class _Reader(NoteReader):
    form = "Write conditions such as n == 7, m <= 2 * n."

    def __init__(self, text: str, names: Mapping[str, p.PrimVar]) -> None:
        self.names = names
        super().__init__(Source(text, "<condition>"))

    def whole(self) -> list[tuple[p.PrimExpr, Span]]:
        """`a == b, c < d`, up to the end of the text, each with its place."""
        found: list[tuple[p.PrimExpr, Span]] = []
        while not found or self.takes(","):
            start, condition = self.start, self.condition()
            found.append((condition, self.span(start)))
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
