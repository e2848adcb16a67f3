"""Sampling images and volumes at computed coordinates (spatial transformers)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, FLOAT64, INT64, DType
from relax_explorer.core.ops.image.resize_places import weights_of
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
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
from relax_explorer.core.ops.kit.decl import Op, Site, attr, operand
from relax_explorer.core.ops.kit.te import Te, Tensor, call, cast, where
from relax_explorer.core.ops.kit.windows import all_of

METHODS = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
_CUBIC_ALPHA = -0.75


class GridSample(Op, name="relax.image.grid_sample"):
    """The elements of images at given coordinates, or weighted sums of the elements around them.

    Coordinates go from -1 to 1 along each axis. The second axis of the grid holds x, y (and z); in torch it is the
    last.
    """

    source = "torch.nn.functional.grid_sample"
    raises = (codes.RANK_WRONG, codes.DIMS_DIFFER)
    data: Tensor = operand("images or volumes, by layout")
    grid: Tensor = operand(
        "coordinates, [batch, 2, height, width], or [batch, 3, depth, height, width] for volumes"
    )
    method: str = attr("bilinear", "bilinear (trilinear for volumes), nearest, or bicubic (images only)")
    layout: str = attr("NCHW", "order of the axes of data and of the result; NCDHW for volumes")
    padding_mode: str = attr(
        "zeros", "values outside data: zeros, border (the nearest element) or reflection"
    )
    align_corners: bool = attr(
        False,
        "True if -1 and 1 are the centers of the first and last element; False if they are their outer borders",
    )
    examples = (
        "f32[n,3,4,5] f32[n,2,2,3] -> f32[n,3,2,3]",
        'f32[2,4,5,3] f32[2,2,m,3] method="nearest" layout="NHWC" padding_mode="border" -> f32[2,m,3,3]',
        'f32[1,2,4,5] f32[1,2,6,3] method="bicubic" padding_mode="reflection" align_corners=True -> f32[1,2,6,3]',
        'f32[n,2,3,4,5] f32[n,3,2,1,4] layout="NCDHW" padding_mode="reflection" -> f32[n,2,2,1,4]',
    )  # fmt: skip

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, grid: s.StructInfo, method: str, layout: str, padding_mode: str, align_corners: bool
    ) -> s.StructInfo:  # fmt: skip
        """Like data, with the lengths of grid along the axes of space."""
        x, places = rules.tensor(at, data, "data"), rules.tensor(at, grid, "grid")
        volumes = layout == "NCDHW"
        spatial = "DHW" if volumes else "HW"
        need_layout(at, f"NC{spatial}", layout=layout)
        need_layout_rank(at, layout, x, "data")
        rules.need_rank(at, places, len(spatial) + 2, "grid")
        words = {
            "method": (method, METHODS[:2] if volumes else METHODS),
            "padding_mode": (padding_mode, PADDINGS),
        }
        for name, (word, allowed) in words.items():
            if word not in allowed:
                raise at.fail(
                    codes.BAD_ATTRIBUTE, f"{name} is {word!r}, it must be one of {', '.join(allowed)}"
                )
        if places.dims is not None and at.equal(places.dims[1], p.IntImm(len(spatial))) is Answer.NO:
            text = f"grid has {places.dims[1]} numbers in its second axis, {len(spatial)} for each place are needed"
            raise at.fail(codes.DIMS_DIFFER, text, grid=f"this is {places}")
        if x.dims is None or places.dims is None:
            return s.TensorStructInfo(None, x.dtype, rank_of(layout))
        size = lengths_of(layout, x.dims)
        if at.equal(size["N"], places.dims[0]) is Answer.NO:
            text = f"data has a batch of {size['N']}, and grid of {places.dims[0]}"
            raise at.fail(codes.DIMS_DIFFER, text, data=f"this is {x}", grid=f"this is {places}")
        made = {**size, **by_axis(spatial, places.dims[2:])}
        return s.TensorStructInfo(dims_of(layout, made), x.dtype)

    @staticmethod
    def evaluate(
        data: Array, grid: Array, method: str, layout: str, padding_mode: str, align_corners: bool
    ) -> Array:
        """Weighted sums of the elements around the positions."""
        spatial = "HW" if grid.ndim == 4 else "DHW"
        axes, rank = f"NC{spatial}", len(spatial)
        x = plain(data, layout, axes)
        x = x.astype(np.float32) if x.dtype.itemsize < 4 or x.dtype.kind != "f" else x
        result = np.zeros((*x.shape[:2], *grid.shape[2:]), x.dtype)
        taps = []
        for n, length in enumerate(x.shape[2:]):
            place = _source(grid[:, rank - 1 - n].astype(x.dtype), length, align_corners)
            taps.append(_taps(place, length, method, padding_mode, align_corners))
        if not x.size:
            return tiled(result, axes, layout).astype(data.dtype)
        image = np.arange(x.shape[0]).reshape(-1, *[1] * rank)
        for chosen in product(*taps):
            indices = [np.clip(index, 0, n - 1) for (index, _), n in zip(chosen, x.shape[2:], strict=True)]
            share = reduce(np.multiply, [weight for _, weight in chosen])
            for (index, _), length in zip(chosen, x.shape[2:], strict=True):
                share = np.where((index >= 0) & (index < length), share, 0)
            result += np.moveaxis(x[(image, slice(None), *indices)], -1, 1) * share[:, None].astype(x.dtype)
        return tiled(result, axes, layout).astype(data.dtype)

    @staticmethod
    def legalize(
        te: Te, data: Tensor, grid: Tensor, method: str, layout: str, padding_mode: str, align_corners: bool
    ) -> Tensor:
        """The positions of the coordinates, then a weighted sum over the elements around each."""
        spatial, result_layout, dtype = "HW" if grid.ndim == 4 else "DHW", layout, data.dtype
        data, layout = plain_stage(te, data, layout, f"NC{spatial}")
        size, rank = by_axis(layout, data.shape), len(spatial)
        shape = {**size, **by_axis(spatial, grid.shape[2:])}

        wide = dtype if dtype is FLOAT64 else FLOAT32
        taps = {}
        for number, axis in enumerate(spatial):
            place = _position_stage(te, grid, rank - 1 - number, size[axis], align_corners, wide)
            taps[axis] = _tap_stages(te, place, size[axis], method, padding_mode, align_corners)

        def sampled(*i: p.PrimExpr) -> p.PrimExpr:
            place = by_axis(layout, i)
            point = [place[axis] for axis in ("N", *spatial)]
            parts = []
            for chosen in product(*[taps[axis] for axis in spatial]):
                pairs = [(index[point], share[point]) for index, share in chosen]
                parts.append(_part(data, layout, place, size, by_axis(spatial, pairs)))
            return reduce(p.Add, parts)

        return tiled_stage(
            te, te.compute("grid_sample", ordered(layout, shape), sampled, dtype), layout, result_layout
        )


def _part(
    x: Tensor, layout: str, place: Mapping[str, p.PrimExpr], size: Mapping[str, p.PrimExpr],
    taps: Mapping[str, tuple[p.PrimExpr, p.PrimExpr]],
) -> p.PrimExpr:  # fmt: skip
    """An element times its weight; 0 outside the data."""
    dtype = next(iter(taps.values()))[1].dtype
    tests: list[p.PrimExpr] = []
    for axis, (index, _) in taps.items():
        tests += [p.LE(rules.ZERO, index), p.LT(index, size[axis])]
    source = {**place, **{axis: index for axis, (index, _) in taps.items()}}
    element = where(all_of(tests), cast(x[ordered(layout, source)], dtype), p.FloatImm(0.0, dtype))
    return reduce(p.Mul, [share for _, share in taps.values()], element)


def _source(place: Any, length: Any, align_corners: bool) -> Any:
    """The position in an axis for a coordinate from -1 to 1; for arrays and for expressions."""
    less = (
        cast(simplify(p.Sub(length, rules.ONE)), place.dtype)
        if isinstance(length, p.PrimExpr)
        else float(length - 1)
    )
    if align_corners:
        return (place + 1.0) * less / 2.0
    count = cast(length, place.dtype) if isinstance(length, p.PrimExpr) else float(length)
    return (place + 1.0) * count / 2.0 - 0.5


def _taps(place: Any, length: int, method: str, padding: str, align_corners: bool) -> list[tuple[Any, Any]]:
    """The indices around positions, which may be out of bounds, and their weights."""
    if method != "bicubic":
        place = _padded_array(place, length, padding, align_corners)
    if method == "nearest":
        return [(np.rint(place).astype(np.int64), np.ones_like(place))]
    low = np.floor(place)
    weights = weights_of(place - low, "cubic" if method == "bicubic" else "linear", _CUBIC_ALPHA)
    positions = {tap: (low + tap) for tap in weights}
    if method == "bicubic":
        positions = {tap: _padded_array(at, length, padding, align_corners) for tap, at in positions.items()}
    return [(positions[tap].astype(np.int64), weight) for tap, weight in weights.items()]


def _padded_array(place: Any, length: int, padding: str, align_corners: bool) -> Any:
    """Positions moved into an axis by the rule of `padding`."""
    if padding == "zeros":
        return place
    if padding == "reflection":
        start, span = (0.0, length - 1) if align_corners else (-0.5, length)
        distance = np.abs(place - start)
        turns = np.floor(distance / max(span, 1))
        rest = distance - turns * span
        place = np.where(turns % 2 == 0, rest, span - rest) + start
    return np.clip(place, 0, max(length - 1, 0)).astype(place.dtype)


def _position_stage(
    te: Te, grid: Tensor, number: int, length: p.PrimExpr, align_corners: bool, dtype: DType
) -> Tensor:
    """The position in an axis of each coordinate; `number` is the coordinate's index in the grid; computed in `dtype`."""

    def element(n: p.PrimExpr, *i: p.PrimExpr) -> p.PrimExpr:
        position: p.PrimExpr = _source(cast(grid[(n, p.IntImm(number), *i)], dtype), length, align_corners)
        return position

    return te.compute("T_position", (grid.shape[0], *grid.shape[2:]), element)


def _tap_stages(
    te: Te, place: Tensor, length: p.PrimExpr, method: str, padding: str, align_corners: bool
) -> list[tuple[Tensor, Tensor]]:
    """Like `_taps`, but as tensors of indices and weights, each computed once for all channels."""

    def moved(x: Tensor, tap: int) -> Tensor:
        return te.compute(
            "T_padded", x.shape, lambda *i: _padded(_stepped(x[i], tap), length, padding, align_corners)
        )

    if method != "bicubic":
        place = moved(place, 0)
    function = "nearbyint" if method == "nearest" else "floor"
    low = te.compute("T_low", place.shape, lambda *i: call(function, place[i]))
    if method == "nearest":
        index = te.compute("T_index", low.shape, lambda *i: p.Cast(INT64, low[i]))
        return [(index, te.compute("T_share", low.shape, lambda *i: p.FloatImm(1.0, place.dtype)))]
    method_name = "cubic" if method == "bicubic" else "linear"
    stages = []
    for tap in weights_of(p.FloatImm(0.0, place.dtype), method_name, _CUBIC_ALPHA):
        near = moved(low, tap) if method == "bicubic" else low
        step = 0 if method == "bicubic" else tap

        def position(*i: p.PrimExpr, near: Tensor = near, step: int = step) -> p.PrimExpr:
            return p.Cast(INT64, _stepped(near[i], step))

        def share(*i: p.PrimExpr, tap: int = tap) -> p.PrimExpr:
            shares: dict[int, p.PrimExpr] = weights_of(p.Sub(place[i], low[i]), method_name, _CUBIC_ALPHA)
            return shares[tap]

        stages.append((te.compute("T_index", low.shape, position), te.compute("T_share", low.shape, share)))
    return stages


def _stepped(x: p.PrimExpr, step: int) -> p.PrimExpr:
    return p.Add(x, p.FloatImm(float(step), x.dtype)) if step else x


def _padded(place: p.PrimExpr, length: p.PrimExpr, padding: str, align_corners: bool) -> p.PrimExpr:
    """Like `_padded_array`, for one position."""
    if padding == "zeros":
        return place
    dtype = place.dtype
    last = cast(simplify(p.Sub(length, rules.ONE)), dtype)
    if padding == "reflection":
        start, span = (0.0, last) if align_corners else (-0.5, cast(length, dtype))
        distance = call("fabs", p.Sub(place, p.FloatImm(start, dtype)))
        turns = call("floor", distance / p.Max(span, p.FloatImm(1.0, dtype)))
        remainder = distance - turns * span
        even = p.EQ(p.FloorMod(p.Cast(INT64, turns), p.IntImm(2)), rules.ZERO)
        place = p.Add(where(even, remainder, span - remainder), p.FloatImm(start, dtype))
    return p.Max(p.Min(place, last), p.FloatImm(0.0, dtype))
