"""Translate calls of packed functions in kernels: TVM's lowerings of sort, argsort, topk and suppression need its runtime.

`tir_sorting` has the functions; this module recognizes their calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relax_explorer.core.ir import prim as p
from relax_explorer.core.tir.prim_expr import BufferPtr
from relax_explorer.core.tir.stmt import Buffer


@dataclass(frozen=True)
class Packed:
    """A packed function that numba can call: its name in `tir_sorting`, and the number of read-only arguments at its start."""

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
    """A function of `tir_sorting` and its arguments, the last but one the axis; None for other calls, and calls on views."""
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
