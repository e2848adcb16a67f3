"""Runs neighbouring element-wise operators together on blocks of rows, so that values between them stay in the cache.

Only calls that ran before with operands of the same types take part (`repeat.Repeat`). If a block fails, nothing has happened
yet, and the machine runs the calls one by one. Stepping never groups calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from threading import local
from typing import Any

import numpy as np

from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.group_kernel import flat, kernel, loop, operands
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.repeat import ERRORS, Repeat, plain_ufunc, types_of
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit import ndarrays
from relax_explorer.core.ops.kit.decl import Fusion
from relax_explorer.core.ops.kit.ndarrays import Array, in_blocks, rows_of
from relax_explorer.core.ops.tensor.binary import Arithmetic

_AT_ONCE = 1 << 18  # elements between two looks at the interrupt


class _Other(Exception):
    """A block has another type than the whole array before. The calls run one by one."""


@dataclass(slots=True, eq=False)
class Group:
    """Calls that run together: the instructions, the shape, and the registers that something reads later."""

    calls: list[tuple[Instruction, np.ufunc | None]]
    shape: tuple[int, ...]
    kept: dict[int, np.dtype[Any]] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)


def run_group(frame: Frame, interrupt: Interrupt, cache: Path | None) -> bool:
    """Run the calls at the program counter as a group, and go behind them. False if there is no group; nothing was done."""
    group = _group(frame)
    if group is None:
        return False
    results = {slot: ndarrays.empty(group.shape, dtype) for slot, dtype in group.kept.items()}
    if not (
        _compiled(group, frame, results, interrupt, cache) or _by_blocks(group, frame, results, interrupt)
    ):
        return False
    for slot, result in results.items():
        frame.registers[slot] = result
    for slot in group.dead:
        frame.registers[slot] = None
    frame.pc += len(group.calls)
    return True


def _compiled(
    group: Group, frame: Frame, results: dict[int, Array], interrupt: Interrupt, cache: Path | None
) -> bool:
    """Fill the results by one compiled loop. False if the group has none, or not yet; nothing was done."""
    dtypes = {call.repeat.dtype for call, _ in group.calls}
    calls = [(call.node.op.name, call.args, call.target) for call, _ in group.calls]
    outside = {slot: flat(frame.registers[slot], group.shape) for slot in operands(calls)}
    if len(dtypes) > 1 or not results or any(value is None for value in outside.values()):
        return False
    (dtype,) = dtypes
    if any(value.dtype != dtype for value in outside.values()):
        return False
    scalars = {slot for slot, value in outside.items() if not value.shape}
    outputs = [array.reshape(-1) for array in results.values()]
    numbers = {slot: value if value.shape else float(value) for slot, value in outside.items()}
    note = np.zeros(1, np.int64)  # nothing here is checked
    passed = [*outputs, *numbers.values(), note, interrupt.address]
    function = kernel(loop(calls, list(results), dtype, scalars), passed, cache)
    if function is None:
        return False

    def fill(start: int, end: int) -> None:
        interrupt.check()
        inputs = [value if isinstance(value, float) else value[start:end] for value in numbers.values()]
        function(*[array[start:end] for array in outputs], *inputs, note, interrupt.address)

    size = prod(group.shape)
    in_blocks(fill, size, _AT_ONCE, size)
    return True


def _by_blocks(group: Group, frame: Frame, results: dict[int, Array], interrupt: Interrupt) -> bool:
    """Fill the results operator by operator, some rows at a time. False if a block fails."""
    size = prod(group.shape)
    rows = rows_of(group.shape, size)
    scratch = local()  # of each thread: arrays for the values of a block

    def fill(start: int, end: int) -> None:
        interrupt.check()
        targets = vars(scratch).setdefault("targets", {})
        for call, _ in group.calls:
            if call.target not in group.kept and call.target not in targets:
                targets[call.target] = np.empty((rows, *group.shape[1:]), call.repeat.dtype)
        outputs = {slot: array[: end - start] for slot, array in targets.items()}
        outputs |= {slot: array[start:end] for slot, array in results.items()}
        _block(group, frame, start, end, outputs)

    try:
        with np.errstate(all="ignore"):
            in_blocks(fill, group.shape[0], rows, size)
    except (_Other, *ERRORS):
        return False
    return True


def _block(group: Group, frame: Frame, start: int, end: int, outputs: dict[int, Array]) -> None:
    """Compute all calls for some rows into `outputs`, which has an array for each register."""
    done: set[int] = set()
    for call, ufunc in group.calls:
        args = [
            outputs[slot] if slot in done else _rows(frame.registers[slot], group.shape, start, end)
            for slot in call.args
        ]
        output = outputs[call.target]
        if ufunc is not None:
            ufunc(*args, out=output)
        else:
            value = call.repeat.function(*args)
            if type(value) is not np.ndarray or (value.shape, value.dtype) != (output.shape, output.dtype):
                raise _Other
            output[...] = value
        done.add(call.target)


def _rows(value: Value, shape: Sequence[int], start: int, end: int) -> Value:
    """Rows of an operand. A scalar, or an operand that is broadcast along the rows, stays whole."""
    if type(value) is not np.ndarray or value.ndim != len(shape) or value.shape[0] != shape[0]:
        return value
    return value[start:end]


def _group(frame: Frame) -> Group | None:
    """The group at the program counter: at least two calls whose results have one shape."""
    first = frame.plan.code[frame.pc].repeat
    if type(first) is not Repeat or not first.is_large:
        return None
    group = Group([], first.shape)
    inside: dict[int, np.dtype[Any]] = {}
    for pc in range(frame.pc, len(frame.plan.code)):
        call = frame.plan.code[pc]
        if call.kind != "op" or not _fits(call, frame, group.shape, inside):
            break
        group.calls.append((call, plain_ufunc(call.repeat)))
        inside[call.target] = call.repeat.dtype
    if len(group.calls) < 2:
        return None
    group.dead = {slot for call, _ in group.calls for slot in call.dead}
    group.kept = {slot: dtype for slot, dtype in inside.items() if slot not in group.dead}
    return group


def _fits(call: Instruction, frame: Frame, shape: tuple[int, ...], inside: dict[int, np.dtype[Any]]) -> bool:
    """True if a call ran before with operands of these types, and can run on rows of them."""
    known = call.repeat
    if type(known) is not Repeat or known.shape != shape or not _is_by_element(call, known):
        return False
    types: list[Any] = []
    for slot in call.args:
        of = (shape, inside[slot]) if slot in inside else types_of((frame.registers[slot],))
        if of is None:
            return False
        types += of
    return tuple(types) == known.operands and tuple(map(frame.dims.get, known.dims)) == known.lengths


def _is_by_element(call: Instruction, known: Repeat) -> bool:
    """True if each element of the result depends only on the elements at its place. Operands of arithmetic are broadcast."""
    op = find(call.node.op.name)
    if op is None or issubclass(op, Arithmetic):
        return op is not None
    return op.fusion is Fusion.ELEMENTWISE and all(
        of == known.shape for of in known.operands[::2] if type(of) is tuple
    )
