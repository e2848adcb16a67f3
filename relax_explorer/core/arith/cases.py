"""Quotients, minima, maxima and selections as linear constraints, and a proof by cases that the constraints can't all hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from relax_explorer.core.arith import polynomial
from relax_explorer.core.arith.bounds import ATOM_LIMIT, monomial_bounds, polynomial_bounds
from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.arith.polynomial import (
    TERM_LIMIT,
    Monomial,
    Polynomial,
    combine,
    constant,
    multiply,
    replaced,
    size,
)
from relax_explorer.core.ir import prim as p

CASE_LIMIT = 48
ALTERNATIVE_LIMIT = 12


class Case(NamedTuple):
    """A conjunction of constraints: polynomials that are at least 0, and polynomials that equal 0."""

    at_least_zero: tuple[Polynomial, ...] = ()
    zero: tuple[Polynomial, ...] = ()

    def __and__(self, other: Case) -> Case:
        return Case(self.at_least_zero + other.at_least_zero, self.zero + other.zero)


ALWAYS = Case()


def impossible(case: Case) -> bool:
    """True if certainly no values of the variables satisfy the constraints."""
    stack: list[tuple[Case, frozenset[p.PrimExpr]]] = [(case, frozenset())]
    for _ in range(CASE_LIMIT):
        if not stack:
            return True
        facts, explained = stack.pop()
        atom = _next(facts, explained)
        while atom is not None and type(atom) not in _SPLITS:
            facts, explained = facts & _meaning(atom)[0], explained | {atom}
            atom = _next(facts, explained)
        while explained and (simpler := _in_products(facts, explained)) is not facts:
            facts = simpler
        if polynomial.impossible(*_with_bounds(facts)):
            continue
        if atom is None:
            return False
        stack += [(facts & part, explained | {atom}) for part in _split(atom, facts)]
    return False


def _next(case: Case, explained: frozenset[p.PrimExpr]) -> p.PrimExpr | None:
    """The next atom whose definition was not used yet. Atoms that need no case split come first."""
    splitting = None
    for poly in case.at_least_zero + case.zero:
        for monomial in poly:
            for atom in monomial:
                if type(atom) in _MEANING and atom not in explained and size(atom) <= ATOM_LIMIT:
                    if type(atom) not in _SPLITS:
                        return atom
                    splitting = splitting or atom
    return splitting


def _split(atom: p.PrimExpr, case: Case) -> list[Case]:
    """The cases of an atom. A minimum in a product has one case if it is always the same operand: both are where these are equal."""
    if isinstance(atom, (p.Min, p.Max)) and any(atom in monomial for monomial in _products(case)):
        a, b = _value(atom.a), _value(atom.b)
        plain = Case(*[tuple([one for one in part if all(len(m) < 2 for m in one)]) for part in case])
        for value, other in ((a, b), (b, a)):
            larger, smaller = (value, other) if isinstance(atom, p.Max) else (other, value)
            if polynomial.impossible(*_with_bounds(plain & at_least(smaller, larger, 1))):
                return [equals(whole(atom), value) & at_least(larger, smaller)]
    return _meaning(atom)


def _products(case: Case) -> Iterator[Monomial]:
    """The products in constraints that are short enough to be written with values of their factors."""
    return (one for poly in case.at_least_zero + case.zero for one in poly if 2 <= len(one) <= 4)


def _in_products(case: Case, explained: frozenset[p.PrimExpr]) -> Case:
    """The constraints with the value of an atom in its place in products, if an equation tells it. Linear constraints don't see that."""
    inside = {atom for monomial in _products(case) for atom in explained.intersection(monomial)}
    for equation in case.zero if inside else ():
        for monomial, coefficient in equation.items():
            if len(monomial) == 1 and abs(coefficient) == 1 and monomial[0] in inside:
                (atom,) = monomial
                value = {other: c * -coefficient for other, c in equation.items() if other != monomial}
                if len(value) <= 2 and all(size(part) < size(atom) for other in value for part in other):
                    return Case(*[tuple([_with_value(poly, atom, value) for poly in part]) for part in case])
    return case


def _with_value(poly: Polynomial, atom: p.PrimExpr, value: Polynomial) -> Polynomial:
    """A polynomial with the value of an atom in its place in products."""
    products = {monomial: c for monomial, c in poly.items() if 2 <= len(monomial) <= 4 and atom in monomial}
    if not products:
        return poly
    rest = {monomial: c for monomial, c in poly.items() if monomial not in products}
    return combine(rest, replaced(products, {atom: value}))


def _with_bounds(case: Case) -> tuple[list[Polynomial], tuple[Polynomial, ...]]:
    monomials = {monomial: None for poly in case.at_least_zero + case.zero for monomial in poly if monomial}
    inequalities = list(case.at_least_zero)
    for monomial in monomials:
        low, high = monomial_bounds(monomial)
        if low is not None:
            inequalities.append({monomial: 1, (): -low})
        if high is not None:
            inequalities.append({monomial: -1, (): high})
    return inequalities, case.zero


def _meaning(atom: p.PrimExpr) -> list[Case]:
    return _MEANING[type(atom)](atom)


def _value(expr: p.PrimExpr) -> Polynomial:
    return CANONICAL.polynomial(expr)


def literal(value: int) -> Polynomial:
    """A number as a polynomial."""
    return {(): value} if value else {}


def whole(atom: p.PrimExpr) -> Polynomial:
    """An atom as a polynomial."""
    return {(atom,): 1}


def at_least(a: Polynomial, b: Polynomial, margin: int = 0) -> Case:
    """`a >= b + margin`."""
    return Case((combine(combine(a, b, -1), literal(margin), -1),))


def equals(a: Polynomial, b: Polynomial) -> Case:
    """`a == b`."""
    return Case((), (combine(a, b, -1),))


def _floor_div(atom: p.FloorDiv) -> list[Case]:
    a, b = _value(atom.a), _value(atom.b)
    sign = _sign(b)
    if sign == 0 or len(b) > TERM_LIMIT:
        return [ALWAYS]
    product = multiply(whole(atom), b)
    beyond = combine(product, b)
    if sign > 0:  # q*b <= a < q*b + b
        return [at_least(b, {}, 1) & at_least(a, product) & at_least(beyond, a, 1)]
    return [at_least({}, b, 1) & at_least(product, a) & at_least(a, beyond, 1)]


def _sign(divisor: Polynomial) -> int:
    """The sign of a divisor: 1, -1, or 0 if unknown. A divisor is never 0, since the quotient exists."""
    low, high = polynomial_bounds(divisor)
    if not divisor:
        return 0
    return 1 if low is not None and low >= 0 else -1 if high is not None and high <= 0 else 0


def _div(atom: p.Div) -> list[Case]:
    a, divisor = _value(atom.a), constant(_value(atom.b))
    if not divisor:
        return [ALWAYS]
    width = literal(abs(divisor))
    quotient = combine(
        {}, whole(atom), 1 if divisor > 0 else -1
    )  # `a` divided by the absolute value of the divisor
    product = multiply(quotient, width)
    positive = at_least(a, {}) & at_least(a, product) & at_least(combine(product, width), a, 1)
    negative = at_least({}, a, 1) & at_least(product, a) & at_least(a, combine(product, width, -1), 1)
    low, high = polynomial_bounds(a)
    if low is not None and low >= 0:
        return [positive]
    return [negative] if high is not None and high < 0 else [positive, negative]


def _min(atom: p.Min) -> list[Case]:
    a, b, value = _value(atom.a), _value(atom.b), whole(atom)
    return [equals(value, a) & at_least(b, a), equals(value, b) & at_least(a, b, 1)]


def _max(atom: p.Max) -> list[Case]:
    a, b, value = _value(atom.a), _value(atom.b), whole(atom)
    return [equals(value, a) & at_least(a, b), equals(value, b) & at_least(b, a, 1)]


def _select(atom: p.Select) -> list[Case]:
    """One case for each branch. The other branch is not evaluated, so it gives no constraint."""
    value = whole(atom)
    return [
        *[case & equals(value, _value(atom.true_value)) for case in holds(atom.condition, True)],
        *[case & equals(value, _value(atom.false_value)) for case in holds(atom.condition, False)],
    ]


_MEANING: dict[type, Callable[[Any], list[Case]]] = {
    p.FloorDiv: _floor_div,
    p.Div: _div,
    p.Min: _min,
    p.Max: _max,
    p.Select: _select,
}
_SPLITS = (p.Div, p.Min, p.Max, p.Select)


def holds(condition: p.PrimExpr, expected: bool) -> list[Case]:
    """The cases in which `condition` equals `expected`; ALWAYS if the condition is not understood."""
    if size(condition) > ATOM_LIMIT:
        return [ALWAYS]
    if isinstance(condition, p.IntImm):
        return [ALWAYS] if bool(condition.value) == expected else []
    if type(condition) is p.Not:
        return holds(condition.a, not expected)
    if isinstance(condition, (p.And, p.Or)):
        return _junction(condition, expected)
    if isinstance(condition, p.Comparison) and condition.a.dtype.kind == condition.b.dtype.kind == "int":
        kind = type(condition) if expected else _OPPOSITE[type(condition)]
        return _COMPARED[kind](_value(condition.a), _value(condition.b))
    return [ALWAYS]


def _junction(condition: p.Binary, expected: bool) -> list[Case]:
    """The cases of `a and b` or `a or b`. `b` is evaluated only if `a` does not decide the result."""
    deciding = type(condition) is p.Or
    if expected is deciding:
        return holds(condition.a, deciding) + both(
            [holds(condition.a, not deciding), holds(condition.b, deciding)]
        )
    return both([holds(condition.a, not deciding), holds(condition.b, not deciding)])


def both(parts: Iterable[list[Case]]) -> list[Case]:
    """The conjunction of several disjunctions. A part that would make too many cases is dropped."""
    combined = [ALWAYS]
    for part in parts:
        if len(combined) * len(part) <= ALTERNATIVE_LIMIT:
            combined = [a & b for a in combined for b in part]
    return combined


_OPPOSITE: dict[type, type] = {p.EQ: p.NE, p.NE: p.EQ, p.LT: p.GE, p.GE: p.LT, p.GT: p.LE, p.LE: p.GT}
_COMPARED: dict[type, Callable[[Polynomial, Polynomial], list[Case]]] = {
    p.EQ: lambda a, b: [equals(a, b)],
    p.NE: lambda a, b: [at_least(a, b, 1), at_least(b, a, 1)],
    p.LT: lambda a, b: [at_least(b, a, 1)],
    p.LE: lambda a, b: [at_least(b, a)],
    p.GT: lambda a, b: [at_least(a, b, 1)],
    p.GE: lambda a, b: [at_least(a, b)],
}
