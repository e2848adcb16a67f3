"""Operators that make tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT64, DType
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.decl import REQUIRED, Fusion, Op, Prim, Shape, Site, Value, attr, operand
from relax_explorer.core.ops.te import Te, Tensor, cast, where


def _shape_info(at: Site, shape: s.StructInfo, dtype: DType | None) -> s.StructInfo:
    if not isinstance(shape, s.ShapeStructInfo):
        raise at.fail(codes.WRONG_KIND, "shape is no shape", shape=f"this is {shape}")
    return s.TensorStructInfo(shape.values, dtype, shape.ndim)


class Filled(Op):
    """Base of the tensors full of one number."""

    shape: Shape = operand("the shape")
    dtype: DType = attr(REQUIRED, "the dtype")
    fusion = Fusion.ELEMENTWISE
    examples = ('(2,4) dtype="float32" -> f32[2,4]',)

    @staticmethod
    def infer(at: Site, shape: s.StructInfo, dtype: DType) -> s.StructInfo:
        """The shape and dtype asked for."""
        return _shape_info(at, shape, dtype)


class Zeros(Filled, name="relax.zeros"):
    """A tensor of zeros (numpy.zeros)."""

    @staticmethod
    def evaluate(shape: tuple[int, ...], dtype: DType) -> Any:
        """numpy.zeros."""
        return np.zeros(tuple(shape), dtype.to_numpy())

    @staticmethod
    def legalize(te: Te, shape: Sequence[p.PrimExpr], dtype: DType) -> Tensor:
        """The same everywhere."""
        return te.compute("T_full", shape, lambda *i: p.as_prim(0, dtype), dtype)


class Ones(Filled, name="relax.ones"):
    """A tensor of ones (numpy.ones)."""

    @staticmethod
    def evaluate(shape: tuple[int, ...], dtype: DType) -> Any:
        """numpy.ones."""
        return np.ones(tuple(shape), dtype.to_numpy())

    @staticmethod
    def legalize(te: Te, shape: Sequence[p.PrimExpr], dtype: DType) -> Tensor:
        """The same everywhere."""
        return te.compute("T_full", shape, lambda *i: p.as_prim(1, dtype), dtype)


class FilledLike(Op):
    """Base of the tensors of another one's shape, full of one number."""

    x: Tensor = operand("the tensor that gives the shape")
    dtype: DType | None = attr(None, "the dtype; that of x when None")
    fusion = Fusion.ELEMENTWISE
    examples = ("f32[n,4] -> f32[n,4]",)

    @staticmethod
    def infer(at: Site, x: s.StructInfo, dtype: DType | None) -> s.StructInfo:
        """The shape of x."""
        info = rules.tensor(at, x, "x")
        return rules.like(info, dtype or info.dtype)


class ZerosLike(FilledLike, name="relax.zeros_like"):
    """Zeros in the shape of a tensor (numpy.zeros_like)."""

    @staticmethod
    def evaluate(x: Any, dtype: DType | None) -> Any:
        """numpy.zeros_like."""
        return np.zeros(x.shape, dtype.to_numpy() if dtype else x.dtype)

    @staticmethod
    def legalize(te: Te, x: Tensor, dtype: DType | None) -> Tensor:
        """The same everywhere."""
        return te.compute("T_full_like", x.shape, lambda *i: p.as_prim(0, dtype or x.dtype))


class OnesLike(FilledLike, name="relax.ones_like"):
    """Ones in the shape of a tensor (numpy.ones_like)."""

    @staticmethod
    def evaluate(x: Any, dtype: DType | None) -> Any:
        """numpy.ones_like."""
        return np.ones(x.shape, dtype.to_numpy() if dtype else x.dtype)

    @staticmethod
    def legalize(te: Te, x: Tensor, dtype: DType | None) -> Tensor:
        """The same everywhere."""
        return te.compute("T_full_like", x.shape, lambda *i: p.as_prim(1, dtype or x.dtype))


class Full(Op, name="relax.full"):
    """A tensor of one value (numpy.full)."""

    shape: Shape = operand("the shape")
    fill_value: Value = operand("a scalar tensor")
    dtype: DType | None = attr(None, "the dtype; that of the value when None")
    fusion = Fusion.BROADCAST
    examples = ("(2,4) f32[] -> f32[2,4]",)

    @staticmethod
    def infer(at: Site, shape: s.StructInfo, fill_value: s.StructInfo, dtype: DType | None) -> s.StructInfo:
        """The shape asked for."""
        kind = fill_value.dtype if isinstance(fill_value, (s.TensorStructInfo, s.PrimStructInfo)) else None
        if isinstance(fill_value, s.TensorStructInfo) and fill_value.ndim not in (-1, 0):
            raise at.fail(codes.RANK_WRONG, "fill_value is a scalar", fill_value=f"this is {fill_value}")
        return _shape_info(at, shape, dtype or kind)

    @staticmethod
    def evaluate(shape: tuple[int, ...], fill_value: Any, dtype: DType | None) -> Any:
        """numpy.full."""
        value = np.asarray(fill_value)
        return np.full(tuple(shape), value, dtype.to_numpy() if dtype else value.dtype)

    @staticmethod
    def legalize(te: Te, shape: Sequence[p.PrimExpr], fill_value: Any, dtype: DType | None) -> Tensor:
        """The same everywhere."""
        value = fill_value[()] if isinstance(fill_value, Tensor) else fill_value
        return te.compute("T_full", shape, lambda *i: cast(value, dtype or value.dtype))


class Arange(Op, name="relax.arange"):
    """Numbers from start to end by a step (numpy.arange)."""

    start: Prim = operand("the first number")
    end: Prim = operand("the end, left out; when missing, start is the end and 0 the start", default=None)
    step: Prim = operand("the step", default=None)
    dtype: DType | None = attr(None, "the dtype; int64 or float32 by the numbers when None")
    fusion = Fusion.INJECTIVE
    by_info = False
    examples = ("0 8 1 -> i64[8]",)
    no_legalize = "its bounds are scalar operands"

    @staticmethod
    def infer(
        at: Site,
        start: s.StructInfo,
        end: s.StructInfo | None,
        step: s.StructInfo | None,
        dtype: DType | None,
    ) -> s.StructInfo:
        """As many numbers as fit."""
        values = [info.value if isinstance(info, s.PrimStructInfo) else None for info in (start, end, step)]
        kind = dtype or next(
            (i.dtype for i in (start, end, step) if isinstance(i, s.PrimStructInfo) and i.dtype.is_float),
            INT64,
        )
        first, last = (values[0], values[1]) if end is not None else (p.IntImm(0), values[0])
        by = values[2] if step is not None else p.IntImm(1)
        if (
            first is None
            or last is None
            or by is None
            or any(item.dtype.is_float for item in (first, last, by))
        ):
            return s.TensorStructInfo(None, kind, 1)
        if isinstance(by, p.IntImm) and by.value > 0:
            room = p.Add(p.Sub(last, first), p.IntImm(by.value - 1))
            length = simplify(p.FloorDiv(simplify(room), by))
            return s.TensorStructInfo(
                (p.IntImm(max(length.value, 0)) if isinstance(length, p.IntImm) else length,), kind
            )
        return s.TensorStructInfo(None, kind, 1)

    @staticmethod
    def evaluate(start: Any, end: Any, step: Any, dtype: DType | None) -> Any:
        """numpy.arange."""
        first, last = (start, end) if end is not None else (0, start)
        made = np.arange(first, last, 1 if step is None else step)
        kind = dtype or (FLOAT32 if made.dtype.kind == "f" else INT64)
        return made.astype(kind.to_numpy())


class Triangle(Op):
    """Base of the triangles of matrices."""

    x: Tensor = operand("matrices in the last two axes")
    k: int = attr(0, "the diagonal: 0 the main one, above it positive")
    fusion = Fusion.INJECTIVE
    examples = ("f32[n,4] -> f32[n,4]",)

    @staticmethod
    def infer(at: Site, x: s.StructInfo, k: int) -> s.StructInfo:
        """The operand's own."""
        info = rules.tensor(at, x, "x")
        if 0 <= info.ndim < 2:
            raise at.fail(
                codes.RANK_WRONG, f"x has rank {info.ndim}, at least 2 is needed", x=f"this is {info}"
            )
        return info


def _triangle(te: Te, x: Tensor, k: int, lower: bool) -> Tensor:
    zero = p.as_prim(0, x.dtype)

    def element(*i: p.PrimExpr) -> p.PrimExpr:
        border = p.Add(i[-2], p.IntImm(k))
        return where(p.LE(i[-1], border) if lower else p.GE(i[-1], border), x[i], zero)

    return te.compute("trilu", x.shape, element)


class Tril(Triangle, name="relax.tril"):
    """The part on and below a diagonal, zeros elsewhere (numpy.tril)."""

    @staticmethod
    def evaluate(x: Any, k: int) -> Any:
        """numpy.tril."""
        return np.tril(x, k)

    @staticmethod
    def legalize(te: Te, x: Tensor, k: int) -> Tensor:
        """By place."""
        return _triangle(te, x, k, True)


class Triu(Triangle, name="relax.triu"):
    """The part on and above a diagonal, zeros elsewhere (numpy.triu)."""

    @staticmethod
    def evaluate(x: Any, k: int) -> Any:
        """numpy.triu."""
        return np.triu(x, k)

    @staticmethod
    def legalize(te: Te, x: Tensor, k: int) -> Tensor:
        """By place."""
        return _triangle(te, x, k, False)
