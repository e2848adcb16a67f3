"""Intervals of integer expressions in the arithmetic of their dtype, which wraps around.

All bounds are numbers. For symbolic lengths, pass values (`Intervals(points)`), once for each assignment of interest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relax_explorer.core.arith.bounds import truncated
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.node import operands_first
from relax_explorer.core.tir.prim_expr import Let

Interval = tuple[int, int]


def limits(dtype: DType) -> Interval:
    """The range of an integer dtype in computations. Dtypes below 8 bits are computed with 8 bits; a bool is 0 or 1."""
    if dtype.is_bool:
        return 0, 1
    bits = max(dtype.bits, 8)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if dtype.kind == "int" else (0, (1 << bits) - 1)


def within(interval: Interval, bounds: Interval) -> bool:
    """Whether an interval lies inside another one."""
    return bounds[0] <= interval[0] and interval[1] <= bounds[1]


def wrapped(interval: Interval, dtype: DType) -> Interval:
    """The interval after conversion to a dtype, which wraps around."""
    low, high = limits(dtype)
    size = high - low + 1
    turn = (interval[0] - low) // size
    if turn != (interval[1] - low) // size:
        return low, high
    return interval[0] - turn * size, interval[1] - turn * size


class Intervals:
    """The intervals of the variables in scope and of expressions over them. An unknown variable may be anything."""

    def __init__(self, points: Mapping[p.PrimVar, int] | None = None) -> None:
        self.domains: dict[p.PrimVar, Interval] = {
            var: wrapped((value, value), var.dtype) for var, value in (points or {}).items()
        }
        self.is_dead = False  # True in a loop that is never entered; any bounds hold there
        self._known: dict[p.PrimExpr, Interval | None] = {}

    def bind(self, var: p.PrimVar, interval: Interval | None) -> None:
        """Set the interval of a variable; None means anything."""
        if interval is None:
            self.domains.pop(var, None)
        else:
            self.domains[var] = interval
        self._known.clear()

    def of(self, expr: p.PrimExpr) -> Interval | None:
        """The interval of an expression; None if it is neither an integer nor a bool."""
        if not _is_whole(expr):
            return None
        if isinstance(expr, p.IntImm):
            return expr.value, expr.value
        if type(expr) is p.PrimVar:
            return self.domains.get(expr) or limits(expr.dtype)
        for part in operands_first(expr, self._operands, self._known):
            raw = self.raw(part)
            self._known[part] = limits(part.dtype) if raw is None else wrapped(raw, part.dtype)
        return self._known[expr]

    def _operands(self, expr: p.PrimExpr) -> tuple[p.PrimExpr, ...]:
        """The operands whose intervals must be computed first."""
        return tuple([part for part in expr.children() if part.children() and _is_whole(part)])

    def raw(self, expr: p.PrimExpr) -> Interval | None:
        """The interval of the outermost operation before wrap-around; None if unknown."""
        rule = _CALLS.get(expr.op) if isinstance(expr, p.PrimCall) else _RULES.get(type(expr))
        if isinstance(expr, Let):
            return self.of(p.substitute(expr.body, {expr.var: expr.value}))
        if rule is None:
            return None
        parts = [self.of(child) for child in expr.children()]
        known_parts = [part for part in parts if part is not None]
        if type(expr) is p.Cast and expr.dtype.is_bool and known_parts:
            return _truth(known_parts[0])
        return rule(*known_parts) if len(known_parts) == len(parts) else None

    def keeps(self, expr: p.PrimExpr) -> bool:
        """True if the outermost operation never wraps around."""
        raw = self.raw(expr)
        return raw is not None and within(raw, limits(expr.dtype))

    def lies(self, expr: p.PrimExpr, bounds: Interval) -> bool:
        """True if an expression always lies inside `bounds`."""
        interval = self.of(expr)
        return self.is_dead or (interval is not None and within(interval, bounds))


def _is_whole(expr: p.PrimExpr) -> bool:
    return (expr.dtype.is_int or expr.dtype.is_bool) and expr.dtype.lanes == 1


def _truth(a: Interval) -> Interval:
    """The interval of `a != 0`, which is the meaning of a cast to bool."""
    return int(not a[0] <= 0 <= a[1]), int(a != (0, 0))


def _hull(*values: int) -> Interval:
    return min(values), max(values)


def _mul(a: Interval, b: Interval) -> Interval:
    return _hull(*[x * y for x in a for y in b])


def _divisors(b: Interval) -> list[Interval]:
    """The negative and the positive part of a divisor. 0 is left out, because it stops the program."""
    below, above = (b[0], min(b[1], -1)), (max(b[0], 1), b[1])
    return [part for part in (below, above) if part[0] <= part[1]]


def _floor_div(a: Interval, b: Interval) -> Interval | None:
    quotients = [x // y for part in _divisors(b) for x in a for y in part]
    return _hull(*quotients) if quotients else None


def _trunc_div(a: Interval, b: Interval) -> Interval | None:
    quotients = [truncated(x, y) for part in _divisors(b) for x in a for y in part]
    if quotients and a[0] < 0 < a[1]:
        quotients.append(0)
    return _hull(*quotients) if quotients else None


def _floor_mod(a: Interval, b: Interval) -> Interval | None:
    if b[0] == b[1] != 0 and a[0] // b[0] == a[1] // b[0]:
        return _hull(a[0] % b[0], a[1] % b[0])
    remainders = [0]
    for part in _divisors(b):
        remainders.append(part[1] - 1 if part[0] > 0 else part[0] + 1)
    if b[0] >= 0 and a[0] >= 0:
        remainders[-1] = min(remainders[-1], a[1])
    return _hull(*remainders)


def _trunc_mod(a: Interval, b: Interval) -> Interval | None:
    most = max(abs(b[0]), abs(b[1]), 1) - 1
    return max(-most, min(a[0], 0)), min(most, max(a[1], 0))


def _and(a: Interval, b: Interval) -> Interval | None:
    tops = [high for low, high in (a, b) if low >= 0]
    return (0, min(tops)) if tops else None


def _or(a: Interval, b: Interval) -> Interval | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return max(a[0], b[0]), (1 << max(a[1].bit_length(), b[1].bit_length())) - 1


def _shift_left(a: Interval, n: Interval) -> Interval | None:
    return _mul(a, (1 << n[0], 1 << n[1])) if n[0] >= 0 and n[1] < 64 else None


def _shift_right(a: Interval, n: Interval) -> Interval | None:
    return _hull(*[x >> y for x in a for y in n]) if n[0] >= 0 and n[1] < 64 else None


def _certain(is_true: bool, is_false: bool) -> Interval:
    return int(is_true), int(not is_false)


def _same(a: Interval, b: Interval) -> Interval:
    return _certain(a[0] == a[1] == b[0] == b[1], a[1] < b[0] or b[1] < a[0])


def _less(a: Interval, b: Interval) -> Interval:
    return _certain(a[1] < b[0], a[0] >= b[1])


def _at_most(a: Interval, b: Interval) -> Interval:
    return _certain(a[1] <= b[0], a[0] > b[1])


def _not(a: Interval) -> Interval:
    return 1 - a[1], 1 - a[0]


def _union(condition: Interval, a: Interval, b: Interval) -> Interval:
    return _hull(*(a if condition == (1, 1) else b if condition == (0, 0) else (*a, *b)))


_RULES: dict[type, Callable[..., Interval | None]] = {
    p.Add: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    p.Sub: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    p.Mul: _mul,
    p.FloorDiv: _floor_div,
    p.FloorMod: _floor_mod,
    p.Div: _trunc_div,
    p.Mod: _trunc_mod,
    p.Min: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    p.Max: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    p.Cast: lambda a: a,  # `of` converts it to the dtype
    p.Select: _union,
    p.EQ: _same,
    p.NE: lambda a, b: _not(_same(a, b)),
    p.LT: _less,
    p.LE: _at_most,
    p.GT: lambda a, b: _less(b, a),
    p.GE: lambda a, b: _at_most(b, a),
    p.And: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    p.Or: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    p.Not: _not,
}
_CALLS: dict[str, Callable[..., Interval | None]] = {
    "if_then_else": _union,
    "likely": lambda a: a,
    "bitwise_and": _and,
    "bitwise_or": _or,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
}
