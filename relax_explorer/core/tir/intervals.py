"""Between which bounds an index lies, as expressions over shape variables; None where that is not found."""

from __future__ import annotations

from collections.abc import Callable

from relax_explorer.core.arith.prove import Answer, at_least
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64

Interval = tuple[p.PrimExpr, p.PrimExpr]
Domains = dict[p.PrimVar, Interval]


def interval(expr: p.PrimExpr, domains: Domains) -> Interval | None:
    """Lower and upper bound of an integer expression; variables outside `domains` stand for themselves."""
    if isinstance(expr, p.IntImm):
        same = p.IntImm(expr.value, INT64)
        return same, same
    if isinstance(expr, p.PrimVar):
        return domains.get(expr, (expr, expr)) if expr.dtype is INT64 or expr in domains else None
    rule = _RULES.get(type(expr))
    parts = [interval(child, domains) for child in expr.children()]
    if rule is None or any(part is None for part in parts):
        return None
    return rule(*parts)


def _add(a: Interval, b: Interval) -> Interval:
    return p.Add(a[0], b[0]), p.Add(a[1], b[1])


def _sub(a: Interval, b: Interval) -> Interval:
    return p.Sub(a[0], b[1]), p.Sub(a[1], b[0])


def _mul(a: Interval, b: Interval) -> Interval | None:
    if at_least(a[0], 0) is Answer.YES and at_least(b[0], 0) is Answer.YES:
        return p.Mul(a[0], b[0]), p.Mul(a[1], b[1])
    return None


def _floor_div(a: Interval, b: Interval) -> Interval | None:
    if b[0] is b[1] and at_least(b[0], 1) is Answer.YES:
        return p.FloorDiv(a[0], b[0]), p.FloorDiv(a[1], b[0])
    return None


def _floor_mod(a: Interval, b: Interval) -> Interval | None:
    if b[0] is not b[1] or at_least(b[0], 0) is not Answer.YES:
        return None
    return p.IntImm(0), p.Sub(b[0], p.IntImm(1))


_RULES: dict[type, Callable[..., Interval | None]] = {
    p.Add: _add,
    p.Sub: _sub,
    p.Mul: _mul,
    p.FloorDiv: _floor_div,
    p.FloorMod: _floor_mod,
    p.Cast: lambda a: a,
}


def inside(index: p.PrimExpr, length: p.PrimExpr, domains: Domains) -> bool:
    """Whether `0 <= index < length` is proven."""
    found = interval(index, domains)
    if found is None:
        return False
    low, high = found
    room = simplify(p.Sub(p.Sub(length, p.IntImm(1, length.dtype)), high)) if length.dtype is INT64 else None
    if room is None:
        room = simplify(p.Sub(p.Sub(p.Cast(INT64, length), p.IntImm(1)), high))
    return at_least(simplify(low), 0) is Answer.YES and at_least(room, 0) is Answer.YES
