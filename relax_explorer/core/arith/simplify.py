"""Canonical form of integer expressions: a polynomial over variables and opaque atoms.

A polynomial is a mapping from monomials (sorted tuples of atoms) to integer coefficients. Floor division and modulus by a
constant are taken apart where the arithmetic is exact; whatever else there is becomes an atom over canonical operands.
All arithmetic is on unbounded integers; dimensions are far below the int64 range.
"""

from __future__ import annotations

from collections.abc import Callable

from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.prim import (
    Add,
    Binary,
    Cast,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    PrimExpr,
    PrimVar,
    Select,
    Sub,
)  # fmt: skip

Monomial = tuple[PrimExpr, ...]
Polynomial = dict[Monomial, int]
TERM_LIMIT = 400  # a larger product stays an atom: canonical forms grow exponentially with nested products

_ORDER: dict[PrimExpr, int] = {}
_POLYNOMIALS: dict[PrimExpr, Polynomial] = {}


def _order(atom: PrimExpr) -> int:
    """A total order on atoms: by first appearance, which is stable within a process."""
    return _ORDER.setdefault(atom, len(_ORDER))


def polynomial(expr: PrimExpr) -> Polynomial:
    """The canonical polynomial of an integer expression."""
    hit = _POLYNOMIALS.get(expr)
    if hit is None:
        hit = _POLYNOMIALS[expr] = _RULES.get(type(expr), _atom)(expr)
    return hit


def _atom(expr: PrimExpr) -> Polynomial:
    return {(expr,): 1}


def _int(expr: IntImm) -> Polynomial:
    return {(): expr.value} if expr.value else {}


def _cast(expr: Cast) -> Polynomial:
    inner = expr.value
    wide = expr.dtype.is_int and inner.dtype.is_int and expr.dtype.bits >= inner.dtype.bits
    return polynomial(inner) if wide else _atom(expr)


def combine(a: Polynomial, b: Polynomial, factor: int = 1) -> Polynomial:
    """`a + factor * b`."""
    out = dict(a)
    for monomial, coefficient in b.items():
        total = out.get(monomial, 0) + factor * coefficient
        if total:
            out[monomial] = total
        else:
            out.pop(monomial, None)
    return out


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    out: Polynomial = {}
    for left, x in a.items():
        for right, y in b.items():
            monomial = tuple(sorted(left + right, key=_order))
            total = out.get(monomial, 0) + x * y
            if total:
                out[monomial] = total
            else:
                out.pop(monomial, None)
    return out


def _mul(expr: Mul) -> Polynomial:
    a, b = polynomial(expr.a), polynomial(expr.b)
    return _product(a, b) if len(a) * len(b) <= TERM_LIMIT else _atom(expr)


def _split(poly: Polynomial, divisor: int) -> tuple[Polynomial, Polynomial]:
    """`poly == divisor * quotient + rest` with every coefficient of the rest in [0, divisor)."""
    quotient: Polynomial = {}
    rest: Polynomial = {}
    for monomial, coefficient in poly.items():
        q, r = divmod(coefficient, divisor)
        if q:
            quotient[monomial] = q
        if r:
            rest[monomial] = r
    return quotient, rest


def _floor_div(expr: FloorDiv) -> Polynomial:
    divisor = constant(polynomial(expr.b))
    numerator = polynomial(expr.a)
    if divisor is None or divisor <= 0:
        if exact := _divide_by_monomial(numerator, polynomial(expr.b)):
            return exact
        return _atom(FloorDiv(rebuild(numerator), rebuild(polynomial(expr.b))))
    quotient, rest = _split(numerator, divisor)
    if set(rest) <= {()}:  # the rest is a constant in [0, divisor): it vanishes
        return quotient
    return combine(quotient, _atom(FloorDiv(rebuild(rest), IntImm(divisor, expr.dtype))))


def _divide_by_monomial(numerator: Polynomial, denominator: Polynomial) -> Polynomial | None:
    """The exact quotient by a single product of variables, valid where that product is not zero; None when inexact."""
    if len(denominator) != 1 or not numerator:
        return None
    ((atoms, coefficient),) = denominator.items()
    out: Polynomial = {}
    for monomial, c in numerator.items():
        left = list(monomial)
        for atom in atoms:
            if atom not in left:
                return None
            left.remove(atom)
        if c % coefficient:
            return None
        out[tuple(left)] = c // coefficient
    return out


def _floor_mod(expr: FloorMod) -> Polynomial:
    divisor = constant(polynomial(expr.b))
    if divisor is None or divisor <= 0:
        return _atom(FloorMod(rebuild(polynomial(expr.a)), rebuild(polynomial(expr.b))))
    rest = _split(polynomial(expr.a), divisor)[1]
    if set(rest) <= {()}:
        return rest
    return _atom(FloorMod(rebuild(rest), IntImm(divisor, expr.dtype)))


def _extreme(expr: Binary) -> Polynomial:
    a, b = rebuild(polynomial(expr.a)), rebuild(polynomial(expr.b))
    difference = constant(combine(polynomial(a), polynomial(b), -1))
    if difference is not None:
        take_a = difference >= 0 if type(expr) is Max else difference <= 0
        return polynomial(a if take_a else b)
    return _atom(type(expr)(*sorted((a, b), key=_order)))


def _select(expr: Select) -> Polynomial:
    if isinstance(expr.condition, IntImm):
        return polynomial(expr.true_value if expr.condition.value else expr.false_value)
    if expr.true_value is expr.false_value:
        return polynomial(expr.true_value)
    return _atom(expr)


_RULES: dict[type, Callable[..., Polynomial]] = {
    PrimVar: _atom,
    IntImm: _int,
    Cast: _cast,
    Add: lambda e: combine(polynomial(e.a), polynomial(e.b)),
    Sub: lambda e: combine(polynomial(e.a), polynomial(e.b), -1),
    Mul: _mul,
    FloorDiv: _floor_div,
    FloorMod: _floor_mod,
    Min: _extreme,
    Max: _extreme,
    Select: _select,
}


def constant(poly: Polynomial) -> int | None:
    """The value of a polynomial without variables, else None."""
    if not poly:
        return 0
    return poly[()] if len(poly) == 1 and () in poly else None


def rebuild(poly: Polynomial, dtype: DType = INT64) -> PrimExpr:
    """An expression of a polynomial: terms in order of appearance, the constant last."""
    total: PrimExpr | None = None
    rest = poly.get((), 0)
    if rest > 0 and len(poly) > 1 and all(c < 0 for monomial, c in poly.items() if monomial):
        total, rest = IntImm(rest, next(m for m in poly if m)[0].dtype), 0  # 12 - c rather than c * -1 + 12
    for monomial, coefficient in poly.items():
        if not monomial:
            continue
        term: PrimExpr = monomial[0]
        for atom in monomial[1:]:
            term = Mul(term, atom)
        size = abs(coefficient)
        if size != 1:
            term = Mul(term, IntImm(size, term.dtype))
        if total is None:
            total = (
                term
                if coefficient > 0
                else Mul(term, IntImm(-1, term.dtype))
                if size == 1
                else Sub(IntImm(0, term.dtype), term)
            )
        else:
            total = Add(total, term) if coefficient > 0 else Sub(total, term)
    if total is None:
        return IntImm(rest, dtype)
    if rest:
        literal = IntImm(abs(rest), total.dtype)
        total = Add(total, literal) if rest > 0 else Sub(total, literal)
    return total


def simplify(expr: PrimExpr) -> PrimExpr:
    """An expression equal to `expr` for all values of its variables, shorter where that is found; floats stay as they are."""
    if type(expr) in (PrimVar, IntImm) or not expr.dtype.is_int:
        return expr
    poly = polynomial(expr)
    new = rebuild(poly, expr.dtype)
    return expr if _RULES.get(type(expr)) and polynomial(new) == poly and _size(new) >= _size(expr) else new


def _size(expr: PrimExpr) -> int:
    count, stack = 0, [expr]
    while stack:
        count += 1
        stack.extend(stack.pop().children())
    return count
