"""Traces: calls that passed their checks before, run one after the other without. What comes from outside is checked once, at the start.

The calls follow each other without branches, so inside a trace the types of all values are known: they depend on the types of the
values from outside, and on the values of shape variables. If a call gives anything else, or fails, the machine goes on at that call
with all checks, and no trace has it again. Stepping never uses traces.

Neighbouring steps run at once where that is faster: small calls by machine code without Python between them (`trace_rows`), large
element-wise operators by blocks of rows (`trace_blocks`). Where such a part can't run, nothing was done, and its steps run one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.known_call import (
    Computed,
    Known,
    KnownCall,
    KnownOperator,
    KnownTuple,
    Rule,
    Step,
)
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.trace_blocks import blocks
from relax_explorer.core.exec.trace_rows import rows
from relax_explorer.core.exec.values import Types, Value, types_of
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.core.ops.kit.element_loops import compiling

FEWEST = 4  # calls; a shorter trace is not worth its checks
RUNS_BEFORE = 2  # rows take as long to make as some runs
MOST = 256  # instructions: what one call costs that ends a trace the first time
LONGEST = 4096  # instructions of a trace that ran to its end before


class Part(Protocol):
    """Some steps that run at once."""

    @property
    def length(self) -> int:
        """The number of steps."""

    def run(self, machine: Running, frame: Frame) -> bool:
        """Do all steps. False if that can't be done so; then nothing was done."""


@dataclass(slots=True, eq=False)
class Trace:
    """Steps, and what they rely on: types of values from outside, values of shape variables, kernels of the module."""

    steps: list[Step] = field(default_factory=list)
    outside: dict[int, Any] = field(default_factory=dict)
    lengths: dict[p.PrimVar, int | None] = field(default_factory=dict)
    kernels: dict[str, KnownCall] = field(default_factory=dict)
    parts: dict[int, Part] = field(default_factory=dict)  # by the number of their first step
    runs: int = 0  # to the end
    is_cut: bool = False  # after MOST instructions

    def fits(self, machine: Running, frame: Frame) -> bool:
        """True if a frame and a module have what the steps rely on."""
        registers, dims, functions = frame.registers, frame.dims, machine.module.functions
        for slot, types in self.outside.items():
            value = registers[slot]
            found = (value.shape, value.dtype) if type(value) is np.ndarray else types_of((value,))
            if found != types:
                return False
        return all([dims.get(var) == length for var, length in self.lengths.items()]) and all(
            [known.is_of(functions.get(name), machine) for name, known in self.kernels.items()]
        )

    def run(self, machine: Running, frame: Frame) -> bool:
        """Do all steps, up to one that needs its checks. False if the first one does."""
        start, interrupt, registers = frame.pc, machine.interrupt, frame.registers
        steps, parts, number = self.steps, self.parts, 0
        try:
            with np.errstate(all="ignore"), compiling(machine.kernels.loops):
                while number < len(steps):
                    if interrupt.is_cancelled:
                        return True
                    if number in parts and parts[number].run(machine, frame):
                        number += parts[number].length
                        continue
                    step = steps[number]
                    if not step.run(registers, interrupt):
                        self._end(number)
                        return number > 0
                    for slot in step.at.dead:
                        registers[slot] = None
                    number += 1
        finally:
            frame.pc = start + number
        self.runs += 1
        if self.runs == RUNS_BEFORE and not self.is_cut:
            parts.update(rows(steps, machine, frame))
        return True

    def _end(self, number: int) -> None:
        """Leave out the step of this number and all after it: it gave another type, or failed."""
        self.steps[number].at.trace = ENDS
        del self.steps[number:]
        self._divide()

    def _divide(self) -> None:
        self.runs, self.parts = 0, {**blocks(self.steps)}


NONE = Trace()  # at a call whose trace would be too short
ENDS = Trace()  # at a call that gave another type, or failed


def run_trace(machine: Running, frame: Frame, rules: Mapping[str, Rule]) -> bool:
    """Run calls that passed their checks before, from the program counter on. False if there are none; nothing was done."""
    first = frame.plan.code[frame.pc]
    trace = first.trace
    if frame.has_ended:
        return False
    if trace is None:
        if not _fits(frame, first):
            first.known = None  # nobody asks it again: other calls know these types, or the call is checked
            return False
        trace = first.trace = _Builder(machine, frame, rules).build(MOST)
    elif trace.is_cut and trace.runs == RUNS_BEFORE:  # what follows passed its checks, too
        trace = first.trace = _Builder(machine, frame, rules).build(LONGEST)
    if trace is None or trace is NONE or trace is ENDS:
        return False
    if not trace.fits(machine, frame):
        first.trace = None  # a new one, when the calls have been checked with these types
        return False
    return bool(trace.run(machine, frame))


def _fits(frame: Frame, at: Instruction) -> bool:
    """True if what is known of a call holds for its operands."""
    slots = at.args[1:] if isinstance(at.known, KnownCall) else at.args
    fits: bool = at.known.fits(types_of([frame.registers[slot] for slot in slots]), frame.dims)
    return fits


class _Builder:
    """Follows the types of values from the program counter on, as far as they are known."""

    def __init__(self, machine: Running, frame: Frame, rules: Mapping[str, Rule]) -> None:
        self.machine, self.frame, self.rules = machine, frame, rules
        self.trace = Trace()
        self.inside: dict[int, Types] = {}  # types of the registers that the trace fills

    def build(self, most: int) -> Trace | None:
        """The trace, of this length at most; NONE if it is too short. None if the first call was checked with other types."""
        start, trace = self.frame.pc, self.trace
        call = 0, 0, 0  # steps, values from outside, and lengths at the latest call
        for at in self.frame.plan.code[start : start + most]:
            step = self._call(at) if at.kind == "op" else self._between(at)
            if step is None or at.trace is ENDS:
                if at.kind == "op":  # what prepares it relies on its types, which may be others in each run
                    self._cut(*call)
                break
            trace.steps.append(step)
            if step.known is not None:
                call = len(trace.steps), len(trace.outside), len(trace.lengths)
        trace.is_cut = len(trace.steps) == most < LONGEST
        if not trace.steps:
            return None
        trace._divide()
        calls = sum([step.known is not None for step in trace.steps])
        return trace if calls >= FEWEST or trace.parts else NONE

    def _cut(self, steps: int, outside: int, lengths: int) -> None:
        """Leave out the steps after the first ones, and what they rely on."""
        trace = self.trace
        del trace.steps[steps:]
        trace.outside = dict(islice(trace.outside.items(), outside))
        trace.lengths = dict(islice(trace.lengths.items(), lengths))

    def _types(self, slot: int) -> Types | None:
        """The types of a register, as `types_of` gives them. A value from outside is checked at the start of each run."""
        if slot in self.inside:
            return self.inside[slot]
        value = self.frame.registers[slot]
        types = types_of((value,))
        if types is not None and value is not self.frame.plan.registers[slot]:
            self.trace.outside[slot] = types
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

    def _between(self, at: Instruction) -> Step | None:
        """An instruction between calls."""
        types: Types | None = None
        if at.kind == "tuple":
            flat = self._flat(at.args)
            types, value = None if flat is None else (flat,), _applied(_tuple, at.args)
        elif at.kind == "move":
            types, value = self._types(at.args[0]), _applied(_same, at.args)
        elif at.kind == "item":
            fields, index = _fields(self._types(at.args[0])), at.node.index
            types, value = (
                fields[index] if index < len(fields) else None,
                _applied(itemgetter(index), at.args),
            )
        elif at.kind in ("shape", "scalar") and self._is_known(at):
            constant = self.frame.registers[at.target]
            types, value = types_of((constant,)), lambda registers, interrupt: constant
        if types is None:
            return None
        self.inside[at.target] = types
        return Step(at, value)

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
        self.trace.lengths.update({var: dims[var] for var in variables})
        return True

    def _call(self, at: Instruction) -> Step | None:
        """A call that passed its checks with operands of these types."""
        known = at.known
        if not isinstance(known, Known):
            return None
        operands = at.args[1:] if isinstance(known, KnownCall) else at.args
        if not known.fits(self._flat(operands), self.frame.dims):
            return None
        self.trace.lengths.update(zip(known.dims, known.lengths, strict=True))
        if isinstance(known, KnownCall):
            return self._kernel(at, known)
        if type(known) is KnownTuple:
            self.inside[at.target] = (tuple([item for type_ in known.types for item in type_]),)
            return Step(at, _checked(known, _applied(known.function, at.args)), known)
        assert type(known) is KnownOperator
        self.inside[at.target] = known.type
        ufunc = known.ufunc if known.type[0] and not known.is_large else None  # of rank 0, it makes a scalar
        if ufunc is not None:
            return Step(at, _applied(ufunc, at.args), known)
        return Step(at, _checked(known, _applied(known.function, at.args)), known)

    def _kernel(self, at: Instruction, known: KnownCall) -> Step | None:
        if known.engine != self.machine.kernels.engine:
            return None
        self.trace.kernels[self.frame.registers[at.args[0]].name] = known
        results = tuple([item for type_ in known.types for item in type_])
        self.inside[at.target] = (results,) if known.is_tuple else results
        given, value = at.args[1], known.value
        return Step(at, lambda registers, interrupt: value(registers[given], interrupt), known)


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


# -- values of steps ----------------------------------------------------------------------------------------------------------


def _same(value: Value) -> Value:
    return value


def _tuple(*values: Value) -> Value:
    return values


def _applied(function: Callable[..., Value], slots: tuple[int, ...]) -> Computed:
    """`function` of the values of some registers."""
    if len(slots) == 1:
        (only,) = slots
        return lambda registers, interrupt: function(registers[only])
    if len(slots) == 2:
        first, second = slots
        return lambda registers, interrupt: function(registers[first], registers[second])
    if not slots:
        return lambda registers, interrupt: function()
    operands = itemgetter(*slots)  # in C
    return lambda registers, interrupt: function(*operands(registers))


def _checked(known: KnownOperator | KnownTuple, computed: Computed) -> Computed:
    """The value of an operator if it has the types that are known, or else None."""
    is_expected = known.is_expected

    def value(registers: list[Value], interrupt: Interrupt) -> Value:
        found = computed(registers, interrupt)
        return found if is_expected(found) else None

    return value
