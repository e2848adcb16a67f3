"""Simplification: merge like terms, fold literals, and split divisions where the split is exact.

Numbers are treated as unbounded integers. An evaluation that overflows its dtype, or divides by zero, is an error at run time
and has no value that could differ. Subexpressions with unsigned numbers or floats stay unchanged.
"""

from __future__ import annotations

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
