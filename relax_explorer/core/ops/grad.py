"""Gradients: what the pass Gradient puts in for losses, poolings and take, and the marks that it obeys."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.decl import Fusion, Op, Site, Value, attr, operand
from relax_explorer.core.ops.gather import inside, kept
from relax_explorer.core.ops.special import wide
from relax_explorer.core.ops.te import Te, Tensor, cast, where


class Mark(Op):
    """Base of the marks: the operand as it is."""

    fusion = Fusion.ELEMENTWISE
    examples: ClassVar[tuple[str, ...]] = ("f32[n,4] -> f32[n,4]", "i64[] -> i64[]")

    @staticmethod
    def evaluate(input: Any) -> Any:
        """The operand."""
        return input

    @staticmethod
    def legalize(te: Te, input: Tensor) -> Tensor | None:
        """A copy."""
        return (
            te.compute("T_identity", input.shape, lambda *i: input[i]) if isinstance(input, Tensor) else None
        )


class NoGrad(Mark, name="relax.grad.no_grad"):
    """The operand as it is; no gradient flows through it (TVM)."""

    input: Value = operand("any value")
    no_legalize = "values that are no tensors have no kernels"

    @staticmethod
    def infer(at: Site, input: s.StructInfo) -> s.StructInfo:
        """The operand's own."""
        return input


class StartCheckpoint(Mark, name="relax.grad.start_checkpoint"):
    """The operand as it is; what comes of it up to end_checkpoint is computed again for the gradient (Chen and others 2016)."""

    input: Value = operand("a variable")
    no_legalize = "values that are no tensors have no kernels"

    @staticmethod
    def infer(at: Site, input: s.StructInfo) -> s.StructInfo:
        """The operand's own."""
        return _of_variable(at, input)


class EndCheckpoint(Mark, name="relax.grad.end_checkpoint"):
    """The operand as it is; here ends what start_checkpoint began (Chen and others 2016)."""

    input: Value = operand("a variable")
    no_legalize = "values that are no tensors have no kernels"

    @staticmethod
    def infer(at: Site, input: s.StructInfo) -> s.StructInfo:
        """The operand's own."""
        return _of_variable(at, input)


def _of_variable(at: Site, input: s.StructInfo) -> s.StructInfo:
    if at.call is not None and type(at.call.args[0]).__name__ not in ("Var", "DataflowVar"):
        raise at.fail(codes.WRONG_KIND, "a checkpoint is put on a variable", input="this is none")
    return input


class NllLossBackward(Op, name="relax.grad.nll_loss_backward"):
    """The gradient of `nn.nll_loss` by its predictions (torch.nn.functional.nll_loss)."""

    output_grad: Tensor = operand("gradient of the loss, of the loss's shape")
    predictions: Tensor = operand("logarithms of probabilities: [n, classes, …] or [classes]")
    targets: Tensor = operand("the right classes: [n, …] or a scalar")
    weights: Tensor | None = operand("weight of each class; 1 when not given", default=None)
    reduction: str = attr("mean", "none, sum or mean (by weight), as the loss has it")
    ignore_index: int = attr(-100, "the class of targets that don't count")
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
        """The predictions' own."""
        if reduction not in ("none", "sum", "mean"):
            raise at.fail(codes.BAD_ATTRIBUTE, f"reduction is {reduction}; it is none, sum or mean")
        return predictions

    @staticmethod
    def evaluate(
        output_grad: Any, predictions: Any, targets: Any, weights: Any, reduction: str, ignore_index: int
    ) -> Any:
        """Minus the weight of the class at each target, times the gradient of the loss."""
        place = min(predictions.ndim - 1, 1)
        index = inside(targets, predictions.shape[place])
        kind = wide(predictions).dtype
        weight = np.ones(predictions.shape[place], kind) if weights is None else wide(weights)
        counted = np.where(targets == ignore_index, 0, weight[index]).astype(kind)
        share = wide(output_grad) / np.sum(counted) if reduction == "mean" else wide(output_grad)
        made = np.zeros(predictions.shape, kind)
        values = np.asarray(-counted * share).astype(kind)
        np.put_along_axis(made, np.expand_dims(index, place), np.expand_dims(values, place), place)
        return made.astype(predictions.dtype)

    @staticmethod
    def legalize(
        te: Te, output_grad: Tensor, predictions: Tensor, targets: Tensor, weights: Tensor | None, reduction: str, ignore_index: int
    ) -> Tensor:  # fmt: skip
        """The weights of the targets, their sum, then one element at a time."""
        x, kind, zero = predictions, predictions.dtype, p.as_prim(0, predictions.dtype)
        place = min(x.ndim - 1, 1)

        def weight(*i: p.PrimExpr) -> p.PrimExpr:
            own = p.as_prim(1, kind) if weights is None else weights[kept(targets[i], x.shape[place])]
            return where(p.EQ(targets[i], p.as_prim(ignore_index, targets.dtype)), zero, own)

        counted = te.compute("all_weights", targets.shape, weight)
        total = (
            te.sum("weight_sum", (), targets.shape, lambda *i: counted[i], kind)
            if reduction == "mean"
            else None
        )

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            others = (*i[:place], *i[place + 1 :])
            grad = cast(output_grad[others if reduction == "none" else ()], kind)
            grad = grad if total is None else p.Div(grad, total[()])
            here = p.EQ(i[place], kept(targets[others], x.shape[place]))
            return where(here, p.Mul(p.Sub(zero, counted[others]), grad), zero)

        return te.compute("pred_grad", x.shape, element)


class TakeBackward(Op, name="relax.grad.take_backward"):
    """The gradient of `take` by its tensor: the gradients of the taken elements, added where they come from (TVM)."""

    output_grad: Tensor = operand("gradient of what was taken")
    x: Tensor = operand("the tensor that it was taken from")
    indices: Tensor = operand("the positions: integers, of one axis")
    axis: int | None = attr(None, "the axis; a tensor of one axis needs none")
    mode: str = attr("", "what take does outside; the nearest element counts here")
    examples = (
        "f32[n,2] f32[n,5] i64[2] axis=1 -> f32[n,5]",
        "f32[m] f32[n] i32[m] -> f32[n]",
    )

    @staticmethod
    def infer(
        at: Site, output_grad: s.StructInfo, x: s.StructInfo, indices: s.StructInfo, axis: int | None, mode: str
    ) -> s.StructInfo:  # fmt: skip
        """The tensor's own."""
        if axis is not None and isinstance(x, s.TensorStructInfo):
            rules.axis(at, axis, x.ndim)
        return x

    @staticmethod
    def evaluate(output_grad: Any, x: Any, indices: Any, axis: int | None, mode: str) -> Any:
        """Additions along the axis."""
        made = np.zeros(x.shape, wide(x).dtype)
        if x.size:
            turned = np.moveaxis(made, axis or 0, 0)
            np.add.at(
                turned, inside(indices, x.shape[axis or 0]), np.moveaxis(wide(output_grad), axis or 0, 0)
            )
        return made.astype(x.dtype)

    @staticmethod
    def legalize(
        te: Te, output_grad: Tensor, x: Tensor, indices: Tensor, axis: int | None, mode: str
    ) -> Tensor:
        """A sum over the positions, those of other elements left out."""
        place = (axis or 0) % x.ndim
        zero = p.as_prim(0, x.dtype)

        def body(*i: p.PrimExpr) -> p.PrimExpr:
            own, taken = i[: x.ndim], i[x.ndim]
            grad = cast(output_grad[(*own[:place], taken, *own[place + 1 :])], x.dtype)
            return where(p.EQ(kept(indices[taken], x.shape[place]), own[place]), grad, zero)

        return te.sum("take_backward", x.shape, indices.shape, body, x.dtype)
