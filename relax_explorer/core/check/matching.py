"""Shape variables in StructInfo: matched with another StructInfo, erased at the end of their scope, and held by variables of shapes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import (
    all_dims,
    defined_dims,
    info_holders,
    info_vars,
    infos_of,
    renamed,
    substitute_info,
)

DimMap = dict[p.PrimVar, p.PrimExpr]


def shape_var_mapping(want: s.StructInfo, have: s.StructInfo) -> DimMap:
    """The values in `have` of the lone shape variables of `want`. For functions only the parameters are matched."""
    mapping: DimMap = {}
    if isinstance(want, s.FuncStructInfo) and isinstance(have, s.FuncStructInfo):
        match_params(want.params, have.params, mapping)
    else:
        match_dims(want, have, mapping)
    return mapping


def match_dims(want: s.StructInfo, have: s.StructInfo, mapping: DimMap) -> None:
    """Bind each shape variable that is a whole dimension of `want` to the expression at the same place of `have`.

    The first binding of a variable wins (errata E-27). The caller compares to find contradictions. `mapping` takes the values,
    and may already hold some. Function infos bind their variables themselves, so nothing inside them is matched.
    """
    rule = _MATCH.get(type(want)) if type(want) is type(have) else None
    if rule is not None:
        rule(want, have, mapping)


def match_params(
    want: tuple[s.StructInfo, ...] | None, have: tuple[s.StructInfo, ...] | None, mapping: DimMap
) -> None:
    """`match_dims` for several pairs. If the numbers differ, nothing is bound."""
    if want is not None and have is not None and len(want) == len(have):
        for a, b in zip(want, have, strict=True):
            match_dims(a, b, mapping)


def call_dims(params: Iterable[e.Var], args: Iterable[e.Expr]) -> DimMap:
    """The lengths that the arguments of a call give to the shape variables of the parameters."""
    dims: DimMap = {}
    match_params(infos_of(params), infos_of(args), dims)
    return dims


def _match(want: tuple[p.PrimExpr, ...] | None, have: tuple[p.PrimExpr, ...] | None, mapping: DimMap) -> None:
    if want is not None and have is not None and len(want) == len(have):
        for a, b in zip(want, have, strict=True):
            if type(a) is p.PrimVar and type(b) is not p.AnyDim:  # a wildcard has no value
                mapping.setdefault(a, b)


def _match_value(want: s.PrimStructInfo, have: s.PrimStructInfo, mapping: DimMap) -> None:
    if type(want.value) is p.PrimVar and have.value is not None:
        mapping.setdefault(want.value, have.value)


_MATCH: dict[type, Callable[[Any, Any, DimMap], None]] = {
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
    values: DimMap = {var: p.Add(var, p.IntImm(0, var.dtype)) for var in all_dims(info) if var in scope}
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
    fresh: DimMap = {var: renamed(var, taken) for var in bound_dims(function)}
    params = tuple([substitute_info(param, fresh) for param in function.params or ()])
    return s.FuncStructInfo(params, substitute_info(function.ret, fresh), function.pure, function.derive_func)


def instantiate(
    function: s.FuncStructInfo, arguments: tuple[s.StructInfo, ...]
) -> tuple[tuple[s.StructInfo, ...], s.StructInfo]:
    """The parameters and the result of a function for a call with `arguments`: its shape variables are replaced."""
    values: DimMap = {}
    params = function.params or ()
    match_params(params, arguments, values)
    if not values:
        return params, function.ret
    return tuple([substitute_info(param, values) for param in params]), substitute_info(function.ret, values)


# -- erase -----------------------------------------------------------------------------------------------------------
# Erase variables from a StructInfo at the end of their scope.


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


# -- held ------------------------------------------------------------------------------------------------------------
# Shapes held by variables, as in `R.Tensor(s, "float32")`: rename the variables, and erase them after their scope.


Renamed = Mapping[e.Var, e.Var]


def settled(report: Report, info: s.StructInfo, now: Renamed, place: object) -> s.StructInfo:
    """`info` with the variables that hold its shapes replaced as in `now`. A variable that holds no shape is reported."""
    holders = info_holders(info)
    if not holders:
        return info
    for var in holders:
        held = now.get(var, var).struct_info
        if held is not None and held is not s.OBJECT and not isinstance(held, s.ShapeStructInfo):
            text = f"{var.name!r} is {held}, not a shape"
            report.say(codes.NO_SHAPE_HELD, text, place, help=codes.NO_SHAPE_HELD.fix)
    return renamed_vars(info, now)


def renamed_vars(info: s.StructInfo, now: Renamed) -> s.StructInfo:
    """`info` with the variables that hold its shapes as they are called `now`."""
    return substitute_info(info, {}, dict(now)) if info_holders(info) else info


def settled_cast(report: Report, binding: e.MatchCast, now: Renamed) -> e.MatchCast:
    """A match_cast with `settled` StructInfo and annotation."""
    target = settled(report, binding.struct_info, now, binding)
    annotation = binding.annotation
    if annotation is not None:
        annotation = settled(report, annotation, now, binding)
    return replace(binding, struct_info=target, annotation=annotation)


def settled_call(report: Report, call: e.Call, now: Renamed) -> e.Call:
    """A call with `settled` StructInfo arguments."""
    if not any(map(info_holders, call.sinfo_args)):
        return call
    infos = tuple([settled(report, info, now, call) for info in call.sinfo_args])
    return call if infos == call.sinfo_args else replace(call, sinfo_args=infos)


def lasting(info: s.StructInfo) -> s.StructInfo:
    """The StructInfo of an output after its dataflow block, without dataflow variables."""
    holders = info_holders(info)
    if not any(type(var) is e.DataflowVar for var in holders):
        return info
    return erase(info, info_vars(info), [var for var in holders if type(var) is e.Var])


def visible(
    info: s.StructInfo, now: Renamed, count: int, params: tuple[e.Var, ...]
) -> tuple[e.Var, ...] | None:
    """The variables that `info` may mention: the first `count` of `now`, and the parameters. None if it mentions none."""
    if not info_holders(info):
        return None
    return (*params, *list(now.values())[:count])
