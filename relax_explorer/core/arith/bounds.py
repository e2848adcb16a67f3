"""Lower and upper bounds of integer expressions, wherever they have a value. Shape variables are at least 0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.arith.polynomial import Monomial, Polynomial, constant, size
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.prim import Cast, Div, FloorDiv, Max, Min, PrimExpr, PrimVar, Select

Bounds = tuple[int | None, int | None]  # None: no bound is known
ANY: Bounds = (None, None)
ATOM_LIMIT = 200  # nodes; a larger atom gets no bounds
_ATOMS: PerNode[Bounds] = PerNode()


def bounds(expr: PrimExpr) -> Bounds:
    """The least and the greatest value of `expr`; None where unknown."""
    return polynomial_bounds(CANONICAL.polynomial(expr))


def polynomial_bounds(poly: Polynomial) -> Bounds:
    """The sum of the bounds of the terms."""
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in poly.items():
        least, most = monomial_bounds(monomial)
        if coefficient < 0:
            least, most = most, least
        low = None if low is None or least is None else low + coefficient * least
        high = None if high is None or most is None else high + coefficient * most
    return low, high


def monomial_bounds(monomial: Monomial) -> Bounds:
    """The product of the bounds of the atoms."""
    for atom in monomial:
        if type(atom) is not PrimVar or atom.dtype is not INT64:
            break
    else:  # most are products of lengths
        return (0, None) if monomial else (1, 1)
    product: Bounds = (1, 1)
    for atom in monomial:
        product = _times(product, atom_bounds(atom))
    return product


def _times(a: Bounds, b: Bounds) -> Bounds:
    if a[0] is not None and b[0] is not None and a[0] >= 0 and b[0] >= 0:
        zero = a[1] == 0 or b[1] == 0
        return a[0] * b[0], 0 if zero else None if a[1] is None or b[1] is None else a[1] * b[1]
    if None in a or None in b:
        return ANY
    ends = [x * y for x in a for y in b if x is not None and y is not None]
    return min(ends), max(ends)


def atom_bounds(atom: PrimExpr) -> Bounds:
    """The bounds of an atom."""
    if type(atom) is PrimVar:
        return (0, None) if atom.dtype is INT64 else ANY  # in Relax each shape variable is a length
    cached = _ATOMS.get(id(atom))
    if cached is None:
        rule = _RULES.get(type(atom)) if size(atom) <= ATOM_LIMIT else None
        cached = _ATOMS.add(atom, ANY if rule is None else rule(atom))
    return cached


def _quotient(atom: FloorDiv | Div) -> Bounds:
    divide = _floored if type(atom) is FloorDiv else truncated
    low, high = bounds(atom.a)
    divisor = constant(CANONICAL.polynomial(atom.b))
    if divisor is None:
        return _quotient_by_unknown(atom, low, high)
    if divisor == 0:
        return ANY
    if divisor < 0:
        low, high = high, low
    return None if low is None else divide(low, divisor), None if high is None else divide(high, divisor)


def _quotient_by_unknown(atom: FloorDiv | Div, low: int | None, high: int | None) -> Bounds:
    least = bounds(atom.b)[0]
    if least is None or least < 0:
        return ANY
    divide = _floored if type(atom) is FloorDiv else truncated
    least = max(least, 1)  # a quotient exists only if the divisor is not 0
    nearest_zero = -1 if type(atom) is FloorDiv else 0  # for quotients of negative numbers
    return (
        None if low is None else 0 if low >= 0 else divide(low, least),
        None if high is None else divide(high, least) if high >= 0 else nearest_zero,
    )


def _floored(a: int, b: int) -> int:
    return a // b


def truncated(a: int, b: int) -> int:
    """`a / b` rounded towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _min(atom: Min) -> Bounds:
    (low, high), (low2, high2) = bounds(atom.a), bounds(atom.b)
    known = [x for x in (high, high2) if x is not None]
    return None if low is None or low2 is None else min(low, low2), min(known, default=None)


def _max(atom: Max) -> Bounds:
    (low, high), (low2, high2) = bounds(atom.a), bounds(atom.b)
    known = [x for x in (low, low2) if x is not None]
    return max(known, default=None), None if high is None or high2 is None else max(high, high2)


def _select(atom: Select) -> Bounds:
    (low, high), (low2, high2) = bounds(atom.true_value), bounds(atom.false_value)
    return (
        None if low is None or low2 is None else min(low, low2),
        None if high is None or high2 is None else max(high, high2),
    )


def _cast(atom: Cast) -> Bounds:
    inner = atom.value.dtype
    if inner.is_bool:
        return 0, 1
    return (0, None) if inner.kind == "uint" and inner.bits < atom.dtype.bits else ANY


_RULES: dict[type, Callable[[Any], Bounds]] = {
    FloorDiv: _quotient,
    Div: _quotient,
    Min: _min,
    Max: _max,
    Select: _select,
    Cast: _cast,
}
