"""Arithmetic of literals: folds an operator on two numbers, or on a number and another operand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from relax_explorer.core.ir.dtype import DType

Side = Literal["a", "b"]
Neutral = Callable[[float | None, float | None], Side | int | None]


@dataclass(frozen=True, slots=True)
class Folding:
    """The folding rules of an operator.

    `result` computes with two numbers; `of_integers`, if present, replaces it for two integers. `neutral` handles a single
    number that decides the result: it returns the remaining operand, or a number. `floats` and `neutral_floats` say whether
    the two rules apply to floats.
    """

    result: Callable[[float, float], float]
    neutral: Neutral | None = None
    of_integers: Callable[[float, float], float] | None = None
    divides: bool = False
    floats: bool = True
    neutral_floats: bool = True

    def decide(self, a: float | None, b: float | None, dtype: DType) -> Side | float | None:
        """The result as a number, or the remaining operand. None leaves it to run time."""
        if a is None or b is None:
            if self.neutral is None or (dtype.is_float and not self.neutral_floats):
                return None
            return self.neutral(a, b)
        if (b == 0 and self.divides) or (dtype.is_float and not self.floats):
            return None
        if self.of_integers is not None and not dtype.is_float:
            return self.of_integers(a, b)
        return self.result(a, b)


def rounded(value: float, dtype: DType) -> float:
    """`value` rounded to a floating point dtype."""
    import numpy as np

    with np.errstate(all="ignore"):
        return float(np.asarray(value).astype(dtype.to_numpy()))


def wrap(value: int, dtype: DType) -> int:
    """`value` wrapped into the range of an integer dtype (two's complement)."""
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.kind == "int" and value >> (dtype.bits - 1) else value


def towards_zero(a: float, b: float) -> int:
    """The quotient of two integers, rounded towards zero."""
    quotient = abs(int(a)) // abs(int(b))
    return quotient if (a >= 0) == (b >= 0) else -quotient


def _add(a: float | None, b: float | None) -> Side | None:
    return "b" if a == 0 else "a" if b == 0 else None


def _sub(a: float | None, b: float | None) -> Side | None:
    return "a" if b == 0 else None


def _mul(a: float | None, b: float | None) -> Side | None:
    if a == 1 or b == 0:
        return "b"
    return "a" if a == 0 or b == 1 else None


def _quotient(a: float | None, b: float | None) -> Side | None:
    return "a" if a == 0 or b == 1 else None


def _remainder(a: float | None, b: float | None) -> Side | int | None:
    return "a" if a == 0 else 0 if b == 1 else None


ADD = Folding(lambda a, b: a + b, _add)
SUB = Folding(lambda a, b: a - b, _sub)
MUL = Folding(lambda a, b: a * b, _mul)
DIV = Folding(lambda a, b: a / b, _quotient, towards_zero, divides=True)
MOD = Folding(
    lambda a, b: int(a) - towards_zero(a, b) * int(b), _remainder,
    divides=True, floats=False, neutral_floats=False,
)  # fmt: skip
FLOOR_DIV = Folding(lambda a, b: int(a) // int(b), _quotient, divides=True, floats=False)
FLOOR_MOD = Folding(
    lambda a, b: int(a) % int(b), _remainder, divides=True, floats=False, neutral_floats=False
)
MAX = Folding(lambda a, b: a if a > b else b)
MIN = Folding(lambda a, b: a if a < b else b)
EQ = Folding(lambda a, b: a == b)
NE = Folding(lambda a, b: a != b)
LT = Folding(lambda a, b: a < b)
LE = Folding(lambda a, b: a <= b)
GT = Folding(lambda a, b: a > b)
GE = Folding(lambda a, b: a >= b)
