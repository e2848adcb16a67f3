"""Questions about dimensions, answered yes, no or unknown. Dimensions are at least 0."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import gcd

from relax_explorer.core.arith.simplify import Polynomial, combine, constant, polynomial
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.prim import FloorDiv, FloorMod, IntImm, Mul, PrimExpr, PrimVar


class Answer(Enum):
    """A three-valued answer."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError("compare an Answer with `is`; unknown is neither true nor false")


def equal(a: PrimExpr, b: PrimExpr) -> Answer:
    """Whether `a == b` for all, for no, or for some values of the variables."""
    if a is b:
        return Answer.YES
    if type(a) is IntImm and type(b) is IntImm:
        return Answer.YES if a.value == b.value else Answer.NO
    difference = combine(polynomial(a), polynomial(b), -1)
    if not difference:
        return Answer.YES
    return Answer.NO if _never_zero(difference) else Answer.UNKNOWN


def _never_zero(poly: Polynomial) -> bool:
    value = constant(poly)
    if value is not None:
        return value != 0
    rest = poly.get((), 0)
    coefficients = [c for monomial, c in poly.items() if monomial]
    if rest % gcd(*coefficients):  # 4n - 4m + 1: no integers make it zero
        return True
    if not all(_non_negative(monomial) for monomial in poly):
        return False
    one_sided = all(c > 0 for c in coefficients) or all(c < 0 for c in coefficients)
    return one_sided and rest * coefficients[0] > 0


def _non_negative(monomial: tuple[PrimExpr, ...]) -> bool:
    return all(_atom_non_negative(atom) for atom in monomial)


def _atom_non_negative(atom: PrimExpr) -> bool:
    if type(atom) is PrimVar:
        return atom.dtype is INT64  # in Relax each shape variable is a length
    if isinstance(atom, (FloorDiv, FloorMod)) and isinstance(atom.b, IntImm) and atom.b.value > 0:
        return type(atom) is FloorMod or at_least(atom.a, 0) is Answer.YES
    return False


def at_least(a: PrimExpr, bound: int) -> Answer:
    """Whether `a >= bound`, taking shape variables to be at least 0."""
    poly = polynomial(a)
    value = constant(poly)
    if value is not None:
        return Answer.YES if value >= bound else Answer.NO
    rest = poly.get((), 0)
    known = all(_non_negative(monomial) for monomial in poly)
    if known and all(c > 0 for monomial, c in poly.items() if monomial) and rest >= bound:
        return Answer.YES
    if known and all(c < 0 for monomial, c in poly.items() if monomial) and rest < bound:
        return Answer.NO
    return Answer.UNKNOWN


def shapes_equal(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> Answer:
    """Whether two shapes are equal, dimension by dimension."""
    if len(a) != len(b):
        return Answer.NO
    answers = {equal(x, y) for x, y in zip(a, b, strict=True)}
    if Answer.NO in answers:
        return Answer.NO
    return Answer.UNKNOWN if Answer.UNKNOWN in answers else Answer.YES


def product(dims: Sequence[PrimExpr]) -> PrimExpr:
    """The number of elements of a shape: literals multiplied out, symbols left in order."""
    literal, result = 1, None
    for dim in dims:
        if type(dim) is IntImm:
            literal *= dim.value
        else:
            result = dim if result is None else Mul(result, dim)
    if result is None or literal == 0:
        return IntImm(literal)
    return result if literal == 1 else Mul(result, IntImm(literal))
