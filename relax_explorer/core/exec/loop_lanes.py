"""Reductions in lanes: term k of a sum or a product goes to lane k % LANES, so that the lanes become vectors.

In the end the upper half of the lanes is added to the lower one until one lane is left, and that to the element of the result. Results
of floats are rounded in this order, on each machine and by each compiler. A maximum of numbers does not depend on the order, but one of
NaNs does: where a term is one, the row is computed again in the order of the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from relax_explorer.core.exec import loop_ir as ir
from relax_explorer.core.exec.loop_ir import Const, Expr, Op, Var

STARTS = {"+": Const(0.0), "*": Const(1.0)}  # of sums and products
LANES = 32  # four vectors of eight: as many as a processor adds at a time


@dataclass(frozen=True, slots=True)
class Update:
    """A store `place = place + term`, or the product, the larger or the smaller of both."""

    place: ir.Element
    term: Expr
    symbol: str

    def joined(self, place: Expr, value: Expr) -> Expr:
        """A partial result with one more value."""
        parts = (place, value)
        return Op(self.symbol, parts) if self.symbol in STARTS else ir.Apply(self.symbol, parts)


@dataclass(frozen=True, slots=True)
class Fold(Update):
    """A reduction. `name` begins the names of its arrays and numbers."""

    name: str
    base: str
    axes: tuple[ir.Stmt, ...]
    end: Expr
    polls: bool  # the loop over the terms may be long

    @property
    def lane(self) -> Expr:
        """The number of a lane."""
        return Var(lane_of(self.name))

    def each(self, count: Expr, *body: ir.Stmt) -> ir.For:
        """A loop over so many lanes."""
        return ir.For(lane_of(self.name), Const(0), count, body)

    def at(self, index: Expr, kind: str = "s") -> ir.Element:
        """A partial result, or the mark of a lane that met a NaN."""
        return ir.Element(self.name + kind, self.place.element, (index,))

    def marked(self, mark: Expr, value: Expr) -> Expr:
        """A mark that is no longer 0 if a value is NaN. It is added, so that a processor needs no choice between two loads."""
        none, one = [ir.Convert(self.place.element, Const(number)) for number in (0.0, 1.0)]
        return Op("+", (mark, ir.Choice(Op("!=", (value, value)), one, none)))

    def started(self) -> Iterator[ir.Stmt]:
        """Memory for the lanes. Sums start with 0, products with 1, a maximum with what the result starts with."""
        kinds = {"s": STARTS.get(self.symbol, self.place), "m": Const(0.0)}
        for kind in self.kinds():
            yield ir.Allocate(self.name + kind, self.place.element, (Const(LANES),), None)
        fill = [ir.Store(self.at(self.lane, kind), kinds[kind]) for kind in self.kinds()]
        yield self.each(Const(LANES), *fill)

    def kinds(self) -> str:
        """The arrays over lanes: sums, and the marks of a maximum."""
        return "s" if self.symbol in STARTS else "sm"

    def terms(self) -> Iterator[ir.Stmt]:
        """The loops over the terms: two rows of lanes at a time, so that a lane is loaded and stored half as often, and the rest."""
        size, pair = Const(LANES), Const(2 * LANES)
        whole = Op("-", (self.end, ir.Apply("floor_mod", (self.end, pair))))
        rows = (ir.Poll(),) if self.polls else ()
        yield ir.For(self.base, Const(0), whole, (*rows, self.each(size, *self._row(0, LANES))), pair)
        left = ir.Apply("smaller", (size, Op("-", (self.end, Var(self.base)))))
        yield ir.For(self.base, whole, self.end, (self.each(left, *self._row(0)),), size)

    def _row(self, *distances: int) -> Iterator[ir.Stmt]:
        """The body of a loop over lanes, for the terms at these distances."""
        first, *others = self.axes
        assert isinstance(first, ir.Assign)  # the place of the term, of its lane
        totals: list[ir.Expr] = [self.at(self.lane, kind) for kind in self.kinds()]
        for number, distance in enumerate(distances):
            yield replace(first, value=Op("+", (first.value, Const(distance)))) if distance else first
            yield from others
            totals[0] = self.joined(totals[0], self.term)
            if len(totals) > 1:
                totals[1] = self.marked(totals[1], self.term)
            for kind, total in zip(self.kinds(), totals, strict=True):
                if number == len(distances) - 1:
                    yield ir.Store(self.at(self.lane, kind), total)
                else:
                    yield ir.Assign(self.name + kind + "t", total)
            totals = [Var(self.name + kind + "t") for kind in self.kinds()]

    def finished(self) -> Iterator[ir.Stmt]:
        """The lanes as one, joined with the element of the result."""
        half = LANES // 2
        while half:
            other = Op("+", (self.lane, Const(half)))
            totals = [self.joined(self.at(self.lane), self.at(other))]
            totals += [ir.Apply("larger", (self.at(self.lane, "m"), self.at(other, "m")))]
            yield self.each(
                Const(half),
                *[
                    ir.Store(self.at(self.lane, kind), total)
                    for kind, total in zip(self.kinds(), totals, strict=False)
                ],
            )
            half //= 2
        total = ir.Store(self.place, self.joined(self.place, self.at(Const(0))))
        if self.symbol in STARTS:
            yield total
            return
        again = ir.Store(self.place, self.joined(self.place, self.term))
        polls = (ir.Poll(),) if self.polls else ()
        in_order = ir.For(self.base, Const(0), self.end, (*polls, self.each(Const(1), *self.axes, again)))
        yield ir.If(Op("==", (self.at(Const(0), "m"), Const(0.0))), (total,), (in_order,))


def lane_of(name: str) -> str:
    """The number of a lane of a reduction of this name."""
    return name + "l"


def fold_of(
    store: ir.Stmt, name: str, base: str, axes: tuple[ir.Stmt, ...], end: Expr, polls: bool
) -> Fold | None:
    """The reduction that a store makes. None for another one, and where the kernel may stop."""
    update = update_of(store)
    if update is None:
        return None
    return Fold(update.place, update.term, update.symbol, name, base, axes, end, polls)


def update_of(store: ir.Stmt) -> Update | None:
    """The step of a reduction that a store makes. None for another one, and where the kernel may stop."""
    if type(store) is not ir.Store or any(type(part) is ir.Check for part in ir.parts(store)):
        return None
    value, place = store.value, store.place
    if not isinstance(value, Op | ir.Apply):
        return None
    symbol = value.symbol if isinstance(value, Op) else value.name
    if symbol not in (*STARTS, "larger", "smaller"):
        return None
    first, term = value.args
    if first != place or place in ir.parts(term):
        return None
    return Update(place, term, symbol)
