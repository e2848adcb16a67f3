"""Calls of a stretch that machine code makes by itself, without Python between them.

A stretch that ran before gets tapes: rows with the address of a compiled function and of its arguments. What is read only
inside a tape lies in arrays that the next run uses again; every other result is new in each run. A tape whose function fails
has done nothing that anybody sees: the calls are made one by one, and the one that fails says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.values import Value

Type = tuple[tuple[int, ...], np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Given:
    """The content of a register before the tape."""

    slot: int


@dataclass(frozen=True, slots=True)
class Made:
    """A result of a call of the tape."""

    number: int


@dataclass(frozen=True, slots=True)
class Known:
    """A value that depends on lengths only."""

    value: Value


Source = Given | Made | Known | tuple[Any, ...]  # a tuple has the sources of its fields
Places = np.ndarray[Any, Any]  # the numbers of the words that hold the address of one object


@dataclass(slots=True, eq=False)
class Reel:
    """The words of a tape with the arrays that they name. One run uses it at a time."""

    words: np.ndarray[Any, Any]
    arrays: tuple[Value, ...]
    note: np.ndarray[Any, Any]
    start: int  # the address of the words


@dataclass(slots=True, eq=False)
class Tape:
    """Rows for `length` steps, and where the addresses of objects go that differ from run to run."""

    length: int
    last: int  # the program counter of the last step
    count: int  # rows
    words: np.ndarray[Any, Any]  # of all rows, without addresses of objects
    note: int  # the words of the note
    given: list[tuple[int, Places]]  # registers read before they are written
    new: list[tuple[Made, Type, Places]]  # results that are read later
    scratch: list[tuple[Type, Places, Places]]  # arrays for the others: their objects, their memory
    ends: dict[int, Source]  # registers after the tape
    dead: list[int]  # registers from before that end inside
    reels: list[Reel] = field(default_factory=list)  # those that no run uses

    def play(self, frame: Frame, interrupt: Interrupt) -> bool:
        """Make all calls. False if they can't be made so; then nothing was done."""
        from relax_explorer.core.exec.tape_code import player  # LLVM takes 0.1 s to import

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
        left = player()(reel.start, self.count, id(reel.note), interrupt.address)
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
        words = self.words.copy()
        arrays = []
        for (shape, dtype), objects, memory in self.scratch:
            array = np.zeros(shape, dtype)
            words[objects], words[memory] = id(array), array.ctypes.data
            arrays.append(array)
        return Reel(words, tuple(arrays), np.zeros(self.note, np.int64), words.ctypes.data)


def _value(source: Source, registers: list[Value], made: Mapping[Made, Value]) -> Value:
    if isinstance(source, tuple):
        return tuple([_value(part, registers, made) for part in source])
    if isinstance(source, Made):
        return made[source]
    return registers[source.slot] if isinstance(source, Given) else source.value
