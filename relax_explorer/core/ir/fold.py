"""Replacing variables in scalar expressions, folding where literals meet."""

from __future__ import annotations

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.node import DEEP, operands_first


def substitute(expr: p.PrimExpr, mapping: dict[p.PrimVar, p.PrimExpr]) -> p.PrimExpr:
    """`expr` with variables replaced, and folded where that makes literals of operands; unchanged, the same object."""
    if type(expr) is p.PrimVar:
        return mapping.get(expr, expr)
    if expr.size <= DEEP:
        return _rebuilt(expr, [substitute(child, mapping) for child in expr.children()])
    new: dict[p.PrimExpr, p.PrimExpr] = dict(mapping.items())
    for part in operands_first(expr, lambda part: part.children(), new):
        new[part] = _rebuilt(part, [new[operand] for operand in part.children()])
    return new[expr]


def _rebuilt(expr: p.PrimExpr, operands: list[p.PrimExpr]) -> p.PrimExpr:
    """`expr` over other operands; itself where they are its own."""
    if all([a is b for a, b in zip(expr.children(), operands, strict=True)]):
        return expr
    folded = expr.fold(*operands) if isinstance(expr, p.Binary) else None
    return expr.with_children(tuple(operands)) if folded is None else folded
