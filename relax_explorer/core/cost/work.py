"""The work of a kernel, a binding or a function: operations and bytes, with what could not be counted.

An addition, subtraction, multiplication, division, remainder, minimum or maximum of floats is one FLOP; so is each exp, tanh, sqrt and so on,
which `functions` counts as well. Comparisons, selections, conversions, roundings, signs and index arithmetic are none. Arithmetic on
elements that are integers stands apart. Bytes are those that must move: each element of an operand that is read, once, and each
element of a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from relax_explorer.core.arith.polynomial import Polynomial, combine
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.amounts import Lengths
from relax_explorer.core.ir import prim as p

REASONS = 20  # of one kind that are listed; a model of thousands of bindings repeats a few


@dataclass(frozen=True, slots=True)
class Work:
    """Operations and bytes. `unknown` tells what is not in the numbers, `at_most` why they are upper bounds."""

    flops: Polynomial = field(default_factory=dict)
    functions: Polynomial = field(default_factory=dict)
    integers: Polynomial = field(default_factory=dict)
    read: Polynomial = field(default_factory=dict)
    written: Polynomial = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    at_most: tuple[str, ...] = ()

    @classmethod
    def of(cls, numbers: Iterable[Polynomial], unknown: tuple[str, ...], at_most: tuple[str, ...]) -> Work:
        """The work with these `amounts`."""
        flops, functions, integers, read, written = numbers
        return cls(flops, functions, integers, read, written, unknown, at_most)

    @property
    def moved(self) -> Polynomial:
        """The bytes read and written."""
        return combine(self.read, self.written)

    def with_lengths(self, dims: Mapping[p.PrimVar, p.PrimExpr]) -> Work:
        """The same work with shape variables replaced."""
        if not dims:
            return self
        new = [amounts.with_lengths(poly, dims) for poly in self.amounts]
        return Work.of(new, self.unknown, self.at_most)

    @property
    def amounts(self) -> tuple[Polynomial, ...]:
        """FLOPs, functions, integer operations, bytes read, bytes written."""
        return self.flops, self.functions, self.integers, self.read, self.written

    def intensity(self, lengths: Lengths) -> float | None:
        """FLOPs per byte for these lengths; None if one of both is not known, or nothing moves."""
        flops, moved = amounts.value(self.flops, lengths), amounts.value(self.moved, lengths)
        return flops / moved if flops is not None and moved else None


NO_WORK = Work()


def summed(works: Iterable[Work]) -> Work:
    """The work of all."""
    totals: list[Polynomial] = [{} for _ in NO_WORK.amounts]
    unknown: dict[str, None] = {}
    at_most: dict[str, None] = {}
    for work in works:
        for own, poly in zip(totals, work.amounts, strict=True):
            for monomial, factor in poly.items():
                own[monomial] = own.get(monomial, 0) + factor
        unknown.update(dict.fromkeys(work.unknown))
        at_most.update(dict.fromkeys(work.at_most))
    kept = [{monomial: factor for monomial, factor in own.items() if factor} for own in totals]
    return Work.of(kept, tuple(unknown)[:REASONS], tuple(at_most)[:REASONS])


def costlier(works: tuple[Work, ...]) -> int:
    """The number of the work with the most FLOPs, of equal ones with the most bytes."""
    best = 0
    for number in range(1, len(works)):
        pair = works[best], works[number]
        order = [amounts.larger(pair[0].flops, pair[1].flops), amounts.larger(pair[0].moved, pair[1].moved)]
        if next((side for side in order if side), 0) > 0:
            best = number
    return best
