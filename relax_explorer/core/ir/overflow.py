"""Lengths that are known and do not fit int64."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.literals import wrap

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
