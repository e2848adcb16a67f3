"""How far two values are apart: by element, in units of the last place, and in direction."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relax_explorer.core.exec.values import Shape, Value, describe, kind_of
from relax_explorer.core.ops.kit.ndarrays import Array

_BOUNDS = {
    "float64": (1e-9, 1e-10),
    "float32": (1e-4, 1e-5),
    "float16": (1e-2, 1e-3),
    "bfloat16": (5e-2, 1e-2),
}
_COARSE = (0.25, 0.1)  # of floats with eight bits or fewer
_PART = 1 << 16  # elements that are compared at a time
_SCALES = (1e-2, 1e3)  # the least and the greatest scale of a tensor


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two floats `a` and `b` may be apart: |a - b| <= rtol·|a| + atol.

    Without given numbers they depend on the dtype, and `atol` is multiplied by the scale of the tensor: the median magnitude
    of its finite elements, between 0.01 and 1000. So sums in another order are equal, whatever the unit of the values, and
    the -1e9 of a mask hides nothing. Other dtypes must be equal.
    """

    rtol: float | None = None
    atol: float | None = None
    share: float = 1.0  # of the bounds that depend on the dtype

    @property
    def is_given(self) -> bool:
        """True if a number was given: then it alone decides."""
        return self.rtol is not None or self.atol is not None

    def bounds(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """The relative and the absolute part for a dtype, before the scale."""
        rtol, atol = [self.share * part for part in _BOUNDS.get(dtype.name, _COARSE)]
        return rtol if self.rtol is None else self.rtol, atol if self.atol is None else self.atol

    def allowed(self, numbers: Array, dtype: np.dtype[Any]) -> Array:
        """The allowed distance of each element. `numbers` are its elements as float64."""
        rtol, atol = self.bounds(dtype)
        magnitudes = np.abs(numbers)
        if self.atol is None:
            atol *= scale_of(magnitudes)
        return rtol * np.where(np.isfinite(magnitudes), magnitudes, 0.0) + atol

    def text(self, dtype: np.dtype[Any]) -> str:
        """The bound in words of arithmetic."""
        rtol, atol = self.bounds(dtype)
        scaled = "" if self.atol is not None else "·s, s = median |a| in 0.01 … 1000"
        return f"|Δ| ≤ {rtol:g}·|a| + {atol:g}{scaled} ({dtype.name})"


BY_DTYPE = Tolerance()
"""The bounds that depend on the dtype only."""


def scale_of(magnitudes: Array) -> float:
    """The scale of a tensor: the median of its finite magnitudes, between 0.01 and 1000."""
    finite = magnitudes[np.isfinite(magnitudes)]
    low, high = _SCALES
    return min(max(median(finite), low), high) if finite.size else 1.0


def median(numbers: Array) -> float:
    """The median of some numbers without NaN, as numpy gives it, which looks for NaN first."""
    flat, half = numbers.reshape(-1), numbers.size // 2
    if flat.size % 2:
        return float(np.partition(flat, half)[half])
    low, high = np.partition(flat, (half - 1, half))[half - 1 : half + 1]
    return (float(low) + float(high)) / 2


@dataclass(frozen=True, slots=True)
class Delta:
    """The distance of two values. `reason` tells why they differ; it is empty for equal ones.

    `index` is the first element out of bounds, `left` and `right` its values; `count` of `size` elements are out of bounds.
    `relative` is the greatest distance relative to an element, or to a tenth of the median one.
    """

    reason: str = ""
    max_abs: float = 0.0
    max_ulp: int = 0
    cosine: float = 1.0
    count: int = 0
    size: int = 0
    index: tuple[int, ...] = ()
    left: str = ""
    right: str = ""
    bound: str = ""
    relative: float = 0.0

    @property
    def equal(self) -> bool:
        """True if the values are equal within the bounds."""
        return not self.reason


def leaves_of(value: Value) -> Iterator[Value]:
    """The parts of a value that are no tuples, in order. A shape is one part."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, tuple) and not isinstance(item, Shape):
            stack.extend(reversed(item))
        else:
            yield item


def delta(a: Value, b: Value, tolerance: Tolerance) -> Delta:
    """The distance of two values. Of tuples, that of the first parts that differ, else the largest one."""
    left, right = list(leaves_of(a)), list(leaves_of(b))
    if len(left) != len(right):
        return Delta(f"{len(left)} values against {len(right)}")
    worst = Delta()
    for x, y in zip(left, right, strict=True):
        found = _of_leaves(x, y, tolerance)
        if not found.equal:
            return found
        if found.max_abs >= worst.max_abs:
            worst = found
    return worst


def _of_leaves(a: Value, b: Value, tolerance: Tolerance) -> Delta:
    a, b = (np.asarray(x) if isinstance(x, np.generic) else x for x in (a, b))
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return _of_others(a, b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return Delta(f"{describe(a)} against {describe(b)}")
    if is_float(a.dtype):
        return _of_floats(a, b, tolerance)
    wrong = a != b
    return _summed(a, b, wrong, _integer_distance(a, b) if wrong.any() else 0.0, 0, 1.0, "equal elements")


def _of_others(a: Value, b: Value) -> Delta:
    if isinstance(a, float) and isinstance(b, float):
        return _of_floats(np.asarray(a), np.asarray(b), Tolerance())
    if kind_of(a) != kind_of(b):
        return Delta(f"{describe(a)} against {describe(b)}")
    if kind_of(a) in ("prim", "shape") or isinstance(a, str):
        return Delta() if a == b else Delta(f"{describe(a)} against {describe(b)}")
    return Delta()  # functions and objects of the runtime have no content to compare


def is_float(dtype: np.dtype[Any]) -> bool:
    """True for the floats of numpy and those with 16 or fewer bits that it does not know."""
    return bool(dtype.kind == "f") or (dtype.kind == "V" and dtype.name.startswith(("bfloat", "float")))


def _integer_distance(a: Array, b: Array) -> float:
    if a.dtype.kind not in "biu":
        return math.inf
    return float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max())


def _of_floats(a: Array, b: Array, tolerance: Tolerance) -> Delta:
    if same_bits(a, b):
        return Delta("", size=a.size, bound=tolerance.text(a.dtype))
    left, right = a.astype(np.float64), b.astype(np.float64)
    apart = distance(left, right)
    wrong = apart > tolerance.allowed(left, a.dtype)
    most = float(apart.max()) if apart.size else 0.0
    found = _summed(a, b, wrong, most, ulps(a, b), _cosine(left, right), tolerance.text(a.dtype))
    return found if found.equal else replace(found, relative=_relative(apart, np.abs(left)))


def _relative(apart: Array, magnitudes: Array) -> float:
    sizes = np.where(np.isfinite(magnitudes), magnitudes, 0.0) + 0.1 * scale_of(magnitudes)
    return float((apart / sizes).max(initial=0.0))


def same_bits(a: Array, b: Array) -> bool:
    """True if two arrays of one shape and dtype have equal bytes."""
    if a is b:
        return True
    if not (a.flags.c_contiguous and b.flags.c_contiguous and a.size):
        return bool(a.tobytes() == b.tobytes())
    words = np.uint64 if a.nbytes % 8 == 0 else np.uint8
    left, right = (x.reshape(-1).view(words) for x in (a, b))
    parts = range(
        0, left.size, _PART
    )  # a part stays in the cache, and the first one that differs is the last
    return all((left[n : n + _PART] == right[n : n + _PART]).all() for n in parts)


def distance(left: Array, right: Array) -> Array:
    """The distance of each pair of float64 elements: 0 for two NaN or equal infinities, infinite for one of them."""
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(left - right)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))


def _summed(a: Array, b: Array, wrong: Array, most: float, ulp: int, cosine: float, bound: str) -> Delta:
    count = int(np.count_nonzero(wrong))
    if not count:
        return Delta("", most, ulp, cosine, 0, a.size, bound=bound)
    first = int(np.argmax(wrong.reshape(-1)))
    index = tuple(int(n) for n in np.unravel_index(first, a.shape))
    return Delta("values", most, ulp, cosine, count, a.size, index, _shown(a[index]), _shown(b[index]), bound)


def _shown(number: np.generic) -> str:
    return f"{float(number):.9g}" if is_float(number.dtype) else str(number)


def _cosine(left: Array, right: Array) -> float:
    """The cosine of two tensors seen as vectors, over elements that are finite in both; 1 for equal directions."""
    finite = np.isfinite(left) & np.isfinite(right)
    x, y = left[finite], right[finite]
    top = max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0))
    if top == 0:
        return 1.0
    x, y = x / top, y / top  # squares of large numbers would overflow
    norms = math.sqrt(float(np.vdot(x, x)) * float(np.vdot(y, y)))
    return float(np.vdot(x, y)) / norms if norms else 0.0


def ulps(a: Array, b: Array) -> int:
    """The largest distance in units of the last place, over elements that are numbers in both."""
    width = a.dtype.itemsize
    numbers = ~(np.isnan(a.astype(np.float64)) | np.isnan(b.astype(np.float64)))
    if width not in (1, 2, 4, 8) or not numbers.any():
        return 0
    kind = np.dtype(f"i{width}")
    places = [_place(np.ascontiguousarray(x).reshape(-1).view(kind)[numbers.reshape(-1)]) for x in (a, b)]
    low, high = np.minimum(*places), np.maximum(*places)
    return int((high.astype(np.uint64) - low.astype(np.uint64)).max())  # wraps to the right distance


def _place(bits: Array) -> Array:
    """The number of a float among all floats in order, 0 for zero, from its bits as a signed integer."""
    wide = bits.astype(np.int64)
    low = np.iinfo(bits.dtype).max
    return np.where(wide < 0, -(wide & low), wide)
