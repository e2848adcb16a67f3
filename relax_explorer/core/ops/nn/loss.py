"""Loss functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import NUMBERS, Fusion, NotLowered, Op, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import NotDefined, wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, where
from relax_explorer.core.ops.tensor.gather import inside


class CrossEntropyWithLogits(Op, name="relax.nn.cross_entropy_with_logits"):
    """Minus the sum of predictions * labels, divided by the first length if there are several axes.

    Despite its name it computes no softmax: the predictions are already logarithms of probabilities.
    """

    source = "TVM"
    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG, codes.DIMS_DIFFER)
    stops = Stops.RELATIONS
    defined_for = NUMBERS
    predictions: Tensor = operand("logarithms of probabilities")
    labels: Tensor = operand("probabilities, of the shape and dtype of predictions")
    fusion = Fusion.OPAQUE
    examples = ("f32[3,4] f32[3,4] -> f32[]", "f32[n] f32[n] -> f32[]")

    @staticmethod
    def infer(at: Site, predictions: s.StructInfo, labels: s.StructInfo) -> s.StructInfo:
        """A tensor of rank 0, the dtype of predictions."""
        x, y = rules.tensor(at, predictions, "predictions"), rules.tensor(at, labels, "labels")
        dtype = rules.common_dtype(at, predictions=x, labels=y)
        if x.ndim >= 0:
            rules.need_rank(at, y, x.ndim, "labels")
        for a, b in zip(x.dims or (), y.dims or (), strict=False):
            if at.equal(a, b) is Answer.NO:
                labels_by = {"predictions": f"this is {x}", "labels": f"this is {y}"}
                text = f"predictions has length {a}, and labels {b} at the same axis"
                raise at.fail(codes.DIMS_DIFFER, text, **labels_by)
        return s.TensorStructInfo((), dtype)

    @staticmethod
    def evaluate(predictions: Array, labels: Array) -> Array:
        """The sum of the products."""
        need_numbers(predictions)
        x = wide(predictions)
        total = np.negative(np.sum(x * wide(labels), dtype=x.dtype))
        rows = predictions.shape[0] if predictions.ndim > 1 else 1
        return divided(total, np.asarray(rows, x.dtype)).astype(predictions.dtype)

    @staticmethod
    def legalize(te: Te, predictions: Tensor, labels: Tensor) -> Tensor:
        """The sum of the products."""
        x, y, dtype = predictions, labels, predictions.dtype
        need_kind_of_numbers(dtype)
        total = te.sum("T_multiply_red", (), x.shape, lambda *i: p.Mul(x[i], y[i]), dtype)
        rows = cast(x.shape[0] if x.ndim > 1 else rules.ONE, dtype)
        return te.compute("T_divide", (), lambda: p.Div(p.Sub(p.as_prim(0, dtype), total[()]), rows))


class NllLoss(Op, name="relax.nn.nll_loss"):
    """Minus the prediction of the right class times its weight, reduced over all targets.

    `mean` divides by the sum of the weights of the counted targets, so it is NaN if none counts. The run stops at a target
    that is neither a class nor ignored.
    """

    source = "torch.nn.functional.nll_loss"
    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    predictions: Tensor = operand("logarithms of probabilities, [batch, classes, …] or [classes]")
    targets: Tensor = operand("the right classes, [batch, …] or of rank 0: signed integers from 0 on")
    weights: Tensor | None = operand(
        "the weight of each class, in the dtype of predictions; 1 when left out", default=None
    )
    reduction: str = attr("mean", "none, sum or mean")
    ignore_index: int = attr(-100, "targets of this class are ignored")
    fusion = Fusion.OPAQUE
    examples = (
        "f32[n,5] i64[n] f32[5] -> f32[]",
        'f32[2,5,3] i32[2,3] f32[5] reduction="none" -> f32[2,3]',
        'f32[3,5] i64[3] reduction="sum" ignore_index=2 -> f32[]',
        "f32[5] i64[] f32[5] -> f32[]",
    )

    @staticmethod
    def infer(
        at: Site, predictions: s.StructInfo, targets: s.StructInfo, weights: s.StructInfo | None, reduction: str, ignore_index: int
    ) -> s.StructInfo:  # fmt: skip
        """Rank 0, the shape of targets when reduction is none; the dtype of predictions."""
        x, y = rules.tensor(at, predictions, "predictions"), rules.tensor(at, targets, "targets")
        w = None if weights is None else rules.tensor(at, weights, "weights")
        dtype = x.dtype if w is None else rules.common_dtype(at, predictions=x, weights=w)
        if y.dtype is not None and not y.dtype.is_int:
            text = f"targets is {y.dtype}, signed integers are needed"
            raise at.fail(codes.DTYPE_WRONG, text, targets=f"dtype {y.dtype}")
        if reduction not in ("none", "sum", "mean"):
            raise at.fail(
                codes.BAD_ATTRIBUTE, f"reduction is {reduction!r}, it must be one of none, sum, mean"
            )
        if x.ndim == 0:
            text = "predictions has rank 0, at least 1 is needed, for the classes"
            raise at.fail(codes.RANK_WRONG, text, predictions=f"this is {x}")
        if x.ndim > 0:
            rules.need_rank(at, y, x.ndim - 1, "targets")
        if w is not None:
            rules.need_rank(at, w, 1, "weights")
        shape = _checked(at, x, y, w)
        if reduction != "none":
            return s.TensorStructInfo((), dtype)
        if shape is not None:
            return s.TensorStructInfo(shape, dtype)
        return s.TensorStructInfo(None, dtype, x.ndim - 1 if x.ndim > 0 else -1)

    @staticmethod
    def evaluate(
        predictions: Array, targets: Array, weights: Array | None, reduction: str, ignore_index: int
    ) -> Array:
        """The prediction of each target by the weight of its class."""
        need_numbers(predictions)
        place = min(predictions.ndim - 1, 1)
        classes = predictions.shape[place]
        ignored = targets == ignore_index
        index = class_of(targets, predictions.shape, place, ignored)
        weight = np.ones(classes, wide(predictions).dtype) if weights is None else wide(weights)
        if classes or not targets.size:
            picked = np.take_along_axis(wide(predictions), np.expand_dims(index, place), place).squeeze(place)
            counted = np.where(ignored, 0, weight[index]).astype(picked.dtype)
        else:  # there are no classes, so every target is ignored
            picked = counted = np.zeros(targets.shape, weight.dtype)
        loss = np.where(ignored, 0, -picked * counted).astype(picked.dtype)
        if reduction != "none":
            loss = np.sum(loss, dtype=picked.dtype)
        if reduction == "mean":
            loss = divided(loss, np.sum(counted, dtype=picked.dtype))
        return np.asarray(loss).astype(predictions.dtype)

    @staticmethod
    def legalize(
        te: Te,
        predictions: Tensor,
        targets: Tensor,
        weights: Tensor | None,
        reduction: str,
        ignore_index: int,
    ) -> Tensor:
        """The prediction of each target by the weight of its class, then sums."""
        x, dtype = predictions, predictions.dtype
        need_kind_of_numbers(dtype)
        place = min(x.ndim - 1, 1)
        weight = partial(weight_of, targets=targets, weights=weights, ignore_index=ignore_index, dtype=dtype)

        def loss(*i: p.PrimExpr) -> p.PrimExpr:
            picked = x[(*i[:place], cast(targets[i], INT64), *i[place:])]
            term = p.Mul(p.Sub(p.as_prim(0, dtype), picked), weight(*i))
            return where(is_ignored(targets[i], ignore_index), p.as_prim(0, dtype), term)

        each = te.compute("nll_loss", targets.shape, loss)
        if reduction == "none":
            return each
        total = te.sum("nll_loss_red", (), targets.shape, lambda *i: each[i], dtype)
        if reduction == "sum":
            return total
        weights_sum = te.sum("nll_weight_red", (), targets.shape, weight, dtype)
        return te.compute("T_divide", (), lambda: p.Div(total[()], weights_sum[()]))


def class_of(targets: Array, shape: Sequence[int], place: int, ignored: Array) -> Array:
    """The class of each target, 0 if it is ignored. A target that is not a class stops the run."""
    if not np.all(ignored):
        inside(np.where(ignored, 0, targets), shape, place, "targets", "predictions", from_end=False)
    return np.where(ignored, 0, targets).astype(np.int64)


def need_numbers(predictions: Array) -> None:
    """Refuse bool, which has no negative: losses and their gradients are negated sums."""
    if predictions.dtype.kind == "b":
        text = "predictions is bool, and bools can't be negated"
        raise NotDefined(text, "convert them with R.astype first")


def need_kind_of_numbers(kind: DType) -> None:
    """Like `need_numbers`, in a lowering."""
    if kind.is_bool:
        raise NotLowered("bools can't be negated")


def divided(a: Array, b: Array) -> Array:
    """A quotient; for integers it is truncated towards zero."""
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    if not b.all():
        raise ZeroDivisionError("an integer is divided by 0")
    quotient = np.floor_divide(np.abs(a), np.abs(b)) if a.dtype.kind == "i" else np.floor_divide(a, b)
    return np.asarray(np.where((a < 0) != (b < 0), np.negative(quotient), quotient))


def is_ignored(target: p.PrimExpr, ignore_index: int) -> p.PrimExpr:
    """True if a target is ignored. Targets are compared as int64, because an unsigned target is never -100."""
    return p.EQ(cast(target, INT64), p.IntImm(ignore_index))


def weight_of(
    *i: p.PrimExpr, targets: Tensor, weights: Tensor | None, ignore_index: int, dtype: DType
) -> p.PrimExpr:
    """The weight of the target at an index: 0 if it is ignored, else the weight of its class."""
    class_weight = p.as_prim(1, dtype) if weights is None else weights[cast(targets[i], INT64)]
    return where(is_ignored(targets[i], ignore_index), p.as_prim(0, dtype), class_weight)


def _checked(
    at: Site, x: s.TensorStructInfo, y: s.TensorStructInfo, w: s.TensorStructInfo | None
) -> rules.Dims | None:
    """The shape of the losses, from the predictions; None if unknown. Refuses lengths that are known to differ."""
    place = 1 if x.ndim > 1 else 0
    shape = None if x.dims is None else (*x.dims[:place], *x.dims[place + 1 :])
    pairs = [(a, b, "targets") for a, b in zip(shape or (), y.dims or (), strict=False)]
    if x.dims is not None and w is not None and w.dims is not None:
        pairs.append((x.dims[place], w.dims[0], "weights"))
    for a, b, name in pairs:
        if at.equal(a, b) is Answer.NO:
            message = f"{name} has length {b} where predictions has {a}"
            raise at.fail(codes.DIMS_DIFFER, message, **{name: f"length {b}"})
    return shape
