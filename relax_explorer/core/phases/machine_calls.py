"""Calls and statements of lowered programs, for the passes that lower."""

from __future__ import annotations

from typing import TypeGuard

from relax_explorer.core.check.infer import EXTERN
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType

UNIT = s.TupleStructInfo(())
ALLOCATION = e.op_ref("relax.builtin.alloc_tensor")


def extern(name: str) -> e.ExternFunc:
    """A packed function by its global name."""
    return e.ExternFunc(name, EXTERN)


def operation(name: str, args: tuple[e.Expr, ...], info: s.StructInfo, like: e.Expr | None = None) -> e.Call:
    """A call of an operator with known StructInfo, at the place of `like`."""
    return e.Call(e.op_ref(name), args, struct_info=info, span=like.span if like is not None else None)


def packed(name: str, args: tuple[e.Expr, ...], info: s.StructInfo, like: e.Expr | None = None) -> e.Call:
    """A call of a packed function that returns a value of StructInfo `info`."""
    span = like.span if like is not None else None
    return e.Call(e.ExternFunc(name, EXTERN), args, sinfo_args=(info,), struct_info=info, span=span)


def statement(value: e.Expr) -> e.VarBinding:
    """A binding of a call whose result is not used."""
    return e.VarBinding(e.Var("_", value.struct_info, value.span), value, None, value.span)


def bound(name: str, value: e.Expr) -> e.VarBinding:
    """A binding of a value to a new variable."""
    return e.VarBinding(e.Var(name, value.struct_info, value.span), value, None, value.span)


def number(value: int | p.PrimExpr) -> e.PrimValue:
    """An int64 scalar."""
    prim = p.IntImm(value, INT64) if isinstance(value, int) else value
    return e.PrimValue(prim, s.PrimStructInfo(prim.dtype, prim))


def text(value: str) -> e.StringImm:
    """A text literal."""
    return e.StringImm(value, s.OBJECT)


def element_type(value: DType) -> e.DataTypeImm:
    """A dtype literal."""
    return e.DataTypeImm(value, s.OBJECT)


def shape(values: tuple[p.PrimExpr, ...]) -> e.ShapeExpr:
    """A shape of known lengths."""
    return e.ShapeExpr(values, s.ShapeStructInfo(values))


def is_allocation(value: e.Expr) -> TypeGuard[e.Call]:
    """True for a call of `builtin.alloc_tensor`."""
    return type(value) is e.Call and value.op is ALLOCATION


def tensor_of(storage: e.Expr, call: e.Call, offset: int) -> e.Call:
    """The tensor of `builtin.alloc_tensor` call `call`, in a storage."""
    lengths, dtype, device = call.args[:3]
    assert isinstance(lengths, e.ShapeExpr)  # inference refuses other operands
    assert isinstance(dtype, e.DataTypeImm)
    args = (storage, number(offset), lengths, dtype, device)
    info = s.TensorStructInfo(lengths.values, dtype.value)
    return operation("relax.memory.alloc_tensor", args, info, call)
