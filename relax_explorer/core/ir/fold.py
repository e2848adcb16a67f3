"""Replacing variables in scalar expressions, folding where literals meet."""

from __future__ import annotations

from relax_explorer.core.ir import prim as p


def substitute(expr: p.PrimExpr, mapping: dict[p.PrimVar, p.PrimExpr]) -> p.PrimExpr:
    """`expr` with variables replaced, and folded where that makes literals of operands; unchanged, the same object."""
    if type(expr) is p.PrimVar:
        return mapping.get(expr, expr)
    children = expr.children()
    if not children:
        return expr
    new = tuple([substitute(child, mapping) for child in children])
    if all([a is b for a, b in zip(children, new, strict=True)]):
        return expr
    folded = expr.fold(*new) if isinstance(expr, p.Binary) else None
    return expr.with_children(new) if folded is None else folded
