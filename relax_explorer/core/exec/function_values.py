"""Function values and packed functions of the user: they call each other with values of both sides."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec import packed
from relax_explorer.core.exec.faults import at_call
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.kernels import by_symbol
from relax_explorer.core.exec.match import Mismatch, match
from relax_explorer.core.exec.memory import call_kernel
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import (
    Closure,
    Lifted,
    PackedFunction,
    Value,
    as_parameters,
    describe,
    fault,
)
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dtype import from_numpy
from relax_explorer.core.tir.stmt import PrimFunc


def look_up(machine: Running, frame: Frame, at: Instruction) -> None:
    """Evaluate `R.ExternFunc("name")`: the function is looked up now, not when it is called."""
    machine.write(frame, at.target, found(machine, at.node.name, at))


def found(machine: Running, name: str, at: Instruction) -> PackedFunction:
    """The packed function of a name: a PrimFunc by its symbol, a registered function, or a builtin of the virtual machine."""
    from relax_explorer.core.exec import vm_builtins

    is_known = by_symbol(machine.module, name) or packed.find(name) or vm_builtins.TABLE.get(name)
    if is_known is None:
        raise unknown(machine, name, at)
    return PackedFunction(name, lambda *args: machine.packed(name, args, at))


def unknown(machine: Running, name: str, at: Instruction) -> Failure:
    """The failure of a name that stands for no packed function."""
    text = f"no packed function {name!r} is registered"
    return machine.trap(codes.UNKNOWN_PACKED, text, at, packed.hint(name))


def handed(machine: Running, values: Sequence[Value], at: Instruction) -> list[Value]:
    """The values as Python code gets them: functions are callable, in tuples too."""
    return [_handed(machine, value, at) for value in values]


def returned(machine: Running, function: str, value: Value) -> Value:
    """The result of a run for its caller, who can call the functions in it."""
    place = Instruction("return", machine.module.functions[function], (), -1)
    return _handed(machine, value, place)


def _handed(machine: Running, value: Value, at: Instruction) -> Value:
    if type(value) is tuple:
        return tuple(handed(machine, value, at))
    if isinstance(value, e.ExternFunc):
        return found(machine, value.name, Instruction("extern", value, (), -1, at.binding))
    if isinstance(value, e.GlobalVar):
        fn = machine.module.functions.get(value.name)
        if type(fn) is PrimFunc:
            return packed.Computation(value.name, lambda *args: call_kernel(machine, at, fn, list(args)))
        value = machine.globals.get(value.name, value)
    if isinstance(value, (Closure, Lifted)) and value.called is None:
        return replace(value, called=partial(_called, machine, value))
    return value


def _called(machine: Running, callee: Closure | Lifted, *args: Value) -> Value:
    """The result of a function value that Python calls: a run without steps of its own, in the memory of the machine."""
    inner = copy(machine)  # it shares the kernels, the output and the warnings
    inner.frames, inner.change, inner.record, inner.done = [], None, False, False
    closure = callee
    while isinstance(closure, Lifted):
        closure, args = machine.globals[closure.function.name], (*args, *closure.captured)
    params = closure.function.params
    if len(args) != len(params):
        text = f"{closure.name} takes {len(params)} arguments, {len(args)} given"
        raise fault(codes.INPUT_COUNT, text)
    values = as_parameters(args, params, closure.name)
    inner.enter(closure.function, closure.name, values, closure.captured, None, None, closure.dims)
    return inner.run()


# -- functions of the user -------------------------------------------------------------------------------------------
# Calls of packed functions, which are code of users: whatever they raise or return, the run ends with a diagnostic.


def called(
    machine: Running, at: Instruction, name: str, function: Callable[..., Any], args: Sequence[Value]
) -> Value:
    """The result of a user function. Its exceptions are reported with their line, `sys.exit` too."""
    try:
        with machine.interrupt.reaching():
            result = function(*args)
    except Failure as failure:
        raise at_call(failure, machine, at) from None
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # user code can raise anything
        frames = traceback.extract_tb(problem.__traceback__)[1:]
        where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
        raised = "".join(traceback.format_exception_only(problem)).strip()  # also if its text can't be made
        raise machine.trap(codes.PACKED_FAILED, f"{name} raised {raised}{where}", at) from problem
    odd = _odd_dtype(result)
    if odd:
        text = f"{name} returned an array of {odd}, which is no element type"
        raise machine.trap(codes.PACKED_FAILED, text, at)
    return result


def other_than_stated(machine: Running, at: Instruction, result: Value) -> str:
    """How the result of a packed function differs from the StructInfo of its call; "" if it does not."""
    call = at.node
    if type(call) is not e.Call:  # Python code calls a function that it got
        return ""
    is_filled = (
        isinstance(call.op, e.OpRef) and call.op.name == "relax.call_dps_packed"
    )  # the result is an argument
    if result is None or is_filled or call.struct_info is None:
        return ""
    frame = machine.frames[-1]
    try:
        match(result, call.struct_info, dict(frame.dims), machine.scope(frame))
    except Mismatch as problem:
        return f"{describe(result)}, the call states {call.struct_info}: {problem}"
    return ""


def _odd_dtype(value: Value) -> str:
    """The dtype of an array in a value that no tensor has. Empty if there is none."""
    if type(value) is tuple:
        return next(filter(None, map(_odd_dtype, value)), "")
    if not isinstance(value, np.ndarray):
        return ""
    try:
        from_numpy(value.dtype)
    except ValueError:
        return str(value.dtype)
    return ""
