"""Gradients of losses and take, inserted by the pass Gradient, and the marks that it obeys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Unpack

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit import te as loops
from relax_explorer.core.ops.kit.data_layout import (
    by_axis,
    need_layout,
    ordered,
    plain,
    plain_stage,
    tiled,
    tiled_stage,
)
from relax_explorer.core.ops.kit.decl import (
    Fusion,
    Kind,
    Op,
    Parameter,
    Site,
    Stops,
    Value,
    attr,
    operand,
)
from relax_explorer.core.ops.kit.legalize import Emitter
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, lowest, where
from relax_explorer.core.ops.kit.windows import Numbers, Windows, all_of, need_window, pad_stage, windows_of
from relax_explorer.core.ops.nn.loss import (
    NllLoss,
    class_of,
    divided,
    need_kind_of_numbers,
    need_numbers,
    weight_of,
)
from relax_explorer.core.ops.nn.pool import (
    Pool,
    inside_windows,
    kernel_of,
    pool_windows,
    share,
    shares,
    taps_inside,
)
from relax_explorer.core.ops.tensor.gather import inside, need_int
from relax_explorer.core.ops.tensor.reduction import limit_of
from relax_explorer.core.tir.stmt import Stmt


class Mark(Op):
    """Base of the marks. The result is the operand."""

    shares = ("input",)
    stops = Stops.NEVER
    fusion = Fusion.ELEMENTWISE
    examples: ClassVar[tuple[str, ...]] = ("f32[n,4] -> f32[n,4]", "i64[] -> i64[]")

    @staticmethod
    def evaluate(input: Array) -> Array:
        """The operand."""
        return input

    @staticmethod
    def unfold(build: Emitter, call: e.Call, infos: list[s.StructInfo]) -> e.Expr:
        """The operand itself: without gradients there is nothing to mark."""
        return call.args[0]


class NoGrad(Mark, name="relax.grad.no_grad"):
    """The operand itself, marked so that no gradient flows through it."""

    source = "TVM"
    input: Value = operand("any value")

    @staticmethod
    def infer(at: Site, input: s.StructInfo) -> s.StructInfo:
        """The StructInfo of input."""
        return input


class Checkpoint(Mark):
    """Base of the marks around a checkpoint."""

    raises = (codes.WRONG_KIND,)
    input: Value = operand("the value, held by a variable")

    @staticmethod
    def infer(at: Site, input: s.StructInfo) -> s.StructInfo:
        """The StructInfo of input."""
        if at.call is not None and type(at.call.args[0]).__name__ not in ("Var", "DataflowVar"):
            hint = "bind the value to a variable first"
            raise at.fail(codes.WRONG_KIND, "input is no variable", input="this is an expression", help=hint)
        return input


class StartCheckpoint(Checkpoint, name="relax.grad.start_checkpoint"):
    """The operand itself, marked as the start of a checkpoint: values computed from it are computed again for the gradient.

    This saves memory. The checkpoint ends at `grad.end_checkpoint`.
    """

    source = "Chen et al. 2016"


class EndCheckpoint(Checkpoint, name="relax.grad.end_checkpoint"):
    """The operand itself, marked as the end of a checkpoint that `grad.start_checkpoint` began."""

    source = "Chen et al. 2016"


class NllLossBackward(Op, name="relax.grad.nll_loss_backward"):
    """The gradient of `nn.nll_loss` with respect to its predictions."""

    source = "torch.nn.functional.nll_loss"
    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    output_grad: Tensor = operand("gradient with respect to the loss, of the loss's shape")
    predictions: Tensor = operand("logarithms of probabilities, [batch, classes, …] or [classes]")
    targets: Tensor = operand("the right classes, [batch, …] or of rank 0: signed integers from 0 on")
    weights: Tensor | None = operand(
        "the weight of each class, in the dtype of predictions; 1 when left out", default=None
    )
    reduction: str = attr("mean", "none, sum or mean, as in the loss")
    ignore_index: int = attr(-100, "targets of this class are ignored")
    examples = (
        "f32[] f32[n,5] i64[n] f32[5] -> f32[n,5]",
        'f32[2,3] f32[2,5,3] i32[2,3] reduction="none" ignore_index=1 -> f32[2,5,3]',
        'f32[] f32[5] i64[] f32[5] reduction="sum" -> f32[5]',
    )

    @staticmethod
    def infer(
        at: Site, output_grad: s.StructInfo, predictions: s.StructInfo, targets: s.StructInfo, weights: s.StructInfo | None, reduction: str,
        ignore_index: int,
    ) -> s.StructInfo:  # fmt: skip
        """The shape and dtype of predictions."""
        given = {"output_grad": output_grad, "predictions": predictions, "targets": targets}
        maybe_tensors(at, **given, **({} if weights is None else {"weights": weights}))
        if reduction not in ("none", "sum", "mean"):
            raise at.fail(
                codes.BAD_ATTRIBUTE, f"reduction is {reduction!r}, it must be one of none, sum, mean"
            )
        if s.OBJECT not in (predictions, targets, weights):
            loss = NllLoss.infer(at, predictions, targets, weights, reduction, ignore_index)
            need_shape_of(at, output_grad, loss, "the loss")
        return predictions

    @staticmethod
    def evaluate(
        output_grad: Array,
        predictions: Array,
        targets: Array,
        weights: Array | None,
        reduction: str,
        ignore_index: int,
    ) -> Array:
        """Minus the weight of the class at each target, times the gradient of the loss."""
        need_numbers(predictions)
        place = min(predictions.ndim - 1, 1)
        ignored = targets == ignore_index
        index = class_of(targets, predictions.shape, place, ignored)
        dtype = wide(predictions).dtype
        weight = np.ones(predictions.shape[place], dtype) if weights is None else wide(weights)
        if not weight.size:
            return np.zeros_like(predictions)
        counted = np.where(ignored, 0, weight[index]).astype(dtype)
        share = wide(output_grad).astype(dtype)
        if reduction == "mean":
            share = divided(share, np.sum(counted, dtype=dtype))
        result = np.zeros(predictions.shape, dtype)
        values = np.asarray(-counted * share).astype(dtype)
        np.put_along_axis(result, np.expand_dims(index, place), np.expand_dims(values, place), place)
        return result.astype(predictions.dtype)

    @staticmethod
    def legalize(
        te: Te, output_grad: Tensor, predictions: Tensor, targets: Tensor, weights: Tensor | None, reduction: str, ignore_index: int
    ) -> Tensor:  # fmt: skip
        """The weights of the targets, their sum, then one element at a time."""
        x, dtype, zero = predictions, predictions.dtype, p.as_prim(0, predictions.dtype)
        need_kind_of_numbers(dtype)
        place = min(x.ndim - 1, 1)
        weight = partial(weight_of, targets=targets, weights=weights, ignore_index=ignore_index, dtype=dtype)
        counted = te.compute("all_weights", targets.shape, weight)
        total = (
            te.sum("weight_sum", (), targets.shape, lambda *i: counted[i], dtype)
            if reduction == "mean"
            else None
        )

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            others = (*i[:place], *i[place + 1 :])
            grad = cast(output_grad[others if reduction == "none" else ()], dtype)
            grad = grad if total is None else p.Div(grad, total[()])
            here = p.EQ(i[place], cast(targets[others], INT64))
            return where(here, p.Mul(p.Sub(zero, counted[others]), grad), zero)

        return te.compute("pred_grad", x.shape, element)


class TakeBackward(Op, name="relax.grad.take_backward"):
    """The gradient of `take` with respect to its tensor: at each index, the sum of the gradients of the elements taken there; else 0."""

    source = "TVM"
    raises = (codes.AXIS_RANGE, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    output_grad: Tensor = operand("gradient with respect to the taken elements, of their shape")
    x: Tensor = operand("the tensor that the elements were taken from; only its shape is used")
    indices: Tensor = operand(
        "the indices, a vector of integers from 0 on; the run stops at an index out of bounds"
    )
    axis: int | None = attr(None, "the axis; negative counts from the last; only a vector needs none")
    mode: str = attr("", "the mode of take, which is ignored: every index must be in bounds")
    examples = (
        "f32[n,2] f32[n,5] i64[2] axis=1 -> f32[n,5]",
        "f32[m] f32[n] i32[m] -> f32[n]",
    )

    @staticmethod
    def infer(
        at: Site, output_grad: s.StructInfo, x: s.StructInfo, indices: s.StructInfo, axis: int | None, mode: str
    ) -> s.StructInfo:  # fmt: skip
        """The shape and dtype of x."""
        maybe_tensors(at, output_grad=output_grad, x=x, indices=indices)
        if not isinstance(x, s.TensorStructInfo):
            return x
        place = 0 if axis is None else rules.axis(at, axis, x.ndim)
        if axis is None and x.ndim not in (-1, 1):
            text = f"axis is None, which is for vectors; x has rank {x.ndim}"
            raise at.fail(codes.RANK_WRONG, text, x=f"this is {x}", help="give the axis of the take")
        if isinstance(indices, s.TensorStructInfo):
            need_int(at, indices, "indices", ("int", "uint"))
            rules.need_rank(at, indices, 1, "indices")
        if x.dims is not None and isinstance(indices, s.TensorStructInfo) and indices.dims is not None:
            shape = (*x.dims[:place], *indices.dims, *x.dims[place + 1 :])
            need_shape_of(
                at, output_grad, s.TensorStructInfo(shape, x.dtype), f"what was taken along axis {place}"
            )
        elif isinstance(output_grad, s.TensorStructInfo) and x.ndim >= 0:
            rules.need_rank(at, output_grad, x.ndim, "output_grad")
        return x

    @staticmethod
    def evaluate(output_grad: Array, x: Array, indices: Array, axis: int | None, mode: str) -> Array:
        """Additions along the axis."""
        result = np.zeros(x.shape, wide(x).dtype)
        place = axis or 0
        index = inside(indices, x.shape, place, of="x", from_end=False)
        np.add.at(np.moveaxis(result, place, 0), index, np.moveaxis(wide(output_grad), place, 0))
        return result.astype(x.dtype)

    @staticmethod
    def legalize(
        te: Te, output_grad: Tensor, x: Tensor, indices: Tensor, axis: int | None, mode: str
    ) -> Tensor:
        """Zeros, then one gradient after the other, for each index of the other axes."""
        place = (axis or 0) % x.ndim
        length, zero = x.shape[place], p.as_prim(0, x.dtype)
        result = loops.tensor(te, "take_backward", x.shape, x.dtype)

        def line(*i: p.PrimExpr) -> Stmt:
            def at(n: p.PrimExpr) -> tuple[p.PrimExpr, ...]:
                return (*i[:place], n, *i[place:])

            def put(k: p.PrimVar) -> Stmt:
                index = cast(indices[k], length.dtype)
                target = at(index)
                adding = loops.store(result, target, p.Add(result[target], cast(output_grad[at(k)], x.dtype)))
                return loops.seq(loops.check_index(index, length), adding)

            clearing = loops.loop(length, lambda k: loops.store(result, at(k), zero))
            return loops.seq(clearing, loops.loop(indices.shape[0], put))

        loops.ordered(te, (*x.shape[:place], *x.shape[place + 1 :]), (result,), line)
        return result


def maybe_tensors(at: Site, **given: s.StructInfo) -> None:
    """Refuse operands that are known not to be tensors. An Object may be one, and TVM accepts it here."""
    for name, info in given.items():
        if info is not s.OBJECT:
            rules.tensor(at, info, name)


def need_shape_of(at: Site, grad: s.StructInfo, operand: s.StructInfo, subject: str) -> None:
    """Refuse a gradient whose shape is known to differ from the shape of the differentiated value."""
    if not isinstance(grad, s.TensorStructInfo) or not isinstance(operand, s.TensorStructInfo):
        return
    if operand.ndim >= 0:
        rules.need_rank(at, grad, operand.ndim, "output_grad")
    pairs = zip(operand.dims or (), grad.dims or (), strict=False)
    if operand.dims is not None and any(at.equal(a, b) is Answer.NO for a, b in pairs):
        shape = tuple_text(grad.dims or ())
        text = (
            f"output_grad has the shape {shape}, {tuple_text(operand.dims)} is needed, the shape of {subject}"
        )
        raise at.fail(codes.DIMS_DIFFER, text, output_grad=f"this is {grad}")


# -- poolings --------------------------------------------------------------------------------------------------------
# Gradients of the poolings of images.


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
        cls, at: Site, output_grad: s.StructInfo, data: s.StructInfo, layout: str, out_layout: str | None, **numbers: Unpack[Numbers]
    ) -> s.StructInfo:  # fmt: skip
        """The shape and dtype of data."""
        maybe_tensors(at, output_grad=output_grad, data=data)
        need_layout(at, _AXES, layout=layout, out_layout=layout if out_layout is None else out_layout)
        need_window(at, 2, **numbers)
        if isinstance(data, s.TensorStructInfo):
            made = super().infer(at, data, layout, out_layout, **numbers)
            names = ("pool_size", "strides", "padding", "dilation", "ceil_mode")
            said = ", ".join(f"{name} {numbers.get(name)}" for name in names)
            need_shape_of(at, output_grad, made, f"the pooling with {said}")
        return data

    @classmethod
    def evaluate(
        cls, output_grad: Array, data: Array, layout: str, out_layout: str | None, **numbers: Unpack[Numbers]
    ) -> Array:
        """The gradient of the data: each tap of a window gets its share of the window's gradient."""
        x, grad = wide(plain(data, layout, _AXES)), wide(plain(output_grad, out_layout or layout, _AXES))
        windows = windows_of("HW", numbers)
        share = cls.split(x, grad.astype(x.dtype), windows, limit_of(lowest, data))
        spans = [n * w.stride for n, w in zip(grad.shape[2:], windows.values(), strict=True)]
        rows = list(zip(x.shape[2:], windows.values(), spans, strict=True))
        room = [max(length + w.pad[0], 0) + w.size * w.dilation + span for length, w, span in rows]
        made: Any = np.zeros((*x.shape[:2], *room), x.dtype)
        for taps in np.ndindex(*[w.size for w in windows.values()]):
            starts = [tap * w.dilation for tap, w in zip(taps, windows.values(), strict=True)]
            place = [slice(a, a + span, w.stride) for a, (_, w, span) in zip(starts, rows, strict=True)]
            made[(..., *place)] += share(*taps)
        kept = made[(..., *[slice(w.pad[0], w.pad[0] + length) for length, w, _ in rows])]
        return tiled(kept, _AXES, layout).astype(data.dtype)

    @classmethod
    def legalize(
        cls, te: Te, output_grad: Tensor, data: Tensor, layout: str, out_layout: str | None, **numbers: Unpack[Numbers]
    ) -> Tensor:  # fmt: skip
        """Shares of the windows, then for each element the sum over the taps that reach it."""
        x, grad = _in_axes(te, data, layout), _in_axes(te, output_grad, out_layout or layout)
        windows, zero = windows_of("HW", numbers), p.as_prim(0, x.dtype)
        share = cls.split_stage(te, x, grad, windows)

        def body(*i: p.PrimExpr) -> p.PrimExpr:
            tests: list[p.PrimExpr] = []
            place = list(i[:2])
            for index, tap, window, count in zip(
                i[2:4], i[4:], windows.values(), grad.shape[2:], strict=True
            ):
                start, number, own = window.reaching(index, tap, count)
                place.append(number)
                tests += [p.LE(rules.ZERO, start), *own]
            return where(all_of(tests), share(place, i[4:]), zero)

        made = te.sum("pool_grad", x.shape, kernel_of(windows), body, x.dtype)
        return tiled_stage(te, made, _AXES, layout)

    @classmethod
    def split(cls, x: Array, grad: Array, windows: Windows, least: Array) -> Callable[[int, int], Array]:
        """The gradients that the taps a, b of all windows get; `least` is the least number of the data's dtype."""
        raise NotImplementedError

    @classmethod
    def split_stage(
        cls, te: Te, x: Tensor, grad: Tensor, windows: Windows
    ) -> Callable[[Sequence[p.PrimExpr], Sequence[p.PrimExpr]], p.PrimExpr]:
        """Like `split`, in a kernel: the gradient of an element from a window and its taps."""
        raise NotImplementedError


class MaxPool2dBackward(PoolBackward, name="relax.grad.max_pool2d_backward", spatial="HW"):
    """The gradient of `nn.max_pool2d` with respect to its data: each window passes its gradient to its first largest element.

    The attributes are those of the pooling.
    """

    source = "TVM"
    examples = _EXAMPLES

    @classmethod
    def split(cls, x: Array, grad: Array, windows: Windows, least: Array) -> Callable[[int, int], Array]:
        """To the place of the maximum."""
        found = pool_windows(x, windows, least)
        best = (
            np.argmax(found.reshape(*found.shape[:4], -1), -1)
            if found.size
            else np.zeros(found.shape[:4], int)
        )
        return lambda a, b: grad * (best == a * windows["W"].size + b)

    @classmethod
    def split_stage(
        cls, te: Te, x: Tensor, grad: Tensor, windows: Windows
    ) -> Callable[[Sequence[p.PrimExpr], Sequence[p.PrimExpr]], p.PrimExpr]:
        """The largest element of each window and its first place."""
        least, over = lowest(x.dtype), kernel_of(windows)
        source = pad_stage(te, x, dict(enumerate([w.ends for w in windows.values()], 2)), least)

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            rows = zip(windows.values(), i[2:4], i[4:], strict=True)
            place = [
                p.Add(p.Mul(n, p.IntImm(w.stride)), p.Mul(tap, p.IntImm(w.dilation))) for w, n, tap in rows
            ]
            return source[(*i[:2], *place)]

        largest = te.reduce("pool_max", grad.shape, over, element, p.Max, least, x.dtype)
        none = p.IntImm(windows["H"].size * windows["W"].size)

        def number(*i: p.PrimExpr) -> p.PrimExpr:
            tap = p.Add(p.Mul(i[4], over[1]), i[5])
            return where(p.EQ(element(*i), largest[i[:4]]), tap, none)

        best = te.reduce("pool_argmax", grad.shape, over, number, p.Min, none)

        def share(window: Sequence[p.PrimExpr], taps: Sequence[p.PrimExpr]) -> p.PrimExpr:
            own = p.EQ(best[window], p.Add(p.Mul(taps[0], over[1]), taps[1]))
            return where(own, cast(grad[window], x.dtype), p.as_prim(0, x.dtype))

        return share


class AvgPool2dBackward(PoolBackward, name="relax.grad.avg_pool2d_backward", spatial="HW"):
    """The gradient of `nn.avg_pool2d` with respect to its data: each window divides its gradient equally among its elements.

    The attributes are those of the pooling.
    """

    source = "TVM"
    examples = _EXAMPLES

    @classmethod
    def split(cls, x: Array, grad: Array, windows: Windows, least: Array) -> Callable[[int, int], Array]:
        """Divided by the number of counted elements."""
        parts = shares(grad, inside_windows(x, windows, grad.shape[2:])) if grad.size else grad
        return lambda a, b: parts

    @classmethod
    def split_stage(
        cls, te: Te, x: Tensor, grad: Tensor, windows: Windows
    ) -> Callable[[Sequence[p.PrimExpr], Sequence[p.PrimExpr]], p.PrimExpr]:
        """Divided by the number of counted elements."""
        size = by_axis(_AXES, x.shape)

        def part(*i: p.PrimExpr) -> p.PrimExpr:
            return share(cast(grad[i], x.dtype), taps_inside(windows, by_axis(_AXES, i), size))

        parts = te.compute("pool_share", grad.shape, part)
        return lambda window, taps: parts[window]


def _in_axes(te: Te, x: Tensor, layout: str) -> Tensor:
    """A tensor with its axes in the order NCHW."""
    stage, stage_layout = plain_stage(te, x, layout, _AXES)
    if stage_layout == _AXES:
        return stage
    shape = ordered(_AXES, by_axis(stage_layout, stage.shape))
    return te.compute("T_layout_trans", shape, lambda *i: stage[ordered(stage_layout, by_axis(_AXES, i))])
