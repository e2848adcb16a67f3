"""Casts to floats of 16 bits and fewer inside kernels, which compute such elements as float32."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit
def narrow(value: float, mantissa: int, least: int, most: float, beyond: float) -> np.float32:
    """A float rounded to `mantissa` bits behind the first one, half to even.

    `least` is the exponent of the smallest normal number, and `most` the largest number. Larger ones become `beyond`.
    """
    if value == 0.0 or not math.isfinite(value):
        return np.float32(value if value == 0.0 or math.isnan(value) else math.copysign(beyond, value))
    exponent = max(math.frexp(value)[1] - 1, least) - mantissa
    unit = math.ldexp(1.0, exponent)
    rounded = np.rint(value / unit) * unit
    return np.float32(rounded if abs(rounded) <= most else math.copysign(beyond, value))
