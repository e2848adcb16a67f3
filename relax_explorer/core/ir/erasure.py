"""Converts StructInfo to types, which have no shapes, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir import types as t
from relax_explorer.core.ir.expr import Expr
from relax_explorer.core.ir.interned import PerNode

_ERASED: PerNode[t.Type] = PerNode()


def erase_struct_info(info: s.StructInfo) -> t.Type:
    """The type of a StructInfo, without shapes and values."""
    erased = _ERASED.get(id(info))
    if erased is None:
        erased = _ERASED.add(info, _ERASE[type(info)](info))
    return erased


def checked_type(expr: Expr) -> t.Type | None:
    """The type of an expression in a normalized program. None before normalization, and for operators."""
    return None if expr.struct_info is None else erase_struct_info(expr.struct_info)


def _erase_func(info: s.FuncStructInfo) -> t.Type:
    if info.params is None:
        return t.PACKED_FUNC_TYPE
    arguments = tuple([erase_struct_info(param) for param in info.params])
    return t.FuncType(arguments, erase_struct_info(info.ret), info.pure)


_ERASE: dict[type, Callable[[Any], t.Type]] = {
    s.ObjectStructInfo: lambda info: t.OBJECT_TYPE,
    s.PrimStructInfo: lambda info: t.PrimType(info.dtype),
    s.ShapeStructInfo: lambda info: t.ShapeType(info.ndim),
    s.TensorStructInfo: lambda info: t.DynTensorType(info.ndim, info.dtype),
    s.TupleStructInfo: lambda info: t.TupleType(tuple([erase_struct_info(field) for field in info.fields])),
    s.FuncStructInfo: _erase_func,
}


def wrap_type(ty: t.Type) -> s.StructInfo:
    """The StructInfo of a type. Shapes are unknown; a packed function gets the derive function `default_derive`."""
    return _WRAP[type(ty)](ty)


def _wrap_func(ty: t.FuncType) -> s.StructInfo:
    params = tuple([wrap_type(argument) for argument in ty.arg_types])
    return s.FuncStructInfo(params, wrap_type(ty.ret_type), ty.pure)


_WRAP: dict[type, Callable[[Any], s.StructInfo]] = {
    t.ObjectType: lambda kind: s.OBJECT,
    t.PrimType: lambda kind: s.PrimStructInfo(kind.dtype),
    t.ShapeType: lambda kind: s.ShapeStructInfo(None, kind.ndim),
    t.DynTensorType: lambda kind: s.TensorStructInfo(None, kind.dtype, kind.ndim),
    t.TupleType: lambda kind: s.TupleStructInfo(tuple([wrap_type(field) for field in kind.fields])),
    t.FuncType: _wrap_func,
    t.PackedFuncType: lambda kind: s.FuncStructInfo(None, s.OBJECT, False, "default_derive"),
}
