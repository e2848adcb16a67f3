"""When each binding of a run began, and how long it took: what a viewer of traces shows."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from relax_explorer.core.exec.engine import engine
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.values import bytes_of
from relax_explorer.core.ir import expr as e
from relax_explorer.core.tir.stmt import PrimFunc


@dataclass(slots=True)
class Stretch:
    """One binding in time: seconds since the run began. A call of a function holds the bindings inside of it."""

    function: str
    binding: e.Binding
    engine: str
    kernel: str  # the PrimFunc that it calls; empty if it calls none
    start: float
    seconds: float = 0.0
    compiling: float = 0.0
    size: int = 0


@dataclass(slots=True)
class Timeline:
    """The bindings of a run in the order in which they began."""

    stretches: list[Stretch] = field(default_factory=list)
    _open: list[Stretch | None] = field(default_factory=list)

    def run(self, machine: Machine) -> None:
        """Run a machine to the end, and note each step. What is open when the program stops ends there."""
        began = time.perf_counter()
        try:
            while not machine.done:
                self._step(machine, began)
        finally:
            for stretch in filter(None, self._open):
                stretch.seconds = time.perf_counter() - began - stretch.start

    def _step(self, machine: Machine, began: float) -> None:
        function, compiled = machine.frame.name, machine.kernels.compiling
        start = time.perf_counter() - began
        event = machine.step()
        end = time.perf_counter() - began
        binding = event.binding
        if event.kind == "return":
            self._close(end, bytes_of(event.value))
            return
        stretch = None
        if binding is not None:
            by, kernel = engine(machine.module, binding, machine.kernels), _kernel_of(machine, binding)
            stretch = Stretch(function, binding, by, kernel, start)
            stretch.compiling = machine.kernels.compiling - compiled
            self.stretches.append(stretch)
        if event.kind == "enter":
            self._open.append(stretch)
        elif stretch is not None:
            stretch.seconds, stretch.size = end - start, bytes_of(event.value)

    def _close(self, end: float, size: int) -> None:
        """End the innermost call."""
        stretch = self._open.pop() if self._open else None
        if stretch is not None:
            stretch.seconds, stretch.size = end - stretch.start, size


def _kernel_of(machine: Machine, binding: e.Binding) -> str:
    """The name of the PrimFunc that a binding calls, by itself or by `call_tir` and the like."""
    value = binding.value
    if type(value) is not e.Call:
        return ""
    callee = value.op if type(value.op) is e.GlobalVar else next(iter(value.args), None)
    is_kernel = type(callee) is e.GlobalVar and isinstance(
        machine.module.functions.get(callee.name), PrimFunc
    )
    return callee.name if is_kernel and type(callee) is e.GlobalVar else ""
