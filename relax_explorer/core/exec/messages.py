"""What `R.print` and `R.assert_op` say, as operators and as the packed functions that lowering makes of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.exec.need import VmBuiltin, need, wrong
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import Value, describe


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


def print_values(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Print: format, values."""
    need(machine, at, args, 1, "relax.run.print")
    say(machine, _template(machine, at, args[0]), args[1:])
    return ()


def assert_op(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Stop the run unless a condition holds: condition, format, values of the message."""
    need(machine, at, args, 2, "relax.run.assert_op")
    claim(machine, at, args[0], _template(machine, at, args[1]), args[2:])
    return ()


def _template(machine: Running, at: Instruction, value: Value) -> str:
    if not isinstance(value, str):
        raise wrong(machine, at, f"a format is needed, this is {describe(value)}")
    return value


TABLE: dict[str, VmBuiltin] = {"relax.run.print": print_values, "relax.run.assert_op": assert_op}
