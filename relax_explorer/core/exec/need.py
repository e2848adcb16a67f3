"""What the builtins of the virtual machine need of their arguments. What doesn't hold is a failure of the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import Shape, Value, describe


class Refused(Exception):
    """A call that the state of a cache does not allow."""


VmBuiltin = Callable[[Running, Instruction, list[Value]], Value]
"""A builtin: of the machine, the instruction, and the arguments."""


def wrong(machine: Running, at: Instruction, text: str, context: Value = "") -> Failure:
    """The failure of a check. `context` is the compiler's description of the place."""
    place = f" ({context.strip()})" if isinstance(context, str) and context.strip() else ""
    return machine.trap(codes.WRONG_ARGUMENT, f"{text}{place}", at)


def explained(builtin: VmBuiltin) -> VmBuiltin:
    """The builtin; what a cache refuses is a failure of the program."""

    def call(machine: Running, at: Instruction, args: list[Value]) -> Value:
        try:
            return builtin(machine, at, args)
        except Refused as refusal:
            raise wrong(machine, at, str(refusal)) from None

    return call


def need(machine: Running, at: Instruction, args: Sequence[Value], least: int, name: str) -> None:
    """Refuse fewer arguments than `least`."""
    if len(args) < least:
        raise wrong(machine, at, f"{name} takes at least {least} arguments, {len(args)} given")


def tensor(machine: Running, at: Instruction, value: Value) -> Value:
    """The value, which must be a tensor."""
    if not isinstance(value, np.ndarray):
        raise wrong(machine, at, f"a tensor is needed, this is {describe(value)}")
    return value


def float_tensor(machine: Running, at: Instruction, value: Value, what: str) -> Value:
    """A tensor of float32, which must hold something."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float32 or not value.size:
        raise wrong(
            machine, at, f"{what} must be a tensor of float32 with elements, this is {describe(value)}"
        )
    return value


def number(machine: Running, at: Instruction, value: Value, what: str) -> float:
    """A scalar, or a tensor of one element."""
    if isinstance(value, np.ndarray) and value.size == 1:
        return float(value.reshape(-1)[0])
    if not isinstance(value, (bool, int, float, np.generic)):
        raise wrong(machine, at, f"{what} must be a number, this is {describe(value)}")
    return float(value)


def count(machine: Running, at: Instruction, value: Value, what: str, least: int = 0) -> int:
    """A scalar that is a whole number, at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise wrong(
            machine, at, f"{what} must be a whole number of at least {least}, this is {describe(value)}"
        )
    return int(value)


def shape(machine: Running, at: Instruction, value: Value, what: str) -> Shape:
    """A shape value without negative lengths."""
    if not isinstance(value, Shape) or min(value, default=0) < 0:
        raise wrong(
            machine, at, f"{what} must be a shape without negative lengths, this is {describe(value)}"
        )
    return value
