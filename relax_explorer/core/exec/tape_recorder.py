"""Records the steps of a stretch as tapes (`tape`), as far as machine code can make their calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.repeat import Repeat
from relax_explorer.core.exec.repeat_kernel import KernelRepeat
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.stretch_step import Step
from relax_explorer.core.exec.tape import Given, Known, Made, Source, Tape, Type
from relax_explorer.core.exec.values import Shape

FEWEST = 4  # calls; for fewer a tape is not worth its preparation
LARGEST = 1 << 16  # bytes of a result; what Python costs beside a larger one does not matter
MOST_SCRATCH = 1 << 20  # bytes
Word = int | Given | Made
_NOTE = 1  # words of a note that no function writes


class _Memory:
    """The first byte of a result, instead of its object."""

    def __init__(self, of: Made) -> None:
        self.of = of


def tapes(steps: Sequence[Step], machine: Running, frame: Frame) -> dict[int, Tape]:
    """The tapes of a stretch, by the number of their first step. The frame is at its end, with the lengths of its run."""
    found: dict[int, Tape] = {}
    first = 0
    while first < len(steps):
        recorder = _Recorder(machine, frame)
        count = 0
        while first + count < len(steps) and recorder.take(steps[first + count]):
            count += 1
        if recorder.calls >= FEWEST:
            found[first] = recorder.tape(steps[first : first + count])
        first += count or 1
    return found


class _Recorder:
    """Follows where the value of each register comes from."""

    def __init__(self, machine: Running, frame: Frame) -> None:
        self.machine, self.frame = machine, frame
        self.registers: dict[int, Source] = {}  # those that the tape writes
        self.rows: list[tuple[int, int, list[Word | _Memory]]] = []  # address, number of arguments, arguments
        self.types: list[Type] = []  # of each result
        self.born: list[int] = []  # the step of each result
        self.holders: Counter[Made] = Counter()  # how often the registers hold each result
        self.died: dict[Made, int] = {}  # the step after which nothing reads it
        self.dead: list[int] = []
        self.steps = self.calls = self.bytes = 0
        self.note = _NOTE

    def take(self, step: Step) -> bool:
        """Record a step. False if it can't be recorded; then nothing was."""
        if self.bytes > MOST_SCRATCH:
            return False
        if step.rule is not None:
            source = self._between(step)
        elif step.kernel is not None:
            source = self._kernel(step, step.kernel)
        else:
            source = self._operator(step, step.at.repeat)
        if source is None:
            return False
        self.calls += step.rule is None
        self.registers[step.at.target] = source
        self.holders.update(_results(source))
        for slot in step.at.dead:
            gone = self.registers.pop(slot, None)
            if gone is None:  # the tape itself never fills the others
                self.dead.append(slot)
                continue
            for result in _results(gone):
                self.holders[result] -= 1
                if not self.holders[result]:
                    self.died[result] = self.steps
        self.steps += 1
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
        return self._known(step)

    def _known(self, step: Step) -> Source:
        """A shape or a scalar: it depends on lengths that the stretch compares."""
        assert step.rule is not None
        step.rule(self.machine, self.frame, step.at)
        return Known(self.frame.registers[step.at.target])

    def _kernel(self, step: Step, known: KernelRepeat) -> Source | None:
        from relax_explorer.core.exec.tape_code import FILL, MOST  # LLVM takes 0.1 s to import

        address = getattr(known.function, "address", None)
        given = self._source(step.at.args[1])
        if address is None or type(given) is not tuple:
            return None  # numba compiled it, or its operands come as one value
        sources = [part for source in given for part in _parts(source)]
        inputs = _words(sources, known.scalars)
        tail = _words([Known(item) for item in known.tail], known.tail)
        if inputs is None or tail is None or any(map(_is_large, known.outputs)):
            return None
        if len(inputs) + len(known.outputs) + len(tail) > MOST:
            return None
        results = [self._result(of) for of in known.outputs]
        for result in results:
            self.rows.append((0, FILL, [_Memory(result), _size(self.types[result.number])]))
        arguments: list[Word | _Memory] = [*inputs, *results, *tail]
        self.rows.append((address, len(arguments), arguments))
        self.note = max(self.note, known.note.size)
        return tuple(results) if known.is_tuple else results[0]

    def _operator(self, step: Step, known: Repeat) -> Source | None:
        sources = [self._source(slot) for slot in step.at.args]
        if type(step.function) is not np.ufunc or len(sources) != 2 or _is_large((known.shape, known.dtype)):
            return None
        shapes = known.operands[::2]
        sizes = [prod(shape) if type(shape) is tuple else 0 for shape in shapes]
        if any(size != 1 and shape != known.shape for size, shape in zip(sizes, shapes, strict=True)):
            return None
        from relax_explorer.core.exec.tape_code import arithmetic

        elements = prod(known.shape)
        name, dtype = step.function.__name__, f"{known.dtype.kind}{known.dtype.itemsize}"
        address = arithmetic(name, dtype, (int(sizes[0] == elements), int(sizes[1] == elements)))
        if address is None:
            return None
        result = self._result((known.shape, known.dtype))
        self.rows.append((address, 4, [result, *sources, elements]))  # type: ignore[list-item]  # arrays, by their shapes
        return result

    def _result(self, of: Type) -> Made:
        self.types.append(of)
        self.born.append(self.steps)
        self.bytes += _size(of)
        return Made(len(self.types) - 1)

    def tape(self, steps: Sequence[Step]) -> Tape:
        """The tape of all recorded steps."""
        from relax_explorer.core.exec.tape_code import FILL, WIDTH

        kept = set(_results(tuple(self.registers.values())))
        shelf = self._shelf(kept)
        words = np.zeros(len(self.rows) * WIDTH, np.int64)
        objects: dict[Given | Made, list[int]] = {}
        memory: dict[Made, list[int]] = {}
        for number, (address, count, arguments) in enumerate(self.rows):
            if count == FILL and isinstance(arguments[0], _Memory) and arguments[0].of in kept:
                arguments = [0, 0]  # a new array is clear
            words[number * WIDTH : number * WIDTH + 2] = address, count
            for at, argument in enumerate(arguments, number * WIDTH + 2):
                if isinstance(argument, int):
                    words[at] = argument
                elif isinstance(argument, _Memory):
                    memory.setdefault(argument.of, []).append(at)
                else:
                    objects.setdefault(argument, []).append(at)
        scratch = []
        for of, residents in shelf:
            names = [at for result in residents for at in objects.get(result, ())]
            starts = [at for result in residents for at in memory.get(result, ())]
            scratch.append((of, np.array(names, np.intp), np.array(starts, np.intp)))
        return Tape(
            len(steps), steps[-1].pc, len(self.rows), words, self.note,
            [(source.slot, np.array(at, np.intp)) for source, at in objects.items() if type(source) is Given],
            [(result, self.types[result.number], np.array(objects.get(result, ()), np.intp)) for result in sorted(kept, key=_number)],
            scratch, self.registers, list(dict.fromkeys(self.dead)),
        )  # fmt: skip

    def _shelf(self, kept: set[Made]) -> list[tuple[Type, list[Made]]]:
        """Arrays for the results that are not kept. Results of one type share an array if one ends before the other begins."""
        shelf: list[tuple[Type, list[Made]]] = []
        for number, of in enumerate(self.types):
            result = Made(number)
            if result in kept:
                continue
            for other, residents in shelf:
                if other == of and self.died[residents[-1]] < self.born[number]:
                    residents.append(result)
                    break
            else:
                shelf.append((of, [result]))
        return shelf


def _number(result: Made) -> int:
    return result.number


def _results(source: Source) -> Iterator[Made]:
    """The results in a source."""
    if type(source) is Made:
        yield source
    elif type(source) is tuple:
        for part in source:
            yield from _results(part)


def _parts(source: Source) -> list[Source]:
    """The arguments that a kernel gets for an operand: a shape is replaced by its lengths."""
    if type(source) is Known and isinstance(source.value, Shape):
        return [Known(length) for length in source.value]
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
    return prod(of[0]) * of[1].itemsize


def _is_large(of: Type) -> bool:
    return _size(of) > LARGEST
