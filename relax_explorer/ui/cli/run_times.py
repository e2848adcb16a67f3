"""The times of the bindings of a run: measured without recording, kernels compiled apart."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relax_explorer.core.exec.engine import engine
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.ir import expr as e
from relax_explorer.ui.cli import output


@dataclass(slots=True)
class _Row:
    """The measurements of one binding, summed over its runs. `size` are the bytes of its values."""

    function: str
    binding: e.Binding
    engine: str
    runs: int = 0
    seconds: float = 0.0
    compiling: float = 0.0
    size: int = 0


@dataclass(slots=True)
class Times:
    """The measurements of a run."""

    rows: dict[e.Binding, _Row] = field(default_factory=dict)
    other: float = 0.0  # returning from the outermost function

    def run(self, machine: Machine) -> None:
        """Run a machine to the end, and measure each step."""
        while not machine.done:
            self._step(machine)

    def _step(self, machine: Machine) -> None:
        """One measured step. Entering and leaving a function counts for its call."""
        compiled, function, start = machine.kernels.compiling, machine.frame.name, time.perf_counter()
        event = machine.step()
        seconds, compiling = time.perf_counter() - start, machine.kernels.compiling - compiled
        binding = event.binding
        if binding is None:
            self.other += seconds
            return
        if event.kind == "return":
            function = machine.frame.name
        row = self.rows.get(binding)
        if row is None:
            row = self.rows[binding] = _Row(
                function, binding, engine(machine.module, binding, machine.engine)
            )
        row.seconds += seconds - compiling
        row.compiling += compiling
        if event.kind != "enter":
            row.runs += 1
            row.size += _bytes(event.value)

    def report(self, style: str) -> dict[str, Any]:
        """The data for JSON. In text style they are printed as a table instead."""
        rows = sorted(self.rows.values(), key=lambda row: -row.seconds)
        total = sum([row.seconds for row in rows]) + self.other
        if style == "json":
            return {"bindings": [_data(row, total) for row in rows], "seconds": total}
        output.say(
            f"{'ms':>10} {'share':>6} {'runs':>6} {'bytes':>12} {'compile ms':>10}  engine    binding",
            err=True,
        )
        for row in rows:
            share = f"{100 * row.seconds / total:.1f}%" if total else ""
            compiling = f"{row.compiling * 1000:.1f}" if row.compiling else ""
            output.say(
                f"{row.seconds * 1000:10.3f} {share:>6} {row.runs:6} {row.size:12,} {compiling:>10}  {row.engine:9} {_text(row)}",
                err=True,
            )
        compiled = sum([row.compiling for row in rows])
        tail = f", and {compiled * 1000:.1f} ms of compiling" if compiled else ""
        output.say(f"{total * 1000:10.3f} ms in {len(rows)} bindings{tail}", err=True)
        return {}


def _bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(_bytes, value)) if type(value) is tuple else 0


def _operator(binding: e.Binding) -> str:
    value = binding.value
    return getattr(value.op, "name", "") if type(value) is e.Call else type(value).__name__


def _text(row: _Row) -> str:
    name = row.binding.var.name if row.binding.var is not None else "_"
    value = row.binding.value
    callee = (
        value.args[0].name
        if type(value) is e.Call and value.args and isinstance(value.args[0], e.GlobalVar)
        else ""
    )
    return f"{row.function}: {name} = {_operator(row.binding)}{f'({callee})' if callee else ''}"


def _data(row: _Row, total: float) -> dict[str, Any]:
    return {
        "func": row.function,
        "var": row.binding.var.name if row.binding.var is not None else None,
        "op": _operator(row.binding),
        "engine": row.engine,
        "runs": row.runs,
        "ms": round(row.seconds * 1000, 4),
        "compile_ms": round(row.compiling * 1000, 4),
        "share": round(row.seconds / total, 4) if total else 0.0,
        "bytes": row.size,
    }
