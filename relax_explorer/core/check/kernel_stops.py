"""Prove that a call of a PrimFunc does not stop the run: no index outside its buffer, no integer division by 0, no endless loop.

The proof holds for all lengths, with bounds over shape variables. (A length that overflows int64 stops the run before the
kernel starts.) Without a proof the kernel may stop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.arith.prove import Answer, at_least
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.traverse import expressions, subexpressions

Interval = tuple[p.PrimExpr, p.PrimExpr]
Domains = dict[p.PrimVar, Interval]
_DIVISIONS = (p.Div, p.Mod, p.FloorDiv, p.FloorMod)
_RETURNING = frozenset(
    {
        "if_then_else", "likely", "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "tanh", "sigmoid", "erf",
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "fabs", "abs", "floor", "ceil",
        "round", "trunc", "nearbyint", "pow", "isnan", "isinf", "isfinite", "copysign", "hypot", "atan2",
    }
)  # fmt: skip
_MAY_STOP: PerNode[bool] = PerNode()


def kernel_may_stop(fn: t.PrimFunc) -> bool:
    """True if a call with fitting arguments may stop the run."""
    return _MAY_STOP.of(fn, lambda fn: not _returns(fn.body, {}))


def _returns(node: t.Stmt, domains: Domains) -> bool:
    """True if a statement always ends without an error. Loop variables and axes lie in their `domains`."""
    rule = _STATEMENTS.get(type(node))
    return rule is not None and _computes(expressions(node), domains) and rule(node, domains)


def _for(node: t.For, domains: Domains) -> bool:
    first = interval(node.start, domains)
    extent = interval(node.extent, domains)
    if node.step is not None or first is None or extent is None:
        return False
    domains[node.var] = first[0], p.Sub(p.Add(first[1], extent[1]), p.IntImm(1))
    return _returns(node.body, domains)


def _block(node: t.SBlock, domains: Domains) -> bool:
    if node.match_buffers:
        return False
    for axis, value in zip(node.iter_vars, node.iter_values, strict=True):
        bounds = interval(value, domains)
        if bounds is None:
            return False
        domains[axis.var] = bounds
    return (node.init is None or _returns(node.init, domains)) and _returns(node.body, domains)


def _choice(node: t.IfThenElse, domains: Domains) -> bool:
    other = node.else_case
    return _returns(node.then_case, domains) and (other is None or _returns(other, domains))


def _store(node: t.BufferStore, domains: Domains) -> bool:
    return _all_inside(node.indices, node.buffer.shape, domains)


_STATEMENTS: dict[type, Callable[[Any, Domains], bool]] = {
    t.SeqStmt: lambda x, d: all(_returns(item, d) for item in x.stmts),
    t.For: _for,
    t.SBlock: _block,
    t.IfThenElse: _choice,
    t.BufferStore: _store,
    t.AllocBuffer: lambda x, d: x.buffer.data is None,
}


def _computes(exprs: list[p.PrimExpr], domains: Domains) -> bool:
    """True if expressions have a value for any loaded elements."""
    for expr in subexpressions(*exprs):
        if isinstance(expr, BufferLoad):
            if not _all_inside(expr.indices, expr.buffer.shape, domains):
                return False
        elif isinstance(expr, p.PrimCall):
            if expr.op not in _RETURNING:
                return False
        elif isinstance(expr, _DIVISIONS) and not expr.dtype.is_float:
            divisor = interval(expr.b, domains)
            if divisor is None or at_least(simplify(divisor[0]), 1) is not Answer.YES:
                return False
        elif type(expr) not in _TOTAL and not isinstance(expr, _DIVISIONS):
            return False
    return True


_TOTAL = frozenset(
    {
        p.IntImm, p.FloatImm, p.PrimVar, p.Add, p.Sub, p.Mul, p.Min, p.Max, p.EQ, p.NE, p.LT, p.LE, p.GT, p.GE, p.And, p.Or,
        p.Not, p.Select, p.Cast,
    }
)  # fmt: skip


def _all_inside(indices: tuple[p.PrimExpr, ...], shape: tuple[p.PrimExpr, ...], domains: Domains) -> bool:
    return len(indices) == len(shape) and all(
        _inside(index, length, domains) for index, length in zip(indices, shape, strict=True)
    )


def _inside(index: p.PrimExpr, length: p.PrimExpr, domains: Domains) -> bool:
    """True if `0 <= index < length` for all lengths."""
    bounds = interval(index, domains)
    if bounds is None:
        return False
    room = simplify(p.Sub(p.Sub(p.as_dim(length), p.IntImm(1)), bounds[1]))
    return at_least(simplify(bounds[0]), 0) is Answer.YES and at_least(room, 0) is Answer.YES


def interval(expr: p.PrimExpr, domains: Domains) -> Interval | None:
    """The bounds of an integer expression over shape variables; None if they are unknown or the value may wrap."""
    if isinstance(expr, p.IntImm):
        same = p.IntImm(expr.value, INT64)
        return same, same
    if isinstance(expr, p.PrimVar):
        return domains.get(expr, (expr, expr)) if expr.dtype is INT64 or expr in domains else None
    rule = _RULES.get(type(expr))
    if rule is None or expr.dtype is not INT64:  # narrower integers wrap
        return None
    parts = [interval(child, domains) for child in expr.children()]
    return None if any(part is None for part in parts) else rule(*parts)


def _mul(a: Interval, b: Interval) -> Interval | None:
    if at_least(a[0], 0) is Answer.YES and at_least(b[0], 0) is Answer.YES:
        return p.Mul(a[0], b[0]), p.Mul(a[1], b[1])
    return None


def _floor_div(a: Interval, b: Interval) -> Interval | None:
    divisor, last = b
    if divisor is last and at_least(divisor, 1) is Answer.YES:
        return p.FloorDiv(a[0], divisor), p.FloorDiv(a[1], divisor)
    return None


def _floor_mod(a: Interval, b: Interval) -> Interval | None:
    divisor, last = b
    if divisor is not last or at_least(divisor, 1) is not Answer.YES:
        return None
    return p.IntImm(0), p.Sub(divisor, p.IntImm(1))


_RULES: dict[type, Callable[..., Interval | None]] = {
    p.Add: lambda a, b: (p.Add(a[0], b[0]), p.Add(a[1], b[1])),
    p.Sub: lambda a, b: (p.Sub(a[0], b[1]), p.Sub(a[1], b[0])),
    p.Mul: _mul,
    p.FloorDiv: _floor_div,
    p.FloorMod: _floor_mod,
}
