"""The order of types: subtypes, least upper and greatest lower bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.ir import types as t


def is_subtype(a: t.Type, b: t.Type) -> bool:
    """True if `a <: b`: a value of `a` is accepted wherever a value of `b` is expected."""
    if a is b or b is t.OBJECT_TYPE:
        return True
    if type(a) is not type(b):
        return False
    rule = _BELOW.get(type(a))
    return rule is not None and rule(a, b)


def _tensor_below(a: t.DynTensorType, b: t.DynTensorType) -> bool:
    return b.ndim in (-1, a.ndim) and b.dtype in (None, a.dtype)  # independent of each other (errata E-07)


def _tuple_below(a: t.TupleType, b: t.TupleType) -> bool:
    return len(a.fields) == len(b.fields) and all(map(is_subtype, a.fields, b.fields))


def _func_below(a: t.FuncType, b: t.FuncType) -> bool:
    if len(a.arg_types) != len(b.arg_types) or (b.pure and not a.pure):
        return False
    return is_subtype(a.ret_type, b.ret_type) and all(map(is_subtype, b.arg_types, a.arg_types))


_BELOW: dict[type, Callable[[Any, Any], bool]] = {
    t.ShapeType: lambda a, b: b.ndim == -1,
    t.DynTensorType: _tensor_below,
    t.TupleType: _tuple_below,
    t.FuncType: _func_below,
}


def lub(a: t.Type, b: t.Type) -> t.Type:
    """The least upper bound: the smallest type above both. It always exists."""
    if a is b:
        return a
    rule = _LUB.get(type(a)) if type(a) is type(b) else None
    return t.OBJECT_TYPE if rule is None else rule(a, b)


def _tensor_lub(a: t.DynTensorType, b: t.DynTensorType) -> t.Type:
    return t.DynTensorType(a.ndim if a.ndim == b.ndim else -1, a.dtype if a.dtype is b.dtype else None)


def _tuple_lub(a: t.TupleType, b: t.TupleType) -> t.Type:
    if len(a.fields) != len(b.fields):
        return t.OBJECT_TYPE
    return t.TupleType(tuple(map(lub, a.fields, b.fields)))


def _func_lub(a: t.FuncType, b: t.FuncType) -> t.Type:
    if len(a.arg_types) != len(b.arg_types):
        return t.OBJECT_TYPE
    arguments = _all_known(map(glb, a.arg_types, b.arg_types))
    if arguments is None:
        return t.OBJECT_TYPE
    return t.FuncType(arguments, lub(a.ret_type, b.ret_type), a.pure and b.pure)


_LUB: dict[type, Callable[[Any, Any], t.Type]] = {
    t.ShapeType: lambda a, b: t.ShapeType(-1),
    t.DynTensorType: _tensor_lub,
    t.TupleType: _tuple_lub,
    t.FuncType: _func_lub,
}


def glb(a: t.Type, b: t.Type) -> t.Type | None:
    """The greatest lower bound: the largest type below both; None if no type is below both (errata E-05, E-06)."""
    if a is b or b is t.OBJECT_TYPE:
        return a
    if a is t.OBJECT_TYPE:
        return b
    rule = _GLB.get(type(a)) if type(a) is type(b) else None
    return None if rule is None else rule(a, b)


def _shape_glb(a: t.ShapeType, b: t.ShapeType) -> t.Type | None:
    return t.ShapeType(max(a.ndim, b.ndim)) if -1 in (a.ndim, b.ndim) else None


def _tensor_glb(a: t.DynTensorType, b: t.DynTensorType) -> t.Type | None:
    if a.ndim != b.ndim and -1 not in (a.ndim, b.ndim):
        return None
    if a.dtype is not b.dtype and None not in (a.dtype, b.dtype):
        return None
    return t.DynTensorType(max(a.ndim, b.ndim), a.dtype or b.dtype)


def _tuple_glb(a: t.TupleType, b: t.TupleType) -> t.Type | None:
    if len(a.fields) != len(b.fields):
        return None
    fields = _all_known(map(glb, a.fields, b.fields))
    return None if fields is None else t.TupleType(fields)


def _func_glb(a: t.FuncType, b: t.FuncType) -> t.Type | None:
    if len(a.arg_types) != len(b.arg_types):
        return None
    result = glb(a.ret_type, b.ret_type)
    if result is None:
        return None
    return t.FuncType(tuple(map(lub, a.arg_types, b.arg_types)), result, a.pure or b.pure)


def _all_known(types: map[t.Type | None]) -> tuple[t.Type, ...] | None:
    known = list(types)
    return None if None in known else tuple([type_ for type_ in known if type_ is not None])


_GLB: dict[type, Callable[[Any, Any], t.Type | None]] = {
    t.ShapeType: _shape_glb,
    t.DynTensorType: _tensor_glb,
    t.TupleType: _tuple_glb,
    t.FuncType: _func_glb,
}
