"""Parts of a trace that machine code runs by itself, without Python between their calls.

They are rows with the address of a compiled function and of its arguments. What is read only inside lies in memory that the next run
uses again; every other result is new in each run. Where a function fails, nothing was done that anybody sees: the calls are made one
by one, and the one that fails says why.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache as once
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.known_call import KnownCode, KnownOperator, Step, Type
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.trace_blocks import compiled, has_loop
from relax_explorer.core.exec.values import Shape, Value

if TYPE_CHECKING:
    from llvmlite import ir

FEWEST = 4  # calls; for fewer, rows are not worth their preparation
LARGEST = 1 << 16  # bytes of a result; what Python costs beside a larger one does not matter
MOST_SCRATCH = 1 << 20  # bytes of all results
MOST = 12  # arguments of a function
WIDTH = 2 + MOST  # words of a row: the address, the number of arguments, the arguments
_NOTE = 1  # words of a note that no function writes
_ALIGNED = 16  # bytes


@dataclass(frozen=True, slots=True)
class Given:
    """The content of a register before the part."""

    slot: int


@dataclass(frozen=True, slots=True)
class Made:
    """A result of a call of the part."""

    number: int


@dataclass(frozen=True, slots=True)
class Fixed:
    """A value that depends on lengths only."""

    value: Value


Source = Given | Made | Fixed | tuple[Any, ...]  # a tuple has the sources of its fields
Word = int | Given | Made
Words = np.ndarray[Any, Any]
Operator = tuple[str, str, tuple[bool, ...]]  # its name and dtype, and which operands have a single element
Places = np.ndarray[Any, Any]  # the numbers of the words that hold the address of one object


@dataclass(slots=True, eq=False)
class Reel:
    """The words of the rows with the memory and the arrays that they name. One run uses it at a time."""

    words: np.ndarray[Any, Any]
    memory: np.ndarray[Any, Any]
    arrays: list[Value]
    note: np.ndarray[Any, Any]


@dataclass(slots=True, eq=False)
class Rows:
    """Rows for `length` steps, and where the addresses of objects go that differ from run to run."""

    length: int
    count: int  # rows
    words: np.ndarray[Any, Any]  # of all rows, without addresses of objects
    note: int  # the words of the note
    given: list[tuple[int, Places]]  # registers read before they are written
    new: list[tuple[Made, Type, Places]]  # results that are read later
    scratch: list[tuple[Type, Places]]  # the others
    ends: dict[int, Source]  # registers after the part
    dead: list[int]  # registers from before that end inside
    reels: list[Reel] = field(default_factory=list)  # those that no run uses

    def run(self, machine: Running, frame: Frame) -> bool:
        """Make all calls. False if they can't be made so; then nothing was done."""
        registers = frame.registers
        for slot, _ in self.given:
            if not ((flags := registers[slot].flags).c_contiguous and flags.aligned):
                return False
        try:
            reel = self.reels.pop()  # another thread may run the same program
        except IndexError:
            reel = self._reel()
        words = reel.words
        for slot, places in self.given:
            words[places] = id(registers[slot])
        made: dict[Made, Value] = {}
        for result, (shape, dtype), places in self.new:
            made[result] = array = np.zeros(shape, dtype)
            words[places] = id(array)
        reel.memory.fill(0)  # as new results are
        left = player()(words.ctypes.data, self.count, id(reel.note), machine.interrupt.address)
        self.reels.append(reel)
        if left:
            return False
        values = [_value(source, registers, made) for source in self.ends.values()]
        for slot in self.dead:
            registers[slot] = None
        for slot, value in zip(self.ends, values, strict=True):
            registers[slot] = value
        return True

    def _reel(self) -> Reel:
        words, starts = self.words.copy(), np.cumsum([0, *[_size(of) for of, _ in self.scratch]]).tolist()
        memory, arrays = np.zeros(starts[-1], np.uint8), []
        for start, (of, places) in zip(starts, self.scratch, strict=False):
            shape, dtype = of
            array = memory[start : start + prod(shape) * dtype.itemsize].view(dtype).reshape(shape)
            words[places] = id(array)
            arrays.append(array)
        return Reel(words, memory, arrays, np.zeros(self.note, np.int64))


def _value(source: Source, registers: list[Value], made: Mapping[Made, Value]) -> Value:
    if isinstance(source, tuple):
        return tuple([_value(part, registers, made) for part in source])
    if isinstance(source, Made):
        return made[source]
    return registers[source.slot] if isinstance(source, Given) else source.value


def words_of(rows: Sequence[tuple[int, Sequence[Any]]], objects: dict[Any, list[int]]) -> Words:
    """The words of rows, without the addresses of objects. The places of these are added to `objects`."""
    words = np.zeros(len(rows) * WIDTH, np.int64)
    for number, (function, arguments) in enumerate(rows):
        words[number * WIDTH : number * WIDTH + 2] = function, len(arguments)
        for at, argument in enumerate(arguments, number * WIDTH + 2):
            if isinstance(argument, int):
                words[at] = argument
            else:
                objects.setdefault(argument, []).append(at)
    return words


# -- recording ----------------------------------------------------------------------------------------------------------------


def rows(steps: Sequence[Step], machine: Running, frame: Frame) -> dict[int, Rows]:
    """The parts of these steps, by the number of their first step. The frame is at its end, with the lengths of its run."""
    found: dict[int, Rows] = {}
    first = 0
    while first < len(steps):
        recorder = _Recorder(machine, frame)
        count = 0
        while first + count < len(steps) and recorder.take(steps[first + count]):
            count += 1
        part = recorder.rows(count) if recorder.calls >= FEWEST else None
        if part is not None:
            found[first] = part
        first += count or 1
    return found


class _Recorder:
    """Follows where the value of each register comes from."""

    def __init__(self, machine: Running, frame: Frame) -> None:
        self.machine, self.frame = machine, frame
        self.registers: dict[int, Source] = {}  # those that the part writes
        self.made: list[tuple[int | Operator, list[Word]]] = []  # of each row: address or operator, arguments
        self.types: list[Type] = []  # of each result
        self.dead: list[int] = []
        self.calls = self.bytes = 0
        self.note = _NOTE

    def take(self, step: Step) -> bool:
        """Record a step. False if it can't be recorded; then nothing was."""
        if self.bytes > MOST_SCRATCH:
            return False
        if step.known is None:
            source = self._between(step)
        elif type(step.known) is KnownCode:
            source = self._kernel(step, step.known)
        else:
            source = self._operator(step, step.known) if type(step.known) is KnownOperator else None
        if source is None:
            return False
        self.calls += step.known is not None
        self.registers[step.at.target] = source
        for slot in step.at.dead:
            if self.registers.pop(slot, None) is None:  # the part itself never fills the others
                self.dead.append(slot)
        return True

    def _source(self, slot: int) -> Source:
        return self.registers.get(slot, Given(slot))

    def _between(self, step: Step) -> Source | None:
        at = step.at
        if at.kind == "tuple":
            return tuple([self._source(slot) for slot in at.args])
        if at.kind == "move":
            return self._source(*at.args)
        if at.kind == "item":
            source = self._source(*at.args)
            field: Source | None = source[at.node.index] if type(source) is tuple else None
            return field
        return Fixed(
            step.value([], self.machine.interrupt)
        )  # a shape or a scalar, of lengths that the trace compares

    def _kernel(self, step: Step, known: KnownCode) -> Source | None:
        address = getattr(known.function, "address", None)
        given = self._source(step.at.args[1])
        if address is None or type(given) is not tuple:
            return None  # numba compiled it, or its operands come as one value
        inputs = _words([part for source in given for part in _parts(source)], known.scalars)
        tail = _words([Fixed(item) for item in known.tail], known.tail)
        if inputs is None or tail is None or any(map(_is_large, known.types)):
            return None
        if len(inputs) + len(known.types) + len(tail) > MOST:
            return None
        results = [self._result(of) for of in known.types]
        self.made.append((address, [*inputs, *results, *tail]))
        self.note = max(self.note, known.note.size)
        return tuple(results) if known.is_tuple else results[0]

    def _operator(self, step: Step, known: KnownOperator) -> Source | None:
        (shape, dtype), shapes, name = known.type, known.operands[::2], step.at.node.op.name
        sources = [self._source(slot) for slot in step.at.args]
        if known.is_large or _is_large(known.type) or not has_loop([(name, (), 0)], dtype):
            return None
        if any(type(of) is not tuple for of in shapes) or any(of != dtype for of in known.operands[1::2]):
            return None
        sizes = [prod(of) for of in shapes]
        if any(size != 1 and of != shape for size, of in zip(sizes, shapes, strict=True)):
            return None
        function = name, dtype.name, tuple([size == 1 for size in sizes])
        result = self._result(known.type)
        self.made.append((function, [result, *sources, prod(shape)]))  # type: ignore[list-item]  # arrays, by their shapes
        return result

    def _result(self, of: Type) -> Made:
        self.types.append(of)
        self.bytes += _size(of)
        return Made(len(self.types) - 1)

    def rows(self, length: int) -> Rows | None:
        """The rows of all recorded steps. None if LLVM can't compile here: only now that there are enough, operators are compiled."""
        addressed = [(_address(function), arguments) for function, arguments in self.made]
        if not all([address for address, _ in addressed]):
            return None
        objects: dict[Word, list[int]] = {Made(number): [] for number in range(len(self.types))}
        words = words_of(addressed, objects)
        kept = set(_results(tuple(self.registers.values())))
        places = {item: np.array(at, np.intp) for item, at in objects.items()}
        results = [(Made(n), of, places[Made(n)]) for n, of in enumerate(self.types)]
        return Rows(
            length,
            len(self.made),
            words,
            self.note,
            [(source.slot, at) for source, at in places.items() if type(source) is Given],
            [item for item in results if item[0] in kept],
            [item[1:] for item in results if item[0] not in kept],
            self.registers,
            list(dict.fromkeys(self.dead)),
        )


def _results(source: Source) -> Iterator[Made]:
    """The results in a source."""
    if type(source) is Made:
        yield source
    elif type(source) is tuple:
        for part in source:
            yield from _results(part)


def _parts(source: Source) -> list[Source]:
    """The arguments that a kernel gets for an operand: a shape is replaced by its lengths."""
    if type(source) is Fixed and isinstance(source.value, Shape):
        return [Fixed(length) for length in source.value]
    return [source]


def _words(sources: Sequence[Source], numbers: Sequence[Any]) -> list[Word] | None:
    """The arguments of a kernel: arrays by their sources, and numbers. None if one is neither."""
    if len(sources) != len(numbers):
        return None
    words: list[Word] = []
    for source, number in zip(sources, numbers, strict=True):
        if number is None and type(source) in (Given, Made):
            words.append(source)  # type: ignore[arg-type]  # an array
        elif isinstance(number, (bool, int, np.bool_, np.integer)):
            words.append((int(number) + (1 << 63)) % (1 << 64) - (1 << 63))
        else:
            return None
    return words


def _size(of: Type) -> int:
    """The bytes that a result takes."""
    return -(-prod(of[0]) * of[1].itemsize // _ALIGNED) * _ALIGNED


def _is_large(of: Type) -> bool:
    return prod(of[0]) * of[1].itemsize > LARGEST


def _address(function: int | Operator) -> int:
    return function if isinstance(function, int) else getattr(_function(*function), "address", 0)


@once
def _function(name: str, dtype: str, single: tuple[bool, ...]) -> Value:
    """The function of an operator on arrays, some of which have a single element. None if LLVM can't compile here."""
    from relax_explorer.core.exec.machine_code import is_possible

    if not is_possible():
        return None
    call = (name, tuple(range(len(single))), len(single))
    alone = frozenset([place for place, is_single in enumerate(single) if is_single])
    return compiled((call,), (len(single),), alone, dtype, None).function(())


# -- machine code -------------------------------------------------------------------------------------------------------------


def player() -> Callable[[int, int, int, int], int]:
    """The function that runs rows: (their address, their number, note, address of the stop flag) -> rows that did not run.

    It ends at the first function that gives a status other than 0, and where the stop flag is set.
    """
    return _player()[0]


@once
def _player() -> tuple[Callable[[int, int, int, int], int], object]:
    from llvmlite import ir

    from relax_explorer.core.exec.llvm_expr import LONG
    from relax_explorer.core.exec.machine_code import machine_code, placed

    module, longs = ir.Module(), LONG.as_pointer()
    fn = ir.Function(module, ir.FunctionType(LONG, [longs, LONG, LONG, LONG]), "play_rows")
    rows, count, note, stop = fn.args
    entry, head, body, called, done = (
        fn.append_basic_block(name) for name in ("entry", "head", "body", "called", "done")
    )
    ir.IRBuilder(entry).branch(head)
    builder = ir.IRBuilder(head)
    number = builder.phi(LONG)
    number.add_incoming(LONG(0), entry)
    left = builder.sub(count, number)
    flag = builder.load(builder.inttoptr(stop, longs))
    ends = builder.or_(builder.icmp_signed("==", left, LONG(0)), builder.icmp_signed("!=", flag, LONG(0)))
    builder.cbranch(ends, done, body)
    builder.position_at_end(body)
    row = builder.gep(rows, [builder.mul(number, LONG(WIDTH))])
    words = [builder.load(builder.gep(row, [LONG(place)])) for place in range(WIDTH)]
    choice = builder.switch(words[1], done)
    builder.position_at_end(called)
    status = builder.phi(LONG)
    number.add_incoming(builder.add(number, LONG(1)), called)
    builder.cbranch(builder.icmp_signed("==", status, LONG(0)), head, done)
    for size in range(1, MOST + 1):
        block = fn.append_basic_block(f"with{size}")
        choice.add_case(LONG(size), block)
        builder.position_at_end(block)
        arguments: list[ir.Value] = [*words[2 : 2 + size], note, stop]
        kind = ir.FunctionType(LONG, [LONG] * len(arguments))
        status.add_incoming(builder.call(builder.inttoptr(words[0], kind.as_pointer()), arguments), block)
        builder.branch(called)
    builder.position_at_end(done)
    builder.ret(left)
    address, engine = placed(machine_code(str(module)), "play_rows")
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)(address), engine
