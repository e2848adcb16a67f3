"""The events of a run, and the recorded changes."""

from __future__ import annotations

from dataclasses import dataclass, field

from relax_explorer.core.exec.checks import Check
from relax_explorer.core.exec.evicted import recalled
from relax_explorer.core.exec.frame import Frame
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
    content: Value = None  # the value, or what stands for it after it was evicted
    dims: tuple[tuple[p.PrimVar, int], ...] = ()  # shape variables bound by this step
    check: str = ""
    checks: tuple[Check, ...] = ()  # that passed in this step
    branches: tuple[bool, ...] = ()  # taken in this step: True for the then-branch of an If

    @property
    def value(self) -> Value:
        """The value that the step bound or returned. An evicted one is computed again."""
        return recalled(self.content)

    def __str__(self) -> str:
        name = self.binding.var.name if self.binding is not None and self.binding.var is not None else ""
        return f"{self.kind} {self.function}{' ' + name if name else ''}"


@dataclass(slots=True, eq=False)
class Change:
    """The effects of one step on the machine. It can be undone and redone without evaluation.

    A step moves the innermost frame. It may also enter one function, or return from the innermost one. So its record does not
    grow with the depth of the calls.
    """

    event: Event
    frame: Frame  # the innermost one before the step
    before: int  # its program counter
    after: int
    entered: Frame | None = None
    returned: bool = False
    writes: list[tuple[Frame, int, Value, Value]] = field(
        default_factory=list
    )  # register, old value, new value
    bound: tuple[tuple[p.PrimVar, int], ...] = ()  # shape variables of the frame
    printed: tuple[str, ...] = ()
    result: Value = None
    checks: tuple[Check, ...] = ()
    branches: tuple[bool, ...] = ()
    memory: tuple[tuple[Value, Value, Value], ...] = ()  # array, its contents before and after
    states: tuple[tuple[Value, Value, Value], ...] = ()  # object, its state before and after
    seconds: float = 0.0  # of the step, without compiling
    checking: float = 0.0  # the seconds in which an operator or a kernel compared the lengths of its operands
    size: int = 0  # the bytes of the value that it bound
