"""Bound plans: straight parts of programs that manage their own memory, run at once for lengths that they ran with before.

A lowered program allocates storages, lays tensors into them, looks up lengths in a heap, and calls kernels that fill the tensors. All
of this but the kernels depends on lengths alone. So `bound_recorder` follows a part of the plan when a function runs with the same
lengths for the second time, and later runs only call the kernels, by machine code without Python between them (`trace_rows`).

What comes from outside is compared at the start of each part. Where a part does not fit, or a kernel stops, the frame goes on
instruction by instruction with all checks. Stepping never uses bound parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relax_explorer.core.exec import packed
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.kernels import by_symbol
from relax_explorer.core.exec.memory import Storage
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.trace_rows import Words, player
from relax_explorer.core.exec.values import Lengths, Types, Value, types_of
from relax_explorer.core.ops.machine.view import view_of
from relax_explorer.core.tir.stmt import PrimFunc


@dataclass(frozen=True, slots=True)
class Given:
    """A value from before the part: the content of a register, or a field in it."""

    slot: int
    path: tuple[int, ...] = ()

    def of(self, registers: list[Value]) -> Value:
        """The value in this run."""
        value = registers[self.slot]
        for index in self.path:
            value = value[index]
        return value


@dataclass(frozen=True, slots=True)
class Made:
    """A storage of the part, by its number. A tensor without a storage has one for itself."""

    number: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """An array in a storage or over an array from outside."""

    memory: Given | Made
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Heap:
    """An array of lengths, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value that depends on lengths only."""

    value: Value


Source = Given | Made | Tensor | Heap | Fixed | tuple[Any, ...]  # a tuple has the sources of its fields


@dataclass(frozen=True, slots=True)
class Needs:
    """What a part relies on: types of registers, contents of heaps, where arrays lie in storages, functions by name."""

    types: dict[int, Types | int]  # of a storage, its bytes
    contents: dict[int, bytes]
    places: dict[
        Given, tuple[int, int] | None
    ]  # arrays that kernels get: the register of their storage, and their offset in it
    kernels: dict[str, PrimFunc]
    builtins: frozenset[str]
    lengths: Lengths
    engine: str  # a thread may have recorded it for another run
    factor: int  # of storages

    def hold(self, machine: Running, frame: Frame) -> bool:
        """True if a frame has all of this."""
        registers, functions = frame.registers, machine.module.functions
        if self.engine != machine.kernels.engine or self.factor != machine.storage_factor:
            return False
        return (
            frame.dims == self.lengths
            and all([type_in(registers[slot]) == types for slot, types in self.types.items()])
            and all([registers[slot].tobytes() == content for slot, content in self.contents.items()])
            and all([functions.get(name) is fn for name, fn in self.kernels.items()])
            and all([is_builtin(machine, name) for name in self.builtins])
            and places(self.places, self.types, registers) == self.places
        )


def type_in(value: Value) -> Types | int | None:
    """The type of the content of a register; of a storage, its bytes. None if it has none."""
    if type(value) is Storage:
        return int(value.data.nbytes)
    return (value.shape, value.dtype) if type(value) is np.ndarray else types_of((value,))


def is_builtin(machine: Running, name: str) -> bool:
    """True if calls of this name go to the builtin of the virtual machine, and not to a function of the user or a kernel."""
    return packed.find(name) is None and by_symbol(machine.module, name) is None


def places(
    arrays: Iterable[Given], slots: Iterable[int], registers: list[Value]
) -> dict[Given, tuple[int, int] | None] | None:
    """Where arrays lie in the storages of some registers. None if two registers have one storage, or an array has gaps."""
    storages = [slot for slot in slots if type(registers[slot]) is Storage]
    owners = {id(registers[slot].data): slot for slot in storages}
    found: dict[Given, tuple[int, int] | None] = {}
    for given in arrays:
        array = given.of(registers)
        if type(array) is not np.ndarray:
            continue
        if not ((flags := array.flags).c_contiguous and flags.aligned):
            return None
        slot = owners.get(id(array.base))
        found[given] = None if slot is None else (slot, _address(array) - _address(registers[slot].data))
    return found if len(owners) == len(storages) else None


def _address(array: Value) -> int:
    return int(array.__array_interface__["data"][0])


@dataclass(slots=True, eq=False)
class Reel:
    """The words of the rows, and the memory and the tensors that stay inside. One run uses it at a time."""

    words: Words
    memory: np.ndarray[Any, Any]
    tensors: list[Value]
    note: np.ndarray[Any, Any]


@dataclass(slots=True, eq=False)
class Bound:
    """A part of `length` instructions as rows of kernels and their arguments, and what the registers hold after it."""

    needs: Needs
    length: int
    count: int  # rows
    words: Words  # of all rows, without addresses of objects
    inside: list[
        tuple[Tensor, int, list[int]]
    ]  # in memory of the reel: the offset of the storage, the words that name it
    memory: int  # bytes of the reel
    new: dict[int, int]  # the sizes of storages that are new in each run
    named: list[Given | Tensor]  # the arrays that other words name
    at: Words  # those words
    which: Words  # the number of the array of each
    heaps: list[bytes]
    ends: dict[int, Source]  # registers after the part
    ends_values: bool
    reels: list[Reel] = field(default_factory=list)  # those that no run uses

    def run(self, machine: Running, frame: Frame) -> bool:
        """Run the part. False if a kernel stopped, or memory is short; then nothing was done that anybody sees."""
        registers = frame.registers
        try:
            reel = self.reels.pop() if self.reels else self._reel()  # another thread may run the same program
            storages = {number: Storage(size) for number, size in self.new.items()}
        except (IndexError, MemoryError):
            return False
        arrays = [self._array(source, registers, storages) for source in self.named]
        reel.words[self.at] = np.array(list(map(id, arrays)), np.int64)[self.which]
        reel.memory.fill(0)  # as new storages are
        with np.errstate(all="ignore"):
            left = player()(reel.words.ctypes.data, self.count, id(reel.note), machine.interrupt.address)
        self.reels.append(reel)
        if left:
            return False
        known = dict(zip(self.named, arrays, strict=True))
        values = [self._value(source, registers, storages, known) for source in self.ends.values()]
        for slot, value in zip(self.ends, values, strict=True):
            registers[slot] = value
        frame.pc += self.length
        frame.has_ended |= self.ends_values
        return True

    def _array(self, source: Given | Tensor, registers: list[Value], storages: dict[int, Storage]) -> Value:
        if isinstance(source, Given):
            return source.of(registers)
        memory = source.memory
        whole: Any = storages[memory.number] if isinstance(memory, Made) else memory.of(registers)
        return view_of(
            whole.data if type(whole) is Storage else whole, source.shape, source.dtype, source.offset
        )

    def _value(
        self,
        source: Source,
        registers: list[Value],
        storages: dict[int, Storage],
        known: dict[Given | Tensor, Value],
    ) -> Value:
        if isinstance(source, tuple):
            return tuple([self._value(part, registers, storages, known) for part in source])
        if isinstance(source, Fixed):
            return source.value
        if isinstance(source, Made):
            return storages[source.number]
        if isinstance(source, Heap):
            return np.frombuffer(self.heaps[source.number], np.int64).copy()
        if source not in known:
            known[source] = self._array(source, registers, storages)
        return known[source]

    def _reel(self) -> Reel:
        from relax_explorer.core.exec.kernel_traps import NOTE_LENGTH

        words, memory = self.words.copy(), np.zeros(self.memory, np.uint8)
        tensors = []
        for tensor, start, named in self.inside:
            first = start + tensor.offset
            size = tensor.dtype.itemsize * int(np.prod(tensor.shape))
            tensors.append(memory[first : first + size].view(tensor.dtype).reshape(tensor.shape))
            words[named] = id(tensors[-1])
        return Reel(words, memory, tensors, np.zeros(NOTE_LENGTH, np.int64))
