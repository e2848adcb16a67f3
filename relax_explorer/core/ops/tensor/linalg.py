"""Products of matrices."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.decl import Fusion, Op, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast


class Matmul(Op, name="relax.matmul"):
    """Matrix product of the last two axes; the axes before them broadcast.

    [..., n, k] by [..., k, m] gives [..., n, m]. A vector on the left is one row, a vector on the right one column; that axis
    is then removed from the result.
    """

    source = "numpy.matmul"
    raises = (codes.DTYPES_DIFFER, codes.INNER_LENGTHS, codes.NOT_BROADCASTABLE, codes.RANK_WRONG)
    stops = Stops.RELATIONS
    x1: Tensor = operand("left matrices, or a vector")
    x2: Tensor = operand("right matrices, or a vector")
    out_dtype: DType | None = attr(
        None, "dtype of the computation and of the result; None means the dtype of the operands"
    )
    fusion = Fusion.OUT_ELEMENTWISE
    examples = ("f32[n,4] f32[4,8] -> f32[n,8]", "f32[b,n,4] f32[4] -> f32[b,n]", "f32[4] f32[4] -> f32[]")

    @staticmethod
    def infer(at: Site, x1: s.StructInfo, x2: s.StructInfo, out_dtype: DType | None) -> s.StructInfo:
        """The broadcast axes before the last two, the rows of x1, the columns of x2; the dtype is out_dtype."""
        left, right = rules.tensor(at, x1, "x1"), rules.tensor(at, x2, "x2")
        element = out_dtype if out_dtype is not None else rules.common_dtype(at, x1=left, x2=right)
        for name, info in (("x1", left), ("x2", right)):
            if info.ndim == 0:
                raise at.fail(
                    codes.RANK_WRONG,
                    f"{name} has rank 0, at least 1 is needed",
                    **{name: f"this is {info}"},
                )
        a, b = rules.known_dims(at, left), rules.known_dims(at, right)
        if a is None or b is None:
            return s.TensorStructInfo(None, element, _rank(left.ndim, right.ndim))
        inner = b[-2] if len(b) > 1 else b[0]
        if at.equal(a[-1], inner) is Answer.NO:
            labels = {"x1": f"{a[-1]} columns", "x2": f"{inner} rows"}
            raise at.fail(codes.INNER_LENGTHS, f"inner dimensions differ: {a[-1]} and {inner}", **labels)
        lead = rules.broadcast(at, a[:-2], b[:-2])
        if lead is None:
            return s.TensorStructInfo(None, element, _rank(len(a), len(b)))
        return s.TensorStructInfo((*lead, *a[-2:-1], *(b[-1:] if len(b) > 1 else ())), element)

    @staticmethod
    def evaluate(x1: Array, x2: Array, out_dtype: DType | None) -> Array:
        """numpy.matmul, narrow floats accumulated in float32."""
        target = out_dtype.to_numpy() if out_dtype is not None else x1.dtype
        if out_dtype is not None and out_dtype.is_int:
            x1, x2 = x1.astype(target, copy=False), x2.astype(target, copy=False)
        return np.asarray(np.matmul(wide(x1), wide(x2))).astype(target, copy=False)

    @staticmethod
    def legalize(te: Te, x1: Tensor, x2: Tensor, out_dtype: DType | None) -> Tensor:
        """A sum over the inner axis."""
        return product(te, "matmul", x1, x2, out_dtype)


def product(te: Te, name: str, x1: Tensor, x2: Tensor, out_dtype: DType | None) -> Tensor:
    """The product of two tensors as a stage with this name."""
    a, b = x1.shape, x2.shape
    lead = rules.broadcast(Site(None), a[:-2], b[:-2]) or ()
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    element = out_dtype or x1.dtype
    count = len(lead)

    def term(*i: p.PrimExpr) -> p.PrimExpr:
        k, outer = i[-1], i[:-1]
        left = (*_lead(a[:-2], lead, outer), *(outer[count : count + 1] if rows else ()), k)
        right = (*_lead(b[:-2], lead, outer), k, *(outer[-1:] if columns else ()))
        return p.Mul(cast(x1[left], element), cast(x2[right], element))

    return te.sum(name, (*lead, *rows, *columns), (a[-1],), term, element)


def _lead(dims: rules.Dims, lead: rules.Dims, outer: tuple[p.PrimExpr, ...]) -> tuple[p.PrimExpr, ...]:
    offset = len(lead) - len(dims)
    return tuple(
        [
            p.IntImm(0) if dim is rules.ONE and lead[n + offset] is not rules.ONE else outer[n + offset]
            for n, dim in enumerate(dims)
        ]
    )


def _rank(a: int, b: int) -> int:
    if a < 0 or b < 0:
        return -1
    return max(a, b) - 1 if min(a, b) == 1 and max(a, b) > 1 else 0 if a == b == 1 else max(a, b)


class Outer(Op, name="relax.outer"):
    """The product of each element of x1 with each element of x2."""

    source = "numpy.outer"
    raises = (codes.RANK_WRONG,)
    stops = Stops.RELATIONS
    x1: Tensor = operand("left vector")
    x2: Tensor = operand("right vector")
    fusion = Fusion.BROADCAST
    examples = ("f32[n] f32[4] -> f32[n,4]", "i32[3] i32[n*2] -> i32[3,n*2]")

    @staticmethod
    def infer(at: Site, x1: s.StructInfo, x2: s.StructInfo) -> s.StructInfo:
        """A matrix with a row for each element of x1 and a column for each element of x2, in the dtype of x1."""
        left, right = rules.tensor(at, x1, "x1"), rules.tensor(at, x2, "x2")
        rules.need_rank(at, left, 1, "x1")
        rules.need_rank(at, right, 1, "x2")
        for name, info in (("x1", left), ("x2", right)):
            if info.ndim < 0:
                raise at.fail(
                    codes.RANK_WRONG,
                    f"the rank of {name} is not known, 1 is needed",
                    **{name: f"this is {info}"},
                )
        if left.dims is None or right.dims is None:
            return s.TensorStructInfo(None, left.dtype, 2)
        return s.TensorStructInfo((*left.dims, *right.dims), left.dtype)

    @staticmethod
    def evaluate(x1: Array, x2: Array) -> Array:
        """numpy.outer in the dtype of x1."""
        return np.outer(x1, x2).astype(x1.dtype, copy=False)

    @staticmethod
    def legalize(te: Te, x1: Tensor, x2: Tensor) -> Tensor:
        """One product for each pair."""
        return te.compute("T_outer", (*x1.shape, *x2.shape), lambda i, j: p.Mul(x1[i], cast(x2[j], x1.dtype)))
