"""Operators that make tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, FLOAT64, INT64, DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import (
    REQUIRED,
    Fusion,
    NotLowered,
    Op,
    Prim,
    Shape,
    Site,
    Stops,
    Value,
    attr,
    operand,
)
from relax_explorer.core.ops.kit.legalize import Emitter
from relax_explorer.core.ops.kit.ndarrays import Array, Number
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, where
from relax_explorer.core.ops.kit.te import call as te_call


def _shape_info(at: Site, shape: s.StructInfo, dtype: DType | None) -> s.StructInfo:
    rules.shape(at, shape, "shape")
    return rules.of_shape(at, "shape", dtype)


def _full(number: int, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    return (np.ones if number else np.zeros)(tuple(shape), dtype)


class Filled(Op):
    """Base of the tensors full of one number, 0 or 1."""

    number: ClassVar[int] = 0
    stops = Stops.RELATIONS
    shape: Shape = operand("the shape of the result")
    dtype: DType = attr(REQUIRED, "the dtype of the result")
    fusion = Fusion.ELEMENTWISE
    examples = ('(2,4) dtype="float32" -> f32[2,4]', '(n,) dtype="int8" -> i8[n]')

    @staticmethod
    def infer(at: Site, shape: s.StructInfo, dtype: DType) -> s.StructInfo:
        """The given shape and dtype."""
        return _shape_info(at, shape, dtype)

    @classmethod
    def evaluate(cls, shape: tuple[int, ...], dtype: DType) -> Array:
        """The number everywhere."""
        return _full(cls.number, shape, dtype.to_numpy())

    @classmethod
    def legalize(cls, te: Te, shape: Sequence[p.PrimExpr], dtype: DType) -> Tensor:
        """The same value everywhere."""
        return te.compute("T_full", shape, lambda *i: p.as_prim(cls.number, dtype), dtype)


class Zeros(Filled, name="relax.zeros"):
    """A tensor of zeros."""

    source = "numpy.zeros"


class Ones(Filled, name="relax.ones"):
    """A tensor of ones."""

    source = "numpy.ones"
    number = 1


class FilledLike(Op):
    """Base of the tensors of another one's shape, full of one number, 0 or 1."""

    number: ClassVar[int] = 0
    stops = Stops.DTYPES
    x: Tensor = operand("the tensor that gives the shape")
    dtype: DType | None = attr(None, "the dtype of the result; None means the dtype of x")
    fusion = Fusion.ELEMENTWISE
    examples = ("f32[n,4] -> f32[n,4]", 'f32[n] dtype="int32" -> i32[n]')

    @staticmethod
    def infer(at: Site, x: s.StructInfo, dtype: DType | None) -> s.StructInfo:
        """The shape of x, the given dtype."""
        info = rules.tensor(at, x, "x")
        return rules.like(info, dtype or info.dtype)

    @classmethod
    def evaluate(cls, x: Array, dtype: DType | None) -> Array:
        """The number everywhere."""
        return _full(cls.number, x.shape, dtype.to_numpy() if dtype else x.dtype)

    @classmethod
    def legalize(cls, te: Te, x: Tensor, dtype: DType | None) -> Tensor:
        """The same value everywhere."""
        return te.compute("T_full_like", x.shape, lambda *i: p.as_prim(cls.number, dtype or x.dtype))


class ZerosLike(FilledLike, name="relax.zeros_like"):
    """A tensor of zeros in the shape of another one."""

    source = "numpy.zeros_like"
    kernel = "zeros"


class OnesLike(FilledLike, name="relax.ones_like"):
    """A tensor of ones in the shape of another one."""

    source = "numpy.ones_like"
    kernel = "ones"
    number = 1


def _fill_kind(at: Site, fill_value: s.StructInfo) -> DType | None:
    """The dtype of a fill value, which is a tensor of rank 0."""
    info = rules.tensor(at, fill_value, "fill_value")
    if info.ndim != 0:
        has = f"has rank {info.ndim}" if info.ndim > 0 else "has no known rank"
        raise at.fail(codes.RANK_WRONG, f"fill_value {has}, 0 is needed", fill_value=f"this is {info}")
    return info.dtype


class Full(Op, name="relax.full"):
    """A tensor full of one value."""

    source = "numpy.full"
    raises = (codes.RANK_WRONG,)
    stops = Stops.RELATIONS
    literals = ("fill_value",)
    shape: Shape = operand("the shape of the result")
    fill_value: Value = operand("the value, a tensor of rank 0")
    dtype: DType | None = attr(
        None, "the dtype of the result, to which the value is converted; None means the dtype of the value"
    )
    fusion = Fusion.BROADCAST
    examples = (
        "(2,4) f32[] -> f32[2,4]",
        '(2,4) f32[] dtype="int32" -> i32[2,4]',
        "(n,2) i8[] -> i8[n,2]",
    )

    @staticmethod
    def infer(at: Site, shape: s.StructInfo, fill_value: s.StructInfo, dtype: DType | None) -> s.StructInfo:
        """The given shape and dtype."""
        kind = _fill_kind(at, fill_value)
        return _shape_info(at, shape, dtype or kind)

    @staticmethod
    def evaluate(shape: tuple[int, ...], fill_value: Array, dtype: DType | None) -> Array:
        """numpy.full."""
        value = np.asarray(fill_value)
        return np.full(tuple(shape), value.astype(dtype.to_numpy()) if dtype else value)

    @staticmethod
    def legalize(te: Te, shape: Sequence[p.PrimExpr], fill_value: Tensor, dtype: DType | None) -> Tensor:
        """The same value everywhere."""
        value = fill_value[()]
        return te.compute("T_full", shape, lambda *i: cast(value, dtype or value.dtype))


class FullLike(Op, name="relax.full_like"):
    """A tensor full of one value in the shape of another one."""

    source = "numpy.full_like"
    raises = (codes.RANK_WRONG,)
    stops = Stops.RELATIONS
    kernel = "full"
    literals = ("fill_value",)
    x: Tensor = operand("the tensor that gives the shape")
    fill_value: Value = operand("the value, a tensor of rank 0; it is converted to the dtype of the result")
    dtype: DType | None = attr(None, "the dtype of the result; None means the dtype of x")
    fusion = Fusion.BROADCAST
    examples = ("f32[n,4] f32[] -> f32[n,4]", 'f32[n,4] i32[] dtype="int32" -> i32[n,4]')

    @staticmethod
    def infer(at: Site, x: s.StructInfo, fill_value: s.StructInfo, dtype: DType | None) -> s.StructInfo:
        """The shape of x, the given dtype."""
        info = rules.tensor(at, x, "x")
        _fill_kind(at, fill_value)
        return rules.like(info, dtype or info.dtype)

    @staticmethod
    def evaluate(x: Array, fill_value: Array, dtype: DType | None) -> Array:
        """numpy.full in the shape of x."""
        return np.full(x.shape, np.asarray(fill_value).astype(dtype.to_numpy() if dtype else x.dtype))

    @staticmethod
    def legalize(te: Te, x: Tensor, fill_value: Tensor, dtype: DType | None) -> Tensor:
        """The same value everywhere."""
        value = cast(fill_value[()], dtype or x.dtype)
        return te.compute("T_full", x.shape, lambda *i: value)


class Arange(Op, name="relax.arange"):
    """The numbers from start to before end, in steps.

    For an integer dtype, start and step are truncated first. Each number is start plus a multiple of step.
    """

    source = "numpy.arange"
    stops = Stops.RELATIONS
    start: Prim = operand("the first number; when it is given alone it is the end, and 0 is the first")
    end: Prim | None = operand(
        "the end, which no number reaches; when left out, start is the end", default=None
    )
    step: Prim | None = operand("the step, not 0; negative goes down; 1 when left out", default=None)
    dtype: DType | None = attr(
        None, "the dtype of the result; when None, float32 if a number is a float, else int64"
    )
    fusion = Fusion.INJECTIVE
    examples = (
        "0 8 1 -> i64[8]",
        "2 8 3 -> i64[2]",
        '0 7.5 0.5 dtype="float32" -> f32[15]',
        "n+5 1 -2 -> i64[(n+5)//2]",
        "2 n*3+2 3 -> i64[n]",
        "0.5 n 0.5 -> f32[?]",
    )

    @staticmethod
    def refine(call: e.Call, infos: list[s.StructInfo]) -> e.Call:
        """Start, end, step and dtype written out."""
        numbers = [info.value if isinstance(info, s.PrimStructInfo) else None for info in infos]
        args = call.args if len(call.args) > 1 else (e.PrimValue(p.IntImm(0)), *call.args)
        args = args if len(args) > 2 else (*args, e.PrimValue(p.IntImm(1)))
        attrs = call.attrs
        if attrs.get("dtype") is None and None not in numbers:
            floating = any(number.dtype.is_float for number in numbers if number is not None)
            attrs = attrs.having(dtype=FLOAT32 if floating else INT64)
        if args is call.args and attrs is call.attrs:
            return call
        return e.Call(call.op, args, attrs, call.sinfo_args, None, call.span)

    @staticmethod
    def infer(
        at: Site,
        start: s.StructInfo,
        end: s.StructInfo | None,
        step: s.StructInfo | None,
        dtype: DType | None,
    ) -> s.StructInfo:
        """A vector of ceil((end - start) / step) elements, none if that is negative, in dtype."""
        bounds = (s.PrimStructInfo(INT64, rules.ZERO), start) if end is None else (start, end)
        values = [info.value if isinstance(info, s.PrimStructInfo) else None for info in (*bounds, step)]
        values[2] = rules.ONE if step is None else values[2]
        first, last, by = values
        if first is None or last is None or by is None:
            return s.TensorStructInfo(None, dtype or INT64, 1)
        if isinstance(by, (p.IntImm, p.FloatImm)) and by.value == 0:
            text = "step is 0, so end is never reached; a number other than 0 is needed"
            raise at.fail(codes.BAD_ATTRIBUTE, text, step="this is 0")
        floating = any(item.dtype.is_float for item in (first, last, by))
        try:
            length = arange_length(first, last, by)
        except OverflowError:
            text = "from start to end are more numbers than an int64 counts"
            raise at.fail(codes.BAD_ATTRIBUTE, text, help="move start and end closer together") from None
        return s.TensorStructInfo(
            None if length is None else (length,), dtype or (FLOAT32 if floating else INT64), 1
        )

    @staticmethod
    def evaluate(start: Number, end: Number, step: Number, dtype: DType | None) -> Array:
        """As many numbers as numpy.arange gives. The step, too, is converted to the dtype of the result."""
        first, last = (start, end) if end is not None else (0, start)
        by = 1 if step is None else step
        values: Array = np.arange(first, last, by)  # type: ignore[arg-type]  # numpy does not type floats of its own
        element = (dtype or (FLOAT32 if values.dtype.kind == "f" else INT64)).to_numpy()
        if element.kind not in "iub":
            return values.astype(element)
        places = np.arange(values.size).astype(element)
        result: Array = np.asarray(first).astype(element) + np.asarray(by).astype(element) * places
        return result

    @staticmethod
    def legalize(te: Te, start: p.PrimExpr, end: p.PrimExpr, step: p.PrimExpr, dtype: DType) -> Tensor:
        """Start plus a number of steps."""
        length = arange_length(start, end, step)
        assert length is not None  # otherwise it unfolds
        return _numbers(te, start, step, length, dtype)

    @staticmethod
    def unfold(build: Emitter, call: e.Call, infos: list[s.StructInfo]) -> e.Expr:
        """If no expression of shape variables gives the length, a kernel computes it first."""
        for operand_, info in zip(Arange.operands, infos, strict=True):
            if not isinstance(info, s.PrimStructInfo) or info.value is None:
                raise NotLowered(f"the value of {operand_.name} is known when it runs only")
        dtype = call.attrs["dtype"]
        pair = s.TensorStructInfo((rules.ONE,), INT64)
        count = build.emit(build.call_te("arange_count", _count, call.args, infos, pair), "count")
        out = s.TensorStructInfo(build.emit_lengths(count, 1), dtype)

        def numbers(
            te: Te, start: p.PrimExpr, end: p.PrimExpr, step: p.PrimExpr, own: s.TensorStructInfo
        ) -> Tensor:
            assert own.dims is not None  # as `out` is
            return _numbers(te, start, step, own.dims[0], dtype)

        return build.call_te("arange", numbers, call.args, infos, out)


def _numbers(te: Te, start: p.PrimExpr, step: p.PrimExpr, length: p.PrimExpr, dtype: DType) -> Tensor:
    first, by = cast(start, dtype), cast(step, dtype)
    return te.compute("T_arange", (length,), lambda i: p.Add(first, p.Mul(by, cast(i, dtype))), dtype)


def _count(te: Te, start: p.PrimExpr, end: p.PrimExpr, step: p.PrimExpr, out: s.TensorStructInfo) -> Tensor:
    """The length of the result: computed in integers if all three are integers, else rounded up in float64 (numpy.arange)."""
    if start.dtype.is_int and end.dtype.is_int and step.dtype.is_int:
        back = p.LT(step, rules.ZERO)
        way = where(back, p.Sub(start, end), p.Sub(end, start))
        size = where(back, p.Sub(rules.ZERO, step), step)
        count: p.PrimExpr = p.FloorDiv(p.Sub(p.Add(way, size), rules.ONE), size)
    else:
        first, last, by = (_wide(item) for item in (start, end, step))
        count = cast(te_call("ceil", p.Div(p.Sub(last, first), by)), INT64)
    return te.compute("T_count", (rules.ONE,), lambda i: p.Max(count, rules.ZERO), INT64)


def _wide(item: p.PrimExpr) -> p.PrimExpr:
    return (
        p.FloatImm(item.value, FLOAT64) if isinstance(item, (p.FloatImm, p.IntImm)) else cast(item, FLOAT64)
    )


def arange_length(start: p.PrimExpr, end: p.PrimExpr, step: p.PrimExpr) -> p.PrimExpr | None:
    """The number of elements from start to end; None if it is not an expression of shape variables."""
    literals = [bound.value for bound in (start, end, step) if isinstance(bound, (p.IntImm, p.FloatImm))]
    if len(literals) == 3:
        return p.IntImm(max(0, math.ceil((literals[1] - literals[0]) / literals[2])))
    if not all(bound.dtype.is_int for bound in (start, end, step)):
        return None
    start, end, step = p.as_dim(start), p.as_dim(end), p.as_dim(step)
    if not isinstance(step, p.IntImm):
        if not isinstance(
            step, p.PrimVar
        ):  # a shape variable is never negative; of other steps the sign is not known
            return None
        return simplify(p.FloorDiv(p.Sub(p.Sub(p.Add(end, step), start), rules.ONE), step))
    if step.value < 0:
        start, end, step = end, start, p.IntImm(-step.value)
    room = simplify(p.Add(p.Sub(end, start), p.IntImm(step.value - 1)))
    return simplify(p.FloorDiv(room, step))


class Triangle(Op):
    """Base of the triangles of matrices."""

    raises = (codes.RANK_WRONG,)
    stops = Stops.RANKS
    x: Tensor = operand("matrices in the last two axes; the axes before them may be any")
    k: Prim | None = operand(
        "the diagonal: 0 the main one, above it positive, below it negative; 0 when left out", default=None
    )
    fusion = Fusion.INJECTIVE
    examples = ("f32[n,4] 0 -> f32[n,4]", "f32[2,3,4] -1 -> f32[2,3,4]")

    @staticmethod
    def refine(call: e.Call, infos: list[s.StructInfo]) -> e.Call:
        """The diagonal written out."""
        if len(call.args) > 1:
            return call
        return e.Call(
            call.op, (*call.args, e.PrimValue(p.IntImm(0))), call.attrs, call.sinfo_args, None, call.span
        )

    @staticmethod
    def infer(at: Site, x: s.StructInfo, k: s.StructInfo | None) -> s.StructInfo:
        """The shape and dtype of x."""
        info = rules.tensor(at, x, "x")
        if 0 <= info.ndim < 2:
            raise at.fail(
                codes.RANK_WRONG, f"x has rank {info.ndim}, at least 2 is needed", x=f"this is {info}"
            )
        _diagonal(at, k)
        return info


def _diagonal(at: Site, k: s.StructInfo | None) -> None:
    """Refuse a diagonal that is not an integer. An object is accepted."""
    kind = k.dtype if isinstance(k, s.PrimStructInfo) else None
    if isinstance(k, s.TensorStructInfo) or (kind is not None and kind.is_float):
        text = f"k is {k}, it must be a scalar integer"
        raise at.fail(codes.WRONG_KIND, text, k=f"this is {k}", help="give a number or a shape variable")


def _triangle(te: Te, x: Tensor, k: p.PrimExpr, *, lower: bool) -> Tensor:
    zero = p.as_prim(0, x.dtype)

    def element(*i: p.PrimExpr) -> p.PrimExpr:
        border = simplify(p.Add(i[-2], k))
        return where(p.LE(i[-1], border) if lower else p.GE(i[-1], border), x[i], zero)

    return te.compute("trilu", x.shape, element)


class Tril(Triangle, name="relax.tril"):
    """The elements of matrices on and below a diagonal, zeros above it."""

    source = "numpy.tril"

    @staticmethod
    def evaluate(x: Array, k: int | None) -> Array:
        """numpy.tril."""
        return np.tril(x, k or 0)

    legalize = staticmethod(partial(_triangle, lower=True))


class Triu(Triangle, name="relax.triu"):
    """The elements of matrices on and above a diagonal, zeros below it."""

    source = "numpy.triu"

    @staticmethod
    def evaluate(x: Array, k: int | None) -> Array:
        """numpy.triu."""
        return np.triu(x, k or 0)

    legalize = staticmethod(partial(_triangle, lower=False))
