"""Features of regions of images: regions of interest are rows of (image, left, top, right, bottom)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT64, INT64, DType
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit import te as loops
from relax_explorer.core.ops.kit.decl import REQUIRED, Fusion, Ints, NotLowered, Op, Site, attr, operand
from relax_explorer.core.ops.kit.element_loops import Loop
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, call, cast, lowest, where
from relax_explorer.core.ops.tensor.gather import inside
from relax_explorer.core.ops.tensor.reduction import limit_of
from relax_explorer.core.ops.vision import box_loops
from relax_explorer.core.tir.stmt import Stmt


def _places(data: Tensor, rois: Tensor) -> DType:
    """The dtype of coordinates: the dtype of the regions, or of the images if the regions are integers."""
    return next((x.dtype for x in (rois, data) if x.dtype.is_float), FLOAT64)


def _regions(data: Array, rois: Array) -> Array:
    """The regions in the dtype of coordinates."""
    if rois.dtype.kind not in "iub":
        return wide(rois)
    return rois.astype(np.float64 if data.dtype.kind in "iub" else wide(data).dtype)


def _pair(call_: e.Call, infos: list[s.StructInfo]) -> e.Call:
    """The size of both axes; a single number is repeated."""
    size = call_.attrs.get("pooled_size")
    if not isinstance(size, (int, tuple)) or (isinstance(size, tuple) and len(size) != 1):
        return call_
    one = size if isinstance(size, int) else size[0]
    return e.Call(
        call_.op, call_.args, call_.attrs.having(pooled_size=(one, one)), call_.sinfo_args, None, call_.span
    )


def _infer(
    at: Site, data: s.StructInfo, rois: s.StructInfo, pooled_size: Ints, layout: str, layouts: tuple[str, ...]
) -> s.StructInfo:
    """The channels of each region, in the pooled size."""
    info, regions = rules.tensor(at, data, "data"), rules.tensor(at, rois, "rois")
    size = pooled_size if isinstance(pooled_size, tuple) else (pooled_size,)
    size = size * 2 if len(size) == 1 else size
    if len(size) != 2 or any(type(n) is not int or n < 0 for n in size):
        raise at.fail(codes.BAD_ATTRIBUTE, f"pooled_size is {list(size)}, two numbers from 0 on are needed")
    if layout not in layouts:
        raise at.fail(codes.BAD_ATTRIBUTE, f"layout is {layout!r}, it must be {' or '.join(layouts)}")
    rules.need_rank(at, info, 4, "data")
    rules.need_rank(at, regions, 2, "rois")
    if regions.dims is not None and isinstance(regions.dims[1], p.IntImm) and regions.dims[1].value != 5:
        text = f"rois has {regions.dims[1]} numbers for each region, 5 are needed: image, left, top, right, bottom"
        raise at.fail(codes.DIMS_DIFFER, text, rois=f"shape {tuple_text(regions.dims)}")
    if info.dims is None or regions.dims is None:
        return s.TensorStructInfo(None, info.dtype, 4)
    lengths = {
        "N": regions.dims[0],
        "C": info.dims[layout.index("C")],
        "H": p.IntImm(size[0]),
        "W": p.IntImm(size[1]),
    }
    return s.TensorStructInfo(tuple([lengths[axis] for axis in layout]), info.dtype)


class Regions(Op):
    """Base of the operators with one result for each bin of each region."""

    raises = (codes.RANK_WRONG, codes.DIMS_DIFFER)
    data: Tensor = operand("images, by layout")
    rois: Tensor = operand("regions, [regions, 5]: index of the image, left, top, right, bottom")
    pooled_size: Ints = attr(
        REQUIRED, "the number of bins of a region, vertically and horizontally; one number for both"
    )
    spatial_scale: float = attr(REQUIRED, "pixels of data for each unit of rois", unit="pixels")
    fusion = Fusion.OPAQUE
    refine = staticmethod(_pair)


class RoiAlign(Regions, name="relax.vision.roi_align"):
    """The mean or maximum of bilinear samples in each bin of each region.

    A sample more than a pixel outside the image counts as 0. The run stops if a region names an image that does not exist.
    """

    source = "He et al. 2017; ONNX RoiAlign"
    sample_ratio: int = attr(
        -1, "samples of a bin along each axis; when not positive, its number of pixels, rounded up"
    )
    aligned: bool = attr(False, "True allows regions smaller than a pixel; False enlarges them to one pixel")
    layout: str = attr("NCHW", "order of the axes of data and of the result: NCHW or NHWC")
    mode: str = attr("avg", "how the samples of a bin are combined: avg or max")
    examples = (
        "f32[2,3,h,w] f32[0,5] pooled_size=(2,2) spatial_scale=1.0 -> f32[0,3,2,2]",
        'f32[2,8,6,3] f32[m,5] pooled_size=(2,3) spatial_scale=0.5 sample_ratio=2 layout="NHWC" mode="max" -> f32[m,2,3,3]',
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, rois: s.StructInfo, pooled_size: Ints, spatial_scale: float, sample_ratio: int,
        aligned: bool, layout: str, mode: str,
    ) -> s.StructInfo:  # fmt: skip
        """[regions, channels, *pooled_size] in the order of layout, the dtype of data."""
        if mode not in ("avg", "max"):
            raise at.fail(codes.BAD_ATTRIBUTE, f"mode is {mode!r}, it must be avg or max")
        return _infer(at, data, rois, pooled_size, layout, ("NCHW", "NHWC"))

    @staticmethod
    def evaluate(
        data: Array,
        rois: Array,
        pooled_size: Ints,
        spatial_scale: float,
        sample_ratio: int,
        aligned: bool,
        layout: str,
        mode: str,
    ) -> Array:
        """Weights of the pixels for every sample along each axis, then one product for all."""
        images = wide(np.transpose(data, [layout.index(axis) for axis in "NCHW"]))
        regions = _regions(data, rois)
        image = inside(regions[:, 0], images.shape, 0, "rois", "data", from_end=False, last=", 0")
        ends = regions[:, 1:] * regions.dtype.type(spatial_scale)
        vertical = _samples(ends[:, 1], ends[:, 3], images.shape[2], pooled_size[0], sample_ratio, aligned)
        horizontal = _samples(ends[:, 0], ends[:, 2], images.shape[3], pooled_size[1], sample_ratio, aligned)
        result = _aligned(images, image, *vertical, *horizontal, mode == "avg")
        return np.ascontiguousarray(np.transpose(result, ["NCHW".index(axis) for axis in layout])).astype(
            data.dtype
        )

    @staticmethod
    def legalize(
        te: Te, data: Tensor, rois: Tensor, pooled_size: Ints, spatial_scale: float, sample_ratio: int, aligned: bool,
        layout: str, mode: str,
    ) -> Tensor:  # fmt: skip
        """A loop over the samples of each bin."""
        if not data.dtype.is_float:
            raise NotLowered(f"the images are {data.dtype}, and values between pixels are not integers")
        dtype, axes = _places(data, rois), {axis: n for n, axis in enumerate(layout)}
        bins = (p.IntImm(pooled_size[0]), p.IntImm(pooled_size[1]))
        lengths = dict(zip("NCHW", (rois.shape[0], data.shape[axes["C"]], *bins), strict=True))
        result = loops.tensor(te, "T_roi_align", [lengths[axis] for axis in layout], data.dtype)
        # the row and column of a sample
        spot = loops.tensor(te, "T_spot", (*result.shape, p.IntImm(2)), dtype)
        low: p.PrimExpr = p.as_prim(0.0, data.dtype) if mode == "avg" else lowest(data.dtype)

        def bin_(*i: p.PrimExpr) -> Stmt:
            place = {axis: i[n] for axis, n in axes.items()}
            region = place["N"]
            image = cast(rois[(region, 0)], INT64)
            left, top, right, bottom = (
                p.Mul(cast(rois[(region, n)], dtype), p.as_prim(spatial_scale, dtype)) for n in range(1, 5)
            )
            rows, y_at = _axis(top, bottom, place["H"], pooled_size[0], sample_ratio, aligned)
            columns, x_at = _axis(left, right, place["W"], pooled_size[1], sample_ratio, aligned)

            def sample(k: p.PrimExpr, q: p.PrimExpr) -> Stmt:
                value = _bilinear(data, axes, image, place["C"], spot[(*i, 0)], spot[(*i, 1)], dtype)
                count = cast(p.Mul(rows, columns), data.dtype)
                total = p.Max(result[i], value) if mode == "max" else p.Add(result[i], p.Div(value, count))
                return loops.seq(
                    loops.store(spot, (*i, 0), y_at(k)),
                    loops.store(spot, (*i, 1), x_at(q)),
                    loops.store(result, i, total),
                )

            good = loops.check_index(image, data.shape[axes["N"]])
            return loops.seq(good, loops.store(result, i, low), loops.grid((rows, columns), sample))

        loops.ordered(te, result.shape, (result, spot), bin_)
        return result


def _axis(
    begin: p.PrimExpr, end: p.PrimExpr, place: p.PrimExpr, count: int, sample_ratio: int, aligned: bool
) -> tuple[p.PrimExpr, Callable[[p.PrimExpr], p.PrimExpr]]:
    """The number of samples of a bin along an axis, and their positions."""
    dtype = begin.dtype
    size: p.PrimExpr = p.Sub(end, begin)
    size = size if aligned else p.Max(size, p.as_prim(1.0, dtype))
    width = p.Div(size, p.as_prim(float(count), dtype))
    samples: p.PrimExpr = p.IntImm(sample_ratio) if sample_ratio > 0 else cast(call("ceil", width), INT64)
    start = p.Add(begin, p.Mul(cast(place, dtype), width))

    def at(k: p.PrimExpr) -> p.PrimExpr:
        middle = p.Add(cast(k, dtype), p.as_prim(0.5, dtype))
        return p.Add(start, p.Div(p.Mul(middle, width), cast(samples, dtype)))

    return samples, at


def _aligned_at_once(
    images: Array, image: Array, wy: Array, sy: Array, wx: Array, sx: Array, is_mean: bool
) -> Array:
    """The values of all samples by one product, and their mean or maximum."""
    values = np.einsum("rpgh,rchw,rqkw->rcpqgk", wy, images[image], wx, optimize=True)
    is_inside = (sy[:, :, None] & sx[:, None, :])[:, None, None, None]
    if is_mean:
        total: Array = np.sum(np.where(is_inside, values, 0), (-1, -2))
        mean: Array = total / np.maximum(is_inside.sum((-1, -2)), 1)
        return mean
    result: Array = np.max(np.where(is_inside, values, -np.inf), (-1, -2), initial=-np.inf)
    return np.maximum(result, np.finfo(images.dtype).min if images.dtype.kind == "f" else -np.inf)


_aligned = Loop(
    _aligned_at_once,
    box_loops.align_each,
    lambda images, image, *rest: (
        images[0].size * len(image) if images.dtype.kind == "f" and len(images) else 0
    ),
    1 << 22,
)


def _samples(
    begin: Array, end: Array, length: int, count: int, ratio: int, aligned: bool
) -> tuple[Array, Array]:
    """The weights of the pixels along an axis for each region, bin and sample; and the mask of samples of a region."""
    size = end - begin if aligned else np.maximum(end - begin, 1)
    width = size / count if count else size
    samples = np.full(size.shape, ratio) if ratio > 0 else np.maximum(np.ceil(width), 0).astype(np.int64)
    k = np.arange(int(samples.max(initial=0)))
    step = width[:, None, None] / np.maximum(samples, 1)[:, None, None]
    place = begin[:, None, None] + np.arange(count)[None, :, None] * width[:, None, None] + (k + 0.5) * step
    place = place.astype(begin.dtype)
    near = np.clip(place, 0, max(length - 1, 0))[..., None]
    weights = (
        np.maximum(0, 1 - np.abs(near - np.arange(length))) * ((place >= -1) & (place <= length))[..., None]
    )
    return weights.astype(begin.dtype), k < samples[:, None]


def _bilinear(
    data: Tensor,
    axes: dict[str, int],
    image: p.PrimExpr,
    channel: p.PrimExpr,
    y: p.PrimExpr,
    x: p.PrimExpr,
    dtype: DType,
) -> p.PrimExpr:
    """The image at a position between pixels; 0 more than a pixel outside."""
    corners: list[list[tuple[p.PrimExpr, p.PrimExpr]]] = []
    outside: p.PrimExpr | None = None
    for axis, place in (("H", y), ("W", x)):
        length = data.shape[axes[axis]]
        last = p.Sub(length, rules.ONE)
        beyond = p.Or(p.LT(place, p.as_prim(-1.0, dtype)), p.LT(cast(length, dtype), place))
        outside = beyond if outside is None else p.Or(outside, beyond)
        near = p.Min(p.Max(place, p.as_prim(0.0, dtype)), cast(last, dtype))
        low = call("floor", near)
        part, first = p.Sub(near, low), cast(low, INT64)
        corners.append(
            [(first, p.Sub(p.as_prim(1.0, dtype), part)), (p.Min(p.Add(first, rules.ONE), last), part)]
        )
    total: p.PrimExpr | None = None
    for row, down in corners[0]:
        for column, right in corners[1]:
            index: dict[str, p.PrimExpr] = {"N": image, "C": channel, "H": row, "W": column}
            element = data[tuple([index[axis] for axis in axes])]
            term = p.Mul(element, cast(p.Mul(down, right), data.dtype))
            total = term if total is None else p.Add(total, term)
    assert total is not None  # there are four corners
    assert outside is not None
    return where(outside, p.as_prim(0.0, data.dtype), total)


class RoiPool(Regions, name="relax.vision.roi_pool"):
    """The maximum of the pixels in each bin of each region.

    0 for a bin without pixels. Corners of regions are rounded to pixels. The run stops if a region names an image that does not
    exist.
    """

    source = "Girshick 2015; ONNX MaxRoiPool"
    data: Tensor = operand("images, [batch, channels, height, width]")
    layout: str = attr("NCHW", "order of the axes of data and of the result: NCHW only")
    examples = (
        "f32[2,3,h,w] f32[0,5] pooled_size=(2,2) spatial_scale=1.0 -> f32[0,3,2,2]",
        "f32[2,3,6,5] f32[m,5] pooled_size=3 spatial_scale=0.5 -> f32[m,3,3,3]",
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, rois: s.StructInfo, pooled_size: Ints, spatial_scale: float, layout: str
    ) -> s.StructInfo:
        """[regions, channels, *pooled_size] in the order of layout, the dtype of data."""
        return _infer(at, data, rois, pooled_size, layout, ("NCHW",))

    @staticmethod
    def evaluate(data: Array, rois: Array, pooled_size: Ints, spatial_scale: float, layout: str) -> Array:
        """The maximum along one axis for all bins, then along the other."""
        images, regions = wide(data), _regions(data, rois)
        image = inside(regions[:, 0], images.shape, 0, "rois", "data", from_end=False, last=", 0")
        ends = np.floor(regions[:, 1:] * regions.dtype.type(spatial_scale) + regions.dtype.type(0.5))
        rows = _bins(ends[:, 1], ends[:, 3], images.shape[2], pooled_size[0])
        columns = _bins(ends[:, 0], ends[:, 2], images.shape[3], pooled_size[1])
        result: Array = _pooled(images, image, rows, columns).astype(data.dtype)
        return result

    @staticmethod
    def legalize(
        te: Te, data: Tensor, rois: Tensor, pooled_size: Ints, spatial_scale: float, layout: str
    ) -> Tensor:
        """A loop over the pixels of each bin."""
        dtype = _places(data, rois)
        shape = (rois.shape[0], data.shape[1], p.IntImm(pooled_size[0]), p.IntImm(pooled_size[1]))
        result = loops.tensor(te, "T_roi_pool", shape, data.dtype)

        edges = loops.tensor(te, "T_edges", (*shape, p.IntImm(4)), INT64)

        def bin_(*i: p.PrimExpr) -> Stmt:
            image = cast(rois[(i[0], 0)], INT64)
            scaled = [
                p.Mul(cast(rois[(i[0], n)], dtype), p.as_prim(spatial_scale, dtype)) for n in range(1, 5)
            ]
            corner = [cast(call("floor", p.Add(x, p.as_prim(0.5, dtype))), INT64) for x in scaled]
            ends = (
                *_ends(corner[1], corner[3], i[2], data.shape[2], pooled_size[0], dtype),
                *_ends(corner[0], corner[2], i[3], data.shape[3], pooled_size[1], dtype),
            )
            top, bottom, left, right = (edges[(*i, n)] for n in range(4))

            def pixel(k: p.PrimExpr, q: p.PrimExpr) -> Stmt:
                value = data[(image, i[1], p.Add(top, k), p.Add(left, q))]
                return loops.store(result, i, p.Max(result[i], value))

            empty = p.Or(p.LE(bottom, top), p.LE(right, left))
            low = p.FloatImm(float("-inf"), data.dtype) if data.dtype.is_float else lowest(data.dtype)
            start = where(empty, p.as_prim(0, data.dtype), low)
            area = (p.Max(p.Sub(bottom, top), rules.ZERO), p.Max(p.Sub(right, left), rules.ZERO))
            edge_stores = [loops.store(edges, (*i, n), value) for n, value in enumerate(ends)]
            return loops.seq(
                loops.check_index(image, data.shape[0]),
                *edge_stores,
                loops.store(result, i, start),
                loops.grid(area, pixel),
            )

        loops.ordered(te, shape, (result, edges), bin_)
        return result


def _ends(
    begin: p.PrimExpr, end: p.PrimExpr, place: p.PrimExpr, length: p.PrimExpr, count: int, dtype: DType
) -> tuple[p.PrimExpr, ...]:
    """The first position of a bin along an axis, and the position after its last."""
    size = p.Max(p.Add(p.Sub(end, begin), rules.ONE), rules.ONE)
    width = p.Div(cast(size, dtype), p.as_prim(float(count), dtype))
    low = cast(call("floor", p.Mul(cast(place, dtype), width)), INT64)
    high = cast(call("ceil", p.Mul(cast(p.Add(place, rules.ONE), dtype), width)), INT64)
    return tuple([p.Min(p.Max(p.Add(item, begin), rules.ZERO), length) for item in (low, high)])


def _pooled_at_once(images: Array, image: Array, rows: Array, columns: Array) -> Array:
    """The maximum along one axis for all bins, then along the other."""
    number = images[image]
    low: float = -np.inf if images.dtype.kind == "f" else limit_of(lowest, images).item()
    lines = np.max(np.where(rows[:, None, :, :, None], number[:, :, None], low), 3, initial=low)
    maxima = np.max(np.where(columns[:, None, None], lines[:, :, :, None], low), 4, initial=low)
    filled = np.any(rows, 2)[:, :, None] & np.any(columns, 2)[:, None, :]
    result: Array = np.where(~filled[:, None], 0, maxima)
    return result


_pooled = Loop(
    _pooled_at_once,
    box_loops.pool_each,
    lambda images, image, *rest: images[0].size * len(image) if len(images) else 0,
    1 << 21,
)


def _bins(begin: Array, end: Array, length: int, count: int) -> Array:
    """For each region and bin, the mask of positions along an axis inside it."""
    width = (np.maximum(end - begin + 1, 1) / (count or 1)).astype(begin.dtype)[:, None]
    number = np.arange(count, dtype=begin.dtype)
    low = np.clip(np.floor(number * width) + begin[:, None], 0, length)
    high = np.clip(np.ceil((number + 1) * width) + begin[:, None], 0, length)
    place = np.arange(length)
    result: Array = (low[..., None] <= place) & (place < high[..., None])
    return result
