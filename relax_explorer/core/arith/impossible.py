"""Lengths that no assignment of shape variables makes possible: negative ones, and divisions by what is always 0."""

from __future__ import annotations

from collections.abc import Callable

from relax_explorer.core.arith.prove import Answer, at_least, equal
from relax_explorer.core.ir import prim as p

_DIVISIONS = (p.Div, p.Mod, p.FloorDiv, p.FloorMod)


def _is_zero(divisor: p.PrimExpr) -> bool:
    return equal(divisor, p.IntImm(0, divisor.dtype)) is Answer.YES


def division_by_zero(dim: p.PrimExpr, is_zero: Callable[[p.PrimExpr], bool] = _is_zero) -> p.Binary | None:
    """The innermost part of a length that divides by 0. A branch of a selection that is not taken divides nothing.

    `is_zero` decides of a divisor; without it a divisor is 0 if it is so for all values of its variables.
    """
    if not dim.children():
        return None
    stack = [dim]
    found: p.Binary | None = None
    while stack:
        part = stack.pop()
        if isinstance(part, _DIVISIONS) and is_zero(part.b):
            found = part
        is_choice = isinstance(part, p.Select) or (isinstance(part, p.PrimCall) and part.op == "if_then_else")
        stack.extend(part.children()[:1] if is_choice else part.children())
    return found


def is_negative(dim: p.PrimExpr) -> bool:
    """True if a length is negative for all values of its variables."""
    return type(dim) is not p.PrimVar and dim.dtype.is_int and at_least(dim, 0) is Answer.NO
