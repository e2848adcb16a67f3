"""Pointers in kernels: the memory of a buffer is a flat array, and a handle is the description of a tensor in numbers.

A description is an int64 array. Element `k` is the result of `T.tvm_struct_get(handle, 0, k, …)` (TVMStructFieldKind in TVM's
tirx/builtin.h). The lengths of the tensor start at `HEAD`, and its strides follow them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_explorer.core.exec import loop_ir as ir
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, from_numpy
from relax_explorer.core.ops.machine.inspect import BITS, BYTE_OFFSET, CODE, LANES, NDIM, SHAPE, STRIDES
from relax_explorer.core.ops.machine.view import byte_offset
from relax_explorer.core.tir.prim_expr import BufferPtr, pointer_type
from relax_explorer.core.tir.stmt import Buffer

DEVICE_TYPE = 10
HEAD = DEVICE_TYPE + 1
_CPU = 1  # kDLCPU


def described(array: Any) -> Any:
    """The description of a compact tensor in CPU memory."""
    dtype = from_numpy(array.dtype)
    assert dtype is not None  # run-time tensors have dtypes of the language
    description = np.zeros(HEAD + 2 * array.ndim, np.int64)
    description[[NDIM, CODE, BITS, LANES]] = (
        array.ndim,
        dtype.code,
        8 if dtype.is_bool else dtype.bits,
        dtype.lanes,
    )
    description[[BYTE_OFFSET, DEVICE_TYPE]] = byte_offset(array), _CPU
    description[HEAD : HEAD + array.ndim] = array.shape
    stride = 1
    for axis in reversed(range(array.ndim)):
        description[HEAD + array.ndim + axis] = stride
        stride *= array.shape[axis]
    return description


def field(call: p.PrimCall, name: Callable[[Any], str]) -> ir.Expr | None:
    """The result of `T.tvm_struct_get`; None for a field that descriptions don't have."""
    if len(call.args) != 4:
        return None
    handle, index, place, _ = call.args
    if type(handle) is not p.PrimVar or not isinstance(place, p.IntImm) or not _is_zero(index):
        return None
    description = name(handle)
    if call.dtype is HANDLE:
        middle = ir.Op("+", (ir.Const(HEAD), _word(description, NDIM)))
        lengths = ir.Flat(description, ir.Const(HEAD), middle)
        return {SHAPE: lengths, STRIDES: ir.Flat(description, middle)}.get(place.value)
    is_known = NDIM <= place.value <= DEVICE_TYPE
    return ir.Convert(str(call.dtype), _word(description, place.value)) if is_known else None


def _word(description: str, place: int) -> ir.Element:
    return ir.Element(description, "int64", (ir.Const(place),))


def _is_zero(index: p.PrimExpr) -> bool:
    return isinstance(index, p.IntImm) and index.value == 0


def view_start(buffer: Buffer, pointer: p.PrimExpr) -> p.PrimExpr | None:
    """The first element of a buffer in the memory at a pointer; None if the dtype differs or the buffer is strided.

    An `elem_offset` counts from the start of the memory. A pointer points to the first element of the buffer that owns it.
    """
    pointed = pointer_type(pointer)
    if pointed is None or pointed.element is not buffer.dtype or buffer.strides:
        return None
    before = pointer.buffer.elem_offset if isinstance(pointer, BufferPtr) else None
    if before is None:
        return _START if buffer.elem_offset is None else buffer.elem_offset
    return _START if buffer.elem_offset is before else None


_START = p.IntImm(0)
