"""Shapes of tensors as values, and as tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import Op, Shape, Site, Stops, operand
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, where
from relax_explorer.core.ops.machine.call import ByMachine


class ShapeOf(ByMachine, name="relax.shape_of"):
    """The shape of a tensor, as a value."""

    source = "numpy.shape"
    stops = Stops.NEVER
    expr: Tensor = operand("the tensor")
    examples = ("f32[n,4] -> shape(n,4)", "f32[] -> shape()")

    @staticmethod
    def infer(at: Site, expr: s.StructInfo) -> s.StructInfo:
        """A shape with the lengths of expr, where they are known."""
        info = rules.tensor(at, expr, "expr")
        return s.ShapeStructInfo(info.dims, info.ndim)


class Size(Op, name="relax.size"):
    """The number of elements of a tensor, as a tensor of rank 0."""

    source = "numpy.size"
    stops = Stops.RELATIONS
    expr: Tensor = operand("the tensor")
    examples = ("f32[n,4] -> i64[]", "f32[] -> i64[]", "bool[?,?] -> i64[]")

    @staticmethod
    def infer(at: Site, expr: s.StructInfo) -> s.StructInfo:
        """A tensor of rank 0, int64."""
        rules.tensor(at, expr, "expr")
        return s.TensorStructInfo((), INT64)

    @staticmethod
    def legalize(te: Te, expr: Tensor) -> Tensor:
        """The product of the lengths; no element is read."""
        return te.compute("T_size", (), lambda: cast(rules.volume(expr.shape), INT64))

    @staticmethod
    def evaluate(expr: Array) -> Array:
        """numpy.size."""
        return np.asarray(expr.size, dtype=np.int64)


class ShapeToTensor(ByMachine, name="relax.shape_to_tensor"):
    """The lengths of a shape as a vector."""

    source = "TVM"
    stops = Stops.NEVER
    expr: Shape = operand("the shape")
    examples = ("(n,4) -> i64[2]", "() -> i64[0]")

    @staticmethod
    def infer(at: Site, expr: s.StructInfo) -> s.StructInfo:
        """An int64 vector with an element for each length of the shape."""
        if not isinstance(expr, s.ShapeStructInfo):
            raise at.fail(codes.WRONG_KIND, f"expr is {expr}, a shape is needed", expr=f"this is {expr}")
        if expr.ndim < 0:
            return s.TensorStructInfo(None, INT64, 1)
        return s.TensorStructInfo((p.IntImm(expr.ndim),), INT64)

    @staticmethod
    def legalize(te: Te, expr: Sequence[p.PrimExpr]) -> Tensor:
        """Each length at its index."""

        def length(i: p.PrimExpr) -> p.PrimExpr:
            value: p.PrimExpr = rules.ONE
            for n, dim in reversed(list(enumerate(expr))):
                value = cast(dim, INT64) if n == len(expr) - 1 else where(p.EQ(i, p.IntImm(n)), dim, value)
            return value

        return te.compute("T_shape", (p.IntImm(len(expr)),), length)


class TensorToShape(ByMachine, name="relax.tensor_to_shape"):
    """The shape whose lengths are the elements of a vector."""

    source = "TVM"
    raises = (codes.RANK_WRONG, codes.DTYPE_WRONG)
    expr: Tensor = operand("the vector, of int64; TVM accepts other dtypes as well")
    examples = ("i64[2] -> shape(?,?)", "i64[n] -> shape")

    @staticmethod
    def infer(at: Site, expr: s.StructInfo) -> s.StructInfo:
        """A shape with a length for each element of the vector; the lengths are known only at run time."""
        info = rules.tensor(at, expr, "expr")
        rules.need_known_rank(at, info, 1, "expr")
        if info.dtype not in (None, INT64):
            text = f"expr is of {info.dtype}, int64 is needed"
            at.refuse_by_spec(
                codes.DTYPE_WRONG, text, expr=f"this is {info}", help='convert it: R.astype(…, "int64")'
            )
        length = info.dims[0] if info.dims is not None else None
        return s.ShapeStructInfo(None, length.value if isinstance(length, p.IntImm) else -1)
