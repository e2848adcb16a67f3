"""What happens while a program runs, and the log of it in columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p


@dataclass(slots=True, eq=False)
class Event:
    """One step: `kind` is bind (a binding got its value), enter, return, done or trap.

    `check` says of the arguments of an entered function whether that they fit was proved before the run, or only now checked.
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
    """What one step did to the machine, so that it can be undone and done again without evaluating anything."""

    event: Event
    before: tuple[int, ...]  # program counter of each frame before the step
    after: tuple[int, ...]
    writes: list[tuple[Any, int, Any, Any]]  # frame, register, old value, new value
    frames_before: tuple[Any, ...]
    frames_after: tuple[Any, ...]
    bound: list[tuple[Any, p.PrimVar, int]]  # frame, shape variable, value
    result: Any = None
    memory: list[tuple[Any, Any, Any]] = field(default_factory=list)  # array, its contents before and after
