"""Pooling of signals, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.binary_math import divide
from relax_explorer.core.ops.kit.data_layout import (
    by_axis,
    dims_of,
    is_plain,
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
from relax_explorer.core.ops.kit.decl import NUMBERS, Fusion, Ints, NotLowered, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array, Number
from relax_explorer.core.ops.kit.special import NotDefined, wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, lowest
from relax_explorer.core.ops.kit.windows import (
    Pads,
    Windowed,
    border,
    each,
    every,
    in_order,
    need_fit,
    need_window,
    pad_stage,
    padded,
    pads,
    window_count,
    windows,
)
from relax_explorer.core.ops.tensor.reduction import extreme, limit_of

_IMAGES = (
    "f32[n,3,8,8] pool_size=[2,2] strides=[2,2] -> f32[n,3,4,4]",
    "f32[1,2,7,7] pool_size=3 strides=2 padding=1 -> f32[1,2,4,4]",
    'f32[1,7,7,2] pool_size=2 strides=2 ceil_mode=True layout="NHWC" -> f32[1,4,4,2]',
    "f32[1,2,8,8] pool_size=2 dilation=2 count_include_pad=True padding=[1,0] -> f32[1,2,8,6]",
    'f32[n,2,5,5,4] pool_size=2 layout="NCHW4c" out_layout="NHWC" -> f32[n,4,4,8]',
)
_VOLUMES = (
    "f32[n,3,4,6,8] pool_size=2 strides=2 -> f32[n,3,2,3,4]",
    "f32[n,2,3,4,5] pool_size=[1,2,3] strides=[1,2,2] padding=[0,1,1] ceil_mode=True -> f32[n,2,3,3,3]",
    'f32[n,4,4,4,2] pool_size=2 dilation=2 padding=1 count_include_pad=False layout="NDHWC" -> f32[n,4,4,4,2]',
)


class Pool(Windowed):
    """Base of the poolings."""

    raises = (codes.RANK_WRONG, codes.DIMS_DIFFER)
    data: Tensor = operand("IMAGES, by layout")
    pool_size: Ints = attr(
        every(1), "lengths of a window: one number, or one for each axis; at least 1", unit="elements"
    )
    strides: Ints = attr(
        every(1),
        "steps from a window to the next: one number, or one for each axis; at least 1",
        unit="elements",
    )
    padding: Ints = attr(
        border(0),
        "border around data: one number, one for each axis, or all before and then all after; at least 0",
        unit="elements",
    )
    dilation: Ints = attr(
        every(1),
        "steps from an element of a window to the next: one number, or one for each axis; at least 1",
        unit="elements",
    )
    ceil_mode: bool = attr(
        False, "True adds a last window that reaches beyond the border, if it starts before it"
    )
    count_include_pad: bool = attr(False, "True counts the border in a mean; ignored for a maximum")
    layout: str = attr(
        in_order("NC"),
        "order of the axes of data: N batch, C channels, the others space; tiles such as 4c may follow",
    )
    out_layout: str | None = attr(None, "order of the axes of the result; layout when None")
    printed_order: ClassVar[tuple[str, ...]] = ("pool_size", "strides", "dilation", "padding")
    fusion = Fusion.OUT_ELEMENTWISE

    @classmethod
    def infer(
        cls, at: Site, data: s.StructInfo, pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints, ceil_mode: bool, layout: str,
        out_layout: str | None, **rest: object,
    ) -> s.StructInfo:  # fmt: skip
        """Like data, with, along each axis of space,
        (length + padding before and after - dilation * (pool_size - 1) - 1) / stride + 1, rounded down, with ceil_mode up.
        """
        x, result_layout = rules.tensor(at, data, "data"), layout if out_layout is None else out_layout
        need_layout(at, f"NC{cls.spatial}", layout=layout, out_layout=result_layout)
        need_window(at, len(cls.spatial), padding, pool_size=pool_size, strides=strides, dilation=dilation)
        need_layout_rank(at, layout, x, "data")
        if x.dims is None:
            return s.TensorStructInfo(None, x.dtype, rank_of(result_layout))
        size = lengths_of(layout, x.dims)
        lengths = pooled(cls.spatial, size, pool_size, strides, padding, dilation, ceil_mode)
        need_fit(at, cls.spatial, size, lengths, data=f"this is {x}")
        return s.TensorStructInfo(dims_of(result_layout, lengths), x.dtype)


def pooled(
    spatial: str, size: dict[str, p.PrimExpr], pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints, ceil_mode: bool,
) -> dict[str, p.PrimExpr]:  # fmt: skip
    """The lengths of the result by axis."""
    rank = len(spatial)
    numbers = (each(pool_size, rank), each(strides, rank), each(dilation, rank), pads(padding, rank))
    counts = {
        axis: window_count(size[axis], p.IntImm(kernel), step, d, pad, ceil_mode)
        for axis, kernel, step, d, pad in zip(spatial, *numbers, strict=True)
    }
    return {**size, **counts}


def extended(rank: int, padding: Ints, strides: Ints, ceil_mode: bool) -> Pads:
    """The border, wide enough for a last, partial window."""
    extra = [step - 1 if ceil_mode else 0 for step in each(strides, rank)]
    return tuple(
        [(before, after + more) for (before, after), more in zip(pads(padding, rank), extra, strict=True)]
    )


def pool_windows(
    x: Array,
    value: Number | Array,
    pool_size: Ints,
    strides: Ints,
    padding: Ints,
    dilation: Ints,
    ceil_mode: bool,
    shape: Sequence[int],
) -> Array:
    """The windows of data with channels first; `shape` is the shape without any border."""
    rank = x.ndim - 2
    views = windows(
        padded(x, range(2, rank + 2), extended(rank, padding, strides, ceil_mode), value),
        each(pool_size, rank),
        each(strides, rank),
        each(dilation, rank),
    )
    size = by_axis("NCDHW"[: rank + 2], [p.IntImm(n) for n in shape])
    made = pooled("DHW"[:rank], size, pool_size, strides, padding, dilation, ceil_mode)
    counts = [made[axis].value for axis in "DHW"[:rank]]  # type: ignore[attr-defined]  # literals stay literals
    complete: tuple[Any, ...] = (..., *[slice(count) for count in counts], *[slice(None)] * rank)
    result: Array = views[complete]
    return result


def inside_windows(
    shape: Sequence[int], pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints, ceil_mode: bool, count_include_pad: bool,
    dtype: np.dtype[Any],
) -> Array:  # fmt: skip
    """The number of counted elements in each window: those inside the data, or also inside its border; at least 1."""
    rank, axes = len(shape) - 2, range(2, len(shape))
    ones = np.ones((1, 1, *shape[2:]), dtype)
    inside = padded(ones, axes, pads(padding, rank), 1 if count_include_pad else 0)
    inside = padded(inside, axes, extended(rank, (0,), strides, ceil_mode), 0)
    views = pool_windows(inside, 0, pool_size, strides, (0,), dilation, False, inside.shape)
    result: Array = np.maximum(np.sum(views, axis=tuple(range(rank + 2, 2 * rank + 2))), 1)
    return result


class MaxPool(Pool):
    """Base of the poolings that take the largest element of each window."""

    stops = Stops.RELATIONS

    @classmethod
    def evaluate(
        cls, data: Array, pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints, ceil_mode: bool, layout: str, out_layout: str | None,
        **rest: object,
    ) -> Array:  # fmt: skip
        """The maximum over windows."""
        rank, axes = len(cls.spatial), f"NC{cls.spatial}"
        x = wide(plain(data, layout, axes))
        least = limit_of(lowest, data).astype(x.dtype)
        views = pool_windows(x, least, pool_size, strides, padding, dilation, ceil_mode, x.shape)
        made = extreme(np.max, views, tuple(range(rank + 2, 2 * rank + 2)), False, least)
        return tiled(made, axes, out_layout or layout).astype(data.dtype, copy=False)

    @classmethod
    def legalize(
        cls, te: Te, data: Tensor, pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints, ceil_mode: bool, layout: str,
        out_layout: str | None, **rest: object,
    ) -> Tensor:  # fmt: skip
        """The data with a border, then a maximum over the window."""
        rank, result_layout, axes = len(cls.spatial), out_layout or layout, f"NC{cls.spatial}"
        data, layout = plain_stage(te, data, layout, axes)
        out_layout = result_layout if is_plain(result_layout) else axes
        least, kernel = lowest(data.dtype), [p.IntImm(k) for k in each(pool_size, rank)]
        ends = extended(rank, padding, strides, ceil_mode)
        source = pad_stage(te, data, [layout.index(axis) for axis in cls.spatial], ends, least)
        size = by_axis(layout, data.shape)
        shape = ordered(
            out_layout, pooled(cls.spatial, size, pool_size, strides, padding, dilation, ceil_mode)
        )
        body = _taps(source, cls.spatial, layout, out_layout, each(strides, rank), each(dilation, rank))
        result = te.reduce("pool_max", shape, kernel, body, p.Max, least, data.dtype)
        return tiled_stage(te, result, out_layout, result_layout)


def _taps(source: Tensor, spatial: str, layout: str, out_layout: str, strides: Ints, dilation: Ints) -> Any:
    """The element of a window: indices of the result, then of the window."""

    def body(*i: p.PrimExpr) -> p.PrimExpr:
        place, taps = by_axis(out_layout, i[: len(out_layout)]), i[len(out_layout) :]
        for axis, tap, step, d in zip(spatial, taps, strides, dilation, strict=True):
            place[axis] = p.Add(
                p.Mul(place[axis], p.IntImm(step)), tap if d == 1 else p.Mul(tap, p.IntImm(d))
            )
        return source[ordered(layout, place)]

    return body


class AvgPool(Pool):
    """Base of the average poolings. The border counts only with count_include_pad."""

    stops = Stops.RELATIONS
    defined_for = NUMBERS

    @classmethod
    def evaluate(
        cls, data: Array, pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints, ceil_mode: bool, count_include_pad: bool, layout: str,
        out_layout: str | None,
    ) -> Array:  # fmt: skip
        """Sums over windows divided by the number of counted elements."""
        rank, axes = len(cls.spatial), f"NC{cls.spatial}"
        x = wide(plain(data, layout, axes))
        views = pool_windows(x, 0, pool_size, strides, padding, dilation, ceil_mode, x.shape)
        total = np.sum(views, axis=tuple(range(rank + 2, 2 * rank + 2)), dtype=x.dtype)
        window = (pool_size, strides, padding, dilation, ceil_mode, count_include_pad)
        complete: tuple[Any, ...] = (..., *[slice(n) for n in total.shape[2:]])
        counted = inside_windows(x.shape, *window, x.dtype)[complete]
        return tiled(shares(total, counted), axes, out_layout or layout).astype(data.dtype, copy=False)

    @classmethod
    def legalize(
        cls, te: Te, data: Tensor, pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints, ceil_mode: bool, count_include_pad: bool,
        layout: str, out_layout: str | None,
    ) -> Tensor:  # fmt: skip
        """The data with a border, a sum over the window, a division by the number of counted elements."""
        rank, result_layout, axes = len(cls.spatial), out_layout or layout, f"NC{cls.spatial}"
        data, layout = plain_stage(te, data, layout, axes)
        work_layout = result_layout if is_plain(result_layout) else axes
        ends, kernel = extended(rank, padding, strides, ceil_mode), each(pool_size, rank)
        places = [layout.index(axis) for axis in cls.spatial]
        source = pad_stage(te, data, places, ends, p.as_prim(0, data.dtype))
        size = by_axis(layout, data.shape)
        shape = ordered(
            work_layout, pooled(cls.spatial, size, pool_size, strides, padding, dilation, ceil_mode)
        )
        body = _taps(source, cls.spatial, layout, work_layout, each(strides, rank), each(dilation, rank))
        total = te.sum("pool_sum", shape, [p.IntImm(k) for k in kernel], body, data.dtype)
        numbers = zip(kernel, each(strides, rank), each(dilation, rank), pads(padding, rank), strict=True)
        steps = dict(zip(cls.spatial, numbers, strict=True))

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            counts = taps_inside(steps, by_axis(work_layout, i), size, count_include_pad)
            return share(total[i], counts)

        return tiled_stage(te, te.compute("pool_avg", shape, element), work_layout, result_layout)


def shares(total: Array, counted: Array) -> Array:
    """Sums divided by the number of counted elements; for integers truncated towards zero."""
    if total.dtype.kind == "b":
        text = "the elements are bool, and bools can't be divided"
        raise NotDefined(text, "convert them with R.astype first")
    return divide(total, np.asarray(counted).astype(total.dtype))


def share(total: p.PrimExpr, counted: p.PrimExpr) -> p.PrimExpr:
    """`shares` in a kernel; at least 1 element counts."""
    if total.dtype.is_bool:
        raise NotLowered("bools can't be divided")
    return p.Div(total, cast(p.Max(counted, rules.ONE), total.dtype))


def taps_inside(
    steps: dict[str, tuple[int, int, int, tuple[int, int]]], window: dict[str, p.PrimExpr], size: dict[str, p.PrimExpr],
    border_counts: bool,
) -> p.PrimExpr:  # fmt: skip
    """The number of counted taps of a window; `steps` has size, stride, dilation and border of each spatial axis."""
    counts = [_counted(window[axis], size[axis], *numbers, border_counts) for axis, numbers in steps.items()]
    return reduce(p.Mul, counts)


def _counted(
    i: p.PrimExpr,
    length: p.PrimExpr,
    kernel: int,
    stride: int,
    dilation: int,
    pad: tuple[int, int],
    border: bool,
) -> p.PrimExpr:
    """The number of taps of window `i` inside an axis, or inside the axis and its border."""
    start = simplify(p.Sub(p.Mul(i, p.IntImm(stride)), p.IntImm(pad[0])))

    def first_from(place: p.PrimExpr) -> p.PrimExpr:  # the number of the first tap at or after `place`
        return simplify(
            p.FloorDiv(simplify(p.Add(p.Sub(place, start), p.IntImm(dilation - 1))), p.IntImm(dilation))
        )

    end = simplify(p.Add(length, p.IntImm(pad[1] if border else 0)))
    last = p.Min(first_from(end), p.IntImm(kernel))
    return last if border else p.Sub(last, p.Max(first_from(rules.ZERO), rules.ZERO))


class MaxPool1d(MaxPool, name="relax.nn.max_pool1d", spatial="W"):
    """The largest element of each window of signals.

    The border has the least value of the dtype. The element after a NaN replaces it, as in `max`.
    """

    source = "ONNX MaxPool"
    examples = (
        "f32[n,3,8] pool_size=2 strides=2 -> f32[n,3,4]",
        "i32[n,2,7] pool_size=[3] strides=2 padding=[1,0] dilation=2 ceil_mode=True -> i32[n,2,3]",
        'f32[n,7,4] pool_size=2 layout="NWC" out_layout="NCW2c" -> f32[n,2,6,2]',
    )


class MaxPool2d(MaxPool, name="relax.nn.max_pool2d", spatial="HW"):
    """The largest element of each window of images.

    The border has the least value of the dtype. The element after a NaN replaces it, as in `max`.
    """

    source = "ONNX MaxPool"
    examples = _IMAGES


class MaxPool3d(MaxPool, name="relax.nn.max_pool3d", spatial="DHW"):
    """The largest element of each window of volumes.

    The border has the least value of the dtype. The element after a NaN replaces it, as in `max`.
    """

    source = "ONNX MaxPool"
    examples = _VOLUMES


class AvgPool1d(AvgPool, name="relax.nn.avg_pool1d", spatial="W"):
    """The mean of the elements of each window of signals.

    By default zeros of the border count, unlike in `nn.avg_pool2d`. The mean of integers is truncated.
    """

    source = "ONNX AveragePool"
    count_include_pad: bool = attr(True, "True counts the border, as zeros, in the mean")
    examples = (
        "f32[n,3,8] pool_size=2 strides=2 -> f32[n,3,4]",
        "f32[n,2,7] pool_size=[3] strides=2 padding=[1,0] dilation=2 ceil_mode=True -> f32[n,2,3]",
        'f32[n,7,4] pool_size=3 padding=1 count_include_pad=False layout="NWC" -> f32[n,7,4]',
    )


class AvgPool2d(AvgPool, name="relax.nn.avg_pool2d", spatial="HW"):
    """The mean of the elements of each window of images.

    By default the border does not count, unlike in `nn.avg_pool1d` and `nn.avg_pool3d`. The mean of integers is truncated.
    """

    source = "ONNX AveragePool"
    count_include_pad: bool = attr(False, "True counts the border, as zeros, in the mean")

    examples = _IMAGES


class AvgPool3d(AvgPool, name="relax.nn.avg_pool3d", spatial="DHW"):
    """The mean of the elements of each window of volumes.

    By default zeros of the border count, unlike in `nn.avg_pool2d`. The mean of integers is truncated.
    """

    source = "ONNX AveragePool"
    count_include_pad: bool = attr(True, "True counts the border, as zeros, in the mean")
    examples = _VOLUMES
