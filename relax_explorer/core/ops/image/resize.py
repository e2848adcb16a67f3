"""Resizing images and volumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT64, DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.data_layout import (
    by_axis,
    dims_of,
    lengths_of,
    need_layout,
    need_layout_rank,
    ordered,
    plain,
    plain_stage,
    rank_of,
    tiled,
    tiled_stage,
)
from relax_explorer.core.ops.kit.decl import Fusion, Numbers, Shape, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.te import Te, Tensor, call, cast, where
from relax_explorer.core.ops.kit.windows import Spatial, all_of, in_order

# -- resize places ---------------------------------------------------------------------------------------------------
# Sources of the elements of a resized axis: positions, rounding, and weights of the elements around a position.


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


def _whole_steps(old: object, new: object, mode: str, rounding: str) -> int:
    """The number of repetitions of each element if it is an integer and needs no float; else 0."""
    if mode != "asymmetric" or rounding not in ("", "floor"):
        return 0
    if not isinstance(old, int) or not isinstance(new, int):
        return 0
    return new // old if old and new and new % old == 0 else 0


def rounded(places: Array, old: int, new: int, mode: str, rounding: str) -> Array:
    """The indices nearest to positions."""
    steps = _whole_steps(old, new, mode, rounding)
    if steps:
        return np.arange(new) // steps
    function, more = _rounding(mode, rounding)
    functions: dict[str, np.ufunc] = {"round": np.rint, "floor": np.floor, "ceil": np.ceil}
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


_Share = TypeVar("_Share", Array, p.PrimExpr)


def weights_of(share: _Share, method: str, alpha: float) -> dict[int, _Share]:
    """The weights of the elements around a position, by their distance from the one below: Keys' kernel (1981), or linear."""
    if method == "linear":
        return {0: 1 - share, 1: share}
    rest = 1 - share
    return {
        -1: _far(1 + share, alpha), 0: _near(share, alpha), 1: _near(rest, alpha), 2: _far(1 + rest, alpha)
    }  # fmt: skip


def _near(distance: _Share, alpha: float) -> _Share:
    return ((alpha + 2) * distance - (alpha + 3)) * distance * distance + 1


def _far(distance: _Share, alpha: float) -> _Share:
    return ((distance - 5) * distance + 8) * distance * alpha - 4 * alpha


# -- resize ----------------------------------------------------------------------------------------------------------


METHODS = ("nearest_neighbor", "linear", "cubic")
MODES = (
    "half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize",
)  # fmt: skip
ROUNDINGS = ("", "round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")


class Resize(Spatial):
    """Base of the resizings: one axis after the other, the last first."""

    raises = (codes.RANK_WRONG, codes.DIMS_DIFFER)
    by_kernel = True
    stops = Stops.LENGTHS
    data: Tensor = operand("IMAGES, by layout")
    size: Shape = operand("the lengths of the result along the axes of space")
    roi: Numbers = attr(
        lambda spatial: (p.FloatImm(0.0),) * (2 * len(spatial)),
        "for tf_crop_and_resize, the region as fractions of the lengths: its start in each axis, then its end;"
        " a single number is repeated",
    )
    layout: str = attr(
        in_order("NC"),
        "order of the axes of data and of the result: N batch, C channels, the others space; tiles such as 4c may follow",
    )
    method: str = attr("linear", "nearest_neighbor, linear or cubic")
    coordinate_transformation_mode: str = attr(
        "half_pixel", f"how the position of an element is computed: {', '.join(MODES)}"
    )
    rounding_method: str = attr(
        lambda spatial: "round" if spatial == "HW" else "",
        "for nearest_neighbor, how a position between two elements is rounded: round, floor, ceil, round_prefer_floor or"
        " round_prefer_ceil; when empty, round with align_corners, else floor",
    )
    cubic_alpha: float = attr(-0.75, "for cubic, the coefficient a of its polynomials")
    cubic_exclude: int = attr(0, "for cubic, 1 drops elements outside and scales the others up; else 0")
    extrapolation_value: float = attr(0.0, "for tf_crop_and_resize, the value outside data")
    out_dtype: DType | None = attr(None, "dtype of the result; None means the dtype of data")
    fusion = Fusion.INJECTIVE

    @classmethod
    def refine(cls, call: e.Call, infos: list[s.StructInfo]) -> e.Call:
        """The region as floats, the start and the end of each axis."""
        attrs, number = call.attrs, 2 * len(cls.spatial)
        roi = attrs.get("roi")
        numbers = (0.0,) * number if roi is None else roi if isinstance(roi, tuple) else (roi,) * number
        if not all(isinstance(item, (p.PrimExpr, int, float)) for item in numbers):
            return call  # not a region; inference reports it
        floats = tuple(
            [item if isinstance(item, p.PrimExpr) else p.FloatImm(float(item)) for item in numbers]
        )
        if floats == roi:
            return call
        return e.Call(call.op, call.args, attrs.having(roi=floats), call.sinfo_args, None, call.span)

    @classmethod
    def infer(
        cls, at: Site, data: s.StructInfo, size: s.StructInfo, roi: Numbers, layout: str, method: str, coordinate_transformation_mode: str,
        rounding_method: str, cubic_exclude: int, out_dtype: DType | None, **rest: object,
    ) -> s.StructInfo:  # fmt: skip
        """Like data, with the lengths size along the axes of space; the dtype is out_dtype."""
        x, rank = rules.tensor(at, data, "data"), len(cls.spatial)
        need_layout(at, f"NC{cls.spatial}", layout=layout)
        need_layout_rank(at, layout, x, "data")
        if not isinstance(size, s.ShapeStructInfo) or size.ndim not in (-1, rank):
            text = f"size is {size}, a shape of {rank} lengths is needed"
            raise at.fail(codes.WRONG_KIND, text, size=f"this is {size}")
        if any(isinstance(dim, p.IntImm) and dim.value < 0 for dim in size.values or ()):
            text = f"size is {size}, lengths of at least 0 are needed"
            raise at.fail_by_spec(codes.BAD_ATTRIBUTE, text, size=f"this is {size}")
        _check_words(at, method, coordinate_transformation_mode, rounding_method)
        if cubic_exclude not in (0, 1):
            text = f"cubic_exclude is {cubic_exclude}, it must be 0 or 1"
            raise at.fail_by_spec(codes.BAD_ATTRIBUTE, text, help="1 drops elements outside")
        if coordinate_transformation_mode == "tf_crop_and_resize" and len(roi) != 2 * rank:
            raise at.fail_by_spec(codes.BAD_ATTRIBUTE, f"roi has {len(roi)} numbers, {2 * rank} are needed")
        dtype = out_dtype or x.dtype
        if x.dims is None or size.values is None:
            return s.TensorStructInfo(None, dtype, rank_of(layout))
        lengths = {**lengths_of(layout, x.dims), **by_axis(cls.spatial, size.values)}
        return s.TensorStructInfo(dims_of(layout, lengths), dtype)

    @classmethod
    def evaluate(
        cls, data: Array, size: tuple[int, ...], roi: Numbers, layout: str, method: str, coordinate_transformation_mode: str, rounding_method: str,
        cubic_alpha: float, cubic_exclude: int, extrapolation_value: float, out_dtype: DType | None,
    ) -> Array:  # fmt: skip
        """Weighted sums of the elements around each position, one axis after the other."""
        mode, axes = coordinate_transformation_mode, f"NC{cls.spatial}"
        x = plain(data, layout, axes)
        dtype = out_dtype.to_numpy() if out_dtype is not None else data.dtype
        outside = np.zeros((1,) * x.ndim, bool)
        mixed = method.lower() != "nearest_neighbor"
        result = x.astype(np.float32) if mixed else x
        for n, (name, length) in reversed(list(enumerate(zip(cls.spatial, size, strict=True)))):
            axis, old = n + 2, x.shape[n + 2]
            places = places_of(old, length, mode, *region_ends(roi, cls.spatial, name))
            along = [-1 if other == axis else 1 for other in range(x.ndim)]
            if mixed:
                result = mixture(result, axis, places, method.lower(), cubic_alpha, bool(cubic_exclude))
            else:
                indices = rounded(places, old, length, mode, rounding_method)
                result = np.take(result, np.clip(indices, 0, max(old - 1, 0)), axis)
            if mode == "tf_crop_and_resize":
                outside = outside | ((places < 0) | (places > old - 1)).reshape(along)
        if mode == "tf_crop_and_resize":
            result = np.where(outside, np.asarray(extrapolation_value).astype(result.dtype), result)
        return tiled(result, axes, layout).astype(dtype)

    @classmethod
    def legalize(
        cls,
        te: Te,
        data: Tensor,
        size: Sequence[p.PrimExpr],
        roi: Numbers,
        layout: str,
        method: str,
        coordinate_transformation_mode: str,
        rounding_method: str,
        cubic_alpha: float,
        cubic_exclude: int,
        extrapolation_value: float,
        out_dtype: DType | None,
    ) -> Tensor:
        """The nearest element, or a weighted sum of the elements around the position."""
        mode, result_layout, dtype = coordinate_transformation_mode, layout, out_dtype or data.dtype
        data, layout = plain_stage(te, data, layout, f"NC{cls.spatial}")
        at = _Target(
            cls.spatial, layout, by_axis(layout, data.shape), by_axis(cls.spatial, size), mode, roi, dtype
        )
        if method.lower() == "nearest_neighbor":
            return tiled_stage(
                te, _nearest_stage(te, data, at, rounding_method, extrapolation_value), layout, result_layout
            )
        exclude = bool(cubic_exclude) and method.lower() == "cubic"
        stage = data
        for axis in reversed(cls.spatial):  # the last first, into a tensor of float32
            last = extrapolation_value if axis == cls.spatial[0] else None
            stage = _mixed_stage(te, stage, at, axis, method.lower(), cubic_alpha, exclude, last)
        return tiled_stage(te, stage, layout, result_layout)


@dataclass(frozen=True)
class _Target:
    """A lowering of resize: the lengths before and after, by axis, and the rule for positions."""

    spatial: str
    layout: str
    old: dict[str, p.PrimExpr]
    new: dict[str, p.PrimExpr]
    mode: str
    roi: Any
    dtype: DType

    def exact(self, axis: str, i: p.PrimExpr) -> p.PrimExpr:
        """The source position of an index of an axis."""
        ends = region_ends(self.roi, self.spatial, axis)
        return place_of(i, self.old[axis], self.new[axis], self.mode, *ends)

    def finished(self, place: dict[str, p.PrimExpr], value: p.PrimExpr, outside: float) -> p.PrimExpr:
        """The value in the dtype of the result, or `outside` for a position outside the data."""
        if self.mode != "tf_crop_and_resize":
            return cast(value, self.dtype)
        tests: list[p.PrimExpr] = []
        for axis in self.spatial:
            position, end = (
                self.exact(axis, place[axis]),
                cast(simplify(p.Sub(self.old[axis], rules.ONE)), FLOAT32),
            )
            tests += [p.LE(p.FloatImm(0.0), position), p.LE(position, end)]
        return where(all_of(tests), cast(value, self.dtype), cast(p.FloatImm(outside), self.dtype))


def _nearest_stage(te: Te, x: Tensor, at: _Target, rounding: str, outside: float) -> Tensor:
    """The element nearest to the position."""

    def element(*i: p.PrimExpr) -> p.PrimExpr:
        place = by_axis(at.layout, i)
        source = dict(place)
        for axis in at.spatial:
            exact = at.exact(axis, place[axis])
            index = rounded_index(place[axis], exact, at.old[axis], at.new[axis], at.mode, rounding)
            source[axis] = inside(index, at.old[axis])
        return at.finished(place, x[ordered(at.layout, source)], outside)

    return te.compute("resize", ordered(at.layout, {**at.old, **at.new}), element, at.dtype)


def _mixed_stage(
    te: Te, x: Tensor, at: _Target, axis: str, method: str, alpha: float, exclude: bool, outside: float | None
) -> Tensor:
    """A weighted sum along one axis. The result is float32; only the last axis converts it and applies `outside`."""

    def mixed(*i: p.PrimExpr) -> p.PrimExpr:
        place = by_axis(at.layout, i)
        exact = at.exact(axis, place[axis])
        low = call("floor", exact)
        index = p.Cast(INT64, low)

        def element(tap: int) -> p.PrimExpr:
            found = inside(index + tap if tap else index, at.old[axis])
            return cast(x[ordered(at.layout, {**place, axis: found})], FLOAT32)

        weights = weights_of(p.Sub(exact, low), method, alpha)
        weights = excluded(weights, index, at.old[axis]) if exclude else weights
        value = reduce(p.Add, [element(tap) * weight for tap, weight in weights.items()])
        return value if outside is None else at.finished(place, value, outside)

    shape = ordered(at.layout, {**by_axis(at.layout, x.shape), axis: at.new[axis]})
    return te.compute("resize", shape, mixed, FLOAT32 if outside is None else at.dtype)


def _check_words(at: Site, method: str, mode: str, rounding: str) -> None:
    words = {"method": (method.lower(), METHODS), "coordinate_transformation_mode": (mode, MODES)}
    words["rounding_method"] = (rounding, ROUNDINGS)
    for name, (word, known) in words.items():
        if word not in known:
            text = f"{name} is {word!r}, it must be one of {', '.join(filter(None, known))}"
            raise at.fail_by_spec(codes.BAD_ATTRIBUTE, text)


class Resize2d(Resize, name="relax.image.resize2d", spatial="HW"):
    """Images in another size: the nearest element, or linear or cubic interpolation.

    Element i of a length b comes from a position in the length a of data: (i + 0.5) * a / b - 0.5 with half_pixel, i * (a - 1) / (b - 1)
    with align_corners, i * a / b with asymmetric.
    """

    source = "ONNX Resize"
    examples = (
        'f32[1,3,4,4] (8,8) method="nearest_neighbor" coordinate_transformation_mode="asymmetric" -> f32[1,3,8,8]',
        'f32[1,4,5,3] (7,3) layout="NHWC" -> f32[1,7,3,3]',
        'f32[1,2,4,4] (7,3) coordinate_transformation_mode="align_corners" -> f32[1,2,7,3]',
        'f32[1,2,4,5] (7,3) method="cubic" -> f32[1,2,7,3]',
        'f32[n,2,4,5] (7,1) method="cubic" cubic_exclude=1 coordinate_transformation_mode="pytorch_half_pixel" -> f32[n,2,7,1]',
        'f32[1,1,4,5,2] (3,6) roi=[0.1,-0.2,0.9,0.7] coordinate_transformation_mode="tf_crop_and_resize"'
        ' extrapolation_value=5.0 layout="NCHW2c" -> f32[1,1,3,6,2]',
    )


class Resize3d(Resize, name="relax.image.resize3d", spatial="DHW"):
    """Volumes in another size: the nearest element, or linear or cubic interpolation.

    Element i of a length b comes from a position in the length a of data: (i + 0.5) * a / b - 0.5 with half_pixel, i * (a - 1) / (b - 1)
    with align_corners, i * a / b with asymmetric.
    """

    source = "ONNX Resize"
    examples = (
        "f32[n,2,3,4,5] (6,4,3) -> f32[n,2,6,4,3]",
        'f32[1,2,3,4,5] (6,4,m) method="nearest_neighbor" rounding_method="round_prefer_ceil" -> f32[1,2,6,4,m]',
        'f32[1,3,4,5,2] (2,3,6) method="cubic" layout="NDHWC" coordinate_transformation_mode="align_corners" -> f32[1,2,3,6,2]',
    )
