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
    rebuild,
    size,
)
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.prim import IntImm, PrimExpr, PrimVar

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


__all__ = ["SIZE_LIMIT", "Polynomial", "brevity", "combine", "constant", "polynomial", "rebuild", "simplify"]
