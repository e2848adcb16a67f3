"""Slices whose ends are known only at run time."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.decl import Fusion, NotLowered, Op, Site, operand
from relax_explorer.core.ops.kit.legalize import Emitter, need_known
from relax_explorer.core.ops.kit.te import Te, Tensor, where


class DynamicStridedSlice(Op, name="relax.dynamic_strided_slice"):
    """A slice along each axis: from begin to before end in steps, all known only at run time.

    A begin or end outside is moved to the nearest end.
    """

    source = "numpy slicing; TVM"
    raises = (codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    x: Tensor = operand("the tensor")
    begin: Tensor = operand("first index along each axis, a vector of int64; negative counts from the end")
    end: Tensor = operand(
        "index after the last along each axis, a vector of int64; negative counts from the end"
    )
    strides: Tensor = operand(
        "step along each axis, a vector of int64; negative goes backwards; the run stops if one is 0"
    )
    fusion = Fusion.OPAQUE
    examples = ("f32[n,4] i64[2] i64[2] i64[2] -> f32[?,?]", "i32[8] i64[1] i64[1] i64[1] -> i32[?]")

    @staticmethod
    def infer(
        at: Site, x: s.StructInfo, begin: s.StructInfo, end: s.StructInfo, strides: s.StructInfo
    ) -> s.StructInfo:
        """The rank and dtype of x; the lengths are known only at run time."""
        info = rules.tensor(at, x, "x")
        for name, operand_info in (("begin", begin), ("end", end), ("strides", strides)):
            numbers = rules.tensor(at, operand_info, name)
            if numbers.dtype not in (None, INT64):
                text = f"{name} is {numbers.dtype}, int64 is needed"
                raise at.fail(codes.DTYPE_WRONG, text, **{name: f"dtype {numbers.dtype}"})
            rules.need_rank(at, numbers, 1, name)
            if info.ndim < 0:
                continue
            count = numbers.dims[0] if numbers.dims else None
            if not isinstance(count, p.IntImm) or count.value != info.ndim:
                has = "has no known length" if count is None else f"has {count} numbers"
                text = f"{name} {has}, {info.ndim} are needed, one for each axis of x"
                labels = {"x": f"this is {info}", name: f"this is {numbers}"}
                raise at.fail(codes.DIMS_DIFFER, text, **labels, help=f"give {info.ndim} numbers")
        return s.TensorStructInfo(None, info.dtype, info.ndim)

    @staticmethod
    def evaluate(x: Array, begin: Array, end: Array, strides: Array) -> Array:
        """numpy.ix_ of the places along each axis."""
        places = []
        for n, (length, first, last, step) in enumerate(zip(x.shape, begin, end, strides, strict=True)):
            if step == 0:
                raise ZeroDivisionError(f"strides[{n}] is 0, so end is never reached")
            places.append(np.arange(length)[slice(*_inside(int(first), int(last), int(step), length))])
        return np.array(x[np.ix_(*places)]) if places else np.array(x)

    @staticmethod
    def unfold(build: Emitter, call: e.Call, infos: list[s.StructInfo]) -> e.Expr:
        """The lengths are computed first, as a tensor. A match_cast names them for the allocation of the slice."""
        x, *numbers = infos
        need_known(x, "x")
        assert isinstance(x, s.TensorStructInfo)  # inference checked it
        vectors = [
            info
            for info in numbers
            if isinstance(info, s.TensorStructInfo) and info.dims == (p.IntImm(x.ndim),)
        ]
        if len(vectors) < 3 or any(info.dtype is not INT64 for info in vectors):
            raise NotLowered("begin, end and strides are not known to be int64, one for each axis of x")
        return sliced(build, call.args[0], x, (call.args[1], call.args[2], call.args[3]))


def sliced(
    build: Emitter, x: e.Expr, info: s.TensorStructInfo, ends: tuple[e.Expr, e.Expr, e.Expr]
) -> e.Call:
    """The bindings of a slice of `x` by tensors of begins, ends and steps; returns the last value."""
    assert info.dims is not None  # the callers looked
    count = s.TensorStructInfo((p.IntImm(info.ndim),), INT64)
    infos = (info, count, count, count)
    lengths = build.emit(build.call_te("shape_func", _shape_func, (x, *ends), infos, count), "lengths")
    out = s.TensorStructInfo(build.emit_lengths(lengths, info.ndim), info.dtype)
    return build.call_te("dynamic_strided_slice", _slice_func, (x, *ends), infos, out)


def _inside(first: int, last: int, step: int, length: int) -> tuple[int, int | None, int]:
    """The ends of a Python slice: an index is counted from 0 and clamped to the range that the step can reach."""
    low, high = (-1, length - 1) if step < 0 else (0, length)
    first, last = (min(max(item + length if item < 0 else item, low), high) for item in (first, last))
    if first < 0 or (step < 0 and last > first):  # the slice is empty
        return 0, 0, 1
    return first, None if last < 0 else last, step


def _end(place: p.PrimExpr, length: p.PrimExpr, step: p.PrimExpr) -> p.PrimExpr:
    """The same in an index expression."""
    back = p.LT(step, rules.ZERO)
    low = where(back, p.IntImm(-1), rules.ZERO)
    high = where(back, p.Sub(length, rules.ONE), length)
    return p.Min(p.Max(where(p.LT(place, rules.ZERO), p.Add(place, length), place), low), high)


def _shape_func(
    te: Te, x: Tensor, begin: Tensor, end: Tensor, strides: Tensor, out: s.TensorStructInfo
) -> Tensor:
    def count(i: p.PrimExpr) -> p.PrimExpr:
        length: p.PrimExpr = p.IntImm(0)
        for n in reversed(range(x.ndim)):
            length = where(p.EQ(i, p.IntImm(n)), x.shape[n], length)
        step = strides[i]
        first, last = _end(begin[i], length, step), _end(end[i], length, step)
        back = p.LT(step, rules.ZERO)
        way = where(back, p.Sub(first, last), p.Sub(last, first))
        size = where(back, p.Sub(rules.ZERO, step), step)
        return p.Max(p.FloorDiv(p.Sub(p.Add(way, size), rules.ONE), size), rules.ZERO)

    return te.compute("T_lengths", (p.IntImm(x.ndim),), count, INT64)


def _slice_func(
    te: Te, x: Tensor, begin: Tensor, end: Tensor, strides: Tensor, out: s.TensorStructInfo
) -> Tensor:
    def element(*i: p.PrimExpr) -> p.PrimExpr:
        places = []
        for n, (index, length) in enumerate(zip(i, x.shape, strict=True)):
            first = _end(begin[p.IntImm(n)], length, strides[p.IntImm(n)])
            places.append(simplify(p.Add(first, p.Mul(index, strides[p.IntImm(n)]))))
        return x[places]

    return te.compute("T_slice", out.dims or (), element)
