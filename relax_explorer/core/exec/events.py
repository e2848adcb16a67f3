"""The events of a run, and the recorded changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p


@dataclass(slots=True, eq=False)
class Event:
    """One step: `kind` is bind (a binding got its value), enter, return, done or trap.

    `check` tells how the arguments of an entered function were checked: `proved` before the run, or `checked` at this call.
    """

    kind: str
    function: str
    depth: int
    binding: e.Binding | None = None
    value: Value = None
    dims: tuple[tuple[p.PrimVar, int], ...] = ()  # shape variables bound by this step
    check: str = ""

    def __str__(self) -> str:
        name = self.binding.var.name if self.binding is not None and self.binding.var is not None else ""
        return f"{self.kind} {self.function}{' ' + name if name else ''}"


@dataclass(slots=True, eq=False)
class Change:
    """The effects of one step on the machine. It can be undone and redone without evaluation."""

    event: Event
    before: tuple[int, ...]  # program counter of each frame before the step
    after: tuple[int, ...]
    writes: list[tuple[Any, int, Any, Any]]  # frame, register, old value, new value
    frames_before: tuple[Any, ...]
    frames_after: tuple[Any, ...]
    bound: list[tuple[Any, p.PrimVar, int]]  # frame, shape variable, value
    result: Any = None
    memory: list[tuple[Any, Any, Any]] = field(default_factory=list)  # array, its contents before and after
