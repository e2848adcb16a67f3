"""Calls of packed functions, which are code of users: whatever they raise or return, the run ends with a diagnostic."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.faults import at_call
from relax_explorer.core.exec.match import Mismatch, match
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import Value, describe
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dtype import from_numpy


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
