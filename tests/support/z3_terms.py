"""Conditions over lengths as terms of z3, over unbounded integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from relax_explorer.core.ir import prim as p

z3 = pytest.importorskip("z3")
Meaning = tuple[Any, Any]  # the term, and the condition under which it is defined


def lengths(variables: Iterable[p.PrimVar]) -> dict[p.PrimVar, Any]:
    """A variable of z3 for each shape variable; several may have the same name."""
    return {var: z3.Int(f"{var.name}#{number}") for number, var in enumerate(variables)}


def meaning(expr: p.PrimExpr, of: Mapping[p.PrimVar, Any]) -> Meaning:
    """The term of an expression, with the terms of its variables. Raises KeyError for an expression that has none."""
    if isinstance(expr, p.PrimVar):
        return of[expr], z3.BoolVal(True)
    if isinstance(expr, p.IntImm):
        return z3.BoolVal(bool(expr.value)) if expr.dtype.is_bool else z3.IntVal(expr.value), z3.BoolVal(True)
    parts = [meaning(child, of) for child in expr.children()]
    if isinstance(expr, p.Not):
        return z3.Not(parts[0][0]), parts[0][1]
    if isinstance(expr, p.Select) or (isinstance(expr, p.PrimCall) and expr.op == "if_then_else"):
        (test, known), (yes, yes_known), (no, no_known) = parts
        return z3.If(test, yes, no), z3.And(known, z3.If(test, yes_known, no_known))
    if type(expr) not in OPERATORS and not isinstance(expr, (p.And, p.Or)):
        raise KeyError(type(expr).__name__)
    (a, a_known), (b, b_known) = parts
    if isinstance(expr, p.And):
        return z3.And(a, b), z3.And(a_known, z3.Or(z3.Not(a), b_known))
    if isinstance(expr, p.Or):
        return z3.Or(a, b), z3.And(a_known, z3.Or(a, b_known))
    known = z3.And(a_known, b_known)
    if isinstance(expr, (p.FloorDiv, p.FloorMod, p.Div, p.Mod)):
        known = z3.And(known, b != 0)
    return OPERATORS[type(expr)](a, b), known


def floored(a: Any, b: Any) -> Any:
    """The quotient, rounded down."""
    return z3.If(b > 0, a / b, (-a) / (-b))  # z3 rounds down if the divisor is positive


def truncated(a: Any, b: Any) -> Any:
    """The quotient, rounded towards 0."""
    return z3.If(a >= 0, z3.If(b > 0, a / b, -(a / -b)), z3.If(b > 0, -(-a / b), -a / -b))


OPERATORS: dict[type, Any] = {
    p.Add: lambda a, b: a + b,
    p.Sub: lambda a, b: a - b,
    p.Mul: lambda a, b: a * b,
    p.FloorDiv: floored,
    p.FloorMod: lambda a, b: a - b * floored(a, b),
    p.Div: truncated,
    p.Mod: lambda a, b: a - b * truncated(a, b),
    p.Min: lambda a, b: z3.If(a < b, a, b),
    p.Max: lambda a, b: z3.If(a > b, a, b),
    p.EQ: lambda a, b: a == b,
    p.NE: lambda a, b: a != b,
    p.LT: lambda a, b: a < b,
    p.LE: lambda a, b: a <= b,
    p.GT: lambda a, b: a > b,
    p.GE: lambda a, b: a >= b,
}


def found(variables: Iterable[Any], *constraints: Any, milliseconds: int = 300) -> Any:
    """The result of a search for lengths that satisfy all constraints: sat, unsat, or unknown after too long a time."""
    solver = z3.Solver()
    solver.set("timeout", milliseconds)
    solver.add(*[length >= 0 for length in variables], *constraints)
    return solver.check()
