"""Functions that numpy lacks, and what keeps a dtype on the way through float64 or float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

# Abramowitz and Stegun 7.1.5 (series) below, the continued fraction of erfc (DLMF 7.9.2) above this border.
_BORDER = 2.0
_SERIES_TERMS, _FRACTION_TERMS = 40, 60


def keep_dtype(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function` with its result in the dtype of the operand; narrow floats are computed as float32."""

    def wrapped(x: Any) -> Any:
        narrow = x.dtype.itemsize < 4 and x.dtype.kind not in "iub"
        return np.asarray(function(x.astype(np.float32) if narrow else x)).astype(x.dtype)

    return wrapped


def as_array(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with an array as its result where numpy gives a scalar."""

    def wrapped(*args: Any) -> Any:
        return np.asarray(function(*args))

    return wrapped


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)) without overflow warnings."""
    return 1 / (1 + np.exp(-x))


def erf(x: Any) -> Any:
    """The error function, accurate to about 1e-15 (DLMF 7.6.1 and 7.9.2)."""
    wide = np.asarray(x, dtype=np.float64)
    size = np.abs(wide)
    small = np.minimum(size, _BORDER)
    result = np.where(size <= _BORDER, _erf_series(small), 1 - _erfc_fraction(np.maximum(size, _BORDER)))
    result = np.where(np.isnan(wide), np.nan, np.copysign(result, wide))
    return result.astype(x.dtype if hasattr(x, "dtype") and x.dtype.kind == "f" else np.float64)


def _erf_series(x: Any) -> Any:
    total = term = np.array(x, dtype=np.float64)
    square = x * x
    for n in range(1, _SERIES_TERMS):
        term = term * -square / n
        total = total + term / (2 * n + 1)
    return total * (2 / math.sqrt(math.pi))


def _erfc_fraction(x: Any) -> Any:
    fraction = x
    for n in range(_FRACTION_TERMS, 0, -1):
        fraction = x + (n / 2) / fraction
    return np.exp(-x * x) / (fraction * math.sqrt(math.pi))


def wide(x: Any) -> Any:
    """A copy of a narrow float tensor as float32; others as they are."""
    return x.astype(np.float32) if x.dtype.itemsize < 4 and x.dtype.kind not in "iub" else x
