"""Operators on sequences of different lengths in one tensor."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT32, INT64
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.decl import Fusion, Op, Site, attr, operand
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, where


class ReverseSequence(Op, name="relax.reverse_sequence"):
    """The first elements of each sequence in reverse order; the others stay in place.

    A number above the length of a sequence reverses all of it; 1 or less changes nothing.
    """

    source = "ONNX ReverseSequence"
    raises = (codes.AXIS_RANGE, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    data: Tensor = operand("the tensor")
    seq_lengths: Tensor = operand(
        "the number of elements of each sequence to reverse: a vector of int32 or int64"
    )
    seq_axis: int = attr(1, "the axis along which a sequence goes; negative counts from the last")
    batch_axis: int = attr(0, "the axis along which sequences are counted; negative counts from the last")
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[n,4] i64[n] -> f32[n,4]",
        "f32[n,3,2] i32[3] seq_axis=0 batch_axis=1 -> f32[n,3,2]",
        "i32[2,n] i64[2] seq_axis=-1 batch_axis=-2 -> i32[2,n]",
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, seq_lengths: s.StructInfo, seq_axis: int, batch_axis: int
    ) -> s.StructInfo:
        """The shape and dtype of data."""
        info, counts = rules.tensor(at, data, "data"), rules.tensor(at, seq_lengths, "seq_lengths")
        if counts.dtype not in (None, INT32, INT64):
            raise at.fail(
                codes.DTYPE_WRONG,
                f"seq_lengths is {counts.dtype}, int32 or int64 is needed",
                seq_lengths=f"dtype {counts.dtype}",
            )
        rules.need_rank(at, counts, 1, "seq_lengths")
        rules.axis(at, seq_axis, info.ndim, "seq_axis")
        batch = rules.axis(at, batch_axis, info.ndim, "batch_axis")
        if info.dims is not None and counts.dims is not None:
            rows, counted = info.dims[batch], counts.dims[0]
            if at.equal(rows, counted) is Answer.NO:
                labels = {"data": f"{rows} along axis {batch}", "seq_lengths": f"{counted} lengths"}
                raise at.fail(
                    codes.DIMS_DIFFER,
                    f"seq_lengths has {counted} lengths, there are {rows} sequences along batch_axis {batch_axis}",
                    **labels,
                )
        return info

    @staticmethod
    def evaluate(data: Array, seq_lengths: Array, seq_axis: int, batch_axis: int) -> Array:
        """All elements at once."""
        axis, batch = seq_axis % data.ndim, batch_axis % data.ndim
        along = [1] * data.ndim
        along[batch] = len(seq_lengths)
        index: list[Array] = list(np.indices(data.shape, sparse=True))
        count = np.minimum(seq_lengths.astype(np.int64), data.shape[axis]).reshape(along)
        index[axis] = np.where(index[axis] < count, count - 1 - index[axis], index[axis])
        return data[tuple(index)]

    @staticmethod
    def legalize(te: Te, data: Tensor, seq_lengths: Tensor, seq_axis: int, batch_axis: int) -> Tensor:
        """The mirrored element, if the index is below the number."""
        axis, batch = seq_axis % data.ndim, batch_axis % data.ndim

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            count = p.Min(cast(seq_lengths[i[batch]], INT64), data.shape[axis])
            other = p.Sub(p.Sub(count, rules.ONE), i[axis])
            return data[(*i[:axis], where(p.LT(i[axis], count), other, i[axis]), *i[axis + 1 :])]

        return te.compute("T_reverse_sequence", data.shape, element)
