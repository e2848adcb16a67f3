"""Functions that numpy lacks, and wrappers that restore the dtype after a computation in float64 or float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import FLOAT64, INT64, DType
from relax_explorer.core.ops.kit.ndarrays import Array

# Coefficients of W. J. Cody, "Rational Chebyshev approximations for the error function", Mathematics of Computation 23
# (1969), as in netlib's specfun, the highest power first: x * P(x^2) / Q(x^2) for erf near 0, and
# exp(-x^2) * P(x) / Q(x) for 1 - erf farther out.
_NEAR = 0.46875
_NEAR_OVER = (
    1.85777706184603153e-1, 3.16112374387056560e00, 1.13864154151050156e02, 3.77485237685302021e02,
    3.20937758913846947e03,
)  # fmt: skip
_NEAR_UNDER = (
    1.0, 2.36012909523441209e01, 2.44024637934444173e02, 1.28261652607737228e03, 2.84423683343917062e03,
)  # fmt: skip
_FAR_OVER = (
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e01,
    2.98635138197400131e02, 8.81952221241769090e02, 1.71204761263407058e03, 2.05107837782607147e03,
    1.23033935479799725e03,
)  # fmt: skip
_FAR_UNDER = (
    1.0, 1.57449261107098347e01, 1.17693950891312499e02, 5.37181101862009858e02, 1.62138957456669019e03,
    3.29079923573345963e03, 4.36261909014324716e03, 3.43936767414372164e03, 1.23033935480374942e03,
)  # fmt: skip
_END = 6.0
"""From here on erf is 1 in float64. Cody has a third form from 4 on; the second form is off by less than 1 - erf(4) = 2e-8 there."""
_BLOCK = 8192
"""Elements computed at once: 64 KiB of float64, so that a block stays in the cache."""


def scalar_value(literal: p.IntImm | p.FloatImm) -> Any:
    """A scalar literal as a Python number. Dtypes other than int64 and float64 give a numpy scalar, which keeps the dtype."""
    if literal.dtype.is_bool:
        return bool(literal.value)
    if literal.dtype not in (INT64, FLOAT64):
        return np.asarray(literal.value, literal.dtype.to_numpy())[()]
    return literal.value


class NotDefined(TypeError):
    """An operator is not defined for a dtype. Carries the advice for the user."""

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint


class BadValue(ValueError):
    """An operand has the right type but a value that the operator refuses."""


def need_bits(name: str, x: Array, kinds: str = "iub") -> None:
    """Refuse elements that are neither integers nor bool, because bitwise operations are not defined for floats."""
    if x.dtype.kind not in kinds:
        text = f"{name} is {x.dtype.name}, and bits are those of integers"
        raise NotDefined(text, "convert it with R.astype first, or use R.logical_and and its like")


def keep_dtype(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`function` with its result converted to the operand's dtype. Narrow floats are computed as float32."""

    def wrapped(x: Array) -> Array:
        narrow = x.dtype.itemsize < 4 and x.dtype.kind not in "iub"
        return np.asarray(function(x.astype(np.float32, copy=False) if narrow else x)).astype(
            x.dtype, copy=False
        )

    return wrapped


def as_array(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, returning an array where numpy returns a scalar."""

    def wrapped(*args: Array) -> Array:
        return np.asarray(function(*args))

    return wrapped


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), which is 0 where exp overflows."""
    return 1 / (1 + np.exp(-x))


def erf(x: Array) -> Array:
    """The error function, as accurate as its dtype (Cody 1969); integers give float64."""
    kind = x.dtype if hasattr(x, "dtype") and x.dtype.kind == "f" else np.dtype(np.float64)
    array = np.asarray(x)
    result: Array = np.empty(array.shape, kind)
    source, target = np.ascontiguousarray(array).reshape(-1), result.reshape(-1)
    for start in range(0, source.size, _BLOCK):
        target[start : start + _BLOCK] = _erf_block(source[start : start + _BLOCK].astype(np.float64))
    return result


def _erf_block(x: Array) -> Array:
    """The error function of a float64 vector."""
    size = np.abs(x)
    bound = np.minimum(size, _NEAR)
    near = size * _quotient(np.square(bound, out=bound), _NEAR_OVER, _NEAR_UNDER)
    bound = np.minimum(size, _END)
    far = 1 - np.exp(-bound * bound) * _quotient(bound, _FAR_OVER, _FAR_UNDER)
    return np.copysign(np.where(size <= _NEAR, near, far), x)


def _quotient(x: Array, over: Sequence[float], under: Sequence[float]) -> Array:
    """The quotient of two polynomials at `x`, by Horner's rule."""
    parts = []
    for coefficients in (over, under):
        total = np.full_like(x, coefficients[0])
        for coefficient in coefficients[1:]:
            total *= x
            total += coefficient
        parts.append(total)
    return np.divide(parts[0], parts[1], out=parts[0])


def wide(x: Array) -> Array:
    """A narrow float array converted to float32; other arrays unchanged."""
    return x.astype(np.float32) if x.dtype.itemsize < 4 and x.dtype.kind not in "iub" else x


# -- whole -----------------------------------------------------------------------------------------------------------
# Floats converted to integers, with the same numbers on every processor and in compiled kernels.


def whole(x: Array, dtype: DType) -> Array:
    """Floats truncated towards zero. One that does not fit, or NaN, becomes the least int32 or int64, which then wraps around.

    Numpy and C leave these cases to the processor. int64 stands behind int64 and the large unsigned dtypes, int32 behind the others.
    """
    values = x if x.dtype.itemsize > 2 else x.astype(np.float32)
    wide = np.int64 if dtype.bits == 64 or dtype.name == "uint32" else np.int32
    limit = -float(np.iinfo(wide).min)
    fits = (values >= -limit) & (values < limit)
    if fits.all():
        return values.astype(wide).astype(dtype.to_numpy())
    number = np.where(fits, values, 0).astype(wide)
    number[~fits] = np.iinfo(wide).min
    result: Array = number.astype(dtype.to_numpy())
    if dtype.name == "uint64":
        large = (values >= limit) & (values < 2 * limit)
        result[large] = values[large].astype(np.uint64)
    return result
