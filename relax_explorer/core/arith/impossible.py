"""Lengths that no assignment of shape variables makes possible: negative ones, and divisions by what is always 0."""

from __future__ import annotations

from relax_explorer.core.arith.prove import Answer, at_least, equal
from relax_explorer.core.ir import prim as p

_DIVISIONS = (p.Div, p.Mod, p.FloorDiv, p.FloorMod)


def division_by_zero(dim: p.PrimExpr) -> p.Binary | None:
    """The innermost part of a length that divides by 0. A branch of a selection that is not taken divides nothing."""
    if not dim.children():
        return None
    stack = [dim]
    found: p.Binary | None = None
    while stack:
        part = stack.pop()
        if isinstance(part, _DIVISIONS) and equal(part.b, p.IntImm(0, part.b.dtype)) is Answer.YES:
            found = part
        is_choice = isinstance(part, p.Select) or (isinstance(part, p.PrimCall) and part.op == "if_then_else")
        stack.extend(part.children()[:1] if is_choice else part.children())
    return found


def is_negative(dim: p.PrimExpr) -> bool:
    """True if a length is negative for all values of its variables."""
    return type(dim) is not p.PrimVar and dim.dtype.is_int and at_least(dim, 0) is Answer.NO
