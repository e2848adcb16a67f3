"""The names that a program tells for the fields of its tuple parameters, so that weights find their fields.

A function tells them by its attribute `param_names`, by the variables that it binds to the fields
(`embedding_weight1 = packed_params[0]`), or by those of a function that it hands the tuple to. Passes rename variables, so
`told_by` asks several stages of one build, the nearest first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule

Path = tuple[int, ...]
"""The place of a part in nested tuples: the index in each of them."""
FieldNames = Mapping[str, Mapping[Path, str]]
"""For each tuple parameter the names of its parts."""

_GENERATED = re.compile(r"(?:lv|gv|alloc|storage|tmp|v|t|_)_?[0-9]*")
_MOST_CALLS = 100  # functions that are asked for one parameter


def leaves(info: s.StructInfo, path: Path = ()) -> Iterator[tuple[Path, s.StructInfo]]:
    """The parts of StructInfo that are no tuples, with their places."""
    if not isinstance(info, s.TupleStructInfo):
        yield path, info
        return
    for number, field in enumerate(info.fields):
        yield from leaves(field, (*path, number))


def told_by(modules: Iterable[IRModule], function: str) -> FieldNames:
    """The names for the tuple parameters of a function. For each parameter the first module counts that tells any."""
    found: dict[str, Mapping[Path, str]] = {}
    for module in modules:
        fn = module.functions.get(function)
        if type(fn) is not e.Function:
            continue
        tuples = {param.name for param in fn.params if isinstance(param.struct_info, s.TupleStructInfo)}
        if tuples <= found.keys():
            break
        found = {**field_names(fn, module), **found}
    return found


def field_names(fn: e.Function, module: IRModule | None = None) -> FieldNames:
    """The names that one function tells. With its module, functions that it calls are asked too."""
    found: dict[str, Mapping[Path, str]] = {}
    for param in fn.params:
        info = param.struct_info
        if isinstance(info, s.TupleStructInfo):
            names = _declared(fn, info) or _bound(fn, param, module)
            if names:
                found[param.name] = names
    return found


def _declared(fn: e.Function, info: s.TupleStructInfo) -> dict[Path, str]:
    """The names of the attribute `param_names`, if there is one for each field."""
    names = fn.attrs.get("param_names")
    if isinstance(names, tuple) and len(names) == len(info.fields) and all(isinstance(n, str) for n in names):
        return {(number,): str(name) for number, name in enumerate(names)}
    return {}


def _bound(fn: e.Function, param: e.Var, module: IRModule | None) -> dict[Path, str]:
    """The names of the variables that are bound to parts of a parameter."""
    names: dict[Path, str] = {}
    asked: set[tuple[str, int]] = set()
    todo: list[tuple[e.Function, e.Var, Path]] = [(fn, param, ())]
    while todo:
        at, var, path = todo.pop()
        parts: dict[e.Var, Path] = {var: path}
        for binding in bindings(at):
            place = _place(binding.value, parts)
            if place is not None and binding.var is not None:
                parts[binding.var] = place
                if isinstance(binding.value, e.TupleGetItem) and not _GENERATED.fullmatch(binding.var.name):
                    names.setdefault(place, binding.var.name)
            elif module is not None and len(asked) < _MOST_CALLS:
                todo += _handed_on(binding.value, parts, module, asked)
    return names


def _place(value: e.Expr, parts: Mapping[e.Var, Path]) -> Path | None:
    """The place of a value in the parameter; None if it is no part of it."""
    indices: list[int] = []
    while isinstance(value, e.TupleGetItem):
        indices.append(value.index)
        value = value.tuple
    known = parts.get(value) if isinstance(value, e.Var) else None
    return None if known is None else (*known, *reversed(indices))


def _handed_on(
    value: e.Expr, parts: Mapping[e.Var, Path], module: IRModule, asked: set[tuple[str, int]]
) -> Iterator[tuple[e.Function, e.Var, Path]]:
    """The parameters of a called function that get parts which are tuples."""
    if not isinstance(value, e.Call) or not isinstance(value.op, e.GlobalVar):
        return
    callee = module.functions.get(value.op.name)
    if type(callee) is not e.Function:
        return
    for number, (arg, param) in enumerate(zip(value.args, callee.params, strict=False)):
        place = _place(arg, parts)
        is_tuple = isinstance(param.struct_info, s.TupleStructInfo)
        if place is not None and is_tuple and (value.op.name, number) not in asked:
            asked.add((value.op.name, number))
            yield callee, param, place
