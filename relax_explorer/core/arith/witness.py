"""Counterexamples: values of shape variables for which two dimensions differ."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p

_TRIED = (3, 1, 7, 2, 0)


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
