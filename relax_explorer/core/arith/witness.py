"""Counterexamples: values of shape variables for which two dimensions differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p

_TRIED = (3, 1, 7, 2, 0)


_LARGEST = 200  # nodes of an expression that is worth computing


def number(expr: p.PrimExpr, values: Mapping[p.PrimVar, int] | Mapping[p.PrimExpr, int]) -> int | None:
    """The value of an integer expression or condition (0 or 1); None without one, such as for a division by zero."""
    if type(expr) is p.IntImm:
        return expr.value
    if type(expr) is p.PrimVar:
        return values.get(expr)
    folding = expr.folding if isinstance(expr, p.Binary) and expr.size <= _LARGEST else None
    if folding is None or not isinstance(expr, p.Binary):
        return None
    a, b = number(expr.a, values), number(expr.b, values)
    found = None if a is None or b is None else folding.decide(a, b, expr.a.dtype)
    return None if found is None or isinstance(found, str) else int(found)


def disagreement(a: p.PrimExpr, b: p.PrimExpr) -> tuple[dict[p.PrimVar, int], int, int] | None:
    """Values of the variables for which `a` and `b` differ, and both results. Tries a few assignments; None if all agree."""
    variables = list(dict.fromkeys(p.free_vars(a, b)))
    for values in _assignments(variables):
        assignment: dict[p.PrimVar, p.PrimExpr] = {
            var: p.as_prim(value, var.dtype) for var, value in values.items()
        }
        left, right = simplify(p.substitute(a, assignment)), simplify(p.substitute(b, assignment))
        if isinstance(left, p.IntImm) and isinstance(right, p.IntImm) and left.value != right.value:
            return values, left.value, right.value
    return None


def _assignments(variables: list[p.PrimVar]) -> Iterator[dict[p.PrimVar, int]]:
    """Assignments to try: first equal values, then distinct ones."""
    for value in _TRIED:
        yield dict.fromkeys(variables, value)
    for shift in range(1, 4):
        yield {var: _TRIED[(number + shift) % 4] for number, var in enumerate(variables)}
