"""Running an operator by its `evaluate`: what is wrong is said with every operand, and the value has the type that was derived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Failure, Label
from relax_explorer.core.exec.match import Mismatch, match
from relax_explorer.core.exec.values import UNKNOWN, Shape, describe, negative_dimension
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.decl import Op
from relax_explorer.core.syntax.places import operand_spans


def run_operator(machine: Any, frame: Any, at: Any, op: type[Op], args: Sequence[Any]) -> None:
    """Write the value of an operator's call into its register; unknown operands give an unknown value."""
    if any(arg is UNKNOWN for arg in args):
        machine.write(frame, at.target, UNKNOWN)
        return
    for value, given in zip(args, at.node.args, strict=False):
        # A shape may hold a number below 0, but no tensor has such a length.
        if isinstance(value, Shape) and min(value, default=0) < 0:
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
    try:
        match(value, info or s.OBJECT, dict(frame.dims), machine.scope(frame))
    except Mismatch as problem:
        text = f"{op.name} gives {describe(value)}, not {info}: {problem}"
        raise _with_operands(machine.trap(codes.SHAPE_CHECK, text, at), at.node, args) from None
    machine.write(frame, at.target, value)
    odd = op.doubt(*args, *missing, **at.node.attrs) if op.doubt is not None else ""
    if odd:
        machine.warn(codes.NOTHING_REDUCED, f"{op.name}: {odd}", at)


def _parts(value: Any) -> str:
    """What an operand is; of a tuple, what its fields are."""
    return describe(value) if isinstance(value, (np.ndarray, Shape)) else ", ".join(map(describe, value))


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
