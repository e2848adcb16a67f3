"""Scalar expressions evaluated on Python numbers: the dimensions of a running program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from relax_explorer.core.ir import prim as p


def evaluate(expr: p.PrimExpr, dims: Mapping[p.PrimVar, Any]) -> Any:
    """The number that `expr` is, None when a variable of it has no value or a division is by zero."""
    if type(expr) is p.IntImm:
        return expr.value
    if type(expr) is p.PrimVar:
        return dims.get(expr)
    if type(expr) is p.FloatImm:
        return expr.value
    rule = _RULES.get(type(expr))
    operands = [evaluate(child, dims) for child in expr.children()]
    if rule is None or any(operand is None for operand in operands):
        return None
    return rule(expr, *operands)


def _floor_div(expr: p.PrimExpr, a: Any, b: Any) -> Any:
    return None if b == 0 else a // b


def _floor_mod(expr: p.PrimExpr, a: Any, b: Any) -> Any:
    return None if b == 0 else a % b


def _div(expr: p.PrimExpr, a: Any, b: Any) -> Any:
    if b == 0:
        return None
    if expr.dtype.is_float:
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


def _mod(expr: p.PrimExpr, a: Any, b: Any) -> Any:
    quotient = _div(expr, a, b)
    return None if quotient is None else a - quotient * b


def _cast(expr: p.PrimExpr, a: Any) -> Any:
    if expr.dtype.is_bool:
        return bool(a)
    return float(a) if expr.dtype.is_float else int(a)


def _call(expr: p.PrimCall, *args: Any) -> Any:
    if expr.op == "if_then_else" and len(args) == 3:
        return args[1] if args[0] else args[2]
    if expr.op == "ceildiv" and len(args) == 2 and args[1]:
        return -(-args[0] // args[1])
    return None


_RULES: dict[type, Callable[..., Any]] = {
    p.Add: lambda x, a, b: a + b,
    p.Sub: lambda x, a, b: a - b,
    p.Mul: lambda x, a, b: a * b,
    p.Div: _div,
    p.Mod: _mod,
    p.FloorDiv: _floor_div,
    p.FloorMod: _floor_mod,
    p.Min: lambda x, a, b: a if a < b else b,
    p.Max: lambda x, a, b: a if a > b else b,
    p.EQ: lambda x, a, b: a == b,
    p.NE: lambda x, a, b: a != b,
    p.LT: lambda x, a, b: a < b,
    p.LE: lambda x, a, b: a <= b,
    p.GT: lambda x, a, b: a > b,
    p.GE: lambda x, a, b: a >= b,
    p.And: lambda x, a, b: bool(a) and bool(b),
    p.Or: lambda x, a, b: bool(a) or bool(b),
    p.Not: lambda x, a: not a,
    p.Cast: _cast,
    p.Select: lambda x, c, a, b: a if c else b,
    p.PrimCall: _call,
}
