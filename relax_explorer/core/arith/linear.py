"""Satisfiability of linear integer constraints; every monomial counts as an independent variable.

Equations are solved for a term of coefficient 1. The remaining inequalities are combined pairwise (Fourier-Motzkin
elimination) and rounded to integers. Only the answer "unsatisfiable" is certain, and the work is limited; a proof needs no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from relax_explorer.core.arith.polynomial import Monomial, Polynomial, combine

CONSTRAINT_LIMIT = 150


class Contradiction(Exception):
    """The constraints can't all hold."""


def impossible(at_least_zero: Iterable[Polynomial], zero: Iterable[Polynomial]) -> bool:
    """True if certainly no integers satisfy `p >= 0` and `q == 0` for all of these polynomials."""
    try:
        system = _System(_solved(list(at_least_zero), list(zero)))
        while not system.holds_at_zero() and len(system.rows) <= CONSTRAINT_LIMIT and system.eliminate():
            pass
    except Contradiction:
        return True
    return False


def _divisor(poly: Polynomial) -> int:
    return gcd(*[c for monomial, c in poly.items() if monomial])


def _equation(poly: Polynomial) -> Polynomial:
    common, constant = _divisor(poly), poly.get((), 0)
    if common == 0:
        if constant:
            raise Contradiction
        return {}
    if constant % common:
        raise Contradiction
    return {monomial: c // common for monomial, c in poly.items()}


def _solved(inequalities: list[Polynomial], equations: list[Polynomial]) -> list[Polynomial]:
    """The inequalities after every equation was solved and substituted."""
    while equations:
        equation = _equation(equations.pop())
        unit = next((monomial for monomial, c in equation.items() if monomial and abs(c) == 1), None)
        if unit is None:
            inequalities += [equation, {monomial: -c for monomial, c in equation.items()}]
            continue
        # Most have no such term.
        inequalities = [_without(poly, unit, equation) if unit in poly else poly for poly in inequalities]
        equations = [_without(poly, unit, equation) if unit in poly else poly for poly in equations]
    return inequalities


def _without(poly: Polynomial, monomial: Monomial, equation: Polynomial) -> Polynomial:
    """A polynomial with one of its terms replaced by what an equation says of it."""
    return combine(poly, equation, -poly[monomial] * equation[monomial])


class _System:
    """Inequalities `terms + rest >= 0`. For equal `terms` only the strictest is kept."""

    def __init__(self, inequalities: Iterable[Polynomial]) -> None:
        self.rows: dict[frozenset[tuple[Monomial, int]], int] = {}
        for poly in inequalities:
            self.add(poly)

    def add(self, poly: Polynomial) -> None:
        """Add an inequality. Raises Contradiction if it can't hold."""
        common, constant = _divisor(poly), poly.get((), 0)
        if common == 0:
            if constant < 0:
                raise Contradiction
            return
        left = frozenset([(monomial, c // common) for monomial, c in poly.items() if monomial])
        constant //= common
        self.rows[left] = min(constant, self.rows.get(left, constant))

    def holds_at_zero(self) -> bool:
        """True if all inequalities hold where every monomial is 0, so that no contradiction follows."""
        return all(constant >= 0 for constant in self.rows.values())

    def eliminate(self) -> bool:
        """Eliminate the monomial that causes the fewest new inequalities; False if none is left."""
        signs: dict[Monomial, list[int]] = {}
        for left in self.rows:
            for monomial, c in left:
                signs.setdefault(monomial, [0, 0])[c > 0] += 1
        if not signs:
            return False
        victim = min(signs, key=lambda monomial: signs[monomial][0] * signs[monomial][1])
        with_victim = [(dict(left), constant) for left, constant in self.rows.items() if victim in dict(left)]
        self.rows = {left: constant for left, constant in self.rows.items() if victim not in dict(left)}
        lower = [{**left, (): constant} for left, constant in with_victim if left[victim] > 0]
        upper = [{**left, (): constant} for left, constant in with_victim if left[victim] < 0]
        if len(lower) * len(upper) + len(self.rows) > 4 * CONSTRAINT_LIMIT:
            return False
        for a in lower:
            for b in upper:
                scaled = combine({}, a, -b[victim])
                self.add(combine(scaled, b, a[victim]))
        return True
