"""Packed functions that kernels call: what TVM's lowerings of sort, argsort, topk and suppression leave to its runtime.

Each is numba source that goes into the kernel's module. Ties keep their order, as in TVM (src/runtime/contrib/sort).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from relax_explorer.core.ir import prim as p
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.expr import BufferPtr

SOURCE = """
@njit(error_model="numpy")
def lanes(x, axis):  # as [before the axis, along it, after it]
    before, after = 1, 1
    for k in range(axis):
        before *= x.shape[k]
    for k in range(axis + 1, x.ndim):
        after *= x.shape[k]
    return x.reshape((before, x.shape[axis], after))


@njit(error_model="numpy")
def order(row, ascending):
    if ascending:
        return np.argsort(row, kind="mergesort")
    return (len(row) - 1 - np.argsort(row[::-1], kind="mergesort"))[::-1]


@njit(error_model="numpy")
def sort(data, out, axis, ascending):
    rows, made = lanes(data, axis), lanes(out, axis)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            row = rows[i, :, j].copy()
            made[i, :, j] = row[order(row, ascending)]


@njit(error_model="numpy")
def argsort(data, out, axis, ascending):
    rows, made = lanes(data, axis), lanes(out, axis)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            made[i, :, j] = order(rows[i, :, j].copy(), ascending)


@njit(error_model="numpy")
def argsort_valid(data, counts, out, axis, ascending):  # what is not counted keeps its place
    rows, made = lanes(data, axis), lanes(out, axis)
    valid = counts.reshape((rows.shape[0], rows.shape[2]))
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            count = max(0, min(valid[i, j], rows.shape[1]))
            made[i, :count, j] = order(rows[i, :count, j].copy(), ascending)
            for k in range(count, rows.shape[1]):
                made[i, k, j] = k


@njit(error_model="numpy")
def top_values(data, out, count, axis, ascending):
    rows, made = lanes(data, axis), lanes(out, axis)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            row = rows[i, :, j].copy()
            made[i, :, j] = row[order(row, ascending)[: made.shape[1]]]


@njit(error_model="numpy")
def top_indices(data, out, count, axis, ascending):
    rows, made = lanes(data, axis), lanes(out, axis)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            made[i, :, j] = order(rows[i, :, j].copy(), ascending)[: made.shape[1]]


@njit(error_model="numpy")
def top_both(data, values, indices, count, axis, ascending):
    top_values(data, values, count, axis, ascending)
    top_indices(data, indices, count, axis, ascending)


"""


@dataclass(frozen=True)
class Packed:
    """A packed function that numba can call: its name in SOURCE, and how many of its first arguments are read only."""

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
    """The buffers that a packed call fills, as far as it is known."""
    found = _known(call)
    if found is not None:
        packed, arguments = found
        yield from [item for item in map(_array, arguments[packed.read :]) if item is not None]


def packed_call(
    call: p.PrimExpr, name: Callable[[Buffer], str], text: Callable[[p.PrimExpr], str]
) -> str | None:
    """A packed call as a statement of Python; None for a function, or a view of a buffer, that has no translation."""
    found = _known(call)
    if found is None:
        return None
    packed, arguments = found
    parts: list[str] = []
    rank = 0
    for argument in arguments:
        buffer = _array(argument)
        if buffer is None and isinstance(argument, p.PrimCall):
            return None  # a view, or an address
        if buffer is not None:
            rank = rank or len(buffer.shape)
            parts.append(name(buffer))
        else:
            parts.append(text(argument))
    axis = arguments[-2]
    if not isinstance(axis, p.IntImm) or not rank:
        return None
    parts[-2] = str(axis.value % rank)
    return f"{packed.function}({', '.join(parts)})"


def _known(call: p.PrimExpr) -> tuple[Packed, tuple[p.PrimExpr, ...]] | None:
    """A packed function, and its arguments up to the axis and the direction, which come last."""
    if not isinstance(call, p.PrimCall) or call.op != "call_packed" or not call.args:
        return None
    name, *arguments = call.args
    if not isinstance(name, p.PrimString):
        return None
    if name.value == _TOPK and len(arguments) > 3:
        kind = arguments.pop(-2)
        part = _PARTS.get(kind.value) if isinstance(kind, p.PrimString) else None
        return None if part is None else (Packed(part, 1), tuple(arguments))
    packed = _FUNCTIONS.get(name.value)
    return None if packed is None or len(arguments) != packed.read + 3 else (packed, tuple(arguments))


def _array(expr: p.PrimExpr) -> Buffer | None:
    """The buffer that is passed as a whole."""
    if not isinstance(expr, p.PrimCall) or expr.op != "tvm_stack_make_array" or len(expr.args) < 2:
        return None
    pointer, shape, *_, offset = expr.args
    if not isinstance(pointer, BufferPtr) or not isinstance(shape, p.PrimCall):
        return None
    lengths = [(dim.value if isinstance(dim, p.IntImm) else dim) for dim in shape.args]
    own = [(dim.value if isinstance(dim, p.IntImm) else dim) for dim in pointer.buffer.shape]
    whole = lengths == own and isinstance(offset, p.IntImm) and offset.value == 0
    return pointer.buffer if whole else None
