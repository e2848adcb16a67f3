"""Runs an operator with its `evaluate`. Errors describe every operand; the value must have the derived type."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from relax_explorer.core.codes import internal
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.faults import guarded
from relax_explorer.core.exec.fitting import check_value, negative_length, type_of_result, with_operands
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.kernels import too_large
from relax_explorer.core.exec.known_call import operator_again, remember_operator
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.scalars import evaluate
from relax_explorer.core.exec.values import UNKNOWN, Shape, Value, negative_dimension
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit.decl import Op
from relax_explorer.core.ops.kit.element_loops import compiling
from relax_explorer.core.ops.kit.special import BadValue


def run_operator(
    machine: Running, frame: Frame, at: Instruction, op: type[Op], args: Sequence[Value]
) -> None:
    """Evaluate an operator call into its register. Unknown operands give an unknown value."""
    if any(arg is UNKNOWN for arg in args):
        machine.write(frame, at.target, UNKNOWN)
        return
    for value, arguments in zip(args, at.node.args, strict=False):
        # A shape may hold a negative number, but a tensor cannot have such a length.
        if isinstance(value, Shape) and min(value, default=0) < 0:
            written = arguments.values if isinstance(arguments, e.ShapeExpr) else None
            if op.leaves_length and _is_left_over(value, written):
                continue
            raise machine.trap(codes.SHAPE_CHECK, negative_dimension(value, written), at)
    start = time.perf_counter()
    expected = type_of_result(machine, frame, at, op, args)
    machine.kernels.checking += 0.0 if expected is at.node.struct_info else time.perf_counter() - start
    missing = [None] * (len(op.operands) - len(args)) if not op.variadic else []
    try:
        _need_lengths(machine, frame, at, op, expected)
        with np.errstate(all="ignore"), compiling(machine.kernels.loops):
            value = guarded(machine, at, lambda: _computed(machine, at, op, (*args, *missing)))
    except Failure as failure:
        raise with_operands(failure, frame, at.node, op, args) from None
    if isinstance(value, np.generic) and not isinstance(expected, s.PrimStructInfo):
        value = np.asarray(value)  # numpy turns tensors of rank 0 into scalars; keep a tensor
    if machine.is_mutable and not op.shares:
        value = _apart(value, list(_arrays(args)))
    check_value(machine, frame, at, op, args, value, expected)
    machine.write(frame, at.target, value)
    odd = op.doubt(*args, *missing, **at.node.attrs) if op.doubt is not None else ""
    if odd:
        machine.warn(codes.NOTHING_REDUCED, f"{op.name}: {odd}", at)
    else:
        remember_operator(at, op, frame, args, value)


def _is_left_over(lengths: Shape, written: Sequence[p.PrimExpr] | None) -> bool:
    """True if the only negative number is a literal -1."""
    negative = [n for n, length in enumerate(lengths) if length < 0]
    return written is not None and len(negative) == 1 and written[negative[0]] is p.IntImm(-1)


def run_again(machine: Running, frame: Frame, at: Instruction, args: Sequence[Value]) -> bool:
    """Evaluate a call that passed all checks before, without them. False if it needs them; then nothing was done."""
    with compiling(machine.kernels.loops):
        value = operator_again(at, args, frame.dims)
    if value is None:
        return False
    if machine.is_mutable and not at.known.shares:
        value = _apart(value, list(_arrays(args)))
    machine.write(frame, at.target, value)
    return True


def _need_lengths(
    machine: Running, frame: Frame, at: Instruction, op: type[Op], expected: s.StructInfo
) -> None:
    """Trap if the result would have a negative length, quoted from the text, or would need too much memory."""
    for info in (at.node.struct_info or s.OBJECT, expected):
        text = negative_length(info, frame.dims)
        if text:
            raise machine.trap(codes.SHAPE_CHECK, f"{op.name}: in the result {text}", at)
    for info in expected.fields if isinstance(expected, s.TupleStructInfo) else (expected,):
        if isinstance(info, s.TensorStructInfo) and info.dims and info.dtype is not None:
            lengths = [evaluate(dim, frame.dims) for dim in info.dims]
            text = "" if None in lengths else too_large(tuple(map(int, lengths)), info.dtype)
            if text:
                raise machine.trap(codes.TOO_LARGE, f"{op.name}: {text}", at)


def _apart(value: Value, arguments: Sequence[Any]) -> Value:
    """Copy a result that shares memory: numpy may return a view of an operand, which may be overwritten."""
    if isinstance(value, np.ndarray):
        return value.copy() if any(np.may_share_memory(value, array) for array in arguments) else value
    return tuple([_apart(item, arguments) for item in value]) if type(value) is tuple else value


def _arrays(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif type(value) is tuple:
            yield from _arrays(value)


def _computed(machine: Running, at: Instruction, op: type[Op], args: Sequence[Value]) -> Value:
    function = op.evaluate
    assert function is not None  # the caller checked this
    try:
        return function(*args, **at.node.attrs)
    except BadValue:
        raise
    except ValueError as problem:  # the rule accepted the operands, so the call of numpy is wrong
        text = f"{op.name} could not be computed: {problem}"
        raise machine.trap(internal.WRONG_VALUE, text, at) from problem
