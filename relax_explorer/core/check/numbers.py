"""Numbers of Python as operands: `R.multiply(x, 2.0)`. They take the dtype of the other operand."""

from __future__ import annotations

import contextlib
from typing import Any

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Report, Severity
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT32, INT64, DType
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ops.kit.decl import Op


def is_open(arg: e.Expr) -> bool:
    """True for a number of Python whose dtype the other operand decides: its StructInfo does not state the value yet."""
    return (
        type(arg) is e.PrimValue
        and type(arg.struct_info) is s.PrimStructInfo
        and arg.struct_info.value is None
    )


def with_dtypes(report: Report, call: e.Call, infos: list[s.StructInfo], op: type[Op]) -> e.Call:
    """A call of an element-wise operator whose numbers have a dtype.

    TVM 0.27 reads an integer as int32 and any other number as float32, and refuses the call if the tensor has another dtype.
    """
    args: list[Any] = list(call.args)
    for number, arg in enumerate(args):
        if is_open(arg):
            others = [_dtype(info) for at, info in enumerate(infos) if at != number and not is_open(args[at])]
            target = others[0] if others else None
            args[number] = _settled(arg, target)
            theirs = INT32 if infos[number] is s.PrimStructInfo(INT64) else FLOAT32
            fits = args[number].value.dtype is target
            if fits and not op.dtypes_may_differ and target is not theirs:
                text = f"TVM reads this number as {theirs}, the other operand is {target}"
                help = f'write R.const(…, "{target}")'
                report.say(codes.DTYPES_DIFFER, text, call, help=help, severity=Severity.NOTE, tvm_only=True)
    return e.Call(call.op, tuple(args), call.attrs, call.sinfo_args, None, call.span)


def _dtype(info: s.StructInfo) -> DType | None:
    return info.dtype if isinstance(info, (s.TensorStructInfo, s.PrimStructInfo)) else None


def _settled(arg: e.PrimValue, target: DType | None) -> e.PrimValue:
    """The number in a dtype; in its own if it does not fit. Then the rule of the operator compares the two."""
    literal = arg.value
    assert isinstance(literal, (p.IntImm, p.FloatImm))  # a number of the text
    is_whole = isinstance(literal, p.IntImm)
    if target is None and not is_whole:
        target = FLOAT32
    if target is not None and target.lanes == 1 and (target.is_float or (is_whole and target.is_int)):
        with contextlib.suppress(OverflowError, ValueError):
            literal = p.as_prim(literal.value, target)
    return replace(arg, value=literal, struct_info=s.PrimStructInfo(literal.dtype, literal))
