"""Runs again, to tell rounding from faults: with every narrow float in float64 (`exec.widening`), and with results moved up or down at random."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Cancelled, Interrupt
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.one_run import copied
from relax_explorer.core.exec.values import Value
from relax_explorer.core.exec.widening import NotWidened, Wide, Widening, wide_value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import operands
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.call_program import CallProgram
from relax_explorer.core.session.difference import distance, is_float, leaves_of, same_bits
from relax_explorer.core.session.recording import (
    Arguments,
    MachineFactory,
    Recording,
    finished_on,
    next_binding,
    recorded_on,
)
from relax_explorer.core.tir.stmt import PrimFunc, SBlock
from relax_explorer.core.tir.traverse import statements


@dataclass(frozen=True, slots=True)
class NoShadow:
    """Why there is no shadow run, as a part of a sentence."""

    reason: str


class Shadows:
    """Makes shadows of modules, and runs them. If there is none, the result is a NoShadow with the reason."""

    def __init__(self, cache: Path | None = None, interrupt: Interrupt | None = None) -> None:
        self._cache, self._interrupt = cache, interrupt
        self._widening = Widening()
        self._known: dict[tuple[int, str], tuple[IRModule, Wide | NoShadow]] = {}
        self._wide: tuple[Sequence[Value], Arguments] | None = None

    def of(self, module: IRModule, function: str) -> Wide | NoShadow:
        """The shadow of a module."""
        key = id(module), function
        if key not in self._known:
            self._known[key] = module, self._widened(module, function)
        return self._known[key][1]

    def _widened(self, module: IRModule, function: str) -> Wide | NoShadow:
        try:
            return self._widening.module(normal_form_of(module), function)
        except NotWidened as problem:
            return NoShadow(str(problem))
        except Cancelled:
            raise
        except Failure as failure:
            return NoShadow(failure.diagnostics[0].message)
        except MemoryError:
            return NoShadow("its constants do not fit into memory in float64")

    def finished(
        self, module: IRModule, function: str, args: Sequence[Value], program: CallProgram | None = None
    ) -> Recording | NoShadow:
        """The results of a shadow run."""
        return self._run(finished_on, module, function, args, program)

    def recorded(
        self, module: IRModule, function: str, args: Sequence[Value], program: CallProgram | None = None
    ) -> Recording | NoShadow:
        """A recorded shadow run. Its productions name the bindings of the program."""
        return self._run(recorded_on, module, function, args, program)

    def _run(
        self, how: Callable[[MachineFactory, Arguments], Recording], module: IRModule, function: str, args: Sequence[Value],
        program: CallProgram | None,
    ) -> Recording | NoShadow:  # fmt: skip
        shadow = self.of(module, function)
        if isinstance(shadow, NoShadow):
            return shadow
        try:
            run = how(self.machine_factory(shadow, function, program), self._arguments(args))
        except NotWidened as problem:
            return NoShadow(str(problem))
        except MemoryError:
            return NoShadow("its values do not fit into memory in float64")
        origins = shadow.origins
        run.productions = [
            replace(item, binding=origins.get(item.binding, item.binding)) for item in run.productions
        ]
        return run if run.failure is None else _stopped(run.failure)

    def _arguments(self, args: Sequence[Value]) -> Arguments:
        """The arguments in float64. Those of the latest run are known."""
        if self._wide is None or self._wide[0] is not args:
            self._wide = None  # free the memory first
            self._wide = args, Arguments(wide_value(tuple(args)))
        return self._wide[1]

    def machine_factory(
        self, shadow: Wide, function: str, program: CallProgram | None = None
    ) -> MachineFactory:
        """Makes machines that run a shadow."""

        def make(arguments: tuple[Value, ...]) -> Machine:
            return Machine(
                shadow.module, function, arguments, cache=self._cache, interrupt=self._interrupt, private=True,
                storage_factor=shadow.storage_factor,
            )  # fmt: skip

        return MachineFactory(make, program)


def _stopped(failure: Diagnostic) -> NoShadow:
    return NoShadow(f"its run in float64 stops: {failure.message}")


# -- random rounding -------------------------------------------------------------------------------------------------
# Random rounding: runs of one program whose results are moved up or down at random, as rounding would move them.
#
# The spread of their results is what rounding alone explains (Monte Carlo arithmetic: Parker 1997; CADNA;
# Verificarlo). Each value that a binding computed moves by about one unit in the last place. What only moves or
# selects elements is exact and stays. An operation that adds up `n` terms gives each operand √n units too, so that a
# sum that cancels spreads by the size of its terms.


RUNS = 4
"""Runs of one program."""
ALLOWANCE = 8.0
"""How many times the spread of a few runs two right programs may be apart."""
_ADDING = frozenset(
    ("attention", "attention_var_len", "batch_norm", "conv", "conv_transpose", "einsum", "linalg", "loss", "norm",
     "pool", "adaptive_pool", "reduction", "scan", "softmax")
)  # fmt: skip
Results = tuple[Value, ...]
"""The parts of a result, then the arguments after the run."""


def rounded_runs(
    make: MachineFactory, args: Sequence[Value], unit: float, count: int = RUNS
) -> list[Results]:
    """The results of `count` runs with random rounding to `unit`, relative to each value. Runs that stop are left out."""
    found = [_Rounding(make, args, unit, seed).run() for seed in range(count)]
    return [results for results in found if results is not None]


@dataclass(frozen=True, slots=True)
class Moment:
    """One evaluation in a run: the `times`-th one of a binding, counted from 0. `origins` maps bindings of the run to the given one."""

    binding: e.Binding
    times: int
    origins: Mapping[e.Binding, e.Binding]


def rounded_value(make: MachineFactory, args: Sequence[Value], unit: float, at: Moment) -> list[Value]:
    """The values that one evaluation makes if only its operands are moved by `unit`, a few times. Runs end there.

    Empty if it is the call of a function, whose value has no operands.
    """
    found = [_Rounding(make, args, unit, seed).value_at(at) for seed in range(RUNS)]
    return [value for value in found if value is not None]


def spread(base: Array, others: Sequence[Array]) -> Array:
    """How far rounding moves each element of a float64 array; at least as far as it moves its row on average."""
    if not others:
        return np.zeros_like(base)
    most = np.max([distance(base, other) for other in others], axis=0)
    finite = np.where(np.isfinite(most), most, 0.0)
    row = np.sqrt(np.mean(np.square(finite), axis=-1, keepdims=True)) if most.ndim else finite
    found: Array = np.maximum(most, row)
    return found


def moved(base: Array, others: Sequence[Array]) -> Array:
    """The elements of an array of integers that rounding changes."""
    return np.any([base != other for other in others], axis=0) if others else np.zeros(base.shape, bool)


class _Rounding:
    """One run."""

    def __init__(self, make: MachineFactory, args: Sequence[Value], unit: float, seed: int) -> None:
        self.arguments = copied(tuple(args))
        self.make, self.unit = make, unit
        self.moves_all = 0  # 1 if the operands of each operation move
        self.random = np.random.default_rng(seed)

    def run(self) -> Results | None:
        """The results; None if the program stopped."""
        try:
            machine = self.make(self.arguments)
            while not machine.done:
                self._step(machine)
        except Cancelled:
            raise
        except (Failure, MemoryError):
            return None
        return (*[value for _, value in self.make.results(machine)], *self.arguments)

    def value_at(self, at: Moment) -> Value | None:
        """The value of one evaluation, with its operands moved."""
        self.moves_all = 1
        try:
            return self._value_at(self.make(self.arguments), at)
        except Cancelled:
            raise
        except (Failure, MemoryError):
            return None

    def _value_at(self, machine: Machine, at: Moment) -> Value | None:
        times = 0
        while not machine.done:
            binding = next_binding(machine.frames[-1])
            if binding is not None and at.origins.get(binding) is at.binding:
                if times == at.times:
                    made = self._step(machine)
                    return None if not made else made[0] if len(made) == 1 else tuple(made)
                times += 1
            machine.step()
        return None

    def _step(self, machine: Machine) -> list[Array]:
        """Run one step; the arrays that it made or filled."""
        frame, binding = machine.frames[-1], next_binding(machine.frames[-1])
        if binding is None or type(binding.value) is not e.Call:
            machine.step()
            return []
        known = {slot: frame.registers[slot] for slot in _slots(frame, binding.value)}
        terms = _terms(machine, binding.value, known.values())
        if machine.is_mutable:  # a kernel may write into its operands
            return self._write(machine, list(known.values()), math.sqrt(max(1, terms)))
        return self._compute(machine, frame, known, math.sqrt(max(terms, self.moves_all)))

    def _compute(self, machine: Machine, frame: Frame, known: dict[int, Value], size: float) -> list[Array]:
        """A step whose operands nobody overwrites."""
        shaken = {slot: self._shaken(value, size) for slot, value in known.items()} if size else known
        for slot, value in shaken.items():
            frame.registers[slot] = value
        event = machine.step()
        for slot, value in known.items():
            if frame.registers[slot] is not None:  # it is still used
                frame.registers[slot] = value
        if event.kind != "bind":
            return []
        made, exact = list(_arrays(event.value)), list(_arrays(tuple(known.values())))
        if size:
            for array in made:
                _restore(array, list(_arrays(tuple(shaken.values()))), exact)
        self._move_all(made, exact, max(1.0, size))
        return made

    def _write(self, machine: Machine, known: Sequence[Value], size: float) -> list[Array]:
        """A step that may fill some of its operands."""
        exact = list(_arrays(tuple(known)))
        before = [array.copy() for array in exact]
        event = machine.step()
        if event.kind != "bind":
            return []
        filled = [array for array, old in zip(exact, before, strict=True) if not same_bits(array, old)]
        made = [array for array in _arrays(event.value) if not any(array is other for other in exact)]
        self._move_all([*filled, *made], before, size)
        return [*filled, *made]

    def _move_all(self, arrays: Iterable[Array], exact: Sequence[Array], size: float) -> None:
        for array in arrays:
            if not any(array is other for other in exact):
                self._move(array, exact, size)

    def _shaken(self, value: Value, size: float) -> Value:
        if isinstance(value, np.ndarray) and is_float(value.dtype):
            return self._rounded(value, size)
        return tuple([self._shaken(item, size) for item in value]) if type(value) is tuple else value

    def _move(self, array: Array, exact: Sequence[Array], size: float) -> None:
        """Round the elements of a result that no operand has."""
        if not is_float(array.dtype) or not array.flags.writeable or not array.size:
            return
        known = [np.abs(other.astype(np.float64)).reshape(-1) for other in exact if is_float(other.dtype)]
        numbers = np.abs(array.astype(np.float64))
        if not known or bool(np.isin(numbers, np.concatenate([*known, np.zeros(1)])).all()):
            return  # what is made of integers is exact, too
        array[...] = self._rounded(array, size)

    def _rounded(self, array: Array, size: float) -> Array:
        signs = self.random.choice((-1.0, 1.0), array.shape)
        with np.errstate(all="ignore"):
            factors = 1.0 + 2 * self.unit * size * signs
            found: Array = np.asarray(array.astype(np.float64) * factors).astype(array.dtype)
            return found


def _restore(array: Array, shaken: Sequence[Array], exact: Sequence[Array]) -> None:
    """Give a selection of moved elements, such as their maximum, the elements before they moved."""
    pairs = [(a, b) for a, b in zip(shaken, exact, strict=True) if a.dtype == array.dtype and a.size]
    if not pairs or not array.size or not array.flags.writeable or not is_float(array.dtype):
        return
    moved_ones, before = (
        np.concatenate([x.reshape(-1).astype(np.float64) for x in side]) for side in zip(*pairs, strict=True)
    )
    order = np.argsort(moved_ones)
    wanted = array.astype(np.float64)
    places = order[np.minimum(np.searchsorted(moved_ones, wanted, sorter=order), len(order) - 1)]
    if bool((moved_ones[places] == wanted).all()):
        array[...] = before[places].astype(array.dtype)


def _slots(frame: Frame, call: e.Call) -> list[int]:
    """The registers of the variables among the operands of a call, also in tuples."""
    found: dict[int, None] = {}
    stack: list[e.Expr] = list(call.args)
    while stack:
        part = stack.pop()
        if isinstance(part, e.Var):
            if part in frame.plan.slots:
                found[frame.plan.slots[part]] = None
        else:
            stack.extend(operands(part))
    return list(found)


def _arrays(value: Value) -> Iterator[Array]:
    for part in leaves_of(value):
        if isinstance(part, np.ndarray):
            yield part


def _terms(machine: Machine, call: e.Call, values: Iterable[Value]) -> int:
    """About how many terms an operation adds up; 0 if it adds up none."""
    name = getattr(call.op, "name", "")
    callee = call.args[0] if call.args else None
    if type(call.op) is e.GlobalVar or type(callee) is e.GlobalVar:
        kernel = machine.module.functions.get(
            name if type(call.op) is e.GlobalVar else getattr(callee, "name", "")
        )
        adds = type(kernel) is PrimFunc and _reduces(kernel)
    else:
        op = find(name)
        adds = op is not None and op.__module__.rpartition(".")[2] in _ADDING
    if not adds:
        return 0
    lengths = [length for value in values for part in _arrays(value) for length in (*part.shape, _rest(part))]
    return max(lengths, default=1)


def _rest(array: Array) -> int:
    """The elements behind the first axis: the terms of a convolution, and of a sum over all other axes."""
    return int(array.size // max(1, array.shape[0])) if array.ndim and array.ndim > 2 else 1


def _reduces(fn: PrimFunc) -> bool:
    return any(
        type(node) is SBlock and any(axis.kind == "reduce" for axis in node.iter_vars)
        for node in statements(fn.body)
    )
