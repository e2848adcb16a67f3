"""Simplification: merge like terms, fold literals, and split divisions where the split is exact.

Numbers are treated as unbounded integers. An evaluation that overflows its dtype, or divides by zero, is an error at run time
and has no value that could differ. Subexpressions with unsigned numbers or floats stay unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from relax_explorer.core.arith.form import DISPLAY
from relax_explorer.core.arith.polynomial import (
    SIZE_LIMIT,
    Polynomial,
    combine,
    constant,
    over_variables,
    rebuild,
    size,
)
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.prim import IntImm, PrimExpr, PrimVar, Sub

polynomial = DISPLAY.polynomial
_SIMPLE: PerNode[PrimExpr | None] = PerNode()  # None: the expression is simple already


def simplify(expr: PrimExpr) -> PrimExpr:
    """An expression equal to `expr` wherever `expr` has a value, and shorter if a shorter one is found.

    Operands keep the order of their first appearance. An expression of more than SIZE_LIMIT nodes is returned unchanged.
    """
    if type(expr) in (PrimVar, IntImm):
        return expr
    if id(expr) not in _SIMPLE:
        simple = _simplify(expr)
        _SIMPLE.add(expr, None if simple is expr else simple)
    return _SIMPLE[id(expr)] or expr


def _simplify(expr: PrimExpr) -> PrimExpr:
    if size(expr) > SIZE_LIMIT:
        return expr
    if expr.dtype.is_bool:
        return DISPLAY.condition(expr)
    if expr.dtype.kind != "int":
        return expr
    new = rebuild(polynomial(expr), expr.dtype, expr)
    return new if brevity(new) <= brevity(expr) else expr


def summed(expr: PrimExpr) -> PrimExpr:
    """`expr` simplified, with sums of multiples of variables inside: `m * 3 + k * 3` instead of `(m + k) * 3`."""
    if type(expr) in (PrimVar, IntImm) or expr.dtype.kind != "int" or size(expr) > SIZE_LIMIT:
        return simplify(expr)
    terms = polynomial(expr)
    if all(len(monomial) <= 1 for monomial in terms) and over_variables(terms) is not None:
        total = rebuild({one: factor for one, factor in terms.items() if factor > 0 or not one}, expr.dtype)
        for one, factor in terms.items():
            total = Sub(total, rebuild({one: -factor})) if one and factor < 0 else total
        return total
    children = expr.children()
    new = tuple(map(summed, children))
    same = all(a is b for a, b in zip(new, children, strict=True))
    return simplify(expr if same else expr.with_children(new))


def brevity(expr: PrimExpr) -> tuple[int, int]:
    """How long an expression is: nodes, then occurrences of variables."""
    return size(expr), _occurrences(expr)


def _occurrences(expr: PrimExpr) -> int:
    """The number of occurrences of variables in an expression."""
    count, stack = 0, [expr]
    while stack:
        node = stack.pop()
        count += type(node) is PrimVar
        stack.extend(node.children())
    return count


__all__ = [
    "SIZE_LIMIT",
    "Polynomial",
    "brevity",
    "combine",
    "constant",
    "polynomial",
    "rebuild",
    "simplify",
    "summed",
]


# -- witness ---------------------------------------------------------------------------------------------------------
# Counterexamples: values of shape variables for which two dimensions differ.


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
