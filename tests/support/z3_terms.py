"""Conditions over lengths as terms of z3, over unbounded integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from relax_explorer.core.ir import prim as p

z3 = pytest.importorskip("z3")
LAST = 20_000  # milliseconds for a question that quicker searches leave open
Meaning = tuple[Any, Any]  # the term, and the condition under which it is defined


def lengths(atoms: Iterable[p.PrimExpr]) -> dict[p.PrimExpr, Any]:
    """An integer of z3 for each shape variable; several may have the same name."""
    return {atom: z3.Int(f"{atom}#{number}") for number, atom in enumerate(atoms)}


def opaque(*exprs: p.PrimExpr) -> list[p.PrimExpr]:
    """The integers in expressions that no term of z3 expresses, such as intrinsics."""
    found: dict[p.PrimExpr, None] = {}
    stack = list(exprs)
    while stack:
        expr = stack.pop()
        if _has_term(expr):
            stack += expr.children()
        elif expr.dtype.is_int:
            found[expr] = None
    return list(found)


def _has_term(expr: p.PrimExpr) -> bool:
    if isinstance(expr, p.PrimCall):
        return expr.op in ("if_then_else", "ceildiv")
    return isinstance(expr, (p.PrimVar, p.IntImm, p.Not, p.Select, p.And, p.Or)) or type(expr) in OPERATORS


def given(facts: Iterable[p.PrimExpr], of: Mapping[p.PrimExpr, Any]) -> tuple[list[Any], int]:
    """The terms of facts, and the number of facts that have none, such as those about numbers of floating point."""
    terms, left_out = list[Any](), 0
    for fact in facts:
        try:
            terms += meaning(fact, of)
        except KeyError:
            left_out += 1
    return terms, left_out


def meaning(expr: p.PrimExpr, of: Mapping[p.PrimExpr, Any]) -> Meaning:
    """The term of an expression, with the terms of its atoms. Raises KeyError for an expression that has none."""
    if expr in of:
        return of[expr], z3.BoolVal(True)
    if isinstance(expr, p.IntImm):
        return z3.BoolVal(bool(expr.value)) if expr.dtype.is_bool else z3.IntVal(expr.value), z3.BoolVal(True)
    parts = [meaning(child, of) for child in expr.children()]
    if isinstance(expr, p.Not):
        return z3.Not(parts[0][0]), parts[0][1]
    if isinstance(expr, p.Select) or (isinstance(expr, p.PrimCall) and expr.op == "if_then_else"):
        (test, known), (yes, yes_known), (no, no_known) = parts
        return z3.If(test, yes, no), z3.And(known, z3.If(test, yes_known, no_known))
    if not _has_term(expr) or isinstance(expr, p.PrimVar):
        raise KeyError(type(expr).__name__)
    (a, a_known), (b, b_known) = parts
    if isinstance(expr, p.And):
        return z3.And(a, b), z3.And(a_known, z3.Or(z3.Not(a), b_known))
    if isinstance(expr, p.Or):
        return z3.Or(a, b), z3.And(a_known, z3.Or(a, b_known))
    known = z3.And(a_known, b_known)
    if isinstance(expr, p.PrimCall):
        return -floored(-a, b), z3.And(known, b != 0)  # `ceildiv`
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
    solver = (
        z3.SimpleSolver()
    )  # for small questions twice as fast as `Solver`, which first looks for a strategy
    solver.set("timeout", milliseconds)
    solver.add(*[length >= 0 for length in variables], *constraints)
    return solver.check()


def decided(variables: Iterable[Any], *constraints: Any, milliseconds: int) -> Any:
    """The result of `found`. A question that takes longer is put to two searches more, the last of which has much time."""
    positive = list(variables)
    result = found(positive, *constraints, milliseconds=milliseconds)
    if result != z3.unknown:
        return result
    over_reals = z3.Tactic("qfnra-nlsat").solver()  # quick for products of high degree
    over_reals.set("timeout", 2000)
    over_reals.add(*[length >= 0 for length in positive], *constraints)
    if over_reals.check() == z3.unsat:  # what no reals fulfil, no integers fulfil
        return z3.unsat
    return found(positive, *constraints, milliseconds=LAST)
