"""Sums over the axes along which a tensor was broadcast: the gradients of broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.decl import Fusion, Op, Shape, Site, Stops, operand
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor


class CollapseSumLike(Op, name="relax.collapse_sum_like"):
    """The data, summed along the axes in which the target would be broadcast.

    This gives the gradient of a broadcast operand.
    """

    source = "TVM"
    raises = (codes.NOT_BROADCASTABLE, codes.RANK_WRONG)
    stops = Stops.LENGTHS
    data: Tensor = operand("the tensor")
    collapse_target: Tensor = operand(
        "the target; only its shape is used, which must broadcast to the shape of data"
    )
    kernel = "collapse_sum"
    fusion = Fusion.REDUCE
    examples = ("f32[n,4] f32[4] -> f32[4]", "f32[2,n,4] f32[n,1] -> f32[n,1]")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, collapse_target: s.StructInfo) -> s.StructInfo:
        """The shape of collapse_target, the dtype of data."""
        info = rules.tensor(at, data, "data")
        target = rules.tensor(at, collapse_target, "collapse_target")
        _need_collapsible(at, info, target.dims, target.ndim, "collapse_target")
        return s.TensorStructInfo(target.shape, info.dtype, target.ndim)

    @staticmethod
    def evaluate(data: Array, collapse_target: Array) -> Array:
        """numpy.sum over the axes that the target lacks or has with length 1."""
        return collapsed(data, collapse_target.shape)

    @staticmethod
    def legalize(te: Te, data: Tensor, collapse_target: Tensor) -> Tensor:
        """A sum over those axes."""
        return _stage(te, data, collapse_target.shape)


class CollapseSumTo(Op, name="relax.collapse_sum_to"):
    """The data, summed along the axes in which the given shape would be broadcast.

    This gives the gradient of a broadcast operand.
    """

    source = "TVM"
    raises = (codes.NOT_BROADCASTABLE, codes.RANK_WRONG)
    stops = Stops.LENGTHS
    data: Tensor = operand("the tensor")
    shape: Shape = operand("the shape of the result; it must broadcast to the shape of data")
    kernel = "collapse_sum"
    fusion = Fusion.REDUCE
    examples = ("f32[n,4] (4,) -> f32[4]", "f32[2,n,4] (n,1) -> f32[n,1]", "i32[3,4] () -> i32[]")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, shape: s.StructInfo) -> s.StructInfo:
        """The given shape, the dtype of data."""
        info = rules.tensor(at, data, "data")
        shape = rules.shape(at, shape, "shape")
        _need_collapsible(at, info, shape.values, shape.ndim, "shape")
        return rules.of_shape(at, "shape", info.dtype)

    @staticmethod
    def evaluate(data: Array, shape: tuple[int, ...]) -> Array:
        """numpy.sum over the axes that the shape lacks or has with length 1."""
        return collapsed(data, shape)

    @staticmethod
    def legalize(te: Te, data: Tensor, shape: Sequence[p.PrimExpr]) -> Tensor:
        """A sum over those axes."""
        return _stage(te, data, tuple(shape))


def collapsed(data: Array, shape: Sequence[int]) -> Array:
    """The data summed to a shape."""
    lead = data.ndim - len(shape)
    over = [n for n, length in enumerate(data.shape) if n < lead or (shape[n - lead] == 1 and length != 1)]
    kept = data.shape[lead:]
    if lead < 0 or any(length not in (1, old) for length, old in zip(shape, kept, strict=True)):
        raise ValueError(f"a tensor of shape {tuple(shape)} is not broadcast to {data.shape}")
    total = np.sum(wide(data), axis=tuple(over), dtype=wide(data).dtype)
    return np.asarray(total).astype(data.dtype).reshape(tuple(shape))


def _stage(te: Te, data: Tensor, shape: rules.Dims) -> Tensor:
    lead = data.ndim - len(shape)
    over = [
        n
        for n, length in enumerate(data.shape)
        if n < lead or (shape[n - lead] is rules.ONE and length is not rules.ONE)
    ]

    def element(*i: p.PrimExpr) -> p.PrimExpr:
        summed = dict(zip(over, i[len(shape) :], strict=True))
        return data[tuple([summed[n] if n in summed else i[n - lead] for n in range(data.ndim)])]

    if not over:
        return te.compute("T_identity", shape, element)
    return te.sum("T_red", shape, [data.shape[n] for n in over], element, data.dtype)


def _need_collapsible(
    at: Site, data: s.TensorStructInfo, shape: rules.Dims | None, ndim: int, name: str
) -> None:
    """Refuse a shape that is not proven to broadcast to the shape of the data."""
    if 0 <= data.ndim < ndim:
        text = f"{name} has rank {ndim}, at most {data.ndim}, that of data, is needed"
        raise at.fail(codes.RANK_WRONG, text, data=f"this is {data}")
    if data.dims is None or shape is None:
        return
    trailing = data.dims[len(data.dims) - len(shape) :]
    for length, target in zip(trailing, shape, strict=True):
        if target is not rules.ONE and at.equal(length, target, or_one=(target,)) is not Answer.YES:
            verdict = (
                "does not"
                if isinstance(target, p.IntImm) and isinstance(length, p.IntImm)
                else "is not known to"
            )
            text = f"{name} has the length {target}, which {verdict} broadcast to {length}, that of data"
            labels = {"data": f"shape {rules.text(data.dims)}", name: f"shape {rules.text(shape)}"}
            raise at.fail(codes.NOT_BROADCASTABLE, text, **labels)
