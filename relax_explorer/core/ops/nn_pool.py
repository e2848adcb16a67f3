"""Pooling of images."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.decl import Fusion, Ints, Op, Site, attr, operand
from relax_explorer.core.ops.nn_layout import by_axis, need_layout, ordered
from relax_explorer.core.ops.special import wide
from relax_explorer.core.ops.te import Te, Tensor, cast, lowest, where
from relax_explorer.core.ops.windows import (
    Pads,
    completed,
    each,
    need_window,
    pad_stage,
    padded,
    pads,
    window_count,
    windows,
)


class Pool(Op):
    """Base of the poolings of images."""

    data: Tensor = operand("images, by layout")
    pool_size: Ints = attr((1, 1), "size of a window", unit="elements")
    strides: Ints = attr((1, 1), "steps between windows", unit="elements")
    padding: Ints = attr(
        (0, 0, 0, 0), "border: all, vertical and horizontal, or top, left, bottom, right", unit="elements"
    )
    dilation: Ints = attr((1, 1), "steps within a window", unit="elements")
    ceil_mode: bool = attr(False, "whether a last, partial window counts")
    count_include_pad: bool = attr(False, "whether the border counts in a mean")
    layout: str = attr("NCHW", "order of the axes of the images")
    out_layout: str | None = attr(None, "order of the axes of the result; layout when None")
    printed_order: ClassVar[tuple[str, ...]] = ("pool_size", "strides", "dilation", "padding")
    fusion = Fusion.OUT_ELEMENTWISE
    refine = completed(2, out_layout="layout")
    examples: ClassVar[tuple[str, ...]] = (
        "f32[n,3,8,8] pool_size=[2,2] strides=[2,2] -> f32[n,3,4,4]",
        "f32[1,2,7,7] pool_size=3 strides=2 padding=1 -> f32[1,2,4,4]",
        'f32[1,7,7,2] pool_size=2 strides=2 ceil_mode=True layout="NHWC" -> f32[1,4,4,2]',
        "f32[1,2,8,8] pool_size=2 dilation=2 count_include_pad=True padding=[1,0] -> f32[1,2,8,6]",
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, pool_size: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool, layout: str,
        out_layout: str | None, **rest: Any,
    ) -> s.StructInfo:  # fmt: skip
        """The windows."""
        x = rules.tensor(at, data, "data")
        need_layout(at, "NCHW", layout=layout, out_layout=out_layout or layout)
        need_window(at, 2, padding, pool_size=pool_size, strides=strides, dilation=dilation)
        rules.need_rank(at, x, 4, "data")
        if x.dims is None:
            return s.TensorStructInfo(None, x.dtype, 4)
        made = _pooled(by_axis(layout, x.dims), pool_size, strides, padding, dilation, ceil_mode)
        return s.TensorStructInfo(ordered(out_layout or layout, made), x.dtype)


def _pooled(
    size: dict[str, p.PrimExpr], pool_size: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> dict[str, p.PrimExpr]:
    steps = zip("HW", each(pool_size, 2), each(strides, 2), each(dilation, 2), pads(padding, 2), strict=True)
    made = {
        axis: window_count(size[axis], p.IntImm(kernel), step, d, pad, ceil_mode)
        for axis, kernel, step, d, pad in steps
    }
    return {**size, **made}


def _extended(padding: Any, strides: Any, ceil_mode: bool) -> Pads:
    """The border, wide enough for a last, partial window."""
    extra = [step - 1 if ceil_mode else 0 for step in each(strides, 2)]
    return tuple(
        [(before, after + more) for (before, after), more in zip(pads(padding, 2), extra, strict=True)]
    )


def _pool_windows(
    x: Any, value: Any, pool_size: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool, own: Any
) -> Any:
    """The windows of images NCHW; `own` is the shape of the images without any border."""
    views = windows(
        padded(x, (2, 3), _extended(padding, strides, ceil_mode), value),
        each(pool_size, 2),
        each(strides, 2),
        each(dilation, 2),
    )
    size = by_axis("NCHW", [p.IntImm(n) for n in own])
    made = _pooled(size, pool_size, strides, padding, dilation, ceil_mode)
    return views[:, :, : made["H"].value, : made["W"].value]  # type: ignore[attr-defined]  # literals stay literals


def _moved(data: Any, layout: str, wanted: str) -> Any:
    return np.transpose(data, [layout.index(axis) for axis in wanted])


class MaxPool2d(Pool, name="relax.nn.max_pool2d"):
    """The largest element of each window."""

    @staticmethod
    def evaluate(
        data: Any, pool_size: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool, layout: str, out_layout: str | None,
        **rest: Any,
    ) -> Any:  # fmt: skip
        """The maximum over windows."""
        x = wide(_moved(data, layout, "NCHW"))
        least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else np.finfo(x.dtype).min
        views = _pool_windows(x, least, pool_size, strides, padding, dilation, ceil_mode, x.shape)
        made = _moved(np.max(views, axis=(4, 5), initial=least), "NCHW", out_layout or layout)
        return np.ascontiguousarray(made).astype(data.dtype)

    @staticmethod
    def legalize(
        te: Te, data: Tensor, pool_size: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool, layout: str,
        out_layout: str | None, **rest: Any,
    ) -> Tensor:  # fmt: skip
        """Bordered images, then a maximum over the window."""
        least = lowest(data.dtype)
        border, kernel = _extended(padding, strides, ceil_mode), [p.IntImm(k) for k in each(pool_size, 2)]
        source = pad_stage(te, data, [layout.index(axis) for axis in "HW"], border, least)
        made = _pooled(by_axis(layout, data.shape), pool_size, strides, padding, dilation, ceil_mode)
        body = _taps(source, layout, out_layout or layout, each(strides, 2), each(dilation, 2))
        return te.reduce(
            "pool_max", ordered(out_layout or layout, made), kernel, body, p.Max, least, data.dtype
        )


def _taps(source: Tensor, layout: str, out_layout: str, strides: Any, dilation: Any) -> Any:
    """The element of a window: indices of the result, then of the window."""

    def body(*i: p.PrimExpr) -> p.PrimExpr:
        place = by_axis(out_layout, i[:4])
        for axis, tap, step, d in zip("HW", i[4:], strides, dilation, strict=True):
            place[axis] = p.Add(
                p.Mul(place[axis], p.IntImm(step)), tap if d == 1 else p.Mul(tap, p.IntImm(d))
            )
        return source[ordered(layout, place)]

    return body


class AvgPool2d(Pool, name="relax.nn.avg_pool2d"):
    """The mean of each window, its border left out unless count_include_pad."""

    @staticmethod
    def evaluate(
        data: Any, pool_size: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool, count_include_pad: bool, layout: str,
        out_layout: str | None,
    ) -> Any:  # fmt: skip
        """Sums over windows divided by how many elements count."""
        x = wide(_moved(data, layout, "NCHW"))
        total = np.sum(
            _pool_windows(x, 0, pool_size, strides, padding, dilation, ceil_mode, x.shape),
            axis=(4, 5),
            dtype=x.dtype,
        )
        border = pads(padding, 2)
        inside = padded(np.ones((1, 1, *x.shape[2:]), x.dtype), (2, 3), border, 1 if count_include_pad else 0)
        inside = padded(inside, (2, 3), _extended(0, strides, ceil_mode), 0)
        views = _pool_windows(inside, 0, pool_size, strides, 0, dilation, False, inside.shape)
        counted = np.maximum(np.sum(views, axis=(4, 5))[:, :, : total.shape[2], : total.shape[3]], 1)
        mean = total / counted if x.dtype.kind == "f" else np.trunc(total / counted)
        return np.ascontiguousarray(_moved(mean, "NCHW", out_layout or layout)).astype(data.dtype)

    @staticmethod
    def legalize(
        te: Te, data: Tensor, pool_size: Any, strides: Any, padding: Any, dilation: Any, ceil_mode: bool, count_include_pad: bool,
        layout: str, out_layout: str | None,
    ) -> Tensor:  # fmt: skip
        """Bordered images, a sum over the window, a division by how many elements count."""
        out_layout = out_layout or layout
        border, kernel = _extended(padding, strides, ceil_mode), each(pool_size, 2)
        source = pad_stage(te, data, [layout.index(axis) for axis in "HW"], border, p.as_prim(0, data.dtype))
        size = by_axis(layout, data.shape)
        shape = ordered(out_layout, _pooled(size, pool_size, strides, padding, dilation, ceil_mode))
        body = _taps(source, layout, out_layout, each(strides, 2), each(dilation, 2))
        total = te.sum("pool_sum", shape, [p.IntImm(k) for k in kernel], body, data.dtype)
        steps = dict(
            zip(
                "HW",
                zip(kernel, each(strides, 2), each(dilation, 2), pads(padding, 2), strict=True),
                strict=True,
            )
        )

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            place = by_axis(out_layout, i)
            counts = [_counted(place[axis], size[axis], *steps[axis], count_include_pad) for axis in "HW"]
            return p.Div(total[i], cast(p.Max(p.Mul(*counts), rules.ONE), data.dtype))

        return te.compute("pool_avg", shape, element)


def _counted(
    i: p.PrimExpr,
    length: p.PrimExpr,
    kernel: int,
    stride: int,
    dilation: int,
    pad: tuple[int, int],
    border: bool,
) -> p.PrimExpr:
    """How many taps of window `i` lie inside an axis, or inside it and its border."""
    start = simplify(p.Sub(p.Mul(i, p.IntImm(stride)), p.IntImm(pad[0])))

    def first_from(place: p.PrimExpr) -> p.PrimExpr:  # the number of the first tap at `place` or behind
        return simplify(
            p.FloorDiv(simplify(p.Add(p.Sub(place, start), p.IntImm(dilation - 1))), p.IntImm(dilation))
        )

    end = simplify(p.Add(length, p.IntImm(pad[1] if border else 0)))
    last = p.Min(first_from(end), p.IntImm(kernel))
    return last if border else p.Sub(last, p.Max(first_from(rules.ZERO), rules.ZERO))


class AdaptiveAvgPool2d(Op, name="relax.nn.adaptive_avg_pool2d"):
    """Means of as many, nearly equal regions as the result has elements (PyTorch's AdaptiveAvgPool2d)."""

    data: Tensor = operand("images, by layout")
    output_size: Ints | None = attr(
        None, "height and width of the result; those of the data when None", unit="elements"
    )
    layout: str = attr("NCHW", "order of the axes of the images")
    out_layout: str | None = attr(None, "order of the axes of the result; layout when None")
    fusion = Fusion.OUT_ELEMENTWISE
    refine = completed(2, out_layout="layout")
    examples = (
        "f32[n,3,7,7] output_size=[1,1] -> f32[n,3,1,1]",
        "f32[1,2,7,5] output_size=[3,2] -> f32[1,2,3,2]",
        'f32[1,7,5,2] output_size=3 layout="NHWC" -> f32[1,3,3,2]',
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, output_size: Any, layout: str, out_layout: str | None
    ) -> s.StructInfo:
        """The channels in the new size."""
        x = rules.tensor(at, data, "data")
        need_layout(at, "NCHW", layout=layout, out_layout=out_layout or layout)
        rules.need_rank(at, x, 4, "data")
        if output_size is not None:
            need_window(at, 2, 0, output_size=output_size)
        if x.dims is None:
            return s.TensorStructInfo(None, x.dtype, 4)
        return s.TensorStructInfo(
            ordered(out_layout or layout, _adapted(by_axis(layout, x.dims), output_size)), x.dtype
        )

    @staticmethod
    def evaluate(data: Any, output_size: Any, layout: str, out_layout: str | None) -> Any:
        """Products with matrices of means, one for each axis."""
        x = wide(_moved(data, layout, "NCHW"))
        sizes = x.shape[2:] if output_size is None else each(output_size, 2)
        for axis, size in zip((2, 3), sizes, strict=True):
            x = np.moveaxis(np.tensordot(x, _means(x.shape[axis], size, x.dtype), ((axis,), (1,))), -1, axis)
        return np.ascontiguousarray(_moved(x, "NCHW", out_layout or layout)).astype(data.dtype)

    @staticmethod
    def legalize(te: Te, data: Tensor, output_size: Any, layout: str, out_layout: str | None) -> Tensor:
        """Sums over the largest region, elements outside the own region left out, then divisions."""
        out_layout, size = out_layout or layout, by_axis(layout, data.shape)
        made = _adapted(size, output_size)
        over = [
            simplify(p.Add(p.FloorDiv(p.Sub(p.Add(size[a], made[a]), rules.ONE), made[a]), rules.ONE))
            for a in "HW"
        ]
        zero = p.as_prim(0, data.dtype)

        def region(i: p.PrimExpr, axis: str) -> tuple[p.PrimExpr, p.PrimExpr]:
            start = p.FloorDiv(p.Mul(i, size[axis]), made[axis])
            last = p.Sub(p.Add(p.Mul(p.Add(i, rules.ONE), size[axis]), made[axis]), rules.ONE)
            return simplify(start), simplify(p.FloorDiv(last, made[axis]))

        def body(*i: p.PrimExpr) -> p.PrimExpr:
            place, tests = by_axis(out_layout, i[:4]), []
            for axis, tap in zip("HW", i[4:], strict=True):
                start, end = region(place[axis], axis)
                found = p.Add(start, tap)
                tests.append(p.LT(found, end))
                place[axis] = p.Min(found, simplify(p.Sub(size[axis], rules.ONE)))
            return where(p.And(*tests), data[ordered(layout, place)], zero)

        total = te.sum("adaptive_pool_sum", ordered(out_layout, made), over, body, data.dtype)

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            ends = [region(by_axis(out_layout, i)[axis], axis) for axis in "HW"]
            counts = [simplify(p.Sub(end, start)) for start, end in ends]
            return p.Div(total[i], cast(p.Mul(*counts), data.dtype))

        return te.compute("adaptive_pool_avg", ordered(out_layout, made), element)


def _adapted(size: dict[str, p.PrimExpr], output_size: Any) -> dict[str, p.PrimExpr]:
    if output_size is None:
        return size
    return {**size, **{axis: p.IntImm(n) for axis, n in zip("HW", each(output_size, 2), strict=True)}}


def _means(length: int, size: int, kind: Any) -> Any:
    """A matrix that takes the means of `size` regions of an axis."""
    i, place = np.arange(size)[:, None], np.arange(length)[None, :]
    inside = (place >= i * length // size) & (place < -(-(i + 1) * length // size))
    return (inside / np.maximum(inside.sum(1, keepdims=True), 1)).astype(kind)
