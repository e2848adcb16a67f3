"""Operators that work element by element on three tensors."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import BOOL
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.binary_math import index, result_shape
from relax_explorer.core.ops.kit.decl import Fusion, Op, Site, Stops, operand
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.te import Te, Tensor


class EwiseFma(Op, name="relax.ewise_fma"):
    """x1 * x2 + x3, element by element, for tensors of the same shape; nothing broadcasts.

    The product is rounded before the sum, unlike in the fused multiply-add of IEEE 754.
    """

    source = "TVM"
    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG, codes.DIMS_DIFFER)
    stops = Stops.RELATIONS
    x1: Tensor = operand("left factor")
    x2: Tensor = operand("right factor")
    x3: Tensor = operand("what is added")
    fusion = Fusion.ELEMENTWISE
    examples = (
        "f32[n,4] f32[n,4] f32[n,4] -> f32[n,4]",
        "i32[] i32[] i32[] -> i32[]",
    )

    @staticmethod
    def infer(at: Site, x1: s.StructInfo, x2: s.StructInfo, x3: s.StructInfo) -> s.StructInfo:
        """The common shape and dtype of all three."""
        operands = {
            "x1": rules.tensor(at, x1, "x1"),
            "x2": rules.tensor(at, x2, "x2"),
            "x3": rules.tensor(at, x3, "x3"),
        }
        infos = list(operands.values())
        unknown = any(info.dtype is None for info in infos)
        element = None if unknown else rules.same_dtype(at, **operands)
        rank = max(info.ndim for info in infos)
        for name, info in operands.items():
            rules.need_rank(at, info, rank, name)
        shaped = [info for info in infos if info.dims is not None]
        whole = len(shaped) == len(infos)
        for info in shaped[1:]:
            _need_equal(at, shaped[0], info, whole)
        return s.TensorStructInfo(shaped[0].dims if whole else None, element, rank)

    @staticmethod
    def evaluate(x1: Array, x2: Array, x3: Array) -> Array:
        """numpy's product and sum."""
        return np.asarray(x1 * x2 + x3)

    @staticmethod
    def legalize(te: Te, x1: Tensor, x2: Tensor, x3: Tensor) -> Tensor:
        """One element at a time."""
        return te.compute("T_fma", x1.shape, lambda *i: p.Add(p.Mul(x1[i], x2[i]), x3[i]))


def _need_equal(at: Site, a: s.TensorStructInfo, b: s.TensorStructInfo, strict: bool) -> None:
    """Refuse shapes that differ; with `strict`, also shapes that are not proven to be equal."""
    if a.dims is None or b.dims is None:
        return
    answers = [at.equal(x, y) for x, y in zip(a.dims, b.dims, strict=True)]
    if Answer.NO in answers or (strict and Answer.UNKNOWN in answers):
        said = "not known to be equal" if Answer.NO not in answers else "which differ"
        text = f"the operands have shapes {tuple_text(a.dims)} and {tuple_text(b.dims)}, {said}"
        raise at.fail(codes.DIMS_DIFFER, text, help="broadcast the operands first, with R.broadcast_to")


class Where(Op, name="relax.where"):
    """The element of x1 where the condition is true, else the element of x2."""

    source = "numpy.where"
    raises = (codes.DTYPES_DIFFER, codes.NOT_BROADCASTABLE, codes.DTYPE_WRONG)
    stops = Stops.RELATIONS
    broadcasts = True
    condition: Tensor = operand("bool tensor")
    x1: Tensor = operand("taken where the condition is true")
    x2: Tensor = operand("taken where the condition is false")
    fusion = Fusion.BROADCAST
    examples = (
        "bool[n,1] f32[n,4] f32[4] -> f32[n,4]",
        "bool[4] i8[] i8[n,1] -> i8[n,4]",
    )

    @staticmethod
    def infer(at: Site, condition: s.StructInfo, x1: s.StructInfo, x2: s.StructInfo) -> s.StructInfo:
        """The broadcast shape of all three, the common dtype of x1 and x2 (with bool, the dtype of x1)."""
        test, left, right = (
            rules.tensor(at, condition, "condition"),
            rules.tensor(at, x1, "x1"),
            rules.tensor(at, x2, "x2"),
        )
        if test.dtype not in (None, BOOL):
            raise at.fail(
                codes.DTYPE_WRONG,
                f"condition is {test.dtype}, bool is needed",
                condition=f"dtype {test.dtype}",
            )
        element = rules.common_dtype(at, x1=left, x2=right)
        both = rules.broadcast_info(at, left, right, element)
        for name, value in (("x1", left), ("x2", right)):  # for a message that names the operand
            if test.dims is not None and value.dims is not None:
                rules.broadcast(Site(at.call, at.op), test.dims, value.dims, ("condition", name))
        return rules.broadcast_info(at, test, both, element, ("condition", "x1"))

    @staticmethod
    def evaluate(condition: Array, x1: Array, x2: Array) -> Array:
        """numpy.where."""
        return np.where(condition, x1, x2).astype(x1.dtype, copy=False)

    @staticmethod
    def legalize(te: Te, condition: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
        """One element at a time."""
        shape = result_shape(condition, x1, x2)
        return te.compute(
            "T_where",
            shape,
            lambda *i: p.Select(index(condition, i, shape), index(x1, i, shape), index(x2, i, shape)),
        )
