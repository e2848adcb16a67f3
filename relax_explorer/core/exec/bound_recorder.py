"""Records bound plans: does what the instructions of a part say in a copy of the frame, and notes kernels instead of running them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.bound_plan import (
    Bound,
    Fixed,
    Given,
    Heap,
    Made,
    Needs,
    Source,
    Tensor,
    is_builtin,
    places,
    type_in,
)
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.known_call import ERRORS, Rule
from relax_explorer.core.exec.memory import ENDED, Storage
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.trace_rows import FEWEST, MOST, words_of
from relax_explorer.core.exec.values import Shape, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.struct_info import PrimStructInfo
from relax_explorer.core.tir.stmt import PrimFunc

LONGEST = 1 << 16  # instructions of a part
MOST_MEMORY = 1 << 26  # bytes of the storages of a part, which all live until its end
MOST_KEPT = 1 << 20  # bytes that stay between runs
_ALIGNED = 64  # bytes


def run_bound(machine: Running, frame: Frame, rules: Mapping[str, Rule]) -> bool:
    """Run the bound part that begins at the program counter. False if there is none; then nothing was done."""
    plan = frame.plan
    if frame.is_bound is None:
        bound_for = frame.dims, machine.kernels.engine, machine.storage_factor
        frame.is_bound = plan.bound_for == bound_for
        if not frame.is_bound:
            plan.bound_for, plan.bound = (dict(frame.dims), *bound_for[1:]), {}
    if not frame.is_bound:
        return False
    first, parts = frame.pc, plan.bound
    if first not in parts:
        recorder = Recorder(machine, frame, rules)
        parts[first] = recorder.part()
        if parts[first] is None:  # nor is there one that begins later and ends there
            parts.update(dict.fromkeys(range(first, first + recorder.length + 1)))
    part: Bound | None = parts[first]
    if part is None:
        return False
    if part.needs.hold(machine, frame) and part.run(machine, frame):
        return True
    machine.interrupt.check()  # before anything reads what an interrupted part left
    frame.is_bound = False
    parts.pop(first, None)  # the next run records it anew
    return False


class _Stop(Exception):
    """The instruction belongs to no part."""


class Recorder:
    """Follows the instructions from the program counter of a frame on, in a copy of it."""

    def __init__(self, machine: Running, frame: Frame, rules: Mapping[str, Rule]) -> None:
        self.machine, self.frame, self.rules = machine, frame, rules
        self.copy = Frame(frame.function, frame.name, frame.dims)
        self.copy.registers = list(frame.registers)
        self.sources: dict[int, Source] = {}  # of the registers that the part writes
        self.types: dict[int, Any] = {}
        self.contents: dict[int, bytes] = {}
        self.kernels: dict[str, PrimFunc] = {}
        self.builtins: set[str] = set()
        self.sizes: list[int] = []  # of storages
        self.memory = 0  # their sum
        self.heaps: list[Value] = []
        self.rows: list[tuple[int, list[Any]]] = []  # address, arguments: numbers and sources
        self.overwrites = False  # True if a kernel writes into memory from before the part
        self.length = 0

    def part(self) -> Bound | None:
        """The part from the program counter on. None if it is not worth it."""
        for at in self.frame.plan.code[self.frame.pc : self.frame.pc + LONGEST]:
            try:
                self.take(at)
            except (_Stop, Failure, *ERRORS):
                break
            self.length += 1
        return self.bound() if len(self.rows) >= FEWEST else None

    def take(self, at: Instruction) -> None:
        """Follow one instruction. Raises _Stop if it belongs to no part."""
        registers = self.copy.registers
        if at.kind not in _SOURCES or any(registers[slot] is ENDED for slot in at.args):
            raise _Stop
        source = _SOURCES[at.kind](self, at)
        self.sources[at.target] = source
        for slot in at.dead:
            registers[slot], self.sources[slot] = None, Fixed(None)

    def follow(self, at: Instruction) -> Value:
        """The value that an instruction gives in the copy of the frame."""
        self.rules[at.kind](self.machine, self.copy, at)
        return self.copy.registers[at.target]

    def source(self, slot: int) -> Source:
        """Where the content of a register comes from. Raises _Stop if its type can't be compared later."""
        if slot in self.sources:
            return self.sources[slot]
        value = self.copy.registers[slot]
        if value is self.frame.plan.registers[slot] and type(value) is not np.ndarray:
            return Fixed(value)
        if slot not in self.types:
            types = type_in(value)
            if types is None:
                raise _Stop
            self.types[slot] = types
        return Given(slot)

    # -- instructions ---------------------------------------------------------------------------------------------

    def _moved(self, at: Instruction) -> Source:
        source = self.source(at.args[0])
        self.follow(at)
        return source

    def _tuple(self, at: Instruction) -> Source:
        source = tuple([self.source(slot) for slot in at.args])
        self.follow(at)
        return source

    def _item(self, at: Instruction) -> Source:
        source = self.source(at.args[0])
        self.follow(at)
        return _field(source, at.node.index)

    def _computed(self, at: Instruction) -> Source:
        return Fixed(self.follow(at))  # of the shape variables

    def _global(self, at: Instruction) -> Source:
        fn = self.machine.module.functions.get(at.node.op.name)
        sources = [self.source(slot) for slot in at.args]
        return self._kernel(at, at.node.op.name, fn, sources, self._values(at))

    def _values(self, at: Instruction) -> list[Value]:
        return [self.copy.registers[slot] for slot in at.args]

    def _op(self, at: Instruction) -> Source:
        name = at.node.op.name
        sources, values = [self.source(slot) for slot in at.args], self._values(at)
        if name == "relax.call_builtin_with_ctx" and type(sources[1]) is tuple:
            return self._builtin(at, getattr(values[0], "name", ""), list(sources[1]), list(values[1]))
        if (
            name == "relax.vm.call_tir_dyn"
            and type(sources[1]) is tuple
            and isinstance(values[0], e.GlobalVar)
        ):
            fn = self.machine.module.functions.get(values[0].name)
            parts = [
                (Fixed(item), item) if isinstance(value, Shape) else (source, item)
                for source, value in zip(sources[1], values[1], strict=True)
                for item in (value if isinstance(value, Shape) else (value,))
            ]
            return self._kernel(
                at, values[0].name, fn, [part[0] for part in parts], [part[1] for part in parts]
            )
        rule = _OPERATORS.get(name)
        if rule is None:
            raise _Stop
        return rule(self, at, sources, values)

    def _packed(self, at: Instruction) -> Source:
        return self._builtin(at, at.node.op.name, [self.source(slot) for slot in at.args], self._values(at))

    def _builtin(self, at: Instruction, name: str, sources: list[Source], values: list[Value]) -> Source:
        rule = _BUILTINS.get(name)
        if rule is None or not is_builtin(self.machine, name):
            raise _Stop
        self.builtins.add(name)
        return rule(self, at, sources, values)

    # -- operators and builtins -----------------------------------------------------------------------------------

    def _fixed(self, at: Instruction, sources: list[Source], values: list[Value]) -> Source:
        """A check, or what follows from types."""
        return Fixed(self.follow(at))

    def _first(self, at: Instruction, sources: list[Source], values: list[Value]) -> Source:
        self.follow(at)
        return sources[0]

    def _made_tuple(self, at: Instruction, sources: list[Source], values: list[Value]) -> Source:
        self.follow(at)
        return tuple(sources)

    def _field_of(self, at: Instruction, sources: list[Source], values: list[Value]) -> Source:
        self.follow(at)
        return _field(sources[0], values[1])

    def _heap(self, at: Instruction, sources: list[Source], values: list[Value]) -> Source:
        self.heaps.append(self.follow(at))
        return Heap(len(self.heaps) - 1)

    def _matched(self, at: Instruction, sources: list[Source], values: list[Value]) -> Source:
        if type(sources[1]) is not Heap:
            raise _Stop  # the copy of the frame has this heap as well
        return Fixed(self.follow(at))

    def _looked_up(self, at: Instruction, sources: list[Source], values: list[Value]) -> Source:
        heap = sources[0]
        if type(heap) is Given and not heap.path:
            self.contents[heap.slot] = values[0].tobytes()
        elif type(heap) is not Heap:
            raise _Stop
        return Fixed(self.follow(at))

    def _storage(self, at: Instruction, sources: list[Source], values: list[Value]) -> Source:
        return self._made(self.follow(at).data.nbytes)

    def _made(self, size: int) -> Made:
        self.memory += size
        if self.memory > MOST_MEMORY:
            raise _Stop
        self.sizes.append(size)
        return Made(len(self.sizes) - 1)

    def _in_storage(self, at: Instruction, sources: list[Source], values: list[Value]) -> Source:
        storage, array = sources[0], self.follow(at)
        if not isinstance(storage, (Made, Given)) or type(values[0]) is not Storage:
            raise _Stop
        return Tensor(storage, int(values[1]) * self.machine.storage_factor, array.shape, array.dtype)

    def _alone(self, at: Instruction, sources: list[Source], values: list[Value]) -> Source:
        array = self.follow(at)
        return Tensor(self._made(array.nbytes), 0, array.shape, array.dtype)

    def _reshaped(self, at: Instruction, sources: list[Source], values: list[Value]) -> Source:
        source, array = sources[0], self.follow(at)
        if type(source) is Tensor:
            return Tensor(source.memory, source.offset, array.shape, array.dtype)
        if type(source) is Given and values[0].flags.c_contiguous:
            return Tensor(source, 0, array.shape, array.dtype)
        raise _Stop

    def _killed(self, at: Instruction, sources: list[Source], values: list[Value]) -> Source:
        value = self.follow(at)
        self.sources[at.args[0]] = Fixed(ENDED)
        return Fixed(value)

    # -- kernels --------------------------------------------------------------------------------------------------

    def _kernel(
        self, at: Instruction, name: str, fn: object, sources: Sequence[Source], values: Sequence[Value]
    ) -> Source:
        if type(fn) is not PrimFunc or isinstance(fn.ret_type, PrimStructInfo):
            raise _Stop
        self.kernels[name] = fn
        arrays = [source for source, value in zip(sources, values, strict=True) if type(value) is np.ndarray]
        if arrays and all(type(source) is Heap for source in arrays):
            self.machine.kernels.call(fn, values)  # it computes lengths
        else:
            self._row(fn, sources, values)
        self.copy.registers[at.target] = ()
        return Fixed(())

    def _row(self, fn: PrimFunc, sources: Sequence[Source], values: Sequence[Value]) -> None:
        kernel = self.machine.kernels.get(fn)
        ready = kernel.prepared(values, 0)
        if ready is None:
            raise _Stop
        function, passed = ready
        code = getattr(function, "address", None)
        if code is None or len(passed) > MOST:  # numba compiled it
            raise _Stop
        outside = False
        for param, source in zip(fn.params, sources, strict=True):
            if param in kernel.variables.written:
                if type(source) is not Tensor or not self._is_storage(source.memory):
                    raise _Stop
                outside |= type(source.memory) is Given
        if kernel.may_stop(function) and (outside or self.overwrites):
            raise _Stop  # what it did can't be taken back, and the checked call would do it again
        self.overwrites |= outside
        words = [
            source if type(value) is np.ndarray else _word(number)
            for source, value, number in zip(sources, values, passed, strict=False)
        ]
        self.rows.append((code, [*words, *map(_word, passed[len(words) :])]))

    def _is_storage(self, memory: Given | Made) -> bool:
        return isinstance(memory, Made) or type(self.frame.registers[memory.slot]) is Storage

    # -- the part -------------------------------------------------------------------------------------------------

    def bound(self) -> Bound | None:
        """The part as far as it was followed. None if two registers have one storage."""
        objects: dict[Given | Tensor, list[int]] = {}
        words = words_of(self.rows, objects)
        ends = self._ends()
        given = dict.fromkeys([*_memories(tuple(objects)), *_memories(tuple(ends.values()))])
        arrays = [item for item in given if isinstance(item, Given) and not self._is_storage(item)]
        found = places(arrays, self.types, self.frame.registers)
        if found is None:
            return None
        starts, memory = self._inside(ends)
        inside = [
            (item, starts[item.memory.number], at)
            for item, at in objects.items()
            if isinstance(item, Tensor) and isinstance(item.memory, Made) and item.memory.number in starts
        ]
        kept = {item for item, _, _ in inside}
        named = [item for item in objects if item not in kept]
        which = [(at, number) for number, item in enumerate(named) for at in objects[item]]
        return Bound(
            self._needs(found),
            self.length,
            len(self.rows),
            words,
            inside,
            memory,
            {number: size for number, size in enumerate(self.sizes) if number not in starts},
            named,
            np.array([at for at, _ in which], np.intp),
            np.array([number for _, number in which], np.intp),
            [heap.tobytes() for heap in self.heaps],
            ends,
            self.copy.has_ended,
        )

    def _needs(self, found: dict[Given, tuple[int, int] | None]) -> Needs:
        return Needs(
            self.types,
            self.contents,
            found,
            self.kernels,
            frozenset(self.builtins),
            dict(self.frame.dims),
            self.machine.kernels.engine,
            self.machine.storage_factor,
        )

    def _ends(self) -> dict[int, Source]:
        """What registers hold after the part. Those that nobody reads then hold nothing."""
        reads, end = self.frame.plan.last_reads, self.frame.pc + self.length
        return {
            slot: source if reads.get(slot, -1) >= end else Fixed(None)
            for slot, source in self.sources.items()
            if reads.get(slot, -1) >= end or self.frame.registers[slot] is not None
        }

    def _inside(self, ends: Mapping[int, Source]) -> tuple[dict[int, int], int]:
        """The storages that nobody sees after the part, with their places in memory that stays between runs; its size."""
        seen = set(_memories(tuple(ends.values())))
        starts, end = {}, 0
        for number, size in enumerate(self.sizes):
            if Made(number) not in seen and end + size <= MOST_KEPT:
                starts[number] = end
                end += -(-size // _ALIGNED) * _ALIGNED
        return starts, end


def _memories(source: Source) -> list[Given | Made]:
    """The storages and arrays in a source."""
    if isinstance(source, tuple):
        return [memory for part in source for memory in _memories(part)]
    memory = source.memory if isinstance(source, Tensor) else source
    return [memory] if isinstance(memory, (Given, Made)) else []


def _field(source: Source, index: int) -> Source:
    """The source of a field of a tuple."""
    if type(source) is tuple:
        part: Source = source[index]
        return part
    if type(source) is Given:
        return Given(source.slot, (*source.path, index))
    raise _Stop


def _word(number: object) -> int:
    if not isinstance(number, (bool, int, np.bool_, np.integer)):
        raise _Stop
    return (int(number) + (1 << 63)) % (1 << 64) - (1 << 63)


_SOURCES: dict[str, Callable[[Recorder, Instruction], Source]] = {
    "move": Recorder._moved,
    "tuple": Recorder._tuple,
    "item": Recorder._item,
    "shape": Recorder._computed,
    "scalar": Recorder._computed,
    "global": Recorder._global,
    "packed": Recorder._packed,
    "op": Recorder._op,
}
_Sourced = Callable[[Recorder, Instruction, list[Source], list[Value]], Source]
_OPERATORS: dict[str, _Sourced] = {
    "relax.null_value": Recorder._fixed,
    "relax.shape_of": Recorder._fixed,
    "relax.reshape": Recorder._reshaped,
    "relax.builtin.alloc_tensor": Recorder._alone,
    "relax.memory.alloc_storage": Recorder._storage,
    "relax.memory.alloc_tensor": Recorder._in_storage,
    "relax.memory.kill_storage": Recorder._killed,
    "relax.memory.kill_tensor": Recorder._killed,
    "relax.vm.alloc_storage": Recorder._storage,
    "relax.vm.alloc_tensor": Recorder._in_storage,
    "relax.vm.kill_object": Recorder._killed,
}
_BUILTINS: dict[str, _Sourced] = {
    "vm.builtin.alloc_shape_heap": Recorder._heap,
    "vm.builtin.match_shape": Recorder._matched,
    "vm.builtin.match_prim_value": Recorder._matched,
    "vm.builtin.make_shape": Recorder._looked_up,
    "vm.builtin.make_prim_value": Recorder._looked_up,
    "vm.builtin.check_tensor_info": Recorder._fixed,
    "vm.builtin.check_shape_info": Recorder._fixed,
    "vm.builtin.check_prim_value_info": Recorder._fixed,
    "vm.builtin.check_tuple_info": Recorder._fixed,
    "vm.builtin.check_string_info": Recorder._fixed,
    "vm.builtin.shape_of": Recorder._fixed,
    "vm.builtin.reshape": Recorder._reshaped,
    "vm.builtin.null_value": Recorder._fixed,
    "vm.builtin.copy": Recorder._first,
    "vm.builtin.to_device": Recorder._first,
    "vm.builtin.make_tuple": Recorder._made_tuple,
    "vm.builtin.tuple_getitem": Recorder._field_of,
    "vm.builtin.alloc_storage": Recorder._storage,
    "vm.builtin.alloc_tensor": Recorder._in_storage,
}
