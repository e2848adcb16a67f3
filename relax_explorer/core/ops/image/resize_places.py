"""Sources of the elements of a resized axis: positions, rounding, and weights of the elements around a position."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import FLOAT32, INT64
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.decl import Numbers
from relax_explorer.core.ops.kit.te import call, cast, where

# A float slightly below an integer is rounded to that integer, as in TVM.
_HAIR = 1e-5


def region_ends(roi: Numbers, spatial: str, axis: str) -> tuple[float, float]:
    """The start and end of the region in an axis. TVM has height first for images, width first for volumes."""
    numbers = [float(getattr(item, "value", item)) for item in roi]
    place, rank = (spatial if len(spatial) == 2 else spatial[::-1]).index(axis), len(spatial)
    return (numbers[place], numbers[place + rank]) if len(numbers) == 2 * rank else (0.0, 0.0)


def places_of(old: int, new: int, mode: str, start: float, end: float) -> Array:
    """The source positions of all indices of the new axis, as float32."""
    f = np.float32
    i, scale = np.arange(new, dtype=f), f(old) / f(max(new, 1))
    if mode == "align_corners":
        return i * (f(old - 1) / f(new - 1)) if new > 1 else i
    if mode == "tf_crop_and_resize":
        middle = f(0.5 * (start + end)) * f(old - 1)
        return f(start) * f(old - 1) + i * f(end - start) * f(old - 1) / f(new - 1) if new > 1 else i + middle
    if mode == "asymmetric":
        return i * scale
    if mode == "pytorch_half_pixel" and new <= 1:
        return i
    moved = (i + f(0.5)) * scale
    return moved if mode == "tf_half_pixel_for_nn" else moved - f(0.5)


def place_of(
    i: p.PrimExpr, old: p.PrimExpr, new: p.PrimExpr, mode: str, start: float, end: float
) -> p.PrimExpr:
    """Like `places_of`, for one index."""
    x, zero, half = p.Cast(FLOAT32, i), p.FloatImm(0.0), p.FloatImm(0.5)
    less = [cast(simplify(p.Sub(length, rules.ONE)), FLOAT32) for length in (old, new)]

    def unless_single(value: Callable[[], p.PrimExpr], single: p.PrimExpr) -> p.PrimExpr:
        if isinstance(new, p.IntImm):
            return value() if new.value > 1 else single
        return where(p.LT(rules.ONE, new), value(), single)

    if mode == "align_corners":
        return unless_single(lambda: p.Mul(x, _ratio(*less)), zero)
    if mode == "tf_crop_and_resize":
        first, middle = (p.Mul(p.FloatImm(share), less[0]) for share in (start, 0.5 * (start + end)))
        steps = p.Mul(p.Mul(x, p.FloatImm(end - start)), less[0])
        return unless_single(lambda: p.Add(first, p.Div(steps, less[1])), middle)
    scale = _ratio(cast(old, FLOAT32), cast(new, FLOAT32))
    if mode == "asymmetric":
        return p.Mul(x, scale)
    moved = p.Mul(p.Add(x, half), scale)
    if mode == "tf_half_pixel_for_nn":
        return moved
    return (
        unless_single(lambda: p.Sub(moved, half), zero)
        if mode == "pytorch_half_pixel"
        else p.Sub(moved, half)
    )


def _ratio(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    if isinstance(a, p.FloatImm) and isinstance(b, p.FloatImm) and b.value:
        return p.FloatImm(float(np.float32(a.value) / np.float32(b.value)))
    return p.Div(a, b)


def inside(found: p.PrimExpr, length: p.PrimExpr) -> p.PrimExpr:
    """An index clamped to an axis."""
    return p.Max(p.Min(found, simplify(p.Sub(length, rules.ONE))), rules.ZERO)


def _rounding(mode: str, rounding: str) -> tuple[str, float]:
    """The rounding function, and the number added before it."""
    word = rounding or ("round" if mode == "align_corners" else "floor")
    return {
        "round": ("round", 0.0),
        "floor": ("floor", _HAIR),
        "ceil": ("ceil", -_HAIR),
        "round_prefer_floor": ("ceil", -0.5),
        "round_prefer_ceil": ("floor", 0.5),
    }[word]


def _whole_steps(old: Any, new: Any, mode: str, rounding: str) -> int:
    """The number of repetitions of each element if it is an integer and needs no float; else 0."""
    whole = (
        mode == "asymmetric" and rounding in ("", "floor") and isinstance(old, int) and isinstance(new, int)
    )
    return new // old if whole and old and new and new % old == 0 else 0


def rounded(places: Array, old: int, new: int, mode: str, rounding: str) -> Array:
    """The indices nearest to positions."""
    steps = _whole_steps(old, new, mode, rounding)
    if steps:
        return np.arange(new) // steps
    function, more = _rounding(mode, rounding)
    functions: dict[str, Callable[[Any], Any]] = {"round": np.rint, "floor": np.floor, "ceil": np.ceil}
    result: Array = functions[function](places + np.float32(more)).astype(np.int64)
    return result


def rounded_index(
    i: p.PrimExpr, exact: p.PrimExpr, old: p.PrimExpr, new: p.PrimExpr, mode: str, rounding: str
) -> p.PrimExpr:
    """Like `rounded`, for one index."""
    steps = _whole_steps(getattr(old, "value", None), getattr(new, "value", None), mode, rounding)
    if steps:
        return p.FloorDiv(i, p.IntImm(steps))
    function, more = _rounding(mode, rounding)
    return p.Cast(INT64, call(function, p.Add(exact, p.FloatImm(more)) if more else exact))


def mixture(x: Array, axis: int, places: Array, method: str, alpha: float, exclude: bool) -> Array:
    """Weighted sums of the elements around the positions of an axis."""
    low = np.floor(places)
    share, index, old = places - low, low.astype(np.int64), x.shape[axis]
    total: Array = np.zeros((), np.float32)
    weights = weights_of(share, method, alpha)
    if exclude and method == "cubic":
        kept = [np.where((index + tap < 0) | (index + tap >= old), 0, w) for tap, w in weights.items()]
        weights = {tap: w / sum(kept) for tap, w in zip(weights, kept, strict=True)}
    for tap, weight in weights.items():
        part = np.take(x, np.clip(index + tap, 0, max(old - 1, 0)), axis)
        along = [-1 if n == axis else 1 for n in range(x.ndim)]
        total = total + part * weight.astype(np.float32).reshape(along)
    return total


def excluded(weights: dict[int, p.PrimExpr], index: p.PrimExpr, old: p.PrimExpr) -> dict[int, p.PrimExpr]:
    """The weights of elements inside an axis, scaled to a sum of 1."""
    kept = {}
    for tap, weight in weights.items():
        place = index + tap
        inside = p.And(p.LE(rules.ZERO, place), p.LT(place, old))
        kept[tap] = where(inside, weight, p.FloatImm(0.0))
    total = reduce(p.Add, kept.values())
    return {tap: p.Div(weight, total) for tap, weight in kept.items()}


def weights_of(share: Any, method: str, alpha: float) -> dict[int, Any]:
    """The weights of the elements around a position, by their distance from the one below: Keys' kernel (1981), or linear."""
    if method == "linear":
        return {0: 1 - share, 1: share}
    rest = 1 - share
    return {
        -1: _far(1 + share, alpha), 0: _near(share, alpha), 1: _near(rest, alpha), 2: _far(1 + rest, alpha)
    }  # fmt: skip


def _near(distance: Any, alpha: float) -> Any:
    return ((alpha + 2) * distance - (alpha + 3)) * distance * distance + 1


def _far(distance: Any, alpha: float) -> Any:
    return ((distance - 5) * distance + 8) * distance * alpha - 4 * alpha
