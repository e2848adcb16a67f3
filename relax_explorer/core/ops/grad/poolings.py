"""Gradients of the poolings of images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.grad.gradients import maybe_tensors, need_shape_of
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.data_layout import (
    by_axis,
    need_layout,
    ordered,
    plain,
    plain_stage,
    tiled,
    tiled_stage,
)
from relax_explorer.core.ops.kit.decl import Ints, Parameter, Site
from relax_explorer.core.ops.kit.kinds import Kind
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, lowest, where
from relax_explorer.core.ops.kit.windows import all_of, each, need_window, pad_stage, pads
from relax_explorer.core.ops.nn.pool import (
    Pool,
    extended,
    inside_windows,
    pool_windows,
    share,
    shares,
    taps_inside,
)
from relax_explorer.core.ops.tensor.reduction import limit_of

_AXES = "NCHW"
_EXAMPLES = (
    "f32[n,3,4,4] f32[n,3,8,8] pool_size=[2,2] strides=[2,2] -> f32[n,3,8,8]",
    "f32[1,2,4,4] f32[1,2,7,7] pool_size=[3,3] strides=[2,2] padding=[1,1,1,1] -> f32[1,2,7,7]",
    'f32[1,4,4,2] f32[1,7,7,2] pool_size=[2,2] strides=[2,2] ceil_mode=True layout="NHWC" -> f32[1,7,7,2]',
    "f32[1,2,8,6] f32[1,2,8,8] pool_size=[2,2] dilation=[2,2] count_include_pad=True padding=[1,0] -> f32[1,2,8,8]",
)


class PoolBackward(Pool):
    """Base of the gradients of poolings with respect to their data. The attributes are those of the pooling, each a list."""

    takes_lists = True
    parameters = (
        Parameter(
            "output_grad", "Tensor", "gradient with respect to the result of the pooling, of its shape", True
        ),
        *[replace(q, annotation="IntList") if q.kind is Kind.INTS else q for q in Pool.parameters],
    )

    @classmethod
    def infer(  # type: ignore[override]  # one operand more
        cls, at: Site, output_grad: s.StructInfo, data: s.StructInfo, pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints, ceil_mode: bool,
        layout: str, out_layout: str | None, **rest: object,
    ) -> s.StructInfo:  # fmt: skip
        """The shape and dtype of data."""
        maybe_tensors(at, output_grad=output_grad, data=data)
        need_layout(at, _AXES, layout=layout, out_layout=layout if out_layout is None else out_layout)
        need_window(at, 2, padding, pool_size=pool_size, strides=strides, dilation=dilation)
        if isinstance(data, s.TensorStructInfo):
            window = (pool_size, strides, padding, dilation, ceil_mode)
            made = super().infer(at, data, *window, layout=layout, out_layout=out_layout)
            said = f"pool_size {pool_size}, strides {strides}, padding {padding}, dilation {dilation}, ceil_mode {ceil_mode}"
            need_shape_of(at, output_grad, made, f"the pooling with {said}")
        return data

    @staticmethod
    def spread(
        x: Array,
        share: Callable[[int, int], Any],
        grad: Array,
        pool_size: Ints,
        strides: Ints,
        padding: Ints,
        dilation: Ints,
    ) -> Array:
        """The gradient of the data: taps a, b of each window get `grad` times `share(a, b)`."""
        (before_h, _), (before_w, _) = pads(padding, 2)
        (kernel_h, kernel_w), steps, (d_h, d_w) = each(pool_size, 2), each(strides, 2), each(dilation, 2)
        spans = [n * step for n, step in zip(grad.shape[2:], steps, strict=True)]
        room = (
            max(x.shape[2] + before_h, 0) + kernel_h * d_h + spans[0],
            max(x.shape[3] + before_w, 0) + kernel_w * d_w + spans[1],
        )
        spread_grad = np.zeros((*x.shape[:2], *room), x.dtype)
        for a in range(kernel_h):
            for b in range(kernel_w):
                rows = slice(a * d_h, a * d_h + spans[0], steps[0])
                columns = slice(b * d_w, b * d_w + spans[1], steps[1])
                spread_grad[:, :, rows, columns] += grad * share(a, b)
        return spread_grad[:, :, before_h : before_h + x.shape[2], before_w : before_w + x.shape[3]]

    @staticmethod
    def gathered(
        te: Te, data: Tensor, grad: Tensor, share: Callable[..., p.PrimExpr], pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints
    ) -> Tensor:  # fmt: skip
        """Like `spread`, in a kernel: for each element, the sum over the taps that reach it. `share` takes the window and the taps."""
        zero = p.as_prim(0, data.dtype)
        numbers = list(
            zip(each(strides, 2), each(dilation, 2), pads(padding, 2), grad.shape[2:], strict=True)
        )

        def body(*i: p.PrimExpr) -> p.PrimExpr:
            tests: list[p.PrimExpr] = []
            window = list(i[:2])
            for index, tap, (step, d, pad, count) in zip(i[2:4], i[4:], numbers, strict=True):
                came = simplify(p.Sub(p.Add(index, p.IntImm(pad[0])), p.Mul(tap, p.IntImm(d))))
                number = p.FloorDiv(came, p.IntImm(step))
                tests += [p.LE(rules.ZERO, came), p.LT(number, count)]
                tests += [p.EQ(p.FloorMod(came, p.IntImm(step)), rules.ZERO)] if step > 1 else []
                window.append(number)
            return where(all_of(tests), share(window, i[4:]), zero)

        kernel = [p.IntImm(k) for k in each(pool_size, 2)]
        return te.sum("pool_grad", data.shape, kernel, body, data.dtype)


class MaxPool2dBackward(PoolBackward, name="relax.grad.max_pool2d_backward", spatial="HW"):
    """The gradient of `nn.max_pool2d` with respect to its data: each window passes its gradient to its first largest element.

    The attributes are those of the pooling.
    """

    source = "TVM"
    examples = _EXAMPLES

    @classmethod
    def evaluate(
        cls, output_grad: Array, data: Array, pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints, ceil_mode: bool, layout: str,
        out_layout: str | None, **rest: object,
    ) -> Array:  # fmt: skip
        """To the place of the maximum."""
        x, grad = wide(plain(data, layout, _AXES)), wide(plain(output_grad, out_layout or layout, _AXES))
        least = limit_of(lowest, data).astype(x.dtype)
        views = pool_windows(x, least, pool_size, strides, padding, dilation, ceil_mode, x.shape)
        best = (
            np.argmax(views.reshape(*views.shape[:4], -1), -1)
            if views.size
            else np.zeros(views.shape[:4], int)
        )
        width = each(pool_size, 2)[1]
        window = (pool_size, strides, padding, dilation)
        made = cls.spread(x, lambda a, b: best == a * width + b, grad, *window)
        return tiled(made, _AXES, layout).astype(data.dtype)

    @classmethod
    def legalize(
        cls, te: Te, output_grad: Tensor, data: Tensor, pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints, ceil_mode: bool, layout: str,
        out_layout: str | None, **rest: object,
    ) -> Tensor:  # fmt: skip
        """The largest element of each window and its first place, then sums."""
        x, grad = _in_axes(te, data, layout), _in_axes(te, output_grad, out_layout or layout)
        kernel, least = each(pool_size, 2), lowest(x.dtype)
        source = pad_stage(te, x, (2, 3), extended(2, padding, strides, ceil_mode), least)
        over = [p.IntImm(k) for k in kernel]

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            numbers = zip(i[2:4], i[4:], each(strides, 2), each(dilation, 2), strict=True)
            place = [p.Add(p.Mul(n, p.IntImm(step)), p.Mul(tap, p.IntImm(d))) for n, tap, step, d in numbers]
            return source[(*i[:2], *place)]

        largest = te.reduce("pool_max", grad.shape, over, element, p.Max, least, x.dtype)
        none = p.IntImm(kernel[0] * kernel[1])

        def number(*i: p.PrimExpr) -> p.PrimExpr:
            tap = p.Add(p.Mul(i[4], over[1]), i[5])
            return where(p.EQ(element(*i), largest[i[:4]]), tap, none)

        best = te.reduce("pool_argmax", grad.shape, over, number, p.Min, none)

        def share(window: Any, taps: Any) -> p.PrimExpr:
            own = p.EQ(best[window], p.Add(p.Mul(taps[0], over[1]), taps[1]))
            return where(own, cast(grad[window], x.dtype), p.as_prim(0, x.dtype))

        made = cls.gathered(te, x, grad, share, pool_size, strides, padding, dilation)
        return tiled_stage(te, made, _AXES, layout)


class AvgPool2dBackward(PoolBackward, name="relax.grad.avg_pool2d_backward", spatial="HW"):
    """The gradient of `nn.avg_pool2d` with respect to its data: each window divides its gradient equally among its elements.

    The attributes are those of the pooling.
    """

    source = "TVM"
    examples = _EXAMPLES

    @classmethod
    def evaluate(
        cls, output_grad: Array, data: Array, pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints, ceil_mode: bool, count_include_pad: bool,
        layout: str, out_layout: str | None,
    ) -> Array:  # fmt: skip
        """Divided by the number of counted elements."""
        x, grad = wide(plain(data, layout, _AXES)), wide(plain(output_grad, out_layout or layout, _AXES))
        window = (pool_size, strides, padding, dilation)
        counted = inside_windows(x.shape, *window, ceil_mode, count_include_pad, x.dtype)
        counted = counted[:, :, : grad.shape[2], : grad.shape[3]]
        grad = grad.astype(x.dtype)
        parts = shares(grad, counted) if grad.size else grad
        made = cls.spread(x, lambda a, b: parts.dtype.type(1), parts, *window)
        return tiled(made, _AXES, layout).astype(data.dtype)

    @classmethod
    def legalize(
        cls, te: Te, output_grad: Tensor, data: Tensor, pool_size: Ints, strides: Ints, padding: Ints, dilation: Ints, ceil_mode: bool,
        count_include_pad: bool, layout: str, out_layout: str | None,
    ) -> Tensor:  # fmt: skip
        """The shares of the windows, then sums."""
        x, grad = _in_axes(te, data, layout), _in_axes(te, output_grad, out_layout or layout)
        numbers = zip(each(pool_size, 2), each(strides, 2), each(dilation, 2), pads(padding, 2), strict=True)
        steps, size = dict(zip("HW", numbers, strict=True)), by_axis(_AXES, x.shape)

        def part(*i: p.PrimExpr) -> p.PrimExpr:
            counts = taps_inside(steps, by_axis(_AXES, i), size, count_include_pad)
            return share(cast(grad[i], x.dtype), counts)

        parts = te.compute("pool_share", grad.shape, part)
        gradient = cls.gathered(
            te, x, grad, lambda window, taps: parts[window], pool_size, strides, padding, dilation
        )
        return tiled_stage(te, gradient, _AXES, layout)


def _in_axes(te: Te, x: Tensor, layout: str) -> Tensor:
    """A tensor with its axes in the order NCHW."""
    stage, stage_layout = plain_stage(te, x, layout, _AXES)
    if stage_layout == _AXES:
        return stage
    shape = ordered(_AXES, by_axis(stage_layout, stage.shape))
    return te.compute("T_layout_trans", shape, lambda *i: stage[ordered(stage_layout, by_axis(_AXES, i))])
