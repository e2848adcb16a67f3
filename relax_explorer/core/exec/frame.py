"""Frames: the activations of functions. Values that a recorded run dropped to save memory are computed again when they are read."""

from __future__ import annotations

from itertools import islice
from typing import Protocol, runtime_checkable

from relax_explorer.core.exec.plan import Plan, plan
from relax_explorer.core.exec.values import Lengths, Value, to_python
from relax_explorer.core.ir import expr as e

# -- values to compute again -----------------------------------------------------------------------------------------
# Values that a recorded run dropped to stay within its memory budget. They are computed again when they are read.


class Source(Protocol):
    """Computes evicted values again."""

    def recall(self, evicted: Evicted) -> Value:
        """The value."""


class Evicted:
    """Stands for the value that instruction `index` of the plan of `frame` wrote. `text` describes it."""

    __slots__ = ("frame", "index", "source", "text")

    def __init__(self, source: Source, frame: object, index: int, text: str) -> None:
        self.source, self.frame, self.index, self.text = source, frame, index, text

    def __repr__(self) -> str:
        return f"{self.text}, evicted: `print` computes it again"


def recalled(value: Value) -> Value:
    """The value itself, computed again if it was evicted."""
    return value.source.recall(value) if type(value) is Evicted else value


# -- frames ----------------------------------------------------------------------------------------------------------


@runtime_checkable
class Activation(Protocol):
    """A frame, or a walk through a PrimFunc: it gives names their values."""

    name: str
    made_by: e.Binding | None

    @property
    def values(self) -> dict[str, Value]:
        """The variables with a value, by name."""

    @property
    def shape_vars(self) -> dict[str, int]:
        """The shape variables with a value, by name."""

    def find(self, name: str) -> Value:
        """The value of a name; None if it has none."""


class Frame:
    """One activation of a function: registers, program counter, shape variables."""

    __slots__ = (
        "dims",
        "function",
        "has_ended",
        "into",
        "is_bound",
        "made_by",
        "name",
        "outer",
        "pc",
        "plan",
        "registers",
    )

    def __init__(self, function: e.Function, name: str, dims: Lengths) -> None:
        self.function, self.name, self.dims = function, name, dict(dims)
        self.outer = dims  # shape variables captured by the closure
        self.plan: Plan = plan(function, name)
        self.registers = list(self.plan.registers)
        self.pc = 0
        self.has_ended = False  # True if a value was killed here
        self.is_bound: bool | None = None  # True if it may run bound parts; None at its start
        self.into: tuple[Frame, int] | None = None  # where the result goes
        self.made_by: e.Binding | None = None  # the caller's binding

    def __repr__(self) -> str:
        lengths = ", ".join(f"{name} = {length}" for name, length in self.shape_vars.items())
        return f"<Frame of {self.name}{': ' * bool(lengths)}{lengths}>"

    @property
    def shape_vars(self) -> dict[str, int]:
        """The shape variables with a value, by name."""
        return {var.name: value for var, value in self.dims.items()}

    @property
    def values(self) -> dict[str, Value]:
        """All variables in scope with a value, by name, parameters first. Evicted values are not computed again."""
        names: dict[str, Value] = {}
        registers, ends, pc = self.registers, self.plan.ends, self.pc
        for var, slot in islice(self.plan.slots.items(), self.plan.bound_before(pc)):
            value = registers[slot]
            if value is not None and pc <= ends.get(slot, pc):  # in_scope, which is asked for each of 100,000
                name = var.name
                names[name if name not in names else f"{name}#{slot}"] = value
        return names

    def in_scope(self, slot: int) -> bool:
        """False if the dataflow block or branch that binds this register has ended."""
        return self.pc <= self.plan.ends.get(slot, self.pc)

    def slots_of(self, name: str) -> tuple[int, ...]:
        """The registers of the variables called `name`, in text order."""
        return tuple([slot for var, slot in self.plan.slots.items() if var.name == name])

    def find(self, name: str) -> Value:
        """The value of the shape variable or variable called `name`; None if it has none in scope. The last one hides others."""
        for var, length in self.dims.items():
            if var.name == name:
                return length
        for slot in reversed(self.slots_of(name)):
            if self.registers[slot] is not None and self.in_scope(slot):
                return recalled(self.registers[slot])
        return None

    def __getitem__(self, name: str) -> Value:
        """The value of the variable called `name`. Raises KeyError if it has no value in scope."""
        for slot in reversed(self.slots_of(name)):
            if self.registers[slot] is not None and self.in_scope(slot):
                return to_python(recalled(self.registers[slot]))
        raise KeyError(f"{name!r} has no value here")

    def value_of(self, var: e.Var) -> Value:
        """The value of a variable, or None if it has none yet."""
        slot = self.plan.slots.get(var)
        return None if slot is None else recalled(self.registers[slot])
