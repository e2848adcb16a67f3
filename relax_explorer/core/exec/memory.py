"""The memory of lowered programs: storages, their tensors, kills, and arrays overwritten by kernels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.exec.events import Change
from relax_explorer.core.exec.faults import guarded
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import MEMORY_LIMIT, UNKNOWN, Closure, Lifted, Shape, Value, describe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import UINT8, DType
from relax_explorer.core.ops.machine.view import view_of
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import has_effect


class Storage:
    """A piece of memory for tensors. Its bytes start as 0, so that uninitialized memory is never shown."""

    __slots__ = ("data",)

    def __init__(self, size: int) -> None:
        self.data = np.zeros(size, np.uint8)

    def __repr__(self) -> str:
        return f"<storage of {self.data.nbytes} bytes>"


class Stateful:
    """An object of the runtime with a state that calls replace, such as a cache. States themselves never change."""

    __slots__ = ("state",)

    def __init__(self, state: object) -> None:
        self.state = state

    def parts(self) -> tuple[tuple[str, np.ndarray[Any, Any]], ...]:
        """What it holds, for comparing and printing: arrays of rows, each with its place in it. Nobody may write into them."""
        return ()

    def seen(self) -> Value:
        """What expressions read of it: its rows as an array, or a mapping from the numbers of sequences to their content."""
        return self


class _Ended:
    """The content of a register after its tensor or storage was killed."""

    def __repr__(self) -> str:
        return "<ended>"


ENDED = _Ended()


def overwriting(machine: Running, values: Sequence[Value], work: Callable[[], Any]) -> Value:
    """Run `work()`, which may write into the arrays in `values`. The old contents are recorded for stepping back.

    A packed function may keep an array and write into it later. So arrays with more references after a call are watched from
    then on.
    """
    change = machine.change
    if change is None:
        return work()
    objects = [(item, item.state) for item in dict.fromkeys(_objects(values))]
    arrays = list({id(array): array for array in (*_arrays(values), *machine.kept)}.values())
    old = [array.copy() for array in arrays]
    owners = [_owner(array) for array in arrays]
    references = list(map(sys.getrefcount, owners))
    try:
        return work()
    finally:
        written = [
            (array, before, array.copy())
            for array, before in zip(arrays, old, strict=True)
            if array.tobytes() != before.tobytes()
        ]
        if written:
            change.memory += tuple(written)
        changed = [(item, state, item.state) for item, state in objects if item.state is not state]
        if changed:
            change.states += tuple(changed)
        known = set(map(id, machine.kept))
        for array, count, now in zip(arrays, references, map(sys.getrefcount, owners), strict=True):
            if now > count and id(array) not in known:
                machine.kept.append(array)


def _arrays(values: Sequence[Value]) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays in values, also in tuples."""
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif type(value) is tuple:
            yield from _arrays(value)
        elif isinstance(value, Closure):  # that the function may call; it may have captured itself
            yield from _arrays([item for item in value.captured.values() if item is not value])
        elif isinstance(value, Lifted):
            yield from _arrays(value.captured)


def _objects(values: Sequence[Value]) -> Iterator[Stateful]:
    """The objects with a state in values, also in tuples."""
    for value in values:
        if isinstance(value, Stateful):
            yield value
        elif type(value) is tuple:
            yield from _objects(value)


def take_back(change: Change) -> None:
    """Restore the memory from before a step."""
    for array, before, _ in reversed(change.memory):
        array[...] = before
    for item, state, _ in reversed(change.states):
        item.state = state


def put_back(change: Change) -> None:
    """Restore the memory from after a step that was taken back."""
    for array, _, after in change.memory:
        array[...] = after
    for item, _, state in change.states:
        item.state = state


def _owner(array: np.ndarray[Any, Any]) -> object:
    """The array that owns the memory. Views of views refer to it alone."""
    return array if array.base is None else array.base


def _check_size(machine: Running, at: Instruction, size: int, what: str) -> None:
    if size > MEMORY_LIMIT:
        text = f"{what} needs {size / 2**30:.1f} GiB, the limit is {MEMORY_LIMIT / 2**30:.0f} GiB"
        raise machine.trap(codes.TOO_LARGE, text, at)


def _lengths(machine: Running, at: Instruction, value: Value) -> tuple[int, ...]:
    """A shape value without negative lengths."""
    if not isinstance(value, Shape):
        raise machine.trap(codes.CAST_FAILED, f"the shape is {describe(value)}", at)
    if min(value, default=0) < 0:
        raise machine.trap(codes.SHAPE_CHECK, f"{value!r} has a negative length", at)
    return tuple(value)


def _size(shape: Sequence[int], element: np.dtype[Any]) -> int:
    size = int(element.itemsize)
    for length in shape:
        size *= length
    return size


def new_storage(machine: Running, at: Instruction, shape: Sequence[int], dtype: DType) -> Storage:
    """A storage of `shape` elements of `dtype`."""
    size = _size(_lengths(machine, at, shape), np.dtype(dtype.to_numpy()))
    _check_size(machine, at, size, "a storage")
    return Storage(size * machine.storage_factor)


def tensor_in(
    machine: Running, at: Instruction, storage: Storage, offset: int, shape: Sequence[int], dtype: DType
) -> Value:
    """The tensor of `shape` that starts `offset` bytes into a storage."""
    if not isinstance(storage, Storage):
        raise machine.trap(codes.CAST_FAILED, f"{describe(storage)} is not a storage", at)
    lengths, element = _lengths(machine, at, shape), np.dtype(dtype.to_numpy())
    offset *= machine.storage_factor
    end = offset + _size(lengths, element)
    if offset < 0 or end > storage.data.nbytes:
        text = f"a tensor {lengths} of {dtype} at byte {offset} ends at byte {end}, the storage at {storage.data.nbytes}"
        raise machine.trap(codes.SHAPE_CHECK, text, at, "use a smaller offset or a larger storage")
    return view_of(storage.data, lengths, element, offset)


def builtin_alloc_tensor(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.builtin.alloc_tensor(shape, dtype, device, scope)`."""
    lengths, element = _lengths(machine, at, args[0]), np.dtype(args[1].to_numpy())
    _check_size(machine, at, _size(lengths, element), f"a tensor {lengths}")
    machine.write(frame, at.target, np.zeros(lengths, element))


def memory_alloc_storage(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.memory.alloc_storage(size, device, scope, dtype)`. The size is in bytes, whatever the dtype is."""
    machine.write(frame, at.target, new_storage(machine, at, args[0], UINT8))


def vm_alloc_storage(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.vm.alloc_storage(shape, device, dtype, scope)`."""
    machine.write(frame, at.target, new_storage(machine, at, args[0], args[2]))


def alloc_tensor(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.memory.alloc_tensor` and `R.vm.alloc_tensor`: storage, offset, shape, dtype, device."""
    storage, offset, shape, dtype = args[:4]
    machine.write(frame, at.target, tensor_in(machine, at, storage, int(offset), shape, dtype))


def kill(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """Kill a tensor or storage. Its register is empty afterwards."""
    frame.has_ended = True
    machine.write(frame, at.args[0], ENDED)
    machine.write(frame, at.target, ())


def call_tir_dyn(machine: Running, frame: Frame, at: Instruction, args: list[Value]) -> None:
    """`R.vm.call_tir_dyn(f, (tensors…, shape))`. The lengths of the shape are passed one by one."""
    callee = args[0]
    fn = machine.module.functions.get(callee.name) if isinstance(callee, e.GlobalVar) else None
    if type(fn) is not PrimFunc:
        text = f"{getattr(callee, 'name', callee)!r} is not a PrimFunc of the module"
        raise machine.trap(codes.UNKNOWN_FUNCTION, text, at)
    values = [item for arg in args[1] for item in (arg if isinstance(arg, Shape) else (arg,))]
    call_kernel(machine, at, fn, values)
    machine.write(frame, at.target, ())


def call_kernel(machine: Running, at: Instruction, fn: PrimFunc, args: Sequence[Value]) -> Value:
    """Run a PrimFunc on arrays that it reads and fills. Returns its scalar result, or ()."""
    returns = isinstance(fn.ret_type, s.PrimStructInfo)
    if any(arg is UNKNOWN for arg in args):
        if returns and not has_effect(fn):
            return UNKNOWN
        text = "a kernel that fills its arguments can't be run: one of them is unknown"
        raise machine.trap(codes.NO_EVALUATION, text, at)
    value = overwriting(machine, args, lambda: guarded(machine, at, lambda: machine.kernels.call(fn, args)))
    return value if returns else ()
