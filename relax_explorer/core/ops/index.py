"""Operators that pick elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.decl import Fusion, Op, Prims, Site, attr, operand
from relax_explorer.core.ops.te import Te, Tensor, cast


class Take(Op, name="relax.take"):
    """Elements along an axis by index (numpy.take).

    `mode` says what an index outside does: `fast` and `clip` take the nearest end, `wrap` counts on, `nan` gives NaN. No mode
    ever reads outside the tensor.
    """

    x: Tensor = operand("the tensor")
    indices: Tensor = operand("integers")
    axis: int | None = attr(None, "the axis; only a vector needs none")
    mode: str = attr("fast", "fast, clip, wrap or nan")
    fusion = Fusion.INJECTIVE
    examples = ("f32[8,4] i32[n] axis=0 -> f32[n,4]", "f32[8] i64[2,3] -> f32[2,3]")

    @staticmethod
    def infer(at: Site, x: s.StructInfo, indices: s.StructInfo, axis: int | None, mode: str) -> s.StructInfo:
        """The axis replaced by the shape of the indices."""
        info = rules.tensor(at, x, "x")
        places = (
            s.TensorStructInfo((), indices.dtype)
            if isinstance(indices, s.PrimStructInfo)
            else rules.tensor(at, indices, "indices")
        )
        if places.dtype is not None and not places.dtype.is_int:
            raise at.fail(codes.DTYPE_WRONG, "indices are integers", indices=f"dtype {places.dtype}")
        if axis is None and info.ndim not in (-1, 1):
            raise at.fail(codes.BAD_ATTRIBUTE, "an axis is needed, for x is no vector", x=f"rank {info.ndim}")
        if info.ndim < 0 or places.ndim < 0:
            return s.TensorStructInfo(None, info.dtype)
        place = rules.axis(at, axis or 0, info.ndim)
        if info.dims is None or places.dims is None:
            return s.TensorStructInfo(None, info.dtype, info.ndim - 1 + places.ndim)
        return s.TensorStructInfo((*info.dims[:place], *places.dims, *info.dims[place + 1 :]), info.dtype)

    @staticmethod
    def evaluate(x: Any, indices: Any, axis: int | None, mode: str) -> Any:
        """numpy.take, never outside."""
        place, index = axis or 0, np.asarray(indices).astype(np.int64)
        length = x.shape[place]
        if length == 0 and index.size:
            raise IndexError(f"axis {place} of x has length 0, nothing can be taken")
        if mode == "nan":
            made = np.take(x, np.clip(index, 0, length - 1), place)
            outside = ((index < -length) | (index >= length)).reshape(
                (1,) * (place % x.ndim) + index.shape + (1,) * (x.ndim - 1 - place % x.ndim)
            )
            return np.where(outside, np.asarray(np.nan, x.dtype), made)
        return np.take(x, index, place, mode="wrap" if mode == "wrap" else "clip")

    @staticmethod
    def legalize(te: Te, x: Tensor, indices: Tensor, axis: int | None, mode: str) -> Tensor | None:
        """The element at the index, kept inside."""
        if mode == "nan" or not isinstance(indices, Tensor):
            return None
        place = (axis or 0) % x.ndim
        length = x.shape[place]
        shape = (*x.shape[:place], *indices.shape, *x.shape[place + 1 :])

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            found = cast(indices[i[place : place + indices.ndim]], length.dtype)
            if mode == "wrap":
                found = p.FloorMod(found, length)
            else:
                found = p.Min(p.Max(found, p.IntImm(0)), simplify(p.Sub(length, p.IntImm(1))))
            return x[(*i[:place], found, *i[place + indices.ndim :])]

        return te.compute("T_take", shape, element)


class StridedSlice(Op, name="relax.strided_slice"):
    """A slice along axes, from begin to end by steps (numpy slicing)."""

    x: Tensor = operand("the tensor")
    axes: Prims = operand("the axes")
    begin: Prims = operand("first index of each axis; negative counts from the end")
    end: Prims = operand("index after the last")
    strides: Prims | None = operand("steps; 1 when not given", default=None)
    assume_inbound: bool = attr(False, "whether begin and end are known to be inside")
    fusion = Fusion.INJECTIVE
    by_info = False
    examples = ("f32[8,4] (0) (2) (6) -> f32[4,4]",)

    @staticmethod
    def infer(
        at: Site, x: s.StructInfo, axes: Any, begin: Any, end: Any, strides: Any, assume_inbound: bool
    ) -> s.StructInfo:
        """The lengths of the slices."""
        info = rules.tensor(at, x, "x")
        numbers = [_numbers(item) for item in (axes, begin, end, strides)]
        if info.dims is None or numbers[0] is None or numbers[1] is None or numbers[2] is None:
            return s.TensorStructInfo(None, info.dtype, info.ndim)
        dims = list(info.dims)
        for n, axis in enumerate(numbers[0]):
            if not isinstance(axis, p.IntImm):
                return s.TensorStructInfo(None, info.dtype, info.ndim)
            place = rules.axis(at, axis.value, info.ndim, "axes")
            step = numbers[3][n] if numbers[3] is not None else p.IntImm(1)
            if not isinstance(step, p.IntImm) or step.value == 0:
                raise at.fail(codes.BAD_ATTRIBUTE, f"a step is {step}; a literal other than 0 is needed")
            dims[place] = _slice(dims[place], numbers[1][n], numbers[2][n], step.value, assume_inbound)[1]
        return s.TensorStructInfo(tuple(dims), info.dtype)

    @staticmethod
    def evaluate(x: Any, axes: Any, begin: Any, end: Any, strides: Any, assume_inbound: bool) -> Any:
        """numpy slicing."""
        slices: list[Any] = [slice(None)] * x.ndim
        for n, axis in enumerate(axes):
            step = int(strides[n]) if strides is not None else 1
            stop: int | None = int(end[n])
            if step < 0 and stop is not None and stop < -x.shape[axis]:
                stop = None
            slices[int(axis)] = slice(int(begin[n]), stop, step)
        return np.ascontiguousarray(x[tuple(slices)])

    no_legalize = "its bounds are operands; slices with literal bounds are computed directly"


def _numbers(info: Any) -> Sequence[p.PrimExpr] | None:
    if isinstance(info, s.TupleStructInfo) and all(
        isinstance(field, s.PrimStructInfo) and field.value is not None for field in info.fields
    ):
        return [field.value for field in info.fields]  # type: ignore[attr-defined]  # all are scalars
    return None


def _slice(
    length: p.PrimExpr, begin: p.PrimExpr, end: p.PrimExpr, step: int, inbound: bool
) -> tuple[p.PrimExpr, p.PrimExpr]:
    """First index and length of a slice."""
    if all(isinstance(item, p.IntImm) for item in (length, begin, end)):
        found = range(length.value)[slice(begin.value, end.value, step)]  # type: ignore[attr-defined]  # all are literals
        return p.IntImm(found.start), p.IntImm(len(found))

    def inside(value: p.PrimExpr) -> p.PrimExpr:
        if isinstance(value, p.IntImm) and value.value < 0:
            value = p.Add(length, value)
        return value if inbound else p.Max(p.Min(value, length), p.IntImm(0))

    first, last = inside(begin), inside(end)
    room = p.Sub(last, first) if step > 0 else p.Sub(first, last)
    size = simplify(p.FloorDiv(simplify(p.Add(room, p.IntImm(abs(step) - 1))), p.IntImm(abs(step))))
    return first, size
