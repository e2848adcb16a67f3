"""Operators that make tensors from a formula over the indices: identity matrices and windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, FLOAT64, INT64, DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import REQUIRED, Fusion, Op, Prim, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array, Number
from relax_explorer.core.ops.kit.te import Te, Tensor, call, cast, where

_TURN = 6.283185307179586


class Eye(Op, name="relax.eye"):
    """A matrix of ones on a diagonal and zeros elsewhere."""

    source = "numpy.eye"
    stops = Stops.RELATIONS
    n: Prim = operand("the number of rows, an integer of at least 0")
    m: Prim | None = operand("the number of columns, an integer of at least 0; n when left out", default=None)
    k: Prim | None = operand(
        "the diagonal: 0 the main one, above it positive, below it negative; 0 when left out", default=None
    )
    dtype: DType = attr(FLOAT32, "the dtype of the result")
    fusion = Fusion.INJECTIVE
    examples = ("3 4 1 -> f32[3,4]", 'n m -1 dtype="int32" -> i32[n,m]', 'n dtype="bool" -> bool[n,n]')

    @staticmethod
    def refine(call: e.Call, infos: list[s.StructInfo]) -> e.Call:
        """Columns and diagonal written out."""
        args = call.args if len(call.args) > 1 else (*call.args, call.args[0])
        args = args if len(args) > 2 else (*args, e.PrimValue(p.IntImm(0)))
        if args is call.args:
            return call
        return e.Call(call.op, args, call.attrs, call.sinfo_args, None, call.span)

    @staticmethod
    def infer(
        at: Site, n: s.StructInfo, m: s.StructInfo | None, k: s.StructInfo | None, dtype: DType
    ) -> s.StructInfo:
        """A matrix of n rows and m columns, the given dtype."""
        rows, columns = _length(at, n, "n"), _length(at, n if m is None else m, "m")
        if k is not None:
            _integer(at, k, "k")
        if rows is None or columns is None:
            return s.TensorStructInfo(None, dtype, 2)
        return s.TensorStructInfo((rows, columns), dtype)

    @staticmethod
    def evaluate(n: Number, m: Number, k: Number, dtype: DType) -> Array:
        """numpy.eye."""
        return np.eye(int(n), int(n if m is None else m), int(k or 0)).astype(dtype.to_numpy())

    @staticmethod
    def legalize(te: Te, n: p.PrimExpr, m: p.PrimExpr, k: p.PrimExpr, dtype: DType) -> Tensor:
        """The value depends on the indices alone."""
        return _diagonal(te, (cast(n, INT64), cast(m, INT64)), k, dtype)


class EyeLike(Op, name="relax.eye_like"):
    """A matrix of ones on a diagonal and zeros elsewhere, in the shape of another one."""

    source = "ONNX EyeLike"
    raises = (codes.RANK_WRONG,)
    stops = Stops.LENGTHS
    x: Tensor = operand("the matrix that gives the shape")
    k: Prim | None = operand(
        "the diagonal: 0 the main one, above it positive, below it negative; 0 when left out", default=None
    )
    dtype: DType | None = attr(None, "the dtype of the result; None means the dtype of x")
    fusion = Fusion.INJECTIVE
    examples = ("f32[n,4] 0 -> f32[n,4]", 'f32[3,m] 2 dtype="int32" -> i32[3,m]', "i32[n,n] -> i32[n,n]")

    @staticmethod
    def refine(call: e.Call, infos: list[s.StructInfo]) -> e.Call:
        """The diagonal written out."""
        if len(call.args) > 1:
            return call
        args = (*call.args, e.PrimValue(p.IntImm(0)))
        return e.Call(call.op, args, call.attrs, call.sinfo_args, None, call.span)

    @staticmethod
    def infer(at: Site, x: s.StructInfo, k: s.StructInfo | None, dtype: DType | None) -> s.StructInfo:
        """The shape of x, the given dtype."""
        info = rules.tensor(at, x, "x")
        rules.need_known_rank(at, info, 2, "x")
        rules.need_shape(at, info, "x")
        if k is not None:
            _integer(at, k, "k")
        return s.TensorStructInfo(info.shape, dtype or info.dtype, 2)

    @staticmethod
    def evaluate(x: Array, k: Number, dtype: DType | None) -> Array:
        """numpy.eye in the shape of x."""
        return np.eye(x.shape[0], x.shape[1], int(k or 0)).astype(dtype.to_numpy() if dtype else x.dtype)

    @staticmethod
    def legalize(te: Te, x: Tensor, k: p.PrimExpr, dtype: DType | None) -> Tensor:
        """The value depends on the indices alone."""
        return _diagonal(te, x.shape, k, dtype or x.dtype)


def _diagonal(te: Te, shape: rules.Dims, k: p.PrimExpr, dtype: DType) -> Tensor:
    one, zero = p.as_prim(1, dtype), p.as_prim(0, dtype)
    border = cast(k, INT64)
    return te.compute("eye", shape, lambda i, j: where(p.EQ(simplify(p.Add(i, border)), j), one, zero), dtype)


class HammingWindow(Op, name="relax.hamming_window"):
    """The weights alpha - beta * cos(2 pi i / N) for i from 0 to window_size - 1.

    A window of one element is 1. The weights are computed in float32, or in float64 for the dtype float64.
    """

    source = "torch.hamming_window"
    raises = (codes.DTYPE_WRONG,)
    window_size: Prim = operand("the number of elements, an integer of at least 1")
    periodic: Prim = operand(
        "1 for N = window_size, 0 for N = window_size - 1, which makes the window symmetric"
    )
    alpha: Prim = operand("the mean of the weights, such as 0.54")
    beta: Prim = operand("the amplitude of the weights around their mean, such as 0.46")
    dtype: DType = attr(REQUIRED, "the dtype of the result, a floating point one")
    fusion = Fusion.INJECTIVE
    examples = (
        '10 1 0.54 0.46 dtype="float32" -> f32[10]',
        'n 0 0.5 0.25 dtype="float64" -> f64[n]',
        '1 0 0.54 0.46 dtype="float16" -> f16[1]',
    )

    @staticmethod
    def infer(
        at: Site,
        window_size: s.StructInfo,
        periodic: s.StructInfo,
        alpha: s.StructInfo,
        beta: s.StructInfo,
        dtype: DType,
    ) -> s.StructInfo:
        """A vector of window_size elements, the given dtype."""
        if not dtype.is_float:
            raise at.fail(codes.DTYPE_WRONG, f"dtype is {dtype}, a floating point one is needed")
        length = _length(at, window_size, "window_size")
        for name, info in (("periodic", periodic), ("alpha", alpha), ("beta", beta)):
            if not isinstance(info, s.PrimStructInfo):
                text = f"{name} is {info}, a scalar is needed"
                raise at.fail(codes.WRONG_KIND, text, **{name: f"this is {info}"})
        if isinstance(length, p.IntImm) and length.value < 1:
            text = f"window_size is {length}, at least 1 is needed"
            raise at.fail(codes.BAD_ATTRIBUTE, text, window_size=f"this is {length}")
        return s.TensorStructInfo(None if length is None else (length,), dtype, 1)

    @staticmethod
    def evaluate(window_size: Number, periodic: Number, alpha: Number, beta: Number, dtype: DType) -> Array:
        """By the formula; a single element is 1."""
        size = int(window_size)
        if size == 1:
            return np.ones(1, dtype.to_numpy())
        kind: Any = np.float64 if dtype is FLOAT64 else np.float32
        turns = np.arange(size, dtype=kind) / kind(size if periodic else size - 1)
        result: Array = (kind(alpha) - kind(beta) * np.cos(kind(_TURN) * turns)).astype(dtype.to_numpy())
        return result

    @staticmethod
    def legalize(
        te: Te,
        window_size: p.PrimExpr,
        periodic: p.PrimExpr,
        alpha: p.PrimExpr,
        beta: p.PrimExpr,
        dtype: DType,
    ) -> Tensor:
        """One element at a time."""
        size, precision = cast(window_size, INT64), FLOAT64 if dtype is FLOAT64 else FLOAT32
        less = where(p.NE(periodic, p.as_prim(0, periodic.dtype)), rules.ZERO, rules.ONE)
        if isinstance(periodic, p.IntImm):
            less = rules.ZERO if periodic.value else rules.ONE
        length = simplify(p.Sub(size, less))

        def element(i: p.PrimExpr) -> p.PrimExpr:
            if size is rules.ONE:  # TVM would divide by 0 while it compiles
                return p.FloatImm(1.0, dtype)
            turns = p.Div(cast(i, precision), cast(length, precision))
            swing = call("cos", p.Mul(p.FloatImm(_TURN, precision), turns))
            value: p.PrimExpr = p.Sub(cast(alpha, precision), p.Mul(cast(beta, precision), swing))
            if not isinstance(size, p.IntImm):
                value = where(p.EQ(size, rules.ONE), p.FloatImm(1.0, precision), value)
            return cast(value, dtype)

        return te.compute("T_window", (size,), element, dtype)


def _integer(at: Site, info: s.StructInfo, name: str) -> p.PrimExpr | None:
    """The value of an integer scalar, None when it is not known."""
    if not isinstance(info, s.PrimStructInfo) or (info.dtype is not None and not info.dtype.is_int):
        raise at.fail(
            codes.WRONG_KIND, f"{name} is {info}, an integer is needed", **{name: f"this is {info}"}
        )
    return info.value


def _length(at: Site, info: s.StructInfo, name: str) -> p.PrimExpr | None:
    """Like `_integer`, for a length."""
    value = _integer(at, info, name)
    if value is None:
        return None
    if isinstance(value, p.IntImm):
        if value.value < 0:
            raise at.fail(codes.BAD_ATTRIBUTE, f"{name} is {value.value}, at least 0 is needed")
        return p.IntImm(value.value)
    return cast(value, INT64)
