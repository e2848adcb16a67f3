"""Reads conditions over shape variables, such as `n == 7, m <= 2 * n`. Nothing in them is executed."""

from __future__ import annotations

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import relations as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.length_names import LengthNames, Unknown
from relax_explorer.core.source import Source, Span
from relax_explorer.core.syntax.notes import NoteReader

_COMPARISONS: dict[str, type[p.Comparison]] = {
    "==": p.EQ, "=": p.EQ, "!=": p.NE, "<": p.LT, "<=": p.LE, ">": p.GT, ">=": p.GE,
}  # fmt: skip
_CHOICES: dict[str, type[p.Min | p.Max]] = {"min": p.Min, "max": p.Max}


def read_conditions(text: str, names: LengthNames) -> dict[str, list[p.PrimExpr]]:
    """The conditions of a text, between commas, by the function of the module that each is about.

    A bare name is a shape variable of the chosen function; `layer.n` is one of another function, `main.inner.n` of a nested one. Raises
    Failure with the place of a mistake, of a name that is unknown or stands for several variables, of a condition on two
    functions, or of one that never holds with those before it.
    """
    reader, known = _Reader(text, names), Assumptions()
    found: dict[str, list[p.PrimExpr]] = {}
    for owner, condition, place in reader.whole():
        if known.prove(condition) is Answer.NO:
            because = " and ".join([str(fact) for fact in known.reasons(condition)])
            reason = f"it contradicts {because}" if because else "shape variables are lengths, at least 0"
            reader.fail(f"{condition} never holds: {reason}", place)
        known = known.plus(condition)
        found.setdefault(owner, []).append(condition)
    return found


class _Reader(NoteReader):
    form = "Write conditions such as n == 7, m <= 2 * n."

    def __init__(self, text: str, names: LengthNames) -> None:
        self.names = names
        self.owners: dict[
            str, str
        ] = {}  # the functions of the condition that is read, each with a name of its own
        super().__init__(Source(text, "<condition>"))

    def whole(self) -> list[tuple[str, p.PrimExpr, Span]]:
        """`a == b, c < d`, up to the end of the text, each with its function and its place."""
        found: list[tuple[str, p.PrimExpr, Span]] = []
        while not found or self.takes(","):
            self.owners = {}
            start, condition = self.start, self.condition()
            place = self.span(start)
            if len(self.owners) > 1:
                names = " and ".join(self.owners.values())
                hint = "Give each function conditions of its own, such as main.n == 7, layer.n == 7."
                self.fail(f"{names} are lengths of different functions", place, help=hint)
            found.append((next(iter(self.owners), self.names.chosen), condition, place))
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
        """A shape variable, or `T.min(n, 4)`."""
        start, path = self.start, [self.word("a shape variable or a number")]
        while self.takes("."):
            if path == ["T"] and self.sees(*_CHOICES):
                choice = _CHOICES[self.advance()]
                self.deeper()
                self.expect("(")
                left = self.arithmetic()
                self.expect(",")
                right = self.arithmetic()
                self.expect(")")
                self.depth -= 1
                return choice(left, right)
            path.append(self.word("a nested function or a shape variable"))
        found = self.names.find(path)
        if isinstance(found, Unknown):
            self.fail(found.text, self.span(start), codes.UNBOUND, found.hint)
        place, var = found
        self.owners.setdefault(place[0], f"{'.'.join(place)}.{path[-1]}")
        return var
