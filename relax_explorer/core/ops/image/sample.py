"""Sampling images and volumes at computed coordinates (spatial transformers)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.ops.image.resize import weights_of
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
from relax_explorer.core.ops.kit.decl import Fusion, Op, Shape, Site, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, call, cast, where
from relax_explorer.core.ops.kit.windows import all_of

# -- affine ----------------------------------------------------------------------------------------------------------
# Grids of coordinates for sampling images and volumes (spatial transformers).


# Slightly less than the distance from -1 to 1, so that rounding keeps the last coordinate in range.
_WAY = 2.0 - 1e-7


class AffineGrid(Op, name="relax.image.affine_grid"):
    """The coordinates x, y (and z) of the points of a grid under an affine map.

    The points go from -1 to 1 along each axis. The result is an operand of `image.grid_sample`. Unlike in torch, the coordinates
    are in the second axis.
    """

    source = "Jaderberg et al. 2015"
    raises = (codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    data: Tensor = operand(
        "a map for each image, floating point: [batch, 2, 3], or [batch, 3, 4] for volumes; the last column is added"
    )
    size: Shape = operand("height and width of the grid, or depth, height and width")
    align_corners: bool = attr(
        True,
        "True if -1 and 1 are the centers of the first and last element; False if they are their outer borders",
    )
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[n,2,3] (4,5) -> f32[n,2,4,5]",
        "f32[n,3,4] (2,m,3) align_corners=False -> f32[n,3,2,m,3]",
        "f32[n,2,3] (1,5) -> f32[n,2,1,5]",
    )

    @staticmethod
    def infer(at: Site, data: s.StructInfo, size: s.StructInfo, align_corners: bool) -> s.StructInfo:
        """[batch, 2, *size], or [batch, 3, *size] for volumes, the dtype of data."""
        x = rules.tensor(at, data, "data")
        rules.need_rank(at, x, 3, "data")
        rules.need_float(at, x, "data")
        if not isinstance(size, s.ShapeStructInfo) or size.ndim not in (-1, 2, 3):
            text = f"size is {size}, a shape of 2 or 3 lengths is needed"
            raise at.fail(codes.WRONG_KIND, text, size=f"this is {size}")
        if any(isinstance(dim, p.IntImm) and dim.value < 0 for dim in size.values or ()):
            text = f"size is {size}, lengths of at least 0 are needed"
            raise at.fail(codes.BAD_ATTRIBUTE, text, size=f"this is {size}")
        rank = size.ndim
        expected = (rank, rank + 1)
        for have, length in zip((x.dims or ())[1:], expected, strict=False):
            if rank > 0 and at.equal(have, p.IntImm(length)) is Answer.NO:
                text = f"data has maps of shape {tuple_text(x.dims[1:] if x.dims else ())}, ({expected[0]}, {expected[1]}) is needed for size"
                raise at.fail(codes.DIMS_DIFFER, text, data=f"this is {x}", size=f"{rank} lengths")
        if x.dims is None or size.values is None:
            return s.TensorStructInfo(None, x.dtype, rank + 2 if rank > 0 else -1)
        return s.TensorStructInfo((x.dims[0], p.IntImm(rank), *size.values), x.dtype)

    @staticmethod
    def evaluate(data: Array, size: tuple[int, ...], align_corners: bool) -> Array:
        """The last column plus the other columns times the points."""
        maps, rank = wide(data), len(size)
        grid = np.broadcast_to(
            maps[:, :, rank].reshape(*maps.shape[:2], *[1] * rank), (*maps.shape[:2], *size)
        )
        for n, length in enumerate(size):
            first, step = _points(length, align_corners)
            points = np.asarray(first, maps.dtype) + np.arange(length, dtype=maps.dtype) * np.asarray(
                step, maps.dtype
            )
            column = maps[:, :, rank - 1 - n].reshape(*maps.shape[:2], *[1] * rank)
            grid = grid + column * points.reshape([-1 if other == n else 1 for other in range(rank)])
        return grid.astype(data.dtype)

    @staticmethod
    def legalize(te: Te, data: Tensor, size: Sequence[p.PrimExpr], align_corners: bool) -> Tensor:
        """One coordinate at a time."""
        rank, dtype = len(size), data.dtype

        def element(n: p.PrimExpr, row: p.PrimExpr, *i: p.PrimExpr) -> p.PrimExpr:
            value: p.PrimExpr = data[n, row, rank]
            for place, (index, length) in enumerate(zip(i, size, strict=True)):
                first, step = _point_steps(length, align_corners, dtype)
                point = p.Add(cast(first, dtype), p.Mul(cast(index, dtype), cast(step, dtype)))
                value = p.Add(value, p.Mul(data[n, row, rank - 1 - place], point))
            return value

        return te.compute("affine_grid", (data.shape[0], p.IntImm(rank), *size), element)


def _points(length: int, align_corners: bool) -> tuple[float, float]:
    """The first point of an axis and the step to the next."""
    if not align_corners:
        return (1 / length - 1, 2 / length) if length else (0.0, 0.0)
    return (-1.0, _WAY / (length - 1)) if length > 1 else (0.0, 0.0)


def _point_steps(length: p.PrimExpr, align_corners: bool, dtype: DType) -> tuple[p.PrimExpr, p.PrimExpr]:
    """Like `_points`, for any length, at least in float32."""
    dtype = dtype if dtype is FLOAT64 else FLOAT32
    if isinstance(length, p.IntImm):
        first, step = _points(length.value, align_corners)
        return p.FloatImm(first, dtype), p.FloatImm(step, dtype)
    count, one = cast(length, dtype), p.FloatImm(1.0, dtype)
    if not align_corners:
        return p.Sub(p.Div(one, count), one), p.Div(p.FloatImm(2.0, dtype), count)
    several, none = p.LT(rules.ONE, length), p.FloatImm(0.0, dtype)
    way = p.Div(p.FloatImm(_WAY, dtype), cast(simplify(p.Sub(length, rules.ONE)), dtype))
    return where(several, p.FloatImm(-1.0, dtype), none), where(several, way, none)


# -- sample ----------------------------------------------------------------------------------------------------------


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
            at: tuple[Array | slice, ...] = (image, slice(None), *indices)
            result += np.moveaxis(x[at], -1, 1) * share[:, None].astype(x.dtype)
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


def _taps(
    place: Array, length: int, method: str, padding: str, align_corners: bool
) -> list[tuple[Array, Array]]:
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


def _padded_array(place: Array, length: int, padding: str, align_corners: bool) -> Array:
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
