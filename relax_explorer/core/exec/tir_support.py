"""What generated kernels call: checked indices, and TIR's arithmetic where numba's is another.

These are compiled once in a process for each combination of types, and become part of the kernels that call them; a kernel on disk
does not notice when they change (`tir_numba.VERSION`).
"""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(error_model="numpy")
def at(i: Any, n: Any, access: Any) -> Any:
    """An index of an axis of length n; `access` is the number of the access, for the message."""
    if i < 0 or i >= n:
        raise IndexError(access, i, n)
    return i


@njit(error_model="numpy")
def larger(a: Any, b: Any) -> Any:
    """The larger of two numbers; the second where one is NaN."""
    return a if a > b else b


@njit(error_model="numpy")
def smaller(a: Any, b: Any) -> Any:
    """The smaller of two numbers; the second where one is NaN."""
    return a if a < b else b


@njit(error_model="numpy")
def nonzero(b: Any) -> Any:
    """A divisor that is not 0."""
    if b == 0:
        raise ZeroDivisionError("a divisor is 0")
    return b


@njit(error_model="numpy")
def trunc_div(a: Any, b: Any) -> Any:
    """A quotient rounded towards 0."""
    if b == -1:  # the least number has no opposite; its quotient wraps
        return -a
    q = a // nonzero(b)
    return q + 1 if (a < 0) != (b < 0) and q * b != a else q


@njit(error_model="numpy")
def floor_div(a: Any, b: Any) -> Any:
    """A quotient rounded down."""
    if b == -1:  # as above
        return -a
    return a // nonzero(b)


@njit(error_model="numpy")
def trunc_mod(a: Any, b: Any) -> Any:
    """What remains of a division that rounds towards 0."""
    return a - trunc_div(a, b) * b


@njit(error_model="numpy")
def shift(n: Any, bits: Any) -> Any:
    """A distance that an integer of so many bits can be shifted by."""
    if n < 0 or n >= bits:
        raise ZeroDivisionError("a shift is by the width of the number or more")
    return n
