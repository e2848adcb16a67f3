"""Views: the bytes of a tensor as another tensor."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer, at_least
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import Op, Prim, Shape, Site, Stops, operand
from relax_explorer.core.ops.kit.ndarrays import Array, Number
from relax_explorer.core.ops.kit.special import BadValue
from relax_explorer.core.ops.kit.te import Tensor
from relax_explorer.core.ops.machine.storages import need_lengths, need_offset, need_shape


class MemoryView(Op, name="relax.memory.view"):
    """The bytes of a tensor, read with another shape, dtype or offset.

    No byte is copied or converted: two int16 of 1 and 0 are, on a little-endian machine, one int32 of 1. The view can't
    reach beyond the tensor; symbolic lengths are checked at run time.
    """

    source = "TVM, relax/op/memory/view.cc"
    raises = (codes.SIZE_MISMATCH, codes.BAD_ATTRIBUTE)
    shares = ("data",)
    data: Tensor = operand("the tensor")
    shape: Shape | None = operand("the lengths of the view; the tensor's when left out", default=())
    dtype: DType | None = operand("the dtype of the view; the tensor's when left out", default=())
    relative_byte_offset: Prim | None = operand(
        "the offset in bytes from the start of the tensor; 0 when left out", default=()
    )
    examples = (
        "f32[n,4] (4,n) -> f32[4,n]",
        'i32[6] (2,2) "uint32" 8 -> u32[2,2]',
        'i32[n,4] (n,8) "int8" -> i8[n,8]',
    )
    by_info = False
    no_legalize = "the runtime makes a view, no element is computed"

    @staticmethod
    def infer(
        at: Site,
        data: s.StructInfo,
        shape: s.StructInfo | None,
        dtype: object,
        relative_byte_offset: s.StructInfo | None,
    ) -> s.StructInfo:
        """The given shape and dtype; by default the shape and dtype of data."""
        whole = rules.tensor(at, data, "data")
        offset: p.PrimExpr | None = rules.ZERO
        if not _is_left_out(relative_byte_offset):
            offset = need_offset(at, relative_byte_offset, "relative_byte_offset")
        has_dtype = _has_own_dtype(at)
        element_dtype = whole.dtype if has_dtype else _dtype_of_view(at)
        if _is_left_out(shape):
            view = s.TensorStructInfo(whole.shape, element_dtype, whole.ndim)
            _check_elements(at, whole, view, offset, has_dtype)
        else:
            lengths = need_shape(at, shape or s.OBJECT, "shape")
            need_lengths(at, lengths)
            view = s.TensorStructInfo(lengths.values, element_dtype, lengths.ndim)
        _check_bounds(at, whole, view, offset, has_dtype)
        return view

    @staticmethod
    def evaluate(
        data: Array,
        shape: Sequence[int] | None = None,
        dtype: DType | None = None,
        relative_byte_offset: Number | None = None,
    ) -> Array:
        """The same bytes as another array."""
        lengths = data.shape if shape is None or (type(shape) is tuple and not shape) else tuple(shape)
        kind = dtype.to_numpy() if isinstance(dtype, DType) else data.dtype
        start = relative_byte_offset if isinstance(relative_byte_offset, (int, np.integer)) else 0
        return view_of(data, lengths, np.dtype(kind), int(start))


def _is_left_out(info: s.StructInfo | None) -> bool:
    return info is None or (isinstance(info, s.TupleStructInfo) and not info.fields)


def _has_own_dtype(at: Site) -> bool:
    """True if the view keeps the dtype of the tensor: the operand is omitted or the null value."""
    argument = at.arg("dtype")
    if argument is None or (type(argument) is e.Tuple and not argument.fields):
        return True
    value = at.definitions.get(argument) if isinstance(argument, e.Var) else argument
    return type(value) is e.Call and getattr(value.op, "name", "") == "relax.null_value"


def _dtype_of_view(at: Site) -> DType | None:
    """The dtype given by the operand; None if unknown."""
    operand = at.arg("dtype")
    if type(operand) is e.DataTypeImm:
        return operand.value
    if operand is not None and operand.struct_info is not s.OBJECT:
        text = f"dtype is {operand.struct_info}, a dtype is needed"
        raise at.fail(codes.WRONG_KIND, text, dtype=f"this is {operand.struct_info}")
    return None


def _check_elements(
    at: Site, whole: s.TensorStructInfo, view: s.TensorStructInfo, offset: p.PrimExpr | None, has_dtype: bool
) -> None:
    """Refuse a view with as many elements as the tensor if they are larger or start later. Serves unknown byte counts."""
    extra_bytes = 0 if has_dtype else -1  # bytes of an element, if comparable
    if whole.dtype is not None and view.dtype is not None:
        if whole.dims is not None:
            return
        extra_bytes = _bytes(view.dtype) - _bytes(whole.dtype)
    later = extra_bytes == 0 and isinstance(offset, p.IntImm) and offset.value > 0
    if extra_bytes > 0 or later:
        what = f"elements of {view.dtype}" if extra_bytes > 0 else f"elements from byte {offset} on"
        of = "" if whole.dtype is None else f" of {whole.dtype}"
        text = f"the view has as many {what} as the tensor has{of}, and ends beyond it"
        raise at.fail(codes.SIZE_MISMATCH, text, data=f"this is {whole}", help="state the shape of the view")


def _check_bounds(
    at: Site, whole: s.TensorStructInfo, view: s.TensorStructInfo, offset: p.PrimExpr | None, has_dtype: bool
) -> None:
    """Refuse a view that reaches beyond the tensor for all lengths."""
    if whole.dims is None or view.dims is None or offset is None:
        return
    if whole.dtype is None or view.dtype is None:
        if not has_dtype or offset is not rules.ZERO:
            return
        available, needed, unit = rules.volume(whole.dims), rules.volume(view.dims), "elements"
    else:
        available = p.Mul(rules.volume(whole.dims), p.IntImm(_bytes(whole.dtype)))
        needed = p.Add(p.Mul(rules.volume(view.dims), p.IntImm(_bytes(view.dtype))), offset)
        unit = "bytes"
    if at_least(p.Sub(available, needed), 0) is Answer.NO:
        text = f"the view ends at {simplify(needed)} {unit}, the tensor at {simplify(available)}"
        labels = {"data": f"this is {whole}"}
        if at.arg("shape") is not None:
            labels["shape"] = f"the view has the shape {tuple_text(view.dims)}"
        if at.arg("relative_byte_offset") is not None:
            labels["relative_byte_offset"] = f"the view starts at byte {offset}"
        raise at.fail(codes.SIZE_MISMATCH, text, **labels, help="use a smaller shape or offset")


def _bytes(dtype: DType) -> int:
    return dtype.bits * dtype.lanes // 8 or 1


_OFFSETS: dict[
    int, tuple[weakref.ref[Any], int]
] = {}  # offsets of views in their memory, by the array's identity


def byte_offset(array: Array) -> int:
    """The offset of a tensor in its memory, in bytes: 0 unless it is a view."""
    hit = _OFFSETS.get(id(array))
    return hit[1] if hit is not None and hit[0]() is array else 0


def view_of(data: Array, shape: tuple[int, ...], dtype: np.dtype[Any], start: int) -> Array:
    """An array over the bytes of another, from `start` on; raises BadValue if it would reach beyond them."""
    size = dtype.itemsize * math.prod(map(int, shape))
    if min(shape, default=0) < 0 or start < 0:
        raise BadValue(f"a view of shape {shape} at byte {start} has a number below 0")
    if start + size > data.nbytes:
        raise BadValue(f"a view ends at byte {start + size}, the tensor at byte {data.nbytes}")
    compact = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    view = compact[start : start + size].view(dtype).reshape(shape)
    offset = byte_offset(data) + start
    if offset:
        key = id(view)
        _OFFSETS[key] = (weakref.ref(view, lambda _: _OFFSETS.pop(key, None)), offset)
    return view


class EnsureZeroOffset(Op, name="relax.memory.ensure_zero_offset"):
    """The tensor, copied if it has an offset in its memory, which some kernels don't accept."""

    source = "TVM, relax/op/memory/view.cc"
    stops = Stops.NEVER
    shares = ("data",)
    data: Tensor = operand("the tensor")
    examples = ("f32[n,4] -> f32[n,4]", "i8[] -> i8[]", "object -> object")
    no_legalize = "the runtime copies it, no element is computed"

    @staticmethod
    def infer(at: Site, data: s.StructInfo) -> s.StructInfo:
        """The StructInfo of data."""
        if isinstance(data, (s.TensorStructInfo, s.ObjectStructInfo)):
            return data
        raise at.fail(codes.WRONG_KIND, f"data is {data}, a tensor is needed", data=f"this is {data}")

    @staticmethod
    def evaluate(x: Array) -> Array:
        """A copy only if there is an offset."""
        return x.copy() if byte_offset(x) else x
