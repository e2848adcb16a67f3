"""Running an operator by its `evaluate`: what is wrong is said with every operand, and the value has the type that was derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Failure, Label
from relax_explorer.core.exec.scalars import evaluate
from relax_explorer.core.exec.values import UNKNOWN, Shape, describe, negative_dimension
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.decl import Op
from relax_explorer.core.syntax.places import operand_spans


def run_operator(machine: Any, frame: Any, at: Any, op: type[Op], args: Sequence[Any]) -> None:
    """Write the value of an operator's call into its register; unknown operands give an unknown value."""
    if any(arg is UNKNOWN for arg in args):
        machine.write(frame, at.target, UNKNOWN)
        return
    for value, given in zip(args, at.node.args, strict=False):
        if (
            isinstance(value, Shape) and min(value, default=0) < 0
        ):  # a shape may hold it, but no tensor has it
            written = given.values if isinstance(given, e.ShapeExpr) else None
            raise machine.trap(codes.SHAPE_CHECK, negative_dimension(value, written), at)
    missing = [None] * (len(op.operands) - len(args)) if not op.variadic else []
    function = op.evaluate
    assert function is not None  # the caller looked
    try:
        with np.errstate(all="ignore"):
            value = machine.guard(at, lambda: function(*args, *missing, **at.node.attrs))
    except Failure as failure:
        raise _with_operands(failure, at.node, args) from None
    info = at.node.struct_info
    if isinstance(value, np.generic) and not isinstance(info, s.PrimStructInfo):
        value = np.asarray(value)  # numpy makes a scalar of a tensor of rank 0; here it stays a tensor
    problem = broken_promise(value, info, frame.dims)
    if problem:
        raise _with_operands(machine.trap(codes.SHAPE_CHECK, problem, at), at.node, args)
    machine.write(frame, at.target, value)


def broken_promise(value: Any, info: s.StructInfo | None, dims: Mapping[p.PrimVar, int]) -> str:
    """What keeps a value from having the lengths that were derived for it; empty when nothing does."""
    if isinstance(info, s.TupleStructInfo) and isinstance(value, tuple):
        return next(filter(None, map(broken_promise, value, info.fields, [dims] * len(value))), "")
    if not isinstance(info, s.TensorStructInfo) or info.dims is None or not isinstance(value, np.ndarray):
        return ""
    lengths = [dim.value if type(dim) is p.IntImm else _length(dim, dims) for dim in info.dims]
    if len(lengths) == value.ndim and all(
        want is None or want == have for want, have in zip(lengths, value.shape, strict=True)
    ):
        return ""
    known = tuple([-1 if want is None else want for want in lengths])
    negative = "" if None in lengths else negative_dimension(known, info.dims)
    return negative or f"the value has shape {tuple(value.shape)}, and is known to have {known}"


def _parts(value: Any) -> str:
    """What an operand is; of a tuple, what its fields are."""
    return describe(value) if isinstance(value, (np.ndarray, Shape)) else ", ".join(map(describe, value))


def _length(dim: p.PrimExpr, dims: Mapping[p.PrimVar, int]) -> Any:
    return dims.get(dim) if type(dim) is p.PrimVar else evaluate(dim, dims)


def _with_operands(failure: Failure, call: e.Call, args: Sequence[Any]) -> Failure:
    """The failure with what each operand was, where it stands in the call."""
    spans = operand_spans(call.span)
    places = spans if len(spans) >= len(args) else call.args
    labels = [
        Label(place, _parts(value))
        for place, value in zip(places, args, strict=False)
        if isinstance(value, (np.ndarray, tuple))
    ]
    return Failure(*[replace(item, labels=(*item.labels, *labels)) for item in failure.diagnostics])
