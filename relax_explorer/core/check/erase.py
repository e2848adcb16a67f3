"""Erase variables from a StructInfo at the end of their scope."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import all_dims, defined_dims, info_vars

PrimVars = Collection[p.PrimVar]
Variables = Collection[Any] | None
_CLOSED: PerNode[bool] = PerNode()


def erase(
    info: s.StructInfo, dims: PrimVars, variables: Variables = None, gone: PrimVars = ()
) -> s.StructInfo:
    """`info` without shape variables outside `dims`, and without variables outside `variables` unless that is None.

    Shape variables bound by the parameters of a function info stay (errata E-25). Those in `gone` belong to the ending scope:
    the function captured them, so they are erased.
    """
    if is_closed(info):
        return info
    return _ERASE[type(info)](info, dims, variables, gone)


def as_told(
    info: s.StructInfo, params: Iterable[s.StructInfo | None], variables: Variables = None
) -> s.StructInfo:
    """What a function may say of its result: `info` without the lengths that parameters of this StructInfo do not tell."""
    told = {dim for param in params if param is not None for dim in defined_dims(param)}
    return erase(info, told, variables, set(all_dims(info)) - told)


def is_closed(info: s.StructInfo) -> bool:
    """True if a StructInfo mentions no variable at all, so that it means the same everywhere."""
    cached = _CLOSED.get(id(info))
    if cached is None:
        cached = _CLOSED.add(info, _closed(info))
    return cached


def _closed(info: s.StructInfo) -> bool:
    if isinstance(info, s.TensorStructInfo):
        return info.shape is None or (info.dims is not None and not p.free_vars(*info.dims))
    if isinstance(info, s.ShapeStructInfo):
        return info.values is None or not p.free_vars(*info.values)
    if isinstance(info, s.PrimStructInfo):
        return info.value is None or not p.free_vars(info.value)
    if isinstance(info, s.TupleStructInfo):
        return all(map(is_closed, info.fields))
    return not isinstance(info, s.FuncStructInfo) or all(map(is_closed, (*(info.params or ()), info.ret)))


def _mentions_only(info: s.StructInfo, dims: PrimVars) -> bool:
    return all(var in dims for var in info_vars(info))


def _tensor(info: s.TensorStructInfo, dims: PrimVars, variables: Variables, gone: PrimVars) -> s.StructInfo:
    if info.dims is None and (variables is None or info.shape in variables):
        return info
    if info.dims is not None and _mentions_only(info, dims):
        return info
    # The variable is out of scope, but the lengths that it holds may be in scope.
    held = info.lengths if info.dims is None else None
    kept = held if held is not None and all(var in dims for var in p.free_vars(*held)) else None
    return s.TensorStructInfo(kept, info.dtype, info.ndim, info.vdevice)


def _shape(info: s.ShapeStructInfo, dims: PrimVars, variables: Variables, gone: PrimVars) -> s.StructInfo:
    return info if _mentions_only(info, dims) else s.ShapeStructInfo(None, info.ndim)


def _prim(info: s.PrimStructInfo, dims: PrimVars, variables: Variables, gone: PrimVars) -> s.StructInfo:
    return info if _mentions_only(info, dims) else s.PrimStructInfo(info.dtype)


def _tuple(info: s.TupleStructInfo, dims: PrimVars, variables: Variables, gone: PrimVars) -> s.StructInfo:
    return s.TupleStructInfo(tuple([erase(field, dims, variables, gone) for field in info.fields]))


def _func(info: s.FuncStructInfo, dims: PrimVars, variables: Variables, gone: PrimVars) -> s.StructInfo:
    if info.params is None:
        return s.FuncStructInfo(None, erase(info.ret, dims, variables, gone), info.pure, info.derive_func)
    params, bound = info.params, -1
    while True:  # a parameter without its shape binds nothing, so other parameters may lose variables too
        parameter_dims = {var for param in params for var in defined_dims(param) if var not in gone}
        if len(parameter_dims) == bound:
            break
        bound, inside = len(parameter_dims), {*dims, *parameter_dims} if parameter_dims else dims
        params = tuple([erase(param, inside, variables, gone) for param in params])
    return s.FuncStructInfo(params, erase(info.ret, inside, variables, gone), info.pure, info.derive_func)


_ERASE: dict[type, Callable[[Any, PrimVars, Variables, PrimVars], s.StructInfo]] = {
    s.TensorStructInfo: _tensor,
    s.ShapeStructInfo: _shape,
    s.PrimStructInfo: _prim,
    s.TupleStructInfo: _tuple,
    s.FuncStructInfo: _func,
}
