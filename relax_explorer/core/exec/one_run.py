"""Runs a function of a module from its arguments to its result: `relax_explorer.run`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

import numpy as np

from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.exec.engine import engine
from relax_explorer.core.exec.function_values import returned
from relax_explorer.core.exec.kernels import LLVM
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.values import Value, bytes_of, to_python
from relax_explorer.core.expected import expect
from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule


def run(
    module: IRModule,
    function: str = "main",
    args: Sequence[Value] = (),
    cache: Path | None = None,
    check_annotations: bool = False,
    private: bool = False,
    engine: str = LLVM,
    fused: bool = True,
) -> Value:
    """The result of calling `function` with numpy arrays, tuples (shapes, tuples) and numbers.

    Lists and numbers of Python take the dtype of their parameter: integers and bool must have the number (2.0 is 2, 1.5 is
    refused), floats round to the next one. Returns a numpy array, a tuple, a tuple of int for a shape, or a function that can
    be called. Raises Failure if the program is invalid or traps. `cache` is a directory for compiled kernels.
    `check_annotations` checks every value against the annotation of its binding. Private functions are refused, unless
    `private` is True. `engine` compiles PrimFuncs: `llvm`, `numba`, or `reference` (they run statement by statement instead). Neighbouring
    bindings run together, unless `fused` is False.

    >>> x, w, b = np.ones((2, 3), "float32"), np.ones((3, 4), "float32"), np.ones(4, "float32")
    >>> rxe.run(module, "main", [x, w, b])[0]
    array([4., 4., 4., 4.], dtype=float32)
    """
    expect(module, IRModule, "run takes a module, then the name of a function, then its arguments")
    expect(args, (list, tuple), "the arguments of a run stand in a list", "write run(module, 'main', [x, y])")
    machine = Machine(
        normal_form_of(module),
        function,
        args,
        cache=cache,
        check_annotations=check_annotations,
        private=private,
        engine=engine,
        fused=fused,
    )
    return to_python(returned(machine, function, machine.run()))


# -- times of bindings -----------------------------------------------------------------------------------------------
# The times of the bindings of a run: measured without recording, kernels compiled apart.


@dataclass(slots=True)
class BindingTime:
    """The measurements of one binding, summed over its runs. `size` are the bytes of its values.

    `seconds` leave out what happens inside of a function that it calls; `inclusive` holds it too.
    """

    function: str
    binding: e.Binding
    engine: str
    runs: int = 0
    seconds: float = 0.0
    compiling: float = 0.0
    size: int = 0
    inclusive: float = 0.0


@dataclass(slots=True)
class BindingTimes:
    """The measurements of a run."""

    rows: dict[e.Binding, BindingTime] = field(default_factory=dict)
    other: float = 0.0  # returning from the outermost function

    def run(self, machine: Machine) -> None:
        """Run a machine to the end, and measure each step."""
        while not machine.done:
            self._step(machine)

    @property
    def total(self) -> float:
        """The seconds of the run, without compiling."""
        return sum([row.seconds for row in self.rows.values()]) + self.other

    def _step(self, machine: Machine) -> None:
        """One measured step. Entering and leaving a function counts for its call."""
        callers = {frame.made_by for frame in machine.frames}
        compiled, function, start = machine.kernels.compiling, machine.frame.name, time.perf_counter()
        event = machine.step()
        seconds, compiling = time.perf_counter() - start, machine.kernels.compiling - compiled
        binding = event.binding
        for caller in callers - {binding, None}:
            if caller in self.rows:
                self.rows[caller].inclusive += seconds - compiling
        if binding is None:
            self.other += seconds
            return
        if event.kind == "return":
            function = machine.frame.name
        row = self.rows.get(binding)
        if row is None:
            row = self.rows[binding] = BindingTime(
                function, binding, engine(machine.module, binding, machine.kernels)
            )
        row.seconds += seconds - compiling
        row.inclusive += seconds - compiling
        row.compiling += compiling
        if event.kind != "enter":
            row.runs += 1
            row.size += bytes_of(event.value)


WARM_RUNS = 5
WARM_SECONDS = 2.0  # of warm runs; at least one is made, however long it takes


def warm_times(machine: Callable[[], Machine]) -> BindingTimes:
    """The medians of the times of each binding over warm runs: kernels are compiled and memory is touched in a first one.

    `machine` makes the machine of a run, each time with inputs that no run has overwritten.
    """
    cold = BindingTimes()
    cold.run(machine())
    runs: list[BindingTimes] = []
    while not runs or (len(runs) < WARM_RUNS and sum([times.total for times in runs]) < WARM_SECONDS):
        times = BindingTimes()
        times.run(machine())
        runs.append(times)
    return _medians(cold, runs)


def copied(value: Value) -> Value:
    """An argument for another run, which may overwrite it: arrays are copied, and objects with a state, whose states never change."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Stateful):
        return copy(value)
    return tuple(map(copied, value)) if type(value) is tuple else value


def _medians(cold: BindingTimes, runs: Sequence[BindingTimes]) -> BindingTimes:
    found = BindingTimes(other=median([times.other for times in runs]))
    for binding, row in runs[-1].rows.items():
        rows = [times.rows[binding] for times in runs if binding in times.rows]
        first = cold.rows.get(binding)
        found.rows[binding] = replace(
            row,
            seconds=median([item.seconds for item in rows]),
            inclusive=median([item.inclusive for item in rows]),
            compiling=row.compiling if first is None else first.compiling,
        )
    return found
