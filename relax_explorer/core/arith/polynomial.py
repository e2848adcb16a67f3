"""Integer expressions as polynomials: a mapping from monomials (sorted tuples of atoms) to integer coefficients.

An atom is a variable, or an expression that is not split further. `form` turns expressions into polynomials.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from math import gcd

from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.prim import Add, IntImm, Mul, PrimExpr, PrimVar, Sub, free_vars

Monomial = tuple[PrimExpr, ...]
Polynomial = dict[Monomial, int]
SIZE_LIMIT = 1000  # nodes; a larger expression is one atom
TERM_LIMIT = 400  # a larger product stays an atom: canonical forms grow exponentially with nested products
DEGREE_LIMIT = 24  # a product of more factors stays an atom, too

LEAVES = frozenset([PrimVar, IntImm])
_ORDER: PerNode[int] = PerNode()
_NUMBERS = count()
_SIZES: PerNode[int] = PerNode()


def order(atom: PrimExpr) -> int:
    """A total order on atoms, by first appearance. It is stable within a process."""
    number = _ORDER.get(id(atom))
    return _ORDER.add(atom, next(_NUMBERS)) if number is None else number


def size(expr: PrimExpr) -> int:
    """The number of nodes of an expression written out as a tree, counted up to SIZE_LIMIT + 1."""
    if type(expr) in LEAVES:
        return 1
    cached = _SIZES.get(id(expr))
    if cached is not None:
        return cached
    stack = [expr]
    while stack:
        node = stack[-1]
        total, missing = 1, False
        for child in node.children():
            nodes = 1 if type(child) in LEAVES else _SIZES.get(id(child))
            if nodes is None:
                stack.append(child)
                missing = True
            else:
                total += nodes
        if not missing:
            stack.pop()
            _SIZES.add(node, min(SIZE_LIMIT + 1, total))
    return _SIZES[id(expr)]


def constant(poly: Polynomial) -> int | None:
    """The value of a polynomial without variables, else None."""
    if not poly:
        return 0
    return poly[()] if len(poly) == 1 and () in poly else None


def accumulate(into: Polynomial, poly: Polynomial, factor: int) -> None:
    """Add `factor * poly` to `into`, in place."""
    for monomial, coefficient in poly.items():
        total = into.get(monomial, 0) + factor * coefficient
        if total:
            into[monomial] = total
        else:
            into.pop(monomial, None)


def combine(a: Polynomial, b: Polynomial, factor: int = 1) -> Polynomial:
    """`a + factor * b`."""
    out = dict(a)
    accumulate(out, b, factor)
    return out


def multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    """`a * b`."""
    factor = constant(b)
    if factor is not None:
        return {monomial: c * factor for monomial, c in a.items()} if factor else {}
    out: Polynomial = {}
    for left, x in a.items():
        for right, y in b.items():
            monomial = tuple(sorted(left + right, key=order)) if left and right else left or right
            accumulate(out, {monomial: x * y}, 1)
    return out


def over_variables(poly: Polynomial) -> list[PrimVar] | None:
    """The variables of a polynomial, in order; None if another expression is an atom."""
    names: dict[PrimVar, None] = {}
    for monomial in poly:
        for atom in monomial:
            if type(atom) is not PrimVar:
                return None
            names[atom] = None
    return list(names)


def replaced(poly: Polynomial, values: Mapping[PrimExpr, Polynomial]) -> Polynomial:
    """A polynomial with atoms replaced by polynomials."""
    out: Polynomial = {}
    for monomial, coefficient in poly.items():
        term: Polynomial = {tuple([atom for atom in monomial if atom not in values]): coefficient}
        for atom in monomial:
            if atom in values:
                term = multiply(term, values[atom])
        accumulate(out, term, 1)
    return out


def evaluate(poly: Polynomial, values: Mapping[PrimExpr, int]) -> int:
    """The value of a polynomial, with values for all atoms."""
    total = 0
    for monomial, coefficient in poly.items():
        for atom in monomial:
            coefficient *= values[atom]
        total += coefficient
    return total


def split(poly: Polynomial, divisor: int) -> tuple[Polynomial, Polynomial]:
    """`poly == divisor * quotient + rest` with every coefficient of the rest in [0, divisor)."""
    quotient: Polynomial = {}
    remainder: Polynomial = {}
    for monomial, coefficient in poly.items():
        q, r = divmod(coefficient, divisor)
        if q:
            quotient[monomial] = q
        if r:
            remainder[monomial] = r
    return quotient, remainder


def divide_exactly(numerator: Polynomial, denominator: Polynomial) -> Polynomial | None:
    """The exact quotient, if the denominator is a single term or the quotient is a literal; else None.

    The denominator is taken to be nonzero, since the division has a value.
    """
    if denominator and numerator.keys() <= denominator.keys():
        one, coefficient = next(iter(denominator.items()))
        times, remainder = divmod(numerator.get(one, 0), coefficient)
        if not remainder and not combine(numerator, denominator, -times):
            return {(): times} if times else {}
    if len(denominator) != 1:
        return None
    ((atoms, factor),) = denominator.items()
    out: Polynomial = {}
    for monomial, c in numerator.items():
        left = list(monomial)
        for atom in atoms:
            if atom not in left:
                return None
            left.remove(atom)
        if c % factor:
            return None
        out[tuple(left)] = c // factor
    return out


def rebuild(poly: Polynomial, dtype: DType = INT64, source: PrimExpr | None = None) -> PrimExpr:
    """The expression of a polynomial. Terms keep their order, the constant comes last; factors follow the order in `source`."""
    total: PrimExpr | None = None
    offset = poly.get((), 0)
    if offset > 0 and len(poly) > 1 and all(c < 0 for monomial, c in poly.items() if monomial):
        # 12 - c rather than c * -1 + 12
        total, offset = IntImm(offset, next(m for m in poly if m)[0].dtype), 0
    for monomial, coefficient in _in_source_order(poly, source):
        term = _term(monomial, abs(coefficient))
        if total is not None:
            total = Add(total, term) if coefficient > 0 else Sub(total, term)
        else:
            total = term if coefficient > 0 else Sub(IntImm(0, term.dtype), term)
    if total is None:
        return IntImm(offset, dtype)
    if offset:
        literal = IntImm(abs(offset), total.dtype)
        total = Add(total, literal) if offset > 0 else Sub(total, literal)
    return total


def _term(monomial: Monomial, factor: int) -> PrimExpr:
    term = monomial[0]
    for atom in monomial[1:]:
        term = Mul(term, atom)
    return term if factor == 1 else Mul(term, IntImm(factor, term.dtype))


def _in_source_order(poly: Polynomial, source: PrimExpr | None) -> Iterator[tuple[Monomial, int]]:
    ranks: dict[PrimExpr, int] | None = None
    for monomial, coefficient in poly.items():
        if len(monomial) > 1 and source is not None:
            ranks = _ranks(source) if ranks is None else ranks
            places = {atom: _place(atom, ranks) for atom in monomial}
            monomial = tuple(sorted(monomial, key=places.__getitem__))
        if monomial:
            yield monomial, coefficient


def _place(atom: PrimExpr, ranks: dict[PrimExpr, int]) -> tuple[int, tuple[str, ...]]:
    """The sort key of an atom: its rank. An atom that is not in the source gets its first variable's rank, then its structure."""
    rank = ranks.get(atom)
    if rank is not None:
        return rank, ()
    return min([ranks[var] for var in free_vars(atom)], default=len(ranks)), tuple(_build(atom, ranks))


def _build(atom: PrimExpr, ranks: dict[PrimExpr, int]) -> Iterator[str]:
    """The structure of an expression, with variables named by rank, so that it does not depend on earlier work."""
    stack = [atom]
    while stack:
        node = stack.pop()
        yield type(node).__name__
        if type(node) in LEAVES:
            yield str(node.value if isinstance(node, IntImm) else ranks[node])
        stack.extend(node.children())


def _ranks(source: PrimExpr) -> dict[PrimExpr, int]:
    """The rank of every node of an expression, from left to right."""
    ranks: dict[PrimExpr, int] = {}
    stack = [source]
    while stack:
        node = stack.pop()
        if node not in ranks:
            ranks[node] = len(ranks)
            stack.extend(reversed(node.children()))
    return ranks


# -- linear ----------------------------------------------------------------------------------------------------------
# Satisfiability of linear integer constraints; every monomial counts as an independent variable.
# Equations are solved for a term of coefficient 1. The remaining inequalities are combined pairwise (Fourier-Motzkin
# elimination) and rounded to integers. Only the answer "unsatisfiable" is certain, and the work is limited; a proof
# needs no more.


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
