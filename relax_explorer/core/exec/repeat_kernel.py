"""Calls of kernels that need no more checks: the same PrimFunc got operands of the same types and lengths before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.repeat import Types, types_of
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import Shape, Value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.core.tir.stmt import PrimFunc


@dataclass(frozen=True, slots=True, eq=False)
class KernelRepeat:
    """A call_tir that passed its checks: the types of its operands, and what the compiled code gets."""

    fn: PrimFunc
    operands: Types
    dims: tuple[p.PrimVar, ...]  # the shape variables in the type of the result
    lengths: tuple[int | None, ...]
    function: Callable[..., Any]
    scalars: tuple[Any, ...]  # converted operands; None for an array
    outputs: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]
    is_tuple: bool
    note: np.ndarray[Any, Any]  # where the code notes where it stops; nobody reads it
    stops: tuple[type[Exception], ...]  # what it raises then
    tail: tuple[Any, ...]  # scalars after the outputs, and the lengths of the buffers


def flat(args: Sequence[Value]) -> list[Any]:
    """The arguments of a kernel. A shape is replaced by its lengths."""
    return [item for arg in args for item in (arg if isinstance(arg, Shape) else (arg,))]


def run_kernel_again(
    machine: Running, frame: Frame, at: Instruction, fn: PrimFunc, args: Sequence[Value]
) -> Value:
    """The result of a call that needs no checks. None if it needs them; then nothing was done."""
    known = at.repeat
    if type(known) is not KernelRepeat or known.fn is not fn or types_of(args[1:]) != known.operands:
        return None
    if known.dims and tuple(map(frame.dims.get, known.dims)) != known.lengths:
        return None
    with np.errstate(all="ignore"):
        return kernel_results(known, args[1], machine.interrupt)


def kernel_results(known: KernelRepeat, given: Value, interrupt: Interrupt) -> Value:
    """The result of a kernel for operands of the known types. None if the call needs its checks."""
    passed = flat(given)
    for number, scalar in enumerate(known.scalars):
        if scalar is not None:
            passed[number] = scalar
        elif not ((flags := passed[number].flags).c_contiguous and flags.aligned):
            return None  # copied by the checked call: for it numba would compile a text of its own
    outputs = [np.zeros(shape, dtype) for shape, dtype in known.outputs]
    try:
        known.function(*passed, *outputs, *known.tail, known.note, interrupt.address)
    except known.stops:
        return None  # the checked call stops as well, and says why
    return tuple(outputs) if known.is_tuple else outputs[0]


def remember_kernel(
    machine: Running,
    frame: Frame,
    at: Instruction,
    fn: PrimFunc,
    args: Sequence[Value],
    parts: Sequence[Sequence[Any]],
    value: Value,
) -> None:
    """Remember a call that passed its checks and gave `value`. `parts` are the parameters before and after the outputs."""
    from relax_explorer.core.exec.tir_traps import ERRORS, NOTE_LENGTH  # numba takes 0.3 s to import

    inputs, tail = parts
    results, operands = value if type(value) is tuple else (value,), types_of(args[1:])
    if operands is None:
        return
    ready = machine.kernels.get(fn).prepared([*inputs, *results, *tail], len(inputs))
    if ready is None:
        return
    function, passed = ready
    dims = info_vars(at.node.sinfo_args[0])
    at.repeat = KernelRepeat(
        fn,
        operands,
        dims,
        tuple(map(frame.dims.get, dims)),
        function,
        tuple([None if type(item) is np.ndarray else item for item in passed[: len(inputs)]]),
        tuple([(item.shape, item.dtype) for item in results]),
        type(value) is tuple,
        np.zeros(NOTE_LENGTH, np.int64),
        (InterruptedError, *ERRORS),
        tuple(passed[len(inputs) + len(results) :]),
    )
