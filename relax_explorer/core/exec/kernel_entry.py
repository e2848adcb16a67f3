"""Enters the PrimFunc that the next step calls: finds it, and takes the arguments that it would get."""

from __future__ import annotations

from collections.abc import Sequence

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.exec.evicted import Evicted, recalled
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.kernel_walk import KernelWalk
from relax_explorer.core.exec.kernels import Kernels, by_symbol
from relax_explorer.core.exec.machine import Machine
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.tir_numba import uncompiled
from relax_explorer.core.exec.values import UNKNOWN, PackedFunction, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.tir.stmt import PrimFunc

_CALLS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad", "relax.vm.call_tir_dyn")


class _Entered(Failure):
    """A PrimFunc is about to run. It is a Failure, so that the machine takes the step back."""

    def __init__(self, fn: PrimFunc, args: Sequence[Value]) -> None:
        super().__init__(Diagnostic(codes.CANCELLED, "a PrimFunc was entered"))
        self.fn, self.args_given = fn, args


class _Entering(Kernels):
    """Stands for the kernels of a machine, and runs none."""

    def call(self, fn: PrimFunc, args: Sequence[Value]) -> Value:
        """Tell which PrimFunc is called with which arguments."""
        raise _Entered(fn, args)


def next_kernel(machine: Machine) -> PrimFunc | None:
    """The PrimFunc that the next step calls; None if it calls none."""
    found = _next_call(machine)
    return None if found is None else _called(machine, *found)


def _next_call(machine: Machine) -> tuple[Frame, Instruction] | None:
    """The instruction that binds a value in the next step."""
    if not machine.frames:
        return None
    frame = machine.frame
    code, at = frame.plan.code, frame.pc
    while at < len(code):
        instruction = code[at]
        if instruction.binding is not None:
            return frame, instruction
        at += 1
        if instruction.kind == "jump":
            at = instruction.jump
        elif instruction.kind == "branch":
            condition = recalled(frame.registers[instruction.args[0]])
            if condition is None or condition is UNKNOWN:
                return None
            at = at if bool(condition) else instruction.jump
    return None


def _called(machine: Machine, frame: Frame, at: Instruction) -> PrimFunc | None:
    """The PrimFunc that an instruction calls."""
    name = getattr(getattr(at.node, "op", None), "name", "")
    callee = frame.registers[at.args[0]] if at.args else None
    if at.kind == "global" or (at.kind == "op" and name in _CALLS):
        target = name if at.kind == "global" else getattr(callee, "name", "")
        fn = machine.module.functions.get(target)
        return fn if type(fn) is PrimFunc else None
    if at.kind == "packed":
        return by_symbol(machine.module, name)
    is_named = at.kind == "closure" or name in ("relax.call_dps_packed", "relax.call_pure_packed")
    return (
        by_symbol(machine.module, callee.name)
        if is_named and isinstance(callee, (e.ExternFunc, PackedFunction))
        else None
    )


def entered(machine: Machine, name: str) -> KernelWalk:
    """A walk through the PrimFunc that the next step calls, before its first store. Raises Failure.

    The step must call a PrimFunc. What fails before the call fails here, too.
    """
    found = _next_call(machine)
    assert found is not None  # the caller asked next_kernel
    frame, at = found
    kernels, known = machine.kernels, at.known
    evicted = _evicted(frame, at)
    machine.kernels, at.known = _Entering(interrupt=machine.interrupt), None
    try:
        for slot, value in evicted.items():
            frame.registers[slot] = recalled(value)
        machine.attempt()
    except _Entered as call:
        values = uncompiled(call.fn).passed(call.args_given)
        return KernelWalk(call.fn, name, values, machine.interrupt)
    finally:
        machine.kernels, at.known = kernels, known
        for slot, value in evicted.items():
            frame.registers[slot] = value
    text = "the PrimFunc does not run here: an argument is unknown"
    raise Failure(Diagnostic(codes.BAD_COMMAND, text, help=codes.BAD_COMMAND.fix))


def _evicted(frame: Frame, at: Instruction) -> dict[int, Evicted]:
    """The evicted values that the instructions up to a call read, by register."""
    code = frame.plan.code
    until = next(number for number in range(frame.pc, len(code)) if code[number] is at)
    slots = {slot for item in code[frame.pc : until + 1] for slot in item.args}
    values = {slot: frame.registers[slot] for slot in slots}
    return {slot: value for slot, value in values.items() if type(value) is Evicted}
