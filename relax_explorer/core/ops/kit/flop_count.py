"""The FLOPs of operators on floats, declared by families: `flops` of an operator takes the StructInfo of its result, then what `infer` takes.

One addition, multiplication, division, minimum or maximum is one FLOP, so is each function such as exp. Comparisons, selections, conversions
and roundings are none. An operator without `flops` has those of the loops that it is lowered to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.arith.polynomial import Polynomial, combine, multiply
from relax_explorer.core.ir import struct_info as s

if TYPE_CHECKING:
    from relax_explorer.core.ir.prim import PrimExpr

FUNCTIONS = frozenset(
    {
        *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "exp", "exp10", "exp2"),
        *("expm1", "hypot", "log", "log10", "log1p", "log2", "pow", "power", "rsqrt", "sigmoid", "sin", "sinh", "sqrt"),
        *("tan", "tanh"),
    }
)  # fmt: skip
"""The intrinsics that count as one FLOP each, and are named apart: their real work depends on the machine."""


@dataclass(frozen=True, slots=True)
class FlopCount:
    """Operations as polynomials in the shape variables: arithmetic, and functions beside it."""

    arithmetic: Polynomial = field(default_factory=dict)
    functions: Polynomial = field(default_factory=dict)


def volume(dims: Sequence[PrimExpr]) -> Polynomial:
    """The number of elements of a tensor with these lengths."""
    return reduce(multiply, map(CANONICAL.polynomial, dims), {(): 1})


def each(info: s.StructInfo | None, arithmetic: int = 0, functions: int = 0) -> FlopCount | None:
    """So many operations for each element of a tensor; None if its lengths are not known."""
    dims = info.lengths if isinstance(info, s.TensorStructInfo) else None
    if dims is None:
        return None
    elements = volume(dims)
    return FlopCount(combine({}, elements, arithmetic), combine({}, elements, functions))


def products(out: s.StructInfo | None, terms: Sequence[PrimExpr]) -> FlopCount | None:
    """A product and an addition for each of the terms of each element of a result."""
    count = each(out, 2)
    return None if count is None else FlopCount(multiply(count.arithmetic, volume(terms)))


def together(*counts: FlopCount | None) -> FlopCount | None:
    """The sum of counts; None if one is not known."""
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return None
    return FlopCount(
        reduce(combine, [count.arithmetic for count in known], {}),
        reduce(combine, [count.functions for count in known], {}),
    )
