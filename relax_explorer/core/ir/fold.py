"""Replaces variables in scalar expressions, and folds operators on literals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.literals import wrap
from relax_explorer.core.ir.node import DEEP, operands_first

# -- overflow --------------------------------------------------------------------------------------------------------
# Lengths that are known and do not fit int64.


_EXACT: dict[type, Callable[[int, int], int]] = {
    p.Add: lambda a, b: a + b,
    p.Sub: lambda a, b: a - b,
    p.Mul: lambda a, b: a * b,
}


def exact(expr: p.PrimExpr) -> int | None:
    """The value of a sum or product of literals, whatever its size. None for other expressions."""
    if isinstance(expr, p.IntImm):
        return expr.value
    rule = _EXACT.get(type(expr))
    if rule is None or expr.size > 100:
        return None
    a, b = [exact(part) for part in expr.children()]
    return None if a is None or b is None else rule(a, b)


def beyond(expr: p.PrimExpr) -> int | None:
    """The value of an expression of literals if it does not fit its dtype; None if it fits, or is not known."""
    if isinstance(expr, (p.IntImm, p.PrimVar)) or not expr.dtype.is_int:
        return None
    value = exact(expr)
    return None if value is None or value == wrap(value, expr.dtype) else value


def overflowing(info: s.StructInfo) -> Iterator[int]:
    """The lengths of tensors and shapes in a StructInfo that do not fit int64."""
    if isinstance(info, s.TupleStructInfo):
        for field in info.fields:
            yield from overflowing(field)
    elif isinstance(info, (s.TensorStructInfo, s.ShapeStructInfo)):
        for dim in s.lengths(info):
            value = beyond(dim)
            if value is not None:
                yield value


# -- fold ------------------------------------------------------------------------------------------------------------


DimMap = dict[p.PrimVar, p.PrimExpr]
"""The scalar expression that replaces each shape variable."""


class FormedDims(DimMap):
    """Replacements with a form that each changed expression gets."""

    def __init__(self, dims: DimMap, form: Callable[[p.PrimExpr], p.PrimExpr]) -> None:
        super().__init__(dims)
        self.form = form


class WrittenDims(DimMap):
    """Replacements that compute nothing: `n + 1` becomes `3 + 1`."""


def substitute(expr: p.PrimExpr, mapping: Mapping[p.PrimVar, p.PrimExpr]) -> p.PrimExpr:
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
