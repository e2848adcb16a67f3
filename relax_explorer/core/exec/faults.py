"""Turns errors inside a step into failures of the program: errors of numpy and of kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Code, Failure, Label
from relax_explorer.core.exec.kernel_shapes import Misfit, kernel_chain
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import Value
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
