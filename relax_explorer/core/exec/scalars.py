"""Evaluates scalar expressions on Python numbers: the dimensions of a running program.

Integers never wrap: overflow and division by zero are errors. Evaluation is lazy: only the selected side of a selection,
and the second operand of `and` and `or` only if the first does not decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Code
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import limits

ScalarValues = Mapping[p.PrimVar, Any]


class Undefined(Exception):
    """An expression has no value for these lengths. Carries a code and a message."""

    def __init__(self, code: Code, expr: p.PrimExpr, what: str, dims: ScalarValues) -> None:
        known = [f"{var.name} = {dims[var]}" for var in p.free_vars(expr) if var in dims]
        super().__init__(f"{expr} {what}" + (f" where {', '.join(known)}" if known else ""))
        self.code = code


def evaluate(expr: p.PrimExpr, dims: ScalarValues) -> Any:
    """The value of `expr`, or None if a needed variable has no value. Raises Undefined."""
    if type(expr) is p.IntImm or type(expr) is p.FloatImm:
        return expr.value
    if type(expr) is p.PrimVar:
        return dims.get(expr)
    if isinstance(expr, p.Binary) and type(expr) in _OPERATORS:
        return _operator(expr, dims)
    rule = _RULES.get(type(expr))
    return None if rule is None else rule(expr, dims)


def _operator(expr: p.Binary, dims: ScalarValues) -> Any:
    chain = [expr]  # no recursion along `a + b + c + …`
    left = expr.a
    while isinstance(left, p.Binary) and type(left) in _OPERATORS:
        chain.append(left)
        left = chain[-1].a
    value = evaluate(left, dims)
    for node in reversed(chain):
        other = None if value is None else evaluate(node.b, dims)
        if other is None:
            return None
        try:
            value = _OPERATORS[type(node)](value, other)
        except ZeroDivisionError:
            raise Undefined(codes.BAD_ARITHMETIC, node, "divides by zero", dims) from None
        value = checked(node, value, dims)
    return value


def checked(expr: p.PrimExpr, value: Any, dims: ScalarValues) -> Any:
    """`value` in the dtype of `expr`. Floats are rounded. Raises Undefined if the dtype cannot hold it."""
    if expr.dtype.is_float:
        if expr.dtype.bits == 64:
            return float(value)
        with np.errstate(over="ignore"):  # overflowing floats become infinite
            return float(expr.dtype.to_numpy().type(value))
    if not expr.dtype.is_int:
        return value
    low, high = limits(expr.dtype)
    if low <= value <= high:
        return value
    raise Undefined(codes.OVERFLOW, expr, f"overflows {expr.dtype}", dims)


def _divided(a: Any, b: Any) -> Any:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    p.Add: lambda a, b: a + b,
    p.Sub: lambda a, b: a - b,
    p.Mul: lambda a, b: a * b,
    p.Div: _divided,
    p.Mod: lambda a, b: a - _divided(a, b) * b,
    p.FloorDiv: lambda a, b: a // b,
    p.FloorMod: lambda a, b: a % b,
    p.Min: lambda a, b: a if a < b else b,
    p.Max: lambda a, b: a if a > b else b,
    p.EQ: lambda a, b: a == b,
    p.NE: lambda a, b: a != b,
    p.LT: lambda a, b: a < b,
    p.LE: lambda a, b: a <= b,
    p.GT: lambda a, b: a > b,
    p.GE: lambda a, b: a >= b,
}


def _junction(expr: p.Binary, dims: ScalarValues) -> Any:
    value = evaluate(expr.a, dims)
    if value is None or bool(value) is (type(expr) is p.Or):
        return None if value is None else bool(value)
    other = evaluate(expr.b, dims)
    return None if other is None else bool(other)


def _not(expr: p.Not, dims: ScalarValues) -> Any:
    value = evaluate(expr.a, dims)
    return None if value is None else not value


def _taken(condition: p.PrimExpr, yes: p.PrimExpr, no: p.PrimExpr, dims: ScalarValues) -> Any:
    value = evaluate(condition, dims)
    return None if value is None else evaluate(yes if value else no, dims)


def _cast(expr: p.Cast, dims: ScalarValues) -> Any:
    value = evaluate(expr.value, dims)
    if value is None or expr.dtype.is_float:
        return None if value is None else checked(expr, value, dims)
    if expr.dtype.is_bool:
        return bool(value)
    if not isfinite(value):
        raise Undefined(codes.OVERFLOW, expr, f"overflows {expr.dtype}", dims)
    return checked(expr, int(value), dims)


def _call(expr: p.PrimCall, dims: ScalarValues) -> Any:
    if expr.op == "if_then_else" and len(expr.args) == 3:
        return _taken(*expr.args, dims)
    if expr.op == "ceildiv" and len(expr.args) == 2:
        a, b = [evaluate(arg, dims) for arg in expr.args]
        if a is None or b is None:
            return None
        if b == 0:
            raise Undefined(codes.BAD_ARITHMETIC, expr, "divides by zero", dims)
        return checked(expr, -(-a // b), dims)
    if expr.op in _ROUNDING and len(expr.args) == 1:
        value = evaluate(expr.args[0], dims)
        return (
            value if value is None or not isfinite(value) else checked(expr, _ROUNDING[expr.op](value), dims)
        )
    return None


# Round to whole numbers of the same dtype; halves to even.
_ROUNDING: dict[str, Callable[[Any], Any]] = {
    "ceil": math.ceil, "floor": math.floor, "trunc": math.trunc, "round": round, "nearbyint": round,
}  # fmt: skip

_RULES: dict[type, Callable[[Any, ScalarValues], Any]] = {
    p.And: _junction,
    p.Or: _junction,
    p.Not: _not,
    p.Select: lambda expr, dims: _taken(expr.condition, expr.true_value, expr.false_value, dims),
    p.Cast: _cast,
    p.PrimCall: _call,
}
