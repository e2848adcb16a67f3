"""Pooling of signals, images and volumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, ClassVar, Unpack

import numpy as np

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.fold import exact
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
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import NotDefined, wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, lowest
from relax_explorer.core.ops.kit.windows import (
    Numbers,
    Windowed,
    Windows,
    border,
    every,
    in_order,
    need_fit,
    need_window,
    pad_stage,
    padded,
    views,
    windows_of,
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
        cls, at: Site, data: s.StructInfo, layout: str, out_layout: str | None, **numbers: Unpack[Numbers]
    ) -> s.StructInfo:
        """Like data, with, along each axis of space,
        (length + padding before and after - dilation * (pool_size - 1) - 1) / stride + 1, rounded down, with ceil_mode up.
        """
        x, result_layout = rules.tensor(at, data, "data"), layout if out_layout is None else out_layout
        need_layout(at, f"NC{cls.spatial}", layout=layout, out_layout=result_layout)
        need_window(at, len(cls.spatial), **numbers)
        need_layout_rank(at, layout, x, "data")
        if x.dims is None:
            return s.TensorStructInfo(None, x.dtype, rank_of(result_layout))
        size = lengths_of(layout, x.dims)
        lengths = pooled(windows_of(cls.spatial, numbers), size)
        need_fit(at, cls.spatial, size, lengths, data=f"this is {x}")
        return s.TensorStructInfo(dims_of(result_layout, lengths), x.dtype)


class PoolForward(Pool):
    """Base of the poolings themselves."""

    by_kernel = True
    stops = Stops.RELATIONS
    combined: ClassVar[
        tuple[str, Callable[[p.PrimExpr, p.PrimExpr], p.PrimExpr]]
    ]  # the reduction of a kernel

    @classmethod
    def outside(cls, dtype: DType) -> p.PrimExpr:
        """The element around the data, which begins the reduction too."""
        return p.as_prim(0, dtype)

    @classmethod
    def reduced(cls, x: Array, windows: Windows, border: Array) -> Array:
        """The reduction of each window of data with channels first."""
        raise NotImplementedError

    @classmethod
    def finished(
        cls, te: Te, total: Tensor, layout: str, windows: Windows, size: dict[str, p.PrimExpr]
    ) -> Tensor:
        """The result from the reductions of the windows in a kernel."""
        return total

    @classmethod
    def evaluate(cls, data: Array, layout: str, out_layout: str | None, **numbers: Unpack[Numbers]) -> Array:
        """A reduction of each window."""
        axes = f"NC{cls.spatial}"
        x = wide(plain(data, layout, axes))
        made = cls.reduced(x, windows_of(cls.spatial, numbers), limit_of(cls.outside, data).astype(x.dtype))
        return tiled(made, axes, out_layout or layout).astype(data.dtype, copy=False)

    @classmethod
    def legalize(
        cls, te: Te, data: Tensor, layout: str, out_layout: str | None, **numbers: Unpack[Numbers]
    ) -> Tensor:
        """The data with a border, then a reduction of each window."""
        result_layout, axes, windows = (
            out_layout or layout,
            f"NC{cls.spatial}",
            windows_of(cls.spatial, numbers),
        )
        data, layout = plain_stage(te, data, layout, axes)
        work_layout, border = result_layout if is_plain(result_layout) else axes, cls.outside(data.dtype)
        ends = {layout.index(axis): window.ends for axis, window in windows.items()}
        source, size = pad_stage(te, data, ends, border), by_axis(layout, data.shape)

        def body(*i: p.PrimExpr) -> p.PrimExpr:
            place = by_axis(work_layout, i[: data.ndim])
            for (axis, window), tap in zip(windows.items(), i[data.ndim :], strict=True):
                moved = p.Mul(place[axis], p.IntImm(window.stride))
                place[axis] = p.Add(
                    moved, tap if window.dilation == 1 else p.Mul(tap, p.IntImm(window.dilation))
                )
            return source[ordered(layout, place)]

        shape = ordered(work_layout, pooled(windows, size))
        name, combine = cls.combined
        total = te.reduce(name, shape, kernel_of(windows), body, combine, border, data.dtype)
        return tiled_stage(
            te, cls.finished(te, total, work_layout, windows, size), work_layout, result_layout
        )


def pooled(windows: Windows, size: dict[str, p.PrimExpr]) -> dict[str, p.PrimExpr]:
    """The lengths of the result by axis."""
    return {**size, **{axis: w.count(size[axis], p.IntImm(w.size)) for axis, w in windows.items()}}


def kernel_of(windows: Windows) -> list[p.PrimExpr]:
    """The lengths of the windows, for a reduction over their taps."""
    return [p.IntImm(window.size) for window in windows.values()]


def pool_windows(x: Array, windows: Windows, border: Array) -> Array:
    """The windows of data with channels first."""
    axes, rows = range(2, x.ndim), windows.values()
    made = views(padded(x, axes, [w.ends for w in rows], border), [w.size for w in rows], rows)
    counts = [w.count(p.IntImm(n), p.IntImm(w.size)) for n, w in zip(x.shape[2:], rows, strict=True)]
    kept: tuple[Any, ...] = (..., *[slice(exact(n)) for n in counts], *[slice(None)] * len(rows))
    result: Array = made[kept]
    return result


def inside_windows(x: Array, windows: Windows, counts: Sequence[int]) -> Array:
    """The number of counted elements in each of `counts` windows: those inside the data, or also inside its border; at least 1."""
    axes, rows = range(2, x.ndim), windows.values()
    ones = np.ones((1, 1, *x.shape[2:]), x.dtype)
    inside = padded(ones, axes, [w.pad for w in rows], int(all(w.border_counts for w in rows)))
    inside = padded(inside, axes, [(0, w.ends[1] - w.pad[1]) for w in rows], 0)
    made = views(inside, [w.size for w in rows], rows)
    kept: tuple[Any, ...] = (..., *[slice(count) for count in counts])
    result: Array = np.maximum(np.sum(made, axis=tuple(range(x.ndim, made.ndim))), 1)[kept]
    return result


class MaxPool(PoolForward):
    """Base of the poolings that take the largest element of each window."""

    combined = ("pool_max", p.Max)

    @classmethod
    def outside(cls, dtype: DType) -> p.PrimExpr:
        """The least number."""
        return lowest(dtype)

    @classmethod
    def reduced(cls, x: Array, windows: Windows, border: Array) -> Array:
        """The maximum over windows."""
        made = pool_windows(x, windows, border)
        return extreme(np.max, made, tuple(range(x.ndim, made.ndim)), False, border)


class AvgPool(PoolForward):
    """Base of the average poolings. The border counts only with count_include_pad."""

    defined_for = NUMBERS
    combined = ("pool_sum", p.Add)

    @classmethod
    def reduced(cls, x: Array, windows: Windows, border: Array) -> Array:
        """Sums over windows divided by the number of counted elements."""
        made = pool_windows(x, windows, border)
        total = np.sum(made, axis=tuple(range(x.ndim, made.ndim)), dtype=x.dtype)
        return shares(total, inside_windows(x, windows, total.shape[2:]))

    @classmethod
    def finished(
        cls, te: Te, total: Tensor, layout: str, windows: Windows, size: dict[str, p.PrimExpr]
    ) -> Tensor:
        """Sums divided by the number of counted elements."""

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            return share(total[i], taps_inside(windows, by_axis(layout, i), size))

        return te.compute("pool_avg", total.shape, element)


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


def taps_inside(windows: Windows, place: dict[str, p.PrimExpr], size: dict[str, p.PrimExpr]) -> p.PrimExpr:
    """The number of counted taps of the window at `place`."""
    return reduce(p.Mul, [window.counted(place[axis], size[axis]) for axis, window in windows.items()])


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
