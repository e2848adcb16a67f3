"""Amounts: numbers of operations or bytes as polynomials in the shape variables, with their text and their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.arith.polynomial import Monomial, Polynomial, combine, multiply
from relax_explorer.core.arith.simplify import number
from relax_explorer.core.check.storage import width
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit.flop_count import volume

NOTHING: Polynomial = {}
"""The amount 0. Amounts are shared, so nobody changes one."""
ONE: Polynomial = {(): 1}
Lengths = Mapping[p.PrimVar, int]
"""The lengths that are given, by shape variables."""


def amount(expr: p.PrimExpr) -> Polynomial:
    """A length as an amount."""
    return CANONICAL.polynomial(expr)


def literal(value: int) -> Polynomial:
    """A number as an amount."""
    return {(): value} if value else NOTHING


def info_bytes(info: s.StructInfo | None) -> Polynomial | None:
    """The bytes of the tensors in a value; None if a length or a dtype is not known. What is no tensor takes none."""
    if isinstance(info, s.TupleStructInfo):
        parts = [info_bytes(field) for field in info.fields]
        return None if None in parts else total([part for part in parts if part is not None])
    if isinstance(info, s.TensorStructInfo):
        dims = info.lengths
        if dims is None or info.dtype is None or any(type(dim) is p.AnyDim for dim in dims):
            return None
        return multiply(volume(dims), literal(width(info.dtype)))
    return None if info is None or info is s.OBJECT else NOTHING


def total(amounts: Sequence[Polynomial]) -> Polynomial:
    """The sum of amounts."""
    return reduce(combine, amounts, NOTHING)


def with_lengths(poly: Polynomial, dims: Mapping[p.PrimVar, p.PrimExpr]) -> Polynomial:
    """An amount with shape variables replaced, also inside of other terms."""
    if not dims or not poly:
        return poly
    out: Polynomial = NOTHING
    for monomial, factor in poly.items():
        term = literal(factor)
        for atom in monomial:
            term = multiply(term, amount(p.substitute(atom, dict(dims))))
        out = combine(out, term)
    return out


def value(poly: Polynomial, lengths: Lengths) -> int | None:
    """The number that an amount is for these lengths; None if one of its variables has none."""
    result = 0
    for monomial, factor in poly.items():
        for atom in monomial:
            known = number(atom, lengths)
            if known is None:
                return None
            factor *= known
        result += factor
    return result


def variables(poly: Polynomial) -> tuple[p.PrimVar, ...]:
    """The shape variables of an amount, in order."""
    return tuple(dict.fromkeys(var for monomial in poly for var in p.free_vars(*monomial)))


# -- comparing -------------------------------------------------------------------------------------------------------
# Amounts are compared for all lengths from 1 on: of empty tensors neither has work.


def never_less(a: Polynomial, b: Polynomial) -> bool:
    """True if `a` is at least `b`, whatever the lengths are."""
    if a == b or not b:
        return True
    difference = combine(a, b, -1)
    larger: dict[p.PrimVar, p.PrimExpr] = {
        var: p.Add(var, p.IntImm(1, var.dtype)) for var in variables(difference)
    }
    return all(factor >= 0 for factor in with_lengths(difference, larger).values())


def least(a: Polynomial, b: Polynomial) -> Polynomial:
    """The smaller amount; where neither always is, the first one, which is the bound that is known."""
    return b if never_less(a, b) else a


PROBE = 64
"""The length that each variable is taken to have where neither of two amounts is always the larger one."""


def larger(a: Polynomial, b: Polynomial) -> int:
    """1 if `b` is larger than `a`, -1 if it is smaller, 0 if they are equal: for all lengths, else for those of `PROBE`."""
    if a == b:
        return 0
    if never_less(b, a):
        return 1
    if never_less(a, b):
        return -1
    probes = {var: PROBE for poly in (a, b) for var in variables(poly)}
    left, right = value(a, probes) or 0, value(b, probes) or 0
    return (right > left) - (right < left)


# -- text ------------------------------------------------------------------------------------------------------------


def text(poly: Polynomial) -> str:
    """`2·m·n·k + 4·n`: a factor that all terms have stands in front, the term of highest degree comes first."""
    if not poly:
        return "0"
    terms = sorted(poly.items(), key=lambda item: (-len(item[0]), sorted(map(str, item[0]))))
    return " ".join(_signed(term, number == 0) for number, term in enumerate(terms))


def _signed(term: tuple[Monomial, int], is_first: bool) -> str:
    monomial, factor = term
    sign = ("-" if factor < 0 else "") if is_first else ("- " if factor < 0 else "+ ")
    factors = [f"{abs(factor):,}"] * (abs(factor) != 1 or not monomial)
    return sign + "·".join([*factors, *_powers(monomial)])


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _powers(monomial: Monomial) -> list[str]:
    """The factors of a term, equal ones as a power."""
    counts: dict[str, int] = {}
    for atom in monomial:
        name = str(atom)
        counts[name] = counts.get(name, 0) + 1
    ordered = sorted(counts.items())
    return [name if times == 1 else f"{name}{str(times).translate(_RAISED)}" for name, times in ordered]
