"""Runs a stretch of calls that passed their checks before. What comes from outside is checked once, at the start.

The calls follow each other without branches, so inside the stretch the types of all values are known: they depend on the types
of the values from outside, and on the values of shape variables. If a call gives anything else, or fails, the machine goes on
at that call with all checks, and no stretch has it again. Stepping never uses stretches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.groups import run_group
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.repeat import ERRORS, Repeat, Types, plain_ufunc, types_of
from relax_explorer.core.exec.repeat_kernel import KernelRepeat, kernel_results
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.stretch_step import Rule, Step
from relax_explorer.core.exec.tape import Tape
from relax_explorer.core.exec.tape_recorder import tapes
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.core.tir.stmt import PrimFunc

FEWEST = 4  # calls; a shorter stretch is not worth its checks
RUNS_BEFORE = 2  # a tape takes as long to make as some runs
MOST = 256  # instructions: what one call costs that ends a stretch the first time
LONGEST = 4096  # instructions of a stretch that ran to its end before


@dataclass(slots=True, eq=False)
class Stretch:
    """Steps, and what they rely on: types of values from outside, values of shape variables, kernels of the module."""

    steps: list[Step] = field(default_factory=list)
    outside: dict[int, Any] = field(default_factory=dict)
    lengths: dict[p.PrimVar, int | None] = field(default_factory=dict)
    kernels: dict[str, PrimFunc] = field(default_factory=dict)
    runs: int = 0  # to the end
    is_cut: bool = False  # after MOST instructions
    tapes: dict[int, Tape] = field(default_factory=dict)  # by the number of their first step

    def fits(self, machine: Running, frame: Frame) -> bool:
        """True if a frame and a module have what the steps rely on."""
        registers, dims, functions = frame.registers, frame.dims, machine.module.functions
        for slot, types in self.outside.items():
            value = registers[slot]
            found = (value.shape, value.dtype) if type(value) is np.ndarray else types_of((value,))
            if found != types:
                return False
        return all([dims.get(var) == length for var, length in self.lengths.items()]) and all(
            [functions.get(name) is fn for name, fn in self.kernels.items()]
        )


NONE = Stretch()  # at a call whose stretch would be too short
ENDS = Stretch()  # at a call that gave another type, or failed


def run_known(machine: Running, frame: Frame, rules: Mapping[str, Rule]) -> bool:
    """Run several calls that passed their checks before, as a group or a stretch. False if there are none; nothing was done."""
    return run_group(frame, machine.interrupt, machine.kernels.cache) or (
        not frame.has_ended and _run_stretch(machine, frame, rules)
    )


def _run_stretch(machine: Running, frame: Frame, rules: Mapping[str, Rule]) -> bool:
    first = frame.plan.code[frame.pc]
    stretch = first.stretch
    if stretch is None:
        stretch = first.stretch = _Builder(machine, frame, rules).build(MOST)
    elif stretch.is_cut and stretch.runs == RUNS_BEFORE:  # what follows passed its checks, too
        stretch = first.stretch = _Builder(machine, frame, rules).build(LONGEST)
    if stretch is None or stretch is NONE or stretch is ENDS:
        return False
    if not stretch.fits(machine, frame):
        first.stretch = None  # a new one, when the calls have been checked with these types
        return False
    return _steps(stretch, machine, frame)


def _steps(stretch: Stretch, machine: Running, frame: Frame) -> bool:
    """Do all steps of a stretch that fits, up to one that needs its checks. False if the first one does."""
    start, interrupt, registers = frame.pc, machine.interrupt, frame.registers
    steps, tapes_now, number = stretch.steps, stretch.tapes, 0
    with np.errstate(all="ignore"):
        while number < len(steps):
            step = steps[number]
            frame.pc = step.pc
            if interrupt.is_cancelled:
                return True
            tape = tapes_now.get(number) if tapes_now else None
            if tape is not None and tape.play(frame, interrupt):
                frame.pc = tape.last
                number += tape.length
                continue
            if not _done(step, machine, frame):
                step.at.stretch = ENDS
                del steps[number:]
                tapes_now.clear()
                stretch.runs = 0
                return frame.pc > start
            for slot in step.at.dead:
                registers[slot] = None
            number += 1
    stretch.runs += 1
    if stretch.runs == RUNS_BEFORE and not stretch.is_cut:
        stretch.tapes = tapes(steps, machine, frame)
    frame.pc += 1
    return True


def _done(step: Step, machine: Running, frame: Frame) -> bool:
    """Do one step. False if it can't be done without checks; then nothing was done."""
    if step.rule is not None:
        step.rule(machine, frame, step.at)
        return True
    registers = frame.registers
    if step.kernel is not None:
        value = kernel_results(step.kernel, registers[step.at.args[1]], machine.interrupt)
    else:
        try:
            value = step.function(*step.operands(registers))
        except ERRORS:
            return False
        if step.type is not None and (
            type(value) is not np.ndarray or (value.shape, value.dtype) != step.type
        ):
            return False
    if value is None:
        return False
    registers[step.at.target] = value
    return True


class _Builder:
    """Follows the types of values from the program counter on, as far as they are known."""

    def __init__(self, machine: Running, frame: Frame, rules: Mapping[str, Rule]) -> None:
        self.machine, self.frame, self.rules = machine, frame, rules
        self.stretch = Stretch()
        self.inside: dict[int, Types] = {}  # types of the registers that the stretch fills
        self.calls = 0

    def build(self, most: int) -> Stretch | None:
        """The stretch, of this length at most; NONE if it is too short. None if the first call was checked with other types."""
        start = self.frame.pc
        for pc, at in enumerate(self.frame.plan.code[start : start + most], start):
            step = self._call(at, pc) if at.kind == "op" else self._between(at, pc)
            if step is None or at.stretch is ENDS:
                break
            self.stretch.steps.append(step)
        if not self.stretch.steps:
            return None
        self.stretch.is_cut = len(self.stretch.steps) == most < LONGEST
        return self.stretch if self.calls >= FEWEST else NONE

    def _types(self, slot: int) -> Types | None:
        """The types of a register, as `types_of` gives them. A value from outside is checked at the start of each run."""
        if slot in self.inside:
            return self.inside[slot]
        value = self.frame.registers[slot]
        types = types_of((value,))
        if types is not None and value is not self.frame.plan.registers[slot]:
            self.stretch.outside[slot] = types
        return types

    def _flat(self, slots: tuple[int, ...]) -> Types | None:
        """The types of several registers. None if one has no type."""
        flat: list[Any] = []
        for slot in slots:
            types = self._types(slot)
            if types is None:
                return None
            flat += types
        return tuple(flat)

    def _between(self, at: Instruction, pc: int) -> Step | None:
        """An instruction between calls. Its rule does the work."""
        types: Any = None
        if at.kind == "tuple":
            types = self._flat(at.args)
            types = None if types is None else (types,)
        elif at.kind == "move":
            types = self._types(at.args[0])
        elif at.kind == "item":
            fields = _fields(self._types(at.args[0]))
            types = fields[at.node.index] if at.node.index < len(fields) else None
        elif at.kind in ("shape", "scalar") and self._is_known(at):
            types = types_of((self.frame.registers[at.target],))
        if types is None:
            return None
        self.inside[at.target] = types
        return Step(at, pc, rule=self.rules[at.kind])

    def _is_known(self, at: Instruction) -> bool:
        """Compute a shape or a scalar now, to know it. It stays the same as long as the shape variables do."""
        info = at.node.struct_info
        if info is None:  # a program that was not normalized
            return False
        dims, variables = self.frame.dims, info_vars(info)
        try:
            self.rules[at.kind](self.machine, self.frame, at)
        except Failure:
            return False  # the run fails when it comes there
        self.stretch.lengths.update({var: dims[var] for var in variables})
        return True

    def _call(self, at: Instruction, pc: int) -> Step | None:
        """A call that passed its checks with operands of these types."""
        known = at.repeat
        if type(known) is KernelRepeat:
            callee = self.frame.registers[at.args[0]]
            fits = self._flat(at.args[1:]) == known.operands
            results = tuple([item for output in known.outputs for item in output])
            self.inside[at.target] = (results,) if known.is_tuple else results
            step = Step(at, pc, kernel=known)
            if fits:
                self.stretch.kernels[callee.name] = known.fn
        elif type(known) is Repeat and not known.is_large:
            fits = self._flat(at.args) == known.operands
            self.inside[at.target] = of = (known.shape, known.dtype)
            ufunc = plain_ufunc(known) if known.shape else None  # of rank 0, a ufunc makes a scalar
            step = Step(
                at,
                pc,
                function=ufunc or known.function,
                operands=_reader(at.args),
                type=None if ufunc else of,
            )
        else:
            return None
        if not fits or tuple(map(self.frame.dims.get, known.dims)) != known.lengths:
            return None
        self.stretch.lengths.update(zip(known.dims, known.lengths, strict=True))
        self.calls += 1
        return step


def _fields(types: Types | None) -> list[Types]:
    """The types of each field of a tuple: arrays and scalars have two entries, tuples one. Empty for another value."""
    if types is None or len(types) != 1:
        return []
    fields, rest = [], list(types[0])
    while rest:
        entries = 1 if type(rest[0]) is tuple and not (rest[1:] and isinstance(rest[1], np.dtype)) else 2
        fields.append(tuple(rest[:entries]))
        del rest[:entries]
    return fields


def _reader(slots: tuple[int, ...]) -> Callable[[list[Value]], tuple[Value, ...]]:
    """A function from all registers to the values of some."""
    if len(slots) > 1:
        return itemgetter(*slots)  # in C
    return lambda registers: tuple([registers[slot] for slot in slots])
