"""Dimensions that tell a variable although it does not stand alone: `m * 4 + 1` of a known length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.arith.polynomial import rebuild
from relax_explorer.core.arith.prove import Answer, equal
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir.prim import (
    FloorDiv,
    FloorMod,
    IntImm,
    PrimExpr,
    PrimVar,
    Sub,
    free_vars,
    substitute,
)


class Multiple(NamedTuple):
    """A dimension `factor * var + rest` of a known length. `difference` is that length without the rest."""

    factor: int
    rest: PrimExpr | None
    difference: PrimExpr

    @property
    def value(self) -> PrimExpr:
        """The value of the variable, if `factor` divides the difference."""
        if self.factor == 1:
            return self.difference
        return simplify(FloorDiv(self.difference, IntImm(self.factor, self.difference.dtype)))

    @property
    def remainder(self) -> PrimExpr:
        """What is left over; 0 if the factor divides."""
        return simplify(FloorMod(self.difference, IntImm(self.factor, self.difference.dtype)))


def multiple(dim: PrimExpr, length: PrimExpr, var: PrimVar) -> Multiple | None:
    """What a dimension of a length tells of a variable; None if it is no multiple of it with a rest that is known."""
    parts = dict(CANONICAL.polynomial(dim))
    factor = parts.pop((var,), 0)
    if factor <= 0 or any(var in free_vars(*monomial) for monomial in parts if monomial):
        return None
    rest = rebuild(parts, var.dtype) if parts else None
    return Multiple(factor, rest, length if rest is None else simplify(Sub(length, rest)))


def bind_multiples(
    dims: Iterable[tuple[PrimExpr, PrimExpr]], values: dict[PrimVar, PrimExpr]
) -> dict[tuple[PrimExpr, PrimExpr], Multiple]:
    """Give values to the variables that stand in no dimension alone; which dimensions of which lengths told them.

    Their factors must divide; the caller demands that. A variable for which no length has a solution gets no value.
    """
    waiting = [(dim, length) for dim, length in dims if dim.children()]
    told: dict[tuple[PrimExpr, PrimExpr], Multiple] = {}
    while waiting:
        left = []
        for dim, length in waiting:
            new = [var for var in free_vars(dim) if var not in values]
            if len(new) > 1:
                left.append((dim, length))
            elif new:
                found = multiple(substitute(dim, values), length, new[0])
                if found is not None and equal(found.remainder, IntImm(0)) is not Answer.NO:
                    values[new[0]] = found.value
                    told[dim, length] = found
        if len(left) == len(waiting):
            break
        waiting = left
    return told
