"""Resizing images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT64, DType
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.decl import Fusion, Op, Shape, Site, attr, operand
from relax_explorer.core.ops.nn_layout import by_axis, need_layout, ordered
from relax_explorer.core.ops.special import wide
from relax_explorer.core.ops.te import Body, Te, Tensor, call, cast

_METHODS = ("nearest_neighbor", "linear", "cubic")
_MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
_ROUNDINGS: dict[str, Callable[[Any], Any]] = {"round": np.rint, "floor": np.floor, "ceil": np.ceil}


class Resize2d(Op, name="relax.image.resize2d"):
    """Images in another size: the nearest element, or linear or cubic interpolation (ONNX Resize)."""

    data: Tensor = operand("images, by layout")
    size: Shape = operand("height and width of the result")
    roi: Any = attr((p.FloatImm(0.0),) * 4, "region of tf_crop_and_resize; unused otherwise")
    layout: str = attr("NCHW", "order of the axes of the images")
    method: str = attr("linear", "nearest_neighbor, linear or cubic")
    coordinate_transformation_mode: str = attr(
        "half_pixel", "half_pixel, pytorch_half_pixel, asymmetric or align_corners"
    )
    rounding_method: str = attr("round", "round, floor or ceil, for nearest_neighbor")
    cubic_alpha: float = attr(-0.75, "coefficient of cubic")
    cubic_exclude: int = attr(0, "whether cubic leaves out what is outside")
    extrapolation_value: float = attr(0.0, "value outside, for tf_crop_and_resize")
    out_dtype: DType | None = attr(None, "dtype of the result; that of the data when None")
    fusion = Fusion.INJECTIVE
    no_legalize = "pytorch_half_pixel and cubic_exclude have no lowering yet"
    examples = (
        'f32[1,3,4,4] (8,8) method="nearest_neighbor" coordinate_transformation_mode="asymmetric" -> f32[1,3,8,8]',
        'f32[1,4,5,3] (7,3) layout="NHWC" -> f32[1,7,3,3]',
        'f32[1,2,4,4] (7,3) coordinate_transformation_mode="align_corners" -> f32[1,2,7,3]',
        'f32[1,2,4,5] (7,3) method="cubic" -> f32[1,2,7,3]',
    )

    @staticmethod
    def refine(call: e.Call, infos: list[s.StructInfo]) -> e.Call:
        """One length for both axes written twice, the region as four floats."""
        attrs, args = call.attrs, call.args
        roi = attrs.get("roi")
        wanted = (0.0,) * 4 if roi is None else roi if isinstance(roi, tuple) else (roi,) * 4
        if not all(isinstance(item, (p.PrimExpr, int, float)) for item in wanted):
            return call  # what it says is no region, as the inference will say
        floats = tuple([item if isinstance(item, p.PrimExpr) else p.FloatImm(float(item)) for item in wanted])
        attrs = attrs if floats == roi else attrs.having(roi=floats)
        size = args[1]
        return (
            call
            if attrs is call.attrs
            else e.Call(call.op, (args[0], size), attrs, call.sinfo_args, None, call.span)
        )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, size: s.StructInfo, layout: str, out_dtype: DType | None, **rest: Any
    ) -> s.StructInfo:
        """The same images in the new size."""
        x = rules.tensor(at, data, "data")
        rules.need_rank(at, x, 4, "data")
        need_layout(at, "NCHW", layout=layout)
        if not isinstance(size, s.ShapeStructInfo) or size.ndim not in (-1, 2):
            raise at.fail(codes.WRONG_KIND, "size is no shape of height and width", size=f"this is {size}")
        kind = out_dtype or x.dtype
        if x.dims is None or size.values is None:
            return s.TensorStructInfo(None, kind, 4)
        made = {**by_axis(layout, x.dims), "H": size.values[0], "W": size.values[1]}
        return s.TensorStructInfo(ordered(layout, made), kind)

    @staticmethod
    def evaluate(
        data: Any, size: tuple[int, ...], roi: Any, layout: str, method: str, coordinate_transformation_mode: str, rounding_method: str,
        cubic_alpha: float, cubic_exclude: int, extrapolation_value: float, out_dtype: DType | None,
    ) -> Any:  # fmt: skip
        """A product with a matrix of shares for each axis."""
        if method not in _METHODS or coordinate_transformation_mode not in _MODES:
            raise ValueError(f"{method!r} with {coordinate_transformation_mode!r} can't be run here")
        x = wide(data)
        for name, length in zip("HW", size, strict=True):
            axis = layout.index(name)
            places = _places(x.shape[axis], length, coordinate_transformation_mode)
            if method == "nearest_neighbor":
                found = _ROUNDINGS[rounding_method or "round"](places).astype(np.int64)
                x = np.take(x, np.clip(found, 0, x.shape[axis] - 1), axis)
            else:
                shares = _shares(x.shape[axis], places, method, cubic_alpha, bool(cubic_exclude)).astype(
                    np.float32
                )
                x = np.moveaxis(np.tensordot(x, shares, ((axis,), (1,))), -1, axis)
        return np.ascontiguousarray(x).astype(out_dtype.to_numpy() if out_dtype is not None else data.dtype)

    @staticmethod
    def legalize(
        te: Te, data: Tensor, size: Any, roi: Any, layout: str, method: str, coordinate_transformation_mode: str, rounding_method: str,
        cubic_alpha: float, cubic_exclude: int, extrapolation_value: float, out_dtype: DType | None,
    ) -> Tensor | None:  # fmt: skip
        """The nearest element, or those around the place by their shares."""
        mode = coordinate_transformation_mode
        if method not in _METHODS or mode not in _MODES[:3] or cubic_exclude or size is None:
            return None
        wanted = {**by_axis(layout, data.shape), "H": size[0], "W": size[1]}
        kind = out_dtype or data.dtype
        if method == "nearest_neighbor":
            return te.compute(
                "resize", ordered(layout, wanted), _nearest(data, layout, wanted, mode, rounding_method), kind
            )
        made = data
        for axis in "WH":  # one axis after the other, the first into a tensor of float32
            shape = ordered(layout, {**by_axis(layout, made.shape), axis: wanted[axis]})
            body = _mixed(made, layout, axis, wanted[axis], mode, method, cubic_alpha)
            made = te.compute("resize", shape, body, FLOAT32 if axis == "W" else kind)
        return made


def _inside(found: p.PrimExpr, length: p.PrimExpr) -> p.PrimExpr:
    """An index moved into an axis."""
    return p.Max(p.Min(found, simplify(p.Sub(length, rules.ONE))), rules.ZERO)


def _nearest(x: Tensor, layout: str, wanted: dict[str, p.PrimExpr], mode: str, rounding: str) -> Body:
    """The element whose place is nearest."""
    old = by_axis(layout, x.shape)

    def element(*i: p.PrimExpr) -> p.PrimExpr:
        place = by_axis(layout, i)
        for axis in "HW":
            exact = _place(place[axis], old[axis], wanted[axis], mode)
            place[axis] = _inside(p.Cast(INT64, call(rounding or "round", exact)), old[axis])
        return x[ordered(layout, place)]

    return element


def _mixed(
    x: Tensor, layout: str, axis: str, wanted: p.PrimExpr, mode: str, method: str, alpha: float
) -> Body:
    """The elements around the place in one axis by their shares."""
    old = by_axis(layout, x.shape)[axis]

    def element(*i: p.PrimExpr) -> p.PrimExpr:
        place = by_axis(layout, i)
        exact = _place(place[axis], old, wanted, mode)
        low = call("floor", exact)
        total: p.PrimExpr | None = None
        for tap, share in _taps(p.Sub(exact, low), method, alpha):
            found = _inside(_moved(p.Cast(INT64, low), tap), old)
            part = p.Mul(cast(x[ordered(layout, {**place, axis: found})], FLOAT32), share)
            total = part if total is None else p.Add(total, part)
        assert total is not None  # there are at least two taps
        return total

    return element


def _moved(place: p.PrimExpr, steps: int) -> p.PrimExpr:
    return p.Add(place, p.IntImm(steps)) if steps > 0 else p.Sub(place, rules.ONE) if steps else place


def _taps(share: p.PrimExpr, method: str, alpha: float) -> list[tuple[int, p.PrimExpr]]:
    """The elements that count, from the one below the place on, and their shares: Keys' kernel, or two for linear."""
    one, two, a = p.FloatImm(1.0), p.FloatImm(2.0), p.FloatImm(alpha)
    rest = p.Sub(one, share)
    if method == "linear":
        return [(0, rest), (1, share)]

    def near(d: p.PrimExpr) -> p.PrimExpr:
        inner = p.Sub(p.Mul(p.FloatImm(alpha + 2), d), p.FloatImm(alpha + 3))
        return p.Add(p.Mul(p.Mul(inner, d), d), one)

    def far(d: p.PrimExpr) -> p.PrimExpr:
        inner = p.Add(p.Mul(p.Sub(d, p.FloatImm(5.0)), d), p.FloatImm(8.0))
        return p.Sub(p.Mul(p.Mul(inner, d), a), p.FloatImm(4 * alpha))

    return [(-1, far(p.Add(share, one))), (0, near(share)), (1, near(rest)), (2, far(p.Sub(two, share)))]


def _place(i: p.PrimExpr, old: p.PrimExpr, new: p.PrimExpr, mode: str) -> p.PrimExpr:
    """The place in the old axis that an index of the new one stands for, as float32."""
    x, half = p.Cast(FLOAT32, i), p.FloatImm(0.5)
    if mode == "align_corners":
        if new is rules.ONE:
            return p.FloatImm(0.0)
        less = [cast(simplify(p.Sub(length, rules.ONE)), FLOAT32) for length in (old, new)]
        return p.Mul(x, _ratio(*less))
    scale = _ratio(cast(old, FLOAT32), cast(new, FLOAT32))
    return p.Mul(x, scale) if mode == "asymmetric" else p.Sub(p.Mul(p.Add(x, half), scale), half)


def _ratio(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    if isinstance(a, p.FloatImm) and isinstance(b, p.FloatImm):
        return p.FloatImm(float(np.float32(a.value) / np.float32(b.value)))
    return p.Div(a, b)


def _places(old: int, new: int, mode: str) -> Any:
    """The places in the old axis of all indices of the new one, as float32."""
    i = np.arange(new, dtype=np.float32)
    if mode == "align_corners":
        return i * (np.float32(old - 1) / np.float32(new - 1)) if new > 1 else i
    scale = np.float32(old) / np.float32(max(new, 1))
    if mode == "asymmetric":
        return i * scale
    return (
        (i + np.float32(0.5)) * scale - np.float32(0.5)
        if mode == "half_pixel" or new > 1
        else np.zeros_like(i)
    )


def _shares(old: int, places: Any, method: str, alpha: float, exclude: bool) -> Any:
    """A matrix: for each new index the share of each old element."""
    low = np.floor(places)
    rest = (places - low).astype(np.float64)
    taps = (0, 1) if method == "linear" else (-1, 0, 1, 2)
    made = np.zeros((len(places), old))
    for tap in taps:
        distance = np.abs(rest - tap)
        weight = 1 - distance if method == "linear" else _cubic(distance, alpha)
        found = low.astype(np.int64) + tap
        outside = (found < 0) | (found >= old)
        share = np.where(outside, 0, weight) if exclude else weight
        np.add.at(made, (np.arange(len(places)), np.clip(found, 0, old - 1)), share)
    return made / made.sum(1, keepdims=True) if exclude else made


def _cubic(distance: Any, a: float) -> Any:
    """Keys' cubic convolution kernel (Keys 1981)."""
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))
