"""Types: StructInfo without shapes, only kind, rank and dtype. Interned, so `is` decides equality.

An unknown rank is -1, an unknown dtype None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.expr import Expr
from relax_explorer.core.ir.interned import InternTable, PerNode, make_interned

_TABLE: InternTable[tuple[Any, ...], Any] = InternTable()


class Type:
    """The kind of a value, without its shape."""

    __slots__ = ("__weakref__",)


class ObjectType(Type):
    """Any value. All other types are subtypes."""

    __slots__ = ()

    def __new__(cls) -> ObjectType:
        unique: ObjectType = _TABLE.find((cls,)) or make_interned(_TABLE, (cls,))
        return unique

    def __repr__(self) -> str:
        return "ObjectType()"


class PrimType(Type):
    """A scalar of one dtype."""

    __slots__ = ("dtype",)
    dtype: DType

    def __new__(cls, dtype: DType) -> PrimType:
        key = (cls, dtype)
        unique: PrimType = _TABLE.find(key) or make_interned(_TABLE, key, dtype=dtype)
        return unique

    def __repr__(self) -> str:
        return f'PrimType("{self.dtype}")'


class ShapeType(Type):
    """A shape of `ndim` lengths."""

    __slots__ = ("ndim",)
    ndim: int

    def __new__(cls, ndim: int = -1) -> ShapeType:
        key = (cls, ndim)
        unique: ShapeType = _TABLE.find(key) or make_interned(_TABLE, key, ndim=ndim)
        return unique

    def __repr__(self) -> str:
        return f"ShapeType(ndim={self.ndim})" if self.ndim >= 0 else "ShapeType()"


class DynTensorType(Type):
    """A tensor of `ndim` dimensions and elements of `dtype`."""

    __slots__ = ("dtype", "ndim")
    ndim: int
    dtype: DType | None

    def __new__(cls, ndim: int = -1, dtype: DType | None = None) -> DynTensorType:
        key = (cls, ndim, dtype)
        unique: DynTensorType = _TABLE.find(key) or make_interned(_TABLE, key, ndim=ndim, dtype=dtype)
        return unique

    def __repr__(self) -> str:
        parts = [f"ndim={self.ndim}"] if self.ndim >= 0 else []
        parts += [f'dtype="{self.dtype}"'] if self.dtype is not None else []
        return f"DynTensorType({', '.join(parts)})"


class TupleType(Type):
    """A tuple of values of the types `fields`."""

    __slots__ = ("fields",)
    fields: tuple[Type, ...]

    def __new__(cls, fields: tuple[Type, ...] | list[Type] = ()) -> TupleType:
        key = (cls, tuple(fields))
        unique: TupleType = _TABLE.find(key) or make_interned(_TABLE, key, fields=key[1])
        return unique

    def __repr__(self) -> str:
        return f"TupleType([{', '.join(map(repr, self.fields))}])"


class FuncType(Type):
    """A Relax function: argument types, result type, and purity."""

    __slots__ = ("arg_types", "pure", "ret_type")
    arg_types: tuple[Type, ...]
    ret_type: Type
    pure: bool

    def __new__(cls, arg_types: tuple[Type, ...] | list[Type], ret_type: Type, pure: bool = True) -> FuncType:
        key = (cls, tuple(arg_types), ret_type, pure)
        cached = _TABLE.find(key)
        unique: FuncType = cached or make_interned(
            _TABLE, key, arg_types=key[1], ret_type=ret_type, pure=pure
        )
        return unique

    def __repr__(self) -> str:
        return f"FuncType([{', '.join(map(repr, self.arg_types))}], {self.ret_type}, pure={self.pure})"


class PackedFuncType(Type):
    """A packed function, defined outside the program."""

    __slots__ = ()

    def __new__(cls) -> PackedFuncType:
        unique: PackedFuncType = _TABLE.find((cls,)) or make_interned(_TABLE, (cls,))
        return unique

    def __repr__(self) -> str:
        return "PackedFuncType()"


OBJECT_TYPE = ObjectType()
PACKED_FUNC_TYPE = PackedFuncType()


# -- erasure ---------------------------------------------------------------------------------------------------------
# Converts StructInfo to types, which have no shapes, and back.


_ERASED: PerNode[Type] = PerNode()


def erase_struct_info(info: s.StructInfo) -> Type:
    """The type of a StructInfo, without shapes and values."""
    erased = _ERASED.get(id(info))
    if erased is None:
        erased = _ERASED.add(info, _ERASE[type(info)](info))
    return erased


def checked_type(expr: Expr) -> Type | None:
    """The type of an expression in a normalized program. None before normalization, and for operators."""
    return None if expr.struct_info is None else erase_struct_info(expr.struct_info)


def _erase_func(info: s.FuncStructInfo) -> Type:
    if info.params is None:
        return PACKED_FUNC_TYPE
    arguments = tuple([erase_struct_info(param) for param in info.params])
    return FuncType(arguments, erase_struct_info(info.ret), info.pure)


_ERASE: dict[type, Callable[[Any], Type]] = {
    s.ObjectStructInfo: lambda info: OBJECT_TYPE,
    s.PrimStructInfo: lambda info: PrimType(info.dtype),
    s.ShapeStructInfo: lambda info: ShapeType(info.ndim),
    s.TensorStructInfo: lambda info: DynTensorType(info.ndim, info.dtype),
    s.TupleStructInfo: lambda info: TupleType(tuple([erase_struct_info(field) for field in info.fields])),
    s.FuncStructInfo: _erase_func,
}


def wrap_type(ty: Type) -> s.StructInfo:
    """The StructInfo of a type. Shapes are unknown; a packed function gets the derive function `default_derive`."""
    return _WRAP[type(ty)](ty)


def _wrap_func(ty: FuncType) -> s.StructInfo:
    params = tuple([wrap_type(argument) for argument in ty.arg_types])
    return s.FuncStructInfo(params, wrap_type(ty.ret_type), ty.pure)


_WRAP: dict[type, Callable[[Any], s.StructInfo]] = {
    ObjectType: lambda kind: s.OBJECT,
    PrimType: lambda kind: s.PrimStructInfo(kind.dtype),
    ShapeType: lambda kind: s.ShapeStructInfo(None, kind.ndim),
    DynTensorType: lambda kind: s.TensorStructInfo(None, kind.dtype, kind.ndim),
    TupleType: lambda kind: s.TupleStructInfo(tuple([wrap_type(field) for field in kind.fields])),
    FuncType: _wrap_func,
    PackedFuncType: lambda kind: s.FuncStructInfo(None, s.OBJECT, False, "default_derive"),
}
