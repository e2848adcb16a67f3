"""Pointers in kernels: memory that a buffer or a handle has, as flat arrays; a handle is a tensor's description in numbers.

A description is an int64 array: at place `k` what `T.tvm_struct_get(handle, 0, k, …)` reads (TVMStructFieldKind in TVM's
tirx/builtin.h), then from `HEAD` on the lengths of the tensor, and after them its strides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, from_numpy
from relax_explorer.core.ops.machine.inspect import BITS, BYTE_OFFSET, CODE, LANES, NDIM, SHAPE, STRIDES
from relax_explorer.core.ops.machine.view import byte_offset
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.prim_expr import BufferPtr, pointer_type

DEVICE_TYPE = 10
HEAD = DEVICE_TYPE + 1
_CPU = 1  # kDLCPU


def described(array: Any) -> Any:
    """The description of a tensor, which is compact and lies in the memory of the processor."""
    kind = from_numpy(array.dtype)
    assert kind is not None  # run-time tensors are of dtypes that the language has
    made = np.zeros(HEAD + 2 * array.ndim, np.int64)
    made[[NDIM, CODE, BITS, LANES]] = array.ndim, kind.code, 8 if kind.is_bool else kind.bits, kind.lanes
    made[[BYTE_OFFSET, DEVICE_TYPE]] = byte_offset(array), _CPU
    made[HEAD : HEAD + array.ndim] = array.shape
    stride = 1
    for axis in reversed(range(array.ndim)):
        made[HEAD + array.ndim + axis] = stride
        stride *= array.shape[axis]
    return made


def field(call: p.PrimCall, name: Callable[[Any], str]) -> str | None:
    """What `T.tvm_struct_get` reads of a handle, as Python text; None for what the descriptions don't have."""
    if len(call.args) != 4:
        return None
    handle, index, place, _ = call.args
    if type(handle) is not p.PrimVar or not isinstance(place, p.IntImm) or not _is_zero(index):
        return None
    whole = name(handle)
    lengths = f"{whole}[{HEAD}:{HEAD} + {whole}[{NDIM}]]"
    if call.dtype is HANDLE:
        return {SHAPE: lengths, STRIDES: f"{whole}[{HEAD} + {whole}[{NDIM}]:]"}.get(place.value)
    return f"np.{call.dtype}({whole}[{place.value}])" if NDIM <= place.value <= DEVICE_TYPE else None


def _is_zero(index: p.PrimExpr) -> bool:
    return isinstance(index, p.IntImm) and index.value == 0


def view(
    buffer: Buffer, pointer: p.PrimExpr, flat: str, shape: str, text: Callable[[p.PrimExpr], str]
) -> str | None:
    """A buffer over the memory at a pointer, which `flat` is, as Python text; None where it is another dtype, or strided.

    An `elem_offset` counts from the start of the memory, `flat` from the first element of the buffer whose memory it is.
    """
    pointed = pointer_type(pointer)
    if pointed is None or pointed.element is not buffer.dtype or buffer.strides:
        return None
    before = pointer.buffer.elem_offset if isinstance(pointer, BufferPtr) else None
    if before is None:
        start = "0" if buffer.elem_offset is None else f"np.int64({text(buffer.elem_offset)})"
    elif buffer.elem_offset is before:
        start = "0"
    else:
        return None
    return f"window({flat}, {start}, {shape})"
