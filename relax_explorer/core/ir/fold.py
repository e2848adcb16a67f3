"""Replaces variables in scalar expressions, and folds operators on literals."""

from __future__ import annotations

from collections.abc import Callable

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.node import DEEP, operands_first
from relax_explorer.core.ir.overflow import beyond

DimMap = dict[p.PrimVar, p.PrimExpr]
"""The scalar expression that replaces each shape variable."""


class FormedDims(DimMap):
    """Replacements with a form that each changed expression gets."""

    def __init__(self, dims: DimMap, form: Callable[[p.PrimExpr], p.PrimExpr]) -> None:
        super().__init__(dims)
        self.form = form


class WrittenDims(DimMap):
    """Replacements that compute nothing: `n + 1` becomes `3 + 1`."""


def substitute(expr: p.PrimExpr, mapping: DimMap) -> p.PrimExpr:
    """`expr` with variables replaced. An operator whose operands became literals is folded. Unchanged, it is the same object."""
    if type(expr) is p.PrimVar:
        return mapping.get(expr, expr)
    if type(mapping) is FormedDims:
        changed = substitute(expr, dict(mapping))
        return expr if changed is expr else mapping.form(changed)
    rebuilt = _with_operands if type(mapping) is WrittenDims else _rebuilt
    if expr.size <= DEEP:
        return rebuilt(expr, [substitute(child, mapping) for child in expr.children()])
    new: dict[p.PrimExpr, p.PrimExpr] = dict(mapping.items())
    for part in operands_first(expr, lambda part: part.children(), new):
        new[part] = rebuilt(part, [new[operand] for operand in part.children()])
    return new[expr]


def _with_operands(expr: p.PrimExpr, operands: list[p.PrimExpr]) -> p.PrimExpr:
    """`expr` with other operands. The same object if they are unchanged."""
    is_same = all([a is b for a, b in zip(expr.children(), operands, strict=True)])
    return expr if is_same else expr.with_children(tuple(operands))


def _rebuilt(expr: p.PrimExpr, operands: list[p.PrimExpr]) -> p.PrimExpr:
    """`expr` with other operands, and folded. The same object if they are unchanged."""
    new = _with_operands(expr, operands)
    if new is expr:
        return expr
    # A length beyond int64 stays as it is written, so that it is told as an overflow.
    folded = expr.fold(*operands) if isinstance(expr, p.Binary) and beyond(new) is None else None
    return new if folded is None else folded
