"""Proves that the iterations of a loop can run at the same time: none reads or writes what another one writes.

All lengths are numbers. The place of an access is `stride * i + rest` for the loop variable `i`. Iterations stay apart if all
accesses of a buffer have one stride, and their rests lie in an interval shorter than it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.intervals import Interval, Intervals
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import children, expressions, is_impure, subexpressions

_CALL = 16  # an exponential takes as long as so many additions


@dataclass(frozen=True, slots=True)
class Place:
    """An index: the sum of `strides[d] * (i // d)` for the loop variable `i`, and of a rest between `low` and `high`."""

    strides: Mapping[int, int]
    low: int
    high: int

    def plus(self, other: Place, times: int = 1) -> Place:
        """The sum with a multiple of another place."""
        strides = dict(self.strides)
        for divisor, stride in other.strides.items():
            strides[divisor] = strides.get(divisor, 0) + times * stride
        ends = (times * other.low, times * other.high)
        kept = {divisor: stride for divisor, stride in strides.items() if stride}
        return Place(kept, self.low + min(ends), self.high + max(ends))

    def over(self, divisor: int) -> Place | None:
        """The floored quotient. None if it has another form."""
        whole = {d: s // divisor for d, s in self.strides.items() if s % divisor == 0}
        left = {d: s for d, s in self.strides.items() if s % divisor}
        if not left:
            return Place(whole, self.low // divisor, self.high // divisor)
        ((inner, stride), *more) = left.items()
        if more or stride != 1 or self.low or self.high:
            return None
        return Place({inner * divisor: 1}, 0, 0).plus(Place(whole, 0, 0))


@dataclass(frozen=True, slots=True)
class Index:
    """An index of an access: its place, and its interval over all iterations."""

    place: Place
    interval: Interval


class _Unproved(Exception):
    """Something in the loop is unknown."""


@dataclass(frozen=True, slots=True)
class Iterations:
    """The values of a loop variable, from `start` to before `end`, and the operations of all iterations together."""

    start: int
    end: int
    operations: int


def independent_iterations(loop: t.For, points: Mapping[p.PrimVar, int]) -> Iterations | None:
    """The iterations of a loop that can run at the same time for these lengths. None if that is not proved."""
    known = Intervals(points)
    start, extent = known.of(loop.start), known.of(loop.extent)
    if start is None or extent is None or loop.step is not None:
        return None
    (low, high), (count, most) = start, extent
    if low != high or count != most or count <= 0:
        return None
    accesses = _Accesses(known)
    accesses.bind(loop.var, (low, low + count - 1), Place({1: 1}, 0, 0))
    try:
        accesses.visit(loop.body, count)
    except _Unproved:
        return None
    is_proved = all(map(accesses.are_apart, accesses.stored))
    return Iterations(low, low + count, accesses.operations) if is_proved else None


class _Accesses:
    """Collects the accesses of one iteration. `private` buffers are allocated inside."""

    def __init__(self, known: Intervals) -> None:
        self.known = known
        self.places: dict[p.PrimExpr, Place] = {}  # of the variables that depend on the loop
        self.found: dict[Buffer, list[list[Index]]] = {}
        self.stored: set[Buffer] = set()
        self.private: set[Buffer] = set()
        self.operations = 0

    def bind(self, var: p.PrimVar, interval: Interval, place: Place) -> None:
        """Bind a variable to its interval and its place."""
        self.known.bind(var, interval)
        self.places[var] = place

    # -- statements -----------------------------------------------------------------------------------------------

    def visit(self, node: t.Stmt, times: int) -> None:
        """Visit a statement that runs so many times. Raises _Unproved for one with unknown effects."""
        rule = _STATEMENTS.get(type(node))
        if rule is None:
            raise _Unproved
        for expr in subexpressions(*expressions(node)):
            if isinstance(expr, BufferPtr) or (isinstance(expr, p.PrimCall) and is_impure(expr)):
                raise _Unproved
            if isinstance(expr, BufferLoad):
                self._access(expr.buffer, expr.indices)
        rule(self, node, times)

    def _inner(self, node: t.Stmt, times: int) -> None:
        for inner in children(node):
            self.visit(inner, times)

    def _for(self, node: t.For, times: int) -> None:
        (low, high), (_, extent) = self.interval(node.start), self.interval(node.extent)
        most = max(extent - 1, 0)
        self.bind(node.var, (low, high + most), self.place(node.start).plus(Place({}, 0, most)))
        self.visit(node.body, times * max(extent, 0))

    def _block(self, node: t.SBlock, times: int) -> None:
        if node.match_buffers:
            raise _Unproved
        self.private.update(node.alloc_buffers)
        for axis, value in zip(node.iter_vars, node.iter_values, strict=True):
            self._let(axis.var, value)
        self._inner(node, times)

    def _let(self, var: p.PrimVar, value: p.PrimExpr) -> None:
        if var.dtype.is_int:
            value = p.Cast(var.dtype, value)
            self.bind(var, self.interval(value), self.place(value))

    def _alloc(self, node: t.AllocBuffer, times: int) -> None:
        if node.buffer.data is not None:
            raise _Unproved
        self.private.add(node.buffer)

    def _store(self, node: t.BufferStore, times: int) -> None:
        parts = subexpressions(*expressions(node))
        self.operations += times * sum([_CALL if isinstance(part, p.PrimCall) else 1 for part in parts])
        self.stored.add(node.buffer)
        self._access(node.buffer, node.indices)

    def _access(self, buffer: Buffer, indices: Sequence[p.PrimExpr]) -> None:
        if buffer.strides is not None:
            raise _Unproved
        values = [Index(self.place(index), self.interval(index)) for index in indices]
        self.found.setdefault(buffer, []).append(values)

    # -- places ---------------------------------------------------------------------------------------------------

    def place(self, expr: p.PrimExpr) -> Place:
        """The place that an index names. Raises _Unproved for a vector."""
        if expr in self.places:
            return self.places[expr]
        rule = _PLACES.get(type(expr))
        exact = rule(self, expr) if rule is not None and self.known.keeps(expr) else None
        return exact or Place({}, *self.interval(expr))

    def interval(self, expr: p.PrimExpr) -> Interval:
        """The interval of an index. Raises _Unproved for a vector."""
        interval = self.known.of(expr)
        if interval is None:
            raise _Unproved
        return interval

    def _divisor(self, expr: p.PrimExpr) -> int:
        """The value of a positive divisor; 0 if it is another one, or unknown."""
        low, high = self.interval(expr)
        return low if low == high and low > 0 else 0

    def _sum(self, expr: p.Add | p.Sub) -> Place:
        return self.place(expr.a).plus(self.place(expr.b), 1 if type(expr) is p.Add else -1)

    def _product(self, expr: p.Mul) -> Place | None:
        for one, other in ((expr.a, expr.b), (expr.b, expr.a)):
            low, high = self.interval(other)
            if low == high:
                return Place({}, 0, 0).plus(self.place(one), low)
        return None

    def _quotient(self, expr: p.FloorDiv | p.FloorMod) -> Place | None:
        """The floored quotient of the operands."""
        (least, most), divisor = self.interval(expr.a), self._divisor(expr.b)
        if not divisor:
            return None
        low, high = least // divisor, most // divisor
        return Place({}, low, low) if low == high else self.place(expr.a).over(divisor)

    def _rest(self, expr: p.FloorMod) -> Place | None:
        quotient = self._quotient(expr)
        if quotient is None or quotient.low != quotient.high:
            return None
        return self.place(expr.a).plus(quotient, -self._divisor(expr.b))

    def _cast(self, expr: p.Cast) -> Place:
        return self.place(expr.value)

    # -- the proof ------------------------------------------------------------------------------------------------

    def are_apart(self, buffer: Buffer) -> bool:
        """True if different iterations access different elements of a buffer: some neighbouring axes tell them apart."""
        if buffer in self.private:
            return True
        rank = len(buffer.shape)
        return any(
            self._tell_apart(buffer, first, last)
            for first in range(rank)
            for last in range(first + 1, rank + 1)
        )

    def _tell_apart(self, buffer: Buffer, first: int, last: int) -> bool:
        """True if these axes tell iterations apart. A weighted sum of the indices does it, with any weights."""
        rows = [access[first:last] for access in self.found[buffer]]
        dims = [self.known.of(dim) for dim in buffer.shape[first:last]]
        lengths = [0 if dim is None else dim[1] for dim in dims]
        intervals = [[index.interval for index in axis] for axis in zip(*rows, strict=True)]
        widths = [max(high for _, high in axis) - min(low for low, _ in axis) + 1 for axis in intervals]
        return _keep_apart(rows, lengths) or _keep_apart(rows, widths)


def _keep_apart(rows: Sequence[Sequence[Index]], lengths: Sequence[int]) -> bool:
    """True if the places differ for different iterations, where an axis has so many elements."""
    places = []
    for row in rows:
        total = Place({}, 0, 0)
        for index, length in zip(row, lengths, strict=True):
            total = Place({}, 0, 0).plus(total, length).plus(index.place)
        places.append(total)
    strides = places[0].strides
    if list(strides) != [1] or any(place.strides != strides for place in places):
        return False
    rest = max([place.high for place in places]) - min([place.low for place in places])
    return rest < abs(strides[1])


_STATEMENTS: dict[type, Callable[[_Accesses, Any, int], None]] = {
    t.SeqStmt: _Accesses._inner,
    t.For: _Accesses._for,
    t.SBlock: _Accesses._block,
    t.AllocBuffer: _Accesses._alloc,
    t.BufferStore: _Accesses._store,
    t.LetStmt: lambda self, node, times: self._let(node.var, node.value),
    t.IfThenElse: _Accesses._inner,
    t.While: _Accesses._inner,
    t.AttrStmt: _Accesses._inner,
    t.AssertStmt: _Accesses._inner,
}
_PLACES: dict[type, Callable[[_Accesses, Any], Place | None]] = {
    p.Add: _Accesses._sum,
    p.Sub: _Accesses._sum,
    p.Mul: _Accesses._product,
    p.FloorDiv: _Accesses._quotient,
    p.FloorMod: _Accesses._rest,
    p.Cast: _Accesses._cast,
}
