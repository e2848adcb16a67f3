"""Runs an operator with its `evaluate`. Errors describe every operand; the value must have the derived type."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relax_explorer.core.codes import internal, operators, runtime
from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec.faults import guarded
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.interrupt import Cancelled
from relax_explorer.core.exec.kernels import too_large
from relax_explorer.core.exec.known_call import operator_again, operator_alike, pays, remember_operator
from relax_explorer.core.exec.match import Mismatch, match
from relax_explorer.core.exec.own_kernels import Function, function_of
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.scalars import evaluate
from relax_explorer.core.exec.values import (
    UNKNOWN,
    Lengths,
    Shape,
    Value,
    describe,
    info_of,
    kind_of,
    negative_dimension,
)
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.core.ops.kit.decl import InferFailure, Op, Site
from relax_explorer.core.ops.kit.element_loops import compiling
from relax_explorer.core.ops.kit.special import BadValue
from relax_explorer.core.syntax.python_tree import operand_spans

# -- types of results ------------------------------------------------------------------------------------------------
# Checks operands with the operator's inference rule, using the actual lengths, ranks and dtypes of a run.
#
# Constraints that inference could not decide for symbols are decided here, with the same messages, before the
# evaluation.


_CODES = {
    operators.DTYPE_WRONG: runtime.UNDEFINED_FOR_DTYPE,
    operators.DTYPES_DIFFER: runtime.UNDEFINED_FOR_DTYPE,
    operators.AXIS_RANGE: runtime.OUT_OF_BOUNDS,
}
"""The run-time codes of refusals. All others become shape errors."""


def type_of_result(
    machine: Running, frame: Frame, at: Instruction, op: type[Op], args: Sequence[Value]
) -> s.StructInfo:
    """The type derived by the operator's rule for these values. Raises Failure if the rule refuses them."""
    call = at.node
    stated = call.struct_info or s.OBJECT
    if any(_is_foreign(value, arg.struct_info) for value, arg in zip(args, call.args, strict=True)):
        lie = _other_than_stated(frame, call, op, args, machine.scope(frame))
        failure = machine.trap(runtime.SHAPE_CHECK, f"{op.name}: {lie}", at)
        raise with_operands(failure, frame, call, op, args)
    infos = tuple([info_of(value, arg.struct_info) for value, arg in zip(args, call.args, strict=True)])
    if op.takes_sinfo or all(
        info is arg.struct_info or (arg.struct_info is None and not isinstance(info, s.TupleStructInfo))
        for info, arg in zip(infos, call.args, strict=True)
    ):
        return stated  # inference was already this precise
    key = (op, call.attrs, infos) if op.by_info else (call, infos)
    known: s.StructInfo | None = machine.fitting.get(key)
    if known is None:
        try:
            missing = [None] * (len(op.operands) - len(args)) if not op.variadic else []
            known = op.infer(Site(call, op), *infos, *missing, **call.attrs)
        except InferFailure as refusal:
            raise _refused(machine, frame, at, op, args, refusal.diagnostic) from None
        except OverflowError as problem:  # of a number of elements, say
            failure = machine.trap(runtime.OVERFLOW, f"{op.name}: {problem}", at)
            raise with_operands(failure, frame, at.node, op, args) from None
        machine.fitting[key] = known
    return known


def _is_foreign(value: Value, stated: s.StructInfo | None) -> bool:
    """True if a packed function returned an object or a string where a tensor, tuple, shape or scalar is stated."""
    return kind_of(value) in ("object", "packed", "closure") and isinstance(
        stated, (s.TensorStructInfo, s.TupleStructInfo, s.ShapeStructInfo, s.PrimStructInfo)
    )


def _refused(
    machine: Running, frame: Frame, at: Instruction, op: type[Op], args: Sequence[Value], problem: Diagnostic
) -> Failure:
    """A refusal by the operator's rule, as a failure of the run."""
    code = _CODES.get(problem.code, runtime.SHAPE_CHECK)
    return with_operands(machine.trap(code, problem.message, at, problem.help), frame, at.node, op, args)


def with_operands(
    failure: Failure, frame: Frame, call: e.Call, op: type[Op], args: Sequence[Value]
) -> Failure:
    """Add to a failure the operands, their places in the call, and the shape variables of their types. A run that was cancelled has none."""
    if isinstance(failure, Cancelled):
        return failure
    spans = operand_spans(call.span)
    places = spans if len(spans) >= len(args) else call.args
    names = [q.name for q in op.operands] or ["the operand"]
    names += [names[-1]] * (len(args) - len(names))
    labels = [
        Label(place, f"{name} is {_parts(value)}")
        for place, name, value in zip(places, names, args, strict=False)
        if isinstance(value, (np.ndarray, tuple))
    ]
    dims = _values(call, frame.dims)
    return Failure(
        *[
            replace(
                item, labels=(*item.labels, *labels), notes=(*([f"here {dims}"] if dims else []), *item.notes)
            )
            for item in failure.diagnostics
        ]
    )


def _values(call: e.Call, dims: Lengths) -> str:
    """The shape variables in the types of the operands, with their values."""
    seen = dict.fromkeys(
        var for arg in call.args if arg.struct_info is not None for var in info_vars(arg.struct_info)
    )
    return ", ".join(f"{var.name} = {dims[var]}" for var in seen if var in dims)


def _parts(value: Value) -> str:
    """The description of an operand. For a tuple, the descriptions of its fields."""
    if isinstance(value, (np.ndarray, Shape)):
        return describe(value)
    return ", ".join(map(describe, value)) or "an empty tuple"


def negative_length(info: s.StructInfo, dims: Lengths) -> str:
    """The message about a negative length in the result type, which the rule of the operator accepted. Empty if there is none."""
    for part in info.fields if isinstance(info, s.TupleStructInfo) else (info,):
        dimensions = part.dims or () if isinstance(part, s.TensorStructInfo) else ()
        values = [evaluate(dim, dims) for dim in dimensions]
        if None not in values and (text := negative_dimension(tuple(map(int, values)), dimensions)):
            return text
    return ""


def check_value(
    machine: Running,
    frame: Frame,
    at: Instruction,
    op: type[Op],
    args: Sequence[Value],
    value: Value,
    expected: s.StructInfo,
) -> None:
    """Compare a value with its inferred type for these operands, and with the type of its variable.

    The first comparison fails only by a bug of ours. The second fails if an operand does not have its stated type (a packed
    function may return something else), or if TVM's rule assumes that an axis is long enough.
    """
    stated, scope = at.node.struct_info or s.OBJECT, machine.scope(frame)
    try:
        match(value, expected, dict(frame.dims), scope)
    except Mismatch as problem:
        text = f"{op.name} returned {describe(value)}, not {expected}: {problem}"
        lie = _other_than_stated(frame, at.node, op, args, scope) if expected is stated else ""
        code = runtime.SHAPE_CHECK if lie else internal.WRONG_VALUE
        trap = machine.trap(code, f"{op.name}: {lie}" if lie else text, at)
        raise with_operands(trap, frame, at.node, op, args) from None
    try:
        match(value, stated, dict(frame.dims), scope)
    except Mismatch as problem:
        text = f"with these lengths the result is {expected}, but its StructInfo is {stated}: {problem}"
        lie = _other_than_stated(frame, at.node, op, args, scope) or text
        trap = machine.trap(runtime.SHAPE_CHECK, f"{op.name}: {lie}", at)
        raise with_operands(trap, frame, at.node, op, args) from None


def _other_than_stated(frame: Frame, call: e.Call, op: type[Op], args: Sequence[Value], scope: Any) -> str:
    """A sentence about the first operand that does not have its stated type; empty if there is none."""
    for n, (value, arg) in enumerate(zip(args, call.args, strict=True)):
        try:
            match(value, arg.struct_info or s.OBJECT, dict(frame.dims), scope)
        except Mismatch as problem:
            name = op.operands[min(n, len(op.operands) - 1)].name
            return f"{name} is {describe(value)}, but its StructInfo is {arg.struct_info}: {problem}"
    return ""


# -- operation -------------------------------------------------------------------------------------------------------


def run_operator(
    machine: Running, frame: Frame, at: Instruction, op: type[Op], args: Sequence[Value]
) -> None:
    """Evaluate an operator call into its register. Unknown operands give an unknown value."""
    if any(arg is UNKNOWN for arg in args):
        machine.write(frame, at.target, UNKNOWN)
        return
    _need_shapes(machine, at, op, args)
    function = function_of(at, op, args)
    assert function is not None  # the caller checked this
    if _is_like_another(machine, frame, at, op, function, args):
        return
    start = time.perf_counter()
    expected = type_of_result(machine, frame, at, op, args)
    machine.kernels.checking += 0.0 if expected is at.node.struct_info else time.perf_counter() - start
    missing = [None] * (len(op.operands) - len(args)) if not op.variadic else []
    try:
        _need_lengths(machine, frame, at, op, expected)
        with np.errstate(all="ignore"), compiling(machine.kernels.loops):
            value = guarded(machine, at, lambda: _computed(machine, at, op, function, (*args, *missing)))
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
    elif pays(machine, at):
        remember_operator(machine, frame, at, op, function, args, value)


def _need_shapes(machine: Running, at: Instruction, op: type[Op], args: Sequence[Value]) -> None:
    """A shape may hold a negative number, but a tensor cannot have such a length. Raises Failure."""
    for value, arguments in zip(args, at.node.args, strict=False):
        if isinstance(value, Shape) and min(value, default=0) < 0:
            written = arguments.values if isinstance(arguments, e.ShapeExpr) else None
            if not (op.leaves_length and _is_left_over(value, written)):
                raise machine.trap(codes.SHAPE_CHECK, negative_dimension(value, written), at)


def _is_left_over(lengths: Shape, written: Sequence[p.PrimExpr] | None) -> bool:
    """True if the only negative number is a literal -1."""
    negative = [n for n, length in enumerate(lengths) if length < 0]
    return written is not None and len(negative) == 1 and written[negative[0]] is p.IntImm(-1)


def run_again(machine: Running, frame: Frame, at: Instruction, args: Sequence[Value]) -> bool:
    """Evaluate a call that passed all checks before, without them. False if it needs them; then nothing was done."""
    with compiling(machine.kernels.loops):
        value = operator_again(at, args, frame.dims)
    return _is_written(machine, frame, at, args, value)


def _is_like_another(
    machine: Running, frame: Frame, at: Instruction, op: type[Op], function: object, args: Sequence[Value]
) -> bool:
    """Evaluate a call like one elsewhere that passed all checks. False if it needs them; then nothing was done."""
    with compiling(machine.kernels.loops):
        value = operator_alike(machine, frame, at, op, function, args)
    return _is_written(machine, frame, at, args, value)


def _is_written(machine: Running, frame: Frame, at: Instruction, args: Sequence[Value], value: Value) -> bool:
    """Write the value of a call that is known. False if it has none."""
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


def _computed(
    machine: Running, at: Instruction, op: type[Op], function: Function, args: Sequence[Value]
) -> Value:
    try:
        return function(*args, **at.node.attrs)
    except BadValue:
        raise
    except ValueError as problem:  # the rule accepted the operands, so the call of numpy is wrong
        text = f"{op.name} could not be computed: {problem}"
        raise machine.trap(internal.WRONG_VALUE, text, at) from problem
