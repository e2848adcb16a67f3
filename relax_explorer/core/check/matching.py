"""Match shape variables: a dimension that is a lone variable binds it, and another StructInfo gives it a value."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import all_dims, defined_dims, info_vars, renamed, substitute_info

Mapping = dict[p.PrimVar, p.PrimExpr]


def shape_var_mapping(want: s.StructInfo, have: s.StructInfo) -> Mapping:
    """The values in `have` of the lone shape variables of `want`. For functions only the parameters are matched."""
    mapping: Mapping = {}
    if isinstance(want, s.FuncStructInfo) and isinstance(have, s.FuncStructInfo):
        match_params(want.params, have.params, mapping)
    else:
        match_dims(want, have, mapping)
    return mapping


def match_dims(want: s.StructInfo, have: s.StructInfo, mapping: Mapping) -> None:
    """Bind each shape variable that is a whole dimension of `want` to the expression at the same place of `have`.

    The first binding of a variable wins (errata E-27). The caller compares to find contradictions. `mapping` takes the values,
    and may already hold some. Function infos bind their variables themselves, so nothing inside them is matched.
    """
    rule = _MATCH.get(type(want)) if type(want) is type(have) else None
    if rule is not None:
        rule(want, have, mapping)


def match_params(
    want: tuple[s.StructInfo, ...] | None, have: tuple[s.StructInfo, ...] | None, mapping: Mapping
) -> None:
    """`match_dims` for several pairs. If the numbers differ, nothing is bound."""
    if want is not None and have is not None and len(want) == len(have):
        for a, b in zip(want, have, strict=True):
            match_dims(a, b, mapping)


def _match(
    want: tuple[p.PrimExpr, ...] | None, have: tuple[p.PrimExpr, ...] | None, mapping: Mapping
) -> None:
    if want is not None and have is not None and len(want) == len(have):
        for a, b in zip(want, have, strict=True):
            if type(a) is p.PrimVar and type(b) is not p.AnyDim:  # a wildcard has no value
                mapping.setdefault(a, b)


def _match_value(want: s.PrimStructInfo, have: s.PrimStructInfo, mapping: Mapping) -> None:
    if type(want.value) is p.PrimVar and have.value is not None:
        mapping.setdefault(want.value, have.value)


_MATCH: dict[type, Callable[[Any, Any, Mapping], None]] = {
    s.TensorStructInfo: lambda want, have, mapping: _match(want.dims, have.lengths, mapping),
    s.ShapeStructInfo: lambda want, have, mapping: _match(want.values, have.values, mapping),
    s.PrimStructInfo: _match_value,
    s.TupleStructInfo: lambda want, have, mapping: match_params(want.fields, have.fields, mapping),
}
_BOUND: PerNode[frozenset[p.PrimVar]] = PerNode()
_FREE: PerNode[frozenset[p.PrimVar]] = PerNode()


def bound_dims(function: s.FuncStructInfo) -> frozenset[p.PrimVar]:
    """The shape variables that the parameters of a function info bind."""
    cached = _BOUND.get(id(function))
    if cached is None:
        bound = [var for param in function.params or () for var in defined_dims(param)]
        cached = _BOUND.add(function, frozenset(bound))
    return cached


def free_dims(info: s.StructInfo) -> frozenset[p.PrimVar]:
    """The free shape variables of a StructInfo. In function infos, bound variables are not free."""
    cached = _FREE.get(id(info))
    if cached is None:
        if isinstance(info, s.TupleStructInfo):
            cached = frozenset().union(*map(free_dims, info.fields))
        elif isinstance(info, s.FuncStructInfo):
            cached = frozenset().union(*map(free_dims, (*(info.params or ()), info.ret))) - bound_dims(info)
        else:
            cached = frozenset(info_vars(info))
        _FREE.add(info, cached)
    return cached


def holds_function(info: s.StructInfo) -> bool:
    """True for functions, and for tuples with a function inside."""
    if type(info) is s.TupleStructInfo:
        return any(map(holds_function, info.fields))
    return type(info) is s.FuncStructInfo


def pinned(info: s.StructInfo, scope: Collection[p.PrimVar]) -> s.StructInfo:
    """`info` for comparing: in its functions, parameters do not bind the shape variables of `scope`.

    Each such variable becomes a sum with 0. The sum equals the variable, but it is not a lone variable.
    """
    if not scope or not holds_function(info):
        return info
    if type(info) is s.TupleStructInfo:
        return s.TupleStructInfo(tuple([pinned(field, scope) for field in info.fields]))
    values: Mapping = {var: p.Add(var, p.IntImm(0, var.dtype)) for var in all_dims(info) if var in scope}
    return substitute_info(info, values)


def captured(info: s.StructInfo, pinned_info: s.StructInfo) -> tuple[str, ...]:
    """The names of captured shape variables: the functions of `info` bind them, those of `pinned_info` don't."""
    if type(info) is s.TupleStructInfo and type(pinned_info) is s.TupleStructInfo:
        names = [
            name for a, b in zip(info.fields, pinned_info.fields, strict=True) for name in captured(a, b)
        ]
        return tuple(dict.fromkeys(names))
    if type(info) is not s.FuncStructInfo or type(pinned_info) is not s.FuncStructInfo:
        return ()
    return tuple(sorted([var.name for var in bound_dims(info) - bound_dims(pinned_info)]))


def apart(a: s.FuncStructInfo, b: s.FuncStructInfo) -> tuple[s.FuncStructInfo, s.FuncStructInfo]:
    """Both functions, renamed so that neither binds a shape variable that is free in the other."""
    if not bound_dims(a).isdisjoint(free_dims(b)):
        a = _renamed(a, free_dims(b))
    return a, b if bound_dims(b).isdisjoint(free_dims(a)) else _renamed(b, free_dims(a))


def _renamed(function: s.FuncStructInfo, taken: Collection[p.PrimVar]) -> s.FuncStructInfo:
    taken = {*taken, *all_dims(function)}
    fresh: Mapping = {var: renamed(var, taken) for var in bound_dims(function)}
    params = tuple([substitute_info(param, fresh) for param in function.params or ()])
    return s.FuncStructInfo(params, substitute_info(function.ret, fresh), function.pure, function.derive_func)


def instantiate(
    function: s.FuncStructInfo, arguments: tuple[s.StructInfo, ...]
) -> tuple[tuple[s.StructInfo, ...], s.StructInfo]:
    """The parameters and the result of a function for a call with `arguments`: its shape variables are replaced."""
    values: Mapping = {}
    params = function.params or ()
    match_params(params, arguments, values)
    if not values:
        return params, function.ret
    return tuple([substitute_info(param, values) for param in params]), substitute_info(function.ret, values)
