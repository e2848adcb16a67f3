"""What kernels get: descriptions of tensors for handles, views of memory, and calls of packed functions that need TVM's runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.exec import loop_ir as ir
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, from_numpy
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.machine.inspect import BITS, BYTE_OFFSET, CODE, LANES, NDIM, SHAPE, STRIDES
from relax_explorer.core.ops.machine.view import byte_offset
from relax_explorer.core.tir.prim_expr import BufferPtr, pointer_type
from relax_explorer.core.tir.stmt import Buffer

DEVICE_TYPE = 10
HEAD = DEVICE_TYPE + 1
_CPU = 1  # kDLCPU


def described(array: Array) -> Array:
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


# -- packed functions ------------------------------------------------------------------------------------------------
# Translate calls of packed functions in kernels: TVM's lowerings of sort, argsort, topk and suppression need its
# runtime.
#
# `loop_runtime` has the functions; this module recognizes their calls.


@dataclass(frozen=True)
class Packed:
    """A packed function that numba can call: its name in `loop_runtime`, and the number of read-only arguments at its start."""

    function: str
    read: int


_FUNCTIONS: dict[str, Packed] = {
    "tvm.contrib.sort.sort": Packed("sort", 1),
    "tvm.contrib.sort.argsort": Packed("argsort", 1),
    "tvm.contrib.sort.argsort_nms": Packed("argsort_valid", 2),
}
_TOPK, _PARTS = (
    "tvm.contrib.sort.topk",
    {"both": "top_both", "values": "top_values", "indices": "top_indices"},
)


def written(call: p.PrimExpr) -> Iterator[Buffer]:
    """The buffers that a known packed call fills."""
    call_parts = _known(call)
    if call_parts is not None:
        packed, arguments = call_parts
        yield from [buffer for buffer in map(_array, arguments[packed.read :]) if buffer is not None]


def known_call(call: p.PrimExpr) -> tuple[str, tuple[Buffer | p.PrimExpr, ...]] | None:
    """A function of `loop_runtime` and its arguments, the last but one the axis; None for other calls, and calls on views."""
    call_parts = _known(call)
    if call_parts is None:
        return None
    packed, arguments = call_parts
    parts: list[Buffer | p.PrimExpr] = []
    for argument in arguments:
        buffer = _array(argument)
        if buffer is None and isinstance(argument, p.PrimCall):
            return None  # a view, or an address
        parts.append(argument if buffer is None else buffer)
    axis, rank = parts[-2], next((len(part.shape) for part in parts if isinstance(part, Buffer)), 0)
    if not isinstance(axis, p.IntImm) or not rank:
        return None
    parts[-2] = p.IntImm(axis.value % rank)
    return packed.function, tuple(parts)


def _known(call: p.PrimExpr) -> tuple[Packed, tuple[p.PrimExpr, ...]] | None:
    """A packed function and its arguments. The last two are the axis and the direction."""
    if not isinstance(call, p.PrimCall) or call.op != "call_packed" or not call.args:
        return None
    name, *arguments = call.args
    if not isinstance(name, p.PrimString):
        return None
    if name.value == _TOPK and len(arguments) > 3:
        choice = arguments.pop(-2)
        part = _PARTS.get(choice.value) if isinstance(choice, p.PrimString) else None
        return None if part is None else (Packed(part, 1), tuple(arguments))
    packed = _FUNCTIONS.get(name.value)
    return None if packed is None or len(arguments) != packed.read + 3 else (packed, tuple(arguments))


def _array(expr: p.PrimExpr) -> Buffer | None:
    """The buffer of an argument, if it is passed as a whole."""
    if not isinstance(expr, p.PrimCall) or expr.op != "tvm_stack_make_array" or len(expr.args) < 2:
        return None
    pointer, shape, *_, offset = expr.args
    if not isinstance(pointer, BufferPtr) or not isinstance(shape, p.PrimCall):
        return None
    lengths = [(dim.value if isinstance(dim, p.IntImm) else dim) for dim in shape.args]
    dims = [(dim.value if isinstance(dim, p.IntImm) else dim) for dim in pointer.buffer.shape]
    whole = lengths == dims and isinstance(offset, p.IntImm) and offset.value == 0
    return pointer.buffer if whole else None


def is_idle(value: p.PrimExpr) -> bool:
    """True if evaluating an expression does nothing."""
    return isinstance(value, (p.IntImm, p.PrimVar)) or (
        isinstance(value, p.PrimCall) and value.op == "assume"
    )


def effect(value: p.PrimExpr) -> str:
    """A short description of an evaluated expression."""
    if isinstance(value, p.PrimCall) and value.op == "call_packed" and value.args:
        return f"a call of {value.args[0]}"
    return f"{str(value)[:60]}"
