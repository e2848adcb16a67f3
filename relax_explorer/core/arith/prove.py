"""Questions about dimensions, answered yes, no or unknown. Dimensions are at least 0.

An answer covers every assignment for which evaluation succeeds. An assignment that overflows int64 or divides by zero is an
error at run time, not a counterexample. So `n * 4 // 4` is `n`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from functools import lru_cache
from math import gcd

from relax_explorer.core.arith import cases
from relax_explorer.core.arith.bounds import polynomial_bounds
from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.arith.polynomial import Polynomial, combine, constant, over_variables
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.prim import INT64_MAX, IntImm, Mul, PrimExpr, PrimVar, substitute

PROVERS = ("arithmetic", "alpha")
_PROVER: ContextVar[str] = ContextVar("prover", default="arithmetic")


class Answer(Enum):
    """A three-valued answer."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError("compare an Answer with `is`; unknown is neither true nor false")


@contextmanager
def proving(prover: str) -> Iterator[None]:
    """Choose the prover of `equal` inside the `with`: `arithmetic`, or `alpha` (syntactic equality). Raises ValueError for others."""
    if prover not in PROVERS:
        raise ValueError(f"no prover {prover!r}; there are {' and '.join(PROVERS)}")
    token = _PROVER.set(prover)
    try:
        yield
    finally:
        _PROVER.reset(token)


def prover_in_use() -> str:
    """The name of the prover that `equal` uses."""
    return _PROVER.get()


def alike(a: PrimExpr, b: PrimExpr, names: Mapping[PrimVar, PrimVar] | None = None) -> Answer:
    """YES if `a`, with its variables renamed by `names`, is written like `b`; NO for different literals; else UNKNOWN."""
    with proving("alpha"):
        return equal(substitute(a, dict(names or {})), b)


def equal(a: PrimExpr, b: PrimExpr) -> Answer:
    """YES if `a == b` for all values of the variables, NO if for none, else UNKNOWN."""
    if a is b:
        return Answer.YES
    if type(a) is IntImm and type(b) is IntImm:
        return Answer.YES if a.value == b.value else Answer.NO
    if _PROVER.get() == "alpha":
        return Answer.UNKNOWN
    difference = combine(CANONICAL.polynomial(a), CANONICAL.polynomial(b), -1)
    if not difference:
        return Answer.YES
    if never_zero(difference):
        return Answer.NO
    return Answer.UNKNOWN if over_variables(difference) is not None else _equal_by_cases(a, b)


@lru_cache(maxsize=4096)
def _equal_by_cases(a: PrimExpr, b: PrimExpr) -> Answer:
    left, right = CANONICAL.polynomial(a), CANONICAL.polynomial(b)
    if cases.impossible(cases.equals(left, right)):
        return Answer.NO
    different = cases.at_least(left, right, 1), cases.at_least(right, left, 1)
    return Answer.YES if all(cases.impossible(case) for case in different) else Answer.UNKNOWN


def never_zero(poly: Polynomial) -> bool:
    """True if a polynomial is certainly not 0, whatever its variables are."""
    value = constant(poly)
    if value is not None:
        return value != 0
    if poly.get((), 0) % gcd(*[c for monomial, c in poly.items() if monomial]):
        return True  # such as 4n - 4m + 1: never zero for integers
    low, high = polynomial_bounds(poly)
    return (low is not None and low > 0) or (high is not None and high < 0)


def at_least(a: PrimExpr, bound: int) -> Answer:
    """Whether `a >= bound`. Shape variables are at least 0."""
    poly = CANONICAL.polynomial(a)
    low, high = polynomial_bounds(poly)
    if low is not None and low >= bound:
        return Answer.YES
    if high is not None and high < bound:
        return Answer.NO
    return Answer.UNKNOWN if over_variables(poly) is not None else _at_least_by_cases(a, bound)


@lru_cache(maxsize=4096)
def _at_least_by_cases(a: PrimExpr, bound: int) -> Answer:
    value, limit = CANONICAL.polynomial(a), cases.literal(bound)
    if cases.impossible(cases.at_least(limit, value, 1)):
        return Answer.YES
    return Answer.NO if cases.impossible(cases.at_least(value, limit)) else Answer.UNKNOWN


def shapes_equal(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> Answer:
    """Whether two shapes are equal, dimension by dimension."""
    if len(a) != len(b):
        return Answer.NO
    answers = {equal(x, y) for x, y in zip(a, b, strict=True)}
    if Answer.NO in answers:
        return Answer.NO
    return Answer.UNKNOWN if Answer.UNKNOWN in answers else Answer.YES


def factors(dims: Sequence[PrimExpr]) -> list[PrimExpr]:
    """The factors of all lengths of a shape, in order."""
    all_factors: list[PrimExpr] = []
    for dim in dims:
        all_factors += factors((dim.a, dim.b)) if type(dim) is Mul else [dim]
    return all_factors


def product(dims: Sequence[PrimExpr]) -> PrimExpr:
    """The number of elements of a shape. Literals are multiplied as far as that fits; other factors keep their order."""
    literal, result = 1, None
    for dim in dims:
        if type(dim) is IntImm and abs(literal * dim.value) <= INT64_MAX:
            literal *= dim.value
        else:
            result = dim if result is None else Mul(result, dim)
    if result is None or literal == 0:
        return IntImm(literal)
    return result if literal == 1 else Mul(result, IntImm(literal))


# -- impossible ------------------------------------------------------------------------------------------------------
# Lengths that no assignment of shape variables makes possible: negative ones, and divisions by what is always 0.


_DIVISIONS = (p.Div, p.Mod, p.FloorDiv, p.FloorMod)


def _is_zero(divisor: p.PrimExpr) -> bool:
    return equal(divisor, p.IntImm(0, divisor.dtype)) is Answer.YES


def division_by_zero(dim: p.PrimExpr, is_zero: Callable[[p.PrimExpr], bool] = _is_zero) -> p.Binary | None:
    """The innermost part of a length that divides by 0. A branch of a selection that is not taken divides nothing.

    `is_zero` decides of a divisor; without it a divisor is 0 if it is so for all values of its variables.
    """
    if not dim.children():
        return None
    stack = [dim]
    found: p.Binary | None = None
    while stack:
        part = stack.pop()
        if isinstance(part, _DIVISIONS) and is_zero(part.b):
            found = part
        is_choice = isinstance(part, p.Select) or (isinstance(part, p.PrimCall) and part.op == "if_then_else")
        stack.extend(part.children()[:1] if is_choice else part.children())
    return found


def is_negative(dim: p.PrimExpr) -> bool:
    """True if a length is negative for all values of its variables."""
    return type(dim) is not p.PrimVar and dim.dtype.is_int and at_least(dim, 0) is Answer.NO
