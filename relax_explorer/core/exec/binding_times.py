"""The times of the bindings of a run: measured without recording, kernels compiled apart."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from relax_explorer.core.exec.engine import engine
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.values import bytes_of
from relax_explorer.core.ir import expr as e


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
