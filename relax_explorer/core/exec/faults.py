"""What stops a step: errors of numpy and of kernels, wrong arguments of builtins, and assertions of the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Code, Failure, Label
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.shape_origins import Misfit, kernel_chain
from relax_explorer.core.exec.values import Shape, Value, describe
from relax_explorer.core.ops.kit.special import BadValue, NotDefined
from relax_explorer.core.tir.stmt import PrimFunc, Stmt

_CODES: tuple[tuple[type[Exception], Code], ...] = (
    (MemoryError, codes.TOO_LARGE),
    (IndexError, codes.OUT_OF_BOUNDS),
    (OverflowError, codes.OVERFLOW),
    (ZeroDivisionError, codes.BAD_ARITHMETIC),
    (NotDefined, codes.UNDEFINED_FOR_DTYPE),
    (BadValue, codes.BAD_VALUE),
    (ValueError, codes.SHAPE_CHECK),
    (TypeError, codes.UNDEFINED_FOR_DTYPE),
)


def guarded(machine: Running, at: Instruction, work: Callable[[], Any]) -> Value:
    """Run `work()`. Errors of numpy and kernels about wrong operands become failures of the program."""
    try:
        return work()
    except Failure as failure:
        raise at_call(failure, machine, at) from None
    except tuple(kind for kind, _ in _CODES) as problem:
        code = next(code for kind, code in _CODES if isinstance(problem, kind))
        text = str(problem) or "out of memory"
        if isinstance(problem, TypeError) and "ufunc" in text:
            text = "it is not defined for operands of these dtypes"
        raise machine.trap(code, text, at, getattr(problem, "hint", "")) from None


def at_call(failure: Failure, machine: Running, at: Instruction) -> Failure:
    """Report the failure of a PrimFunc at its call. Other failures stay unchanged."""
    first = failure.diagnostics[0]
    inside = first.primary
    if inside is None or not isinstance(inside.place, (PrimFunc, Stmt)):
        return failure
    notes = kernel_chain(machine.frames[-1], at.node, failure) if isinstance(failure, Misfit) else ()
    problem = machine.trap(first.code, first.message, at, first.help, notes).diagnostics[0]
    return Failure(replace(problem, labels=(*problem.labels, Label(inside.place, "in this PrimFunc"))))


# -- arguments of builtins -------------------------------------------------------------------------------------------
# What the builtins of the virtual machine need of their arguments. What doesn't hold is a failure of the program.


class Refused(Exception):
    """A call that the state of a cache does not allow."""


VmBuiltin = Callable[[Running, Instruction, list[Value]], Value]
"""A builtin: of the machine, the instruction, and the arguments."""


def wrong(machine: Running, at: Instruction, text: str, context: Value = "") -> Failure:
    """The failure of a check. `context` is the compiler's description of the place."""
    place = f" ({context.strip()})" if isinstance(context, str) and context.strip() else ""
    return machine.trap(codes.WRONG_ARGUMENT, f"{text}{place}", at)


BUILTINS: dict[str, VmBuiltin] = {}
"""The builtins by name; `vm_builtins` imports all modules that have some."""


def builtin(name: str, least: int = 0) -> Callable[[VmBuiltin], VmBuiltin]:
    """Register a builtin that takes at least so many arguments. What a cache refuses is a failure of the program."""

    def registered(function: VmBuiltin) -> VmBuiltin:
        def call(machine: Running, at: Instruction, args: list[Value]) -> Value:
            if len(args) < least:
                text = (
                    f"{name.removeprefix('vm.builtin.')} takes at least {least} arguments, {len(args)} given"
                )
                raise wrong(machine, at, text)
            try:
                return function(machine, at, args)
            except Refused as refusal:
                raise wrong(machine, at, str(refusal)) from None

        BUILTINS[name] = call
        return call

    return registered


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


# -- messages of the program -----------------------------------------------------------------------------------------
# What `R.print` and `R.assert_op` say, as operators and as the packed functions that lowering makes of them.


def say(machine: Running, template: str, values: Sequence[Value]) -> None:
    """Append a text to the machine's output."""
    machine.output.append(_formatted(template, values, " "))


def claim(
    machine: Running, at: Instruction, condition: Value, template: str, values: Sequence[Value]
) -> None:
    """Stop the run if the condition is false."""
    if isinstance(condition, np.ndarray) and condition.ndim:
        raise machine.trap(codes.ASSERTION, f"the condition is {describe(condition)}, not one bool", at)
    if not bool(condition):
        raise machine.trap(
            codes.ASSERTION, _formatted(template, values, ", ") or "the condition is false", at
        )


def _formatted(template: str, values: Sequence[Value], between: str) -> str:
    """The template with each {} replaced by the next value. Values without a template have `between` between them."""
    if not template:
        return between.join(map(str, values))
    first, *rest = template.split("{}")
    texts = [*map(str, values), *["{}"] * len(rest)]
    return first + "".join([text + part for text, part in zip(texts, rest, strict=False)])


@builtin("relax.run.print", 1)
def print_values(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Print: format, values."""
    say(machine, _template(machine, at, args[0]), args[1:])
    return ()


@builtin("relax.run.assert_op", 2)
def assert_op(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Stop the run unless a condition holds: condition, format, values of the message."""
    claim(machine, at, args[0], _template(machine, at, args[1]), args[2:])
    return ()


def _template(machine: Running, at: Instruction, value: Value) -> str:
    if not isinstance(value, str):
        raise wrong(machine, at, f"a format is needed, this is {describe(value)}")
    return value
