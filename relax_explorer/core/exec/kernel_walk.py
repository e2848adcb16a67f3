"""Walks through one call of a PrimFunc store by store, forward and back, on copies of its arguments.

After every 256 stores, a mark notes what is left to do, and the elements that these stores overwrote. Going back takes the marks
behind the wanted store away, newest first, and runs the stores from the last mark on again. When the overwritten elements need
more memory than `MOST`, the oldest are forgotten; going back beyond them starts again at the first store.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import EllipsisType

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.compiled_kernel import Variables, uncompiled
from relax_explorer.core.exec.first_store import always_read
from relax_explorer.core.exec.frame import Evicted, Frame, recalled
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernels import REFERENCE, Kernels, allocate, by_symbol
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.reference_kernel import Array, Open, Reference, Returned
from relax_explorer.core.exec.simt_kernel import needs_simt
from relax_explorer.core.exec.values import UNKNOWN, Lengths, PackedFunction, Value, fault
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.matched_views import without_views
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import Buffer, PrimFunc
from relax_explorer.core.tir.traverse import named, scopes

EVERY = 256  # stores between two marks
MOST = 64 << 20  # bytes of overwritten elements, and of marks
_MARK = 2_000  # bytes of a mark, about
_PLACE = 8  # bytes of an index

_ELEMENT = 300  # bytes of an overwritten element that is kept by itself, about

Index = tuple[int, ...] | EllipsisType | int
Stored = tuple[Array, tuple[int, ...], Value]
Element = tuple[Array, tuple[int, ...] | EllipsisType, Value]


@dataclass(slots=True)
class _State:
    """What a reference run needs to go on from a store, apart from the elements of buffers."""

    open: list[Open]
    numbers: dict[Buffer | p.PrimVar, Value]
    loops: dict[p.PrimVar, int]
    arrays: dict[Buffer, Array]
    pointers: dict[p.PrimExpr, p.PrimExpr]
    statement: t.Stmt | None


@dataclass(slots=True)
class _Mark:
    """The state after `number` stores, and what the stores behind it overwrote, in their order and each element once."""

    number: int
    state: _State
    stored: t.Stmt | None
    last: Stored | None
    elements: dict[tuple[int, Index], Element] = field(default_factory=dict)
    packed: list[tuple[Array, tuple[Array, ...], Array]] = field(default_factory=list)
    bytes: int = _MARK

    def pack(self, is_shared: bool) -> None:
        """Keep the elements in arrays, which need less memory. The order stays if buffers share memory."""
        if is_shared:
            self.bytes += _ELEMENT * len(self.elements)
            return
        by_array: dict[int, list[Element]] = {}
        for element in self.elements.values():
            by_array.setdefault(id(element[0]), []).append(element)
        for elements in by_array.values():
            array = elements[0][0]
            places = tuple([np.array(axis, np.int64) for axis in zip(*[e[1] for e in elements], strict=True)])
            old = np.array([e[2] for e in elements], array.dtype)
            self.packed.append((array, places, old))
            self.bytes += old.nbytes + _PLACE * len(elements) * len(places)
        self.elements.clear()

    def take_back(self) -> None:
        """Restore the elements, and forget them."""
        for array, place, old in reversed(self.elements.values()):
            array[place] = old
        for array, places, olds in self.packed:
            array[places or ()] = olds if places else olds[0]
        self.elements.clear()
        self.packed.clear()
        self.bytes = _MARK


class _Recorded(Reference):
    """A reference run that notes in a mark what it overwrites."""

    mark: _Mark
    last: Stored | None = None  # with the old element
    is_shared = False  # True if buffers share memory, or a packed function fills one

    def write(self, array: Array, place: tuple[int, ...], value: Value) -> None:
        """Put an element into a buffer."""
        self.last = (array, place, array[place])
        self.mark.elements.setdefault((id(array), place), self.last)
        array[place] = value

    def call(self, name: str, arguments: Sequence[Value]) -> None:
        """Call a packed function. The arrays are kept whole."""
        self.last, self.is_shared = None, True
        for array in arguments:
            if isinstance(array, np.ndarray):
                self.mark.elements[id(array), len(self.mark.elements)] = (array, ..., array.copy())
                self.mark.bytes += array.nbytes
        super().call(name, arguments)

    def _allocate(self, buffer: Buffer) -> None:
        super()._allocate(buffer)
        self.mark.bytes += self.arrays[buffer].nbytes  # it is kept as long as the mark

    def _view(self, node: t.AllocBuffer, buffer: Buffer, data: p.PrimExpr) -> None:
        super()._view(node, buffer, data)
        self.is_shared = True

    def state(self) -> _State:
        """What is left to do."""
        return _State(
            list(self.open),
            dict(self.numbers),
            dict(self.loops),
            dict(self.arrays),
            dict(self.pointers),
            self.statement_now,
        )

    def restore(self, state: _State) -> None:
        """Go on from a state."""
        self.open, self.numbers, self.loops = list(state.open), dict(state.numbers), dict(state.loops)
        self.arrays, self.pointers = dict(state.arrays), dict(state.pointers)
        self.statement_now = state.statement


class KernelWalk:
    """One call of a PrimFunc. `number` stores are done, the last of them by the statement `stored`."""

    def __init__(self, fn: t.PrimFunc, name: str, args: Sequence[Value], interrupt: Interrupt) -> None:
        """`args` are what the compiled text takes (`Kernel.passed`). They stay as they are."""
        self.fn, self.name, self.interrupt = without_views(fn), name, interrupt
        self.given = args
        self.number = 0
        self.is_done = False
        self.stored: t.Stmt | None = None
        self.scopes = scopes(self.fn)
        self._named: dict[t.Stmt | None, dict[str, Buffer | p.PrimVar]] = {}
        self.made_by: e.Binding | None = None  # the binding of the call
        self._begin()

    def _begin(self) -> None:
        """Go to before the first store."""
        variables = Variables.of(self.fn).shapes
        values, is_shared = copies(self.given)
        self.machine = _Recorded(self.fn, variables, values, self.interrupt)
        self.machine.is_shared = is_shared
        self.number, self.is_done, self.stored = 0, False, None
        self.marks = [_Mark(0, self.machine.state(), None, None)]
        self.machine.mark = self.marks[0]
        self.bytes = 0  # of the marks before the newest

    # -- moves ----------------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """Do one store; False at the end of the PrimFunc. Raises Failure where it stops or is cancelled, and stays before that."""
        if self.is_done:
            return False
        if self.number - self.marks[-1].number >= EVERY:
            self._mark()
        try:
            with self.machine.explained():
                stored = self.machine.advance()
        except Returned:
            stored = None
        except Failure:
            self._back_to_mark(self.number)
            raise
        if stored is None:
            self.is_done = True
            return False
        self.number, self.stored = self.number + 1, stored
        return True

    def _mark(self) -> None:
        newest = self.marks[-1]
        newest.pack(self.machine.is_shared)
        self.bytes += newest.bytes
        while self.bytes > MOST and len(self.marks) > 1:
            self.bytes -= self.marks.pop(0).bytes
        self.marks.append(_Mark(self.number, self.machine.state(), self.stored, self.machine.last))
        self.machine.mark = self.marks[-1]

    def goto(self, number: int) -> None:
        """Go to after `number` stores, or to the end. Raises Failure."""
        if number < self.number or (number == self.number and self.is_done):
            if number < self.marks[0].number:
                self._begin()
            else:
                self._back_to_mark(number)
        while self.number < number and self.step():
            self.interrupt.check()

    def _back_to_mark(self, number: int) -> None:
        """Go back to the last mark up to `number`, and from there to `number`; this can't be cancelled."""
        while self.marks[-1].number > number:
            self.marks.pop().take_back()
            self.bytes -= self.marks[-1].bytes
        mark = self.marks[-1]
        mark.take_back()
        self.machine.restore(mark.state)
        self.machine.mark = mark
        self.number, self.stored, self.machine.last = mark.number, mark.stored, mark.last
        self.is_done = False
        self.machine.interrupt = Interrupt()
        with self.machine.explained():
            while self.number < number:
                self.stored = self.machine.advance()
                self.number += 1
        self.machine.interrupt = self.interrupt

    def back_until(
        self, last: int, is_wanted: Callable[[], bool], prime: Callable[[], object] = lambda: None
    ) -> bool:
        """Go back to the last store up to number `last` at which `is_wanted()`; False at the start if there is none.

        `is_wanted` is asked in stretches, each in the order of the run, after `prime` was called before the stretch.
        """
        while last > 0:
            first = max([mark.number for mark in self.marks if mark.number < last], default=0)
            self.goto(first)
            prime()
            found = None
            while self.number < last and self.step():
                self.interrupt.check()
                found = self.number if is_wanted() else found
            if found is not None:
                self.goto(found)
                return True
            last = first
        self.goto(0)
        return False

    # -- what is seen ---------------------------------------------------------------------------------------------

    @property
    def names(self) -> dict[str, Buffer | p.PrimVar]:
        """The variables and buffers around the last store by name, outermost first."""
        found = self._named.get(self.stored)
        if found is None:
            found = self._named[self.stored] = named(self.scopes[self.stored])
        return found

    def name_of(self, buffer: Buffer) -> str:
        """The name of a buffer around the last store."""
        return next((name for name, item in self.names.items() if item is buffer), buffer.name)

    def find(self, name: str) -> Value:
        """The value of the variable, or the contents of the buffer, called `name`; None if there is none around the last store."""
        item = self.names.get(name)
        return None if item is None else self.value_of(item)

    def value_of(self, item: Buffer | p.PrimVar) -> Value:
        """The value of a variable or the contents of a buffer; None if it has none yet."""
        found = self.machine.arrays.get(item) if isinstance(item, Buffer) else None
        return self.machine.numbers.get(item) if found is None else found

    @property
    def values(self) -> dict[str, Value]:
        """All variables and buffers around the last store that have a value, by name, outermost first."""
        found = [(name, self.value_of(item)) for name, item in self.names.items()]
        return {name: value for name, value in found if value is not None}

    @property
    def shape_vars(self) -> dict[str, int]:
        """The integer parameters and the lengths of buffers, by name."""
        params, numbers = named(self.scopes[None]), self.machine.numbers
        own = {
            name: item for name, item in params.items() if isinstance(item, p.PrimVar) and item.dtype.is_int
        }
        return {name: numbers[item] for name, item in own.items() if item in numbers}

    @property
    def loops(self) -> dict[str, int]:
        """The variables of loops and block axes around the last store, outermost first."""
        params = {*self.fn.params, *self.scopes[None]}
        numbers = self.machine.numbers
        found = [
            (name, numbers.get(item))
            for name, item in self.names.items()
            if isinstance(item, p.PrimVar) and item not in params and item.dtype.is_int
        ]
        return {name: value for name, value in found if value is not None}

    @property
    def place(self) -> tuple[int, ...] | None:
        """The indices of the element that the last store wrote; None for a scalar."""
        is_element = isinstance(self.stored, t.BufferStore) and not self.stored.buffer.is_scalar
        last = self.machine.last
        return last[1] if is_element and last is not None else None

    @property
    def element(self) -> Value:
        """The element that the last store wrote; None for a call of a packed function."""
        if not isinstance(self.stored, t.BufferStore):
            return None
        if self.stored.buffer.is_scalar:
            return self.machine.numbers[self.stored.buffer]
        last = self.machine.last
        return None if last is None else last[0][last[1]]

    def operands(self, most: int = 8) -> list[tuple[BufferLoad, tuple[int, ...], Value]]:
        """The elements that the last store read, as they were before it."""
        last, stored = self.machine.last, self.stored
        if not isinstance(stored, t.BufferStore) or stored.buffer.is_scalar or last is None:
            return []
        array, index, old = last
        new, array[index] = array[index], old
        loads = [load for load in always_read(stored.value) if not load.buffer.is_scalar][:most]
        places = [self.machine.place(load.buffer, load.indices) for load in loads]
        found = [
            (load, place, self.machine.arrays[load.buffer][place])
            for load, place in zip(loads, places, strict=True)
        ]
        array[index] = new
        return found


def copies(values: Sequence[Value]) -> tuple[list[Value], bool]:
    """Copies of arrays, and True if some share memory. Their copies share it, too."""
    found, groups = list(values), _groups(values)
    for numbers, first, size in groups:
        memory = np.zeros(size, np.uint8)
        for number in numbers:
            value = values[number]
            start = value.__array_interface__["data"][0] - first
            found[number] = np.ndarray(value.shape, value.dtype, memory.data, start, value.strides)
            found[number][...] = value
    return found, any(len(numbers) > 1 for numbers, _, _ in groups)


def _groups(values: Sequence[Value]) -> list[tuple[list[int], int, int]]:
    """The numbers of the arrays that lie in one piece of memory, with its address and its bytes."""
    arrays = [
        (np.lib.array_utils.byte_bounds(value), n)
        for n, value in enumerate(values)
        if isinstance(value, np.ndarray)
    ]
    groups: list[tuple[list[int], int, int]] = []
    end = -1
    for (start, stop), number in sorted(arrays):
        if groups and start < end:
            numbers, first, _ = groups.pop()
            groups.append(([*numbers, number], first, max(end, stop) - first))
        else:
            groups.append(([number], start, stop - start))
        end = max(end, stop)
    return groups


# -- entering a kernel -----------------------------------------------------------------------------------------------
# Enters the PrimFunc that the next step calls: finds it, and takes the arguments that it would get.


_CALLS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad", "relax.vm.call_tir_dyn")


class _Entered(Failure):
    """A PrimFunc is about to run. It is a Failure, so that the machine takes the step back."""

    def __init__(self, fn: PrimFunc, args: Sequence[Value]) -> None:
        super().__init__(Diagnostic(codes.CANCELLED, "a PrimFunc was entered"))
        self.fn, self.args_given = fn, args


class _Entering(Kernels):
    """Stands for the kernels of a machine, and runs none."""

    def call(self, fn: PrimFunc, args: Sequence[Value]) -> Value:
        """Tell which PrimFunc is called with which arguments."""
        raise _Entered(fn, args)

    def results(
        self, fn: PrimFunc, first: int, infos: Sequence[s.StructInfo], dims: Lengths, place: object
    ) -> list[Value]:
        """Arrays of zeros: they are looked at before the PrimFunc fills them."""
        return [allocate(info, dims, place) for info in infos]


def next_kernel(machine: Machine) -> PrimFunc | None:
    """The PrimFunc that the next step calls; None if it calls none."""
    found = _next_call(machine)
    return None if found is None else _called(machine, *found)


def _next_call(machine: Machine) -> tuple[Frame, Instruction] | None:
    """The instruction that binds a value in the next step."""
    if not machine.frames:
        return None
    frame = machine.frame
    code, at = frame.plan.code, frame.pc
    while at < len(code):
        instruction = code[at]
        if instruction.binding is not None:
            return frame, instruction
        at += 1
        if instruction.kind == "jump":
            at = instruction.jump
        elif instruction.kind == "branch":
            condition = recalled(frame.registers[instruction.args[0]])
            if condition is None or condition is UNKNOWN:
                return None
            at = at if bool(condition) else instruction.jump
    return None


def _called(machine: Machine, frame: Frame, at: Instruction) -> PrimFunc | None:
    """The PrimFunc that an instruction calls."""
    name = getattr(getattr(at.node, "op", None), "name", "")
    callee = frame.registers[at.args[0]] if at.args else None
    if at.kind == "global" or (at.kind == "op" and name in _CALLS):
        target = name if at.kind == "global" else getattr(callee, "name", "")
        fn = machine.module.functions.get(target)
        return fn if type(fn) is PrimFunc else None
    if at.kind == "packed":
        return by_symbol(machine.module, name)
    is_named = at.kind == "closure" or name in ("relax.call_dps_packed", "relax.call_pure_packed")
    return (
        by_symbol(machine.module, callee.name)
        if is_named and isinstance(callee, (e.ExternFunc, PackedFunction))
        else None
    )


def entered(machine: Machine, name: str) -> KernelWalk:
    """A walk through the PrimFunc that the next step calls, before its first store. Raises Failure.

    The step must call a PrimFunc. What fails before the call fails here, too.
    """
    found = _next_call(machine)
    assert found is not None  # the caller asked next_kernel
    frame, at = found
    kernels, known = machine.kernels, at.known
    evicted = _evicted(frame, at)
    values = {slot: recalled(value) for slot, value in evicted.items()}  # kernels may compute them again
    machine.kernels, at.known = _Entering(interrupt=machine.interrupt, engine=REFERENCE), None
    try:
        for slot, value in values.items():
            frame.registers[slot] = value
        machine.attempt()
    except _Entered as call:
        if needs_simt(call.fn):
            text = "this PrimFunc runs as a whole: its threads work together, so its stores have no order"
            raise fault(codes.NO_KERNEL, text, call.fn, "step over it") from None
        passed = uncompiled(call.fn).passed(call.args_given)
        return KernelWalk(call.fn, name, passed, machine.interrupt)
    finally:
        machine.kernels, at.known = kernels, known
        for slot, value in evicted.items():
            frame.registers[slot] = value
    text = "the PrimFunc does not run here: an argument is unknown"
    raise fault(codes.BAD_COMMAND, text)


def _evicted(frame: Frame, at: Instruction) -> dict[int, Evicted]:
    """The evicted values that the instructions up to a call read, by register."""
    code = frame.plan.code
    until = next(number for number in range(frame.pc, len(code)) if code[number] is at)
    slots = {slot for item in code[frame.pc : until + 1] for slot in item.args}
    values = {slot: frame.registers[slot] for slot in slots}
    return {slot: value for slot, value in values.items() if type(value) is Evicted}
