"""Checks operands with the operator's inference rule, using the actual lengths, ranks and dtypes of a run.

Constraints that inference could not decide for symbols are decided here, with the same messages, before the evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relax_explorer.core.codes import internal, operators, runtime
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec.frame import Frame
from relax_explorer.core.exec.match import Mismatch, match
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.scalars import evaluate
from relax_explorer.core.exec.values import (
    Lengths,
    Shape,
    Value,
    describe,
    dtype_of,
    kind_of,
    negative_dimension,
    scalar_dtype,
)
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT64
from relax_explorer.core.ir.walk import info_vars
from relax_explorer.core.ops.kit.decl import InferFailure, Op, Site
from relax_explorer.core.syntax.python_tree import operand_spans

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
    infos = tuple([_info(value, arg.struct_info) for value, arg in zip(args, call.args, strict=True)])
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
    """Add to a failure the operands, their places in the call, and the shape variables of their types."""
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


def _info(value: Value, stated: s.StructInfo | None) -> s.StructInfo:
    """The type of a value. For objects, the StructInfo of the variable."""
    if isinstance(value, np.ndarray):
        device = stated.vdevice if isinstance(stated, s.TensorStructInfo) else None
        dims = tuple([p.IntImm(length) for length in value.shape])
        return s.TensorStructInfo(dims, dtype_of(value), value.ndim, device)
    if isinstance(value, Shape):
        return s.ShapeStructInfo(tuple([p.IntImm(length) for length in value]))
    if isinstance(value, tuple):
        fields = stated.fields if isinstance(stated, s.TupleStructInfo) else (None,) * len(value)
        return s.TupleStructInfo(tuple([_info(item, f) for item, f in zip(value, fields, strict=False)]))
    if isinstance(value, (bool, int, float, np.generic)):
        expected = stated.dtype if isinstance(stated, s.PrimStructInfo) else FLOAT64
        dtype = scalar_dtype(value, expected) or FLOAT64
        return s.PrimStructInfo(
            dtype, p.as_prim(value.item() if isinstance(value, np.generic) else value, dtype)
        )
    return stated or s.OBJECT


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
