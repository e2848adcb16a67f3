"""What an operator demands of element types that only the run knows. Its own rule is asked which ones it accepts."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType, dtype
from relax_explorer.core.ops.kit.decl import InferFailure, Op, Site
from relax_explorer.core.shapes.conditions import Demand
from relax_explorer.core.shapes.value_terms import (
    BOOL_OR_INTEGER,
    FLOAT,
    INTEGER,
    NUMBER,
    element_number,
    of_elements,
)

# One element type of each kind and width that rules tell apart.
_ASKED = tuple(
    dtype(name) for name in ("float32", "float16", "float64", "bfloat16", "int8", "int32", "int64", "uint8", "bool")
)  # fmt: skip
_KINDS = {
    frozenset({"float", "bfloat"}): FLOAT,
    frozenset({"int", "uint"}): INTEGER,
    frozenset({"float", "bfloat", "int", "uint"}): NUMBER,
    frozenset({"bool", "int", "uint"}): BOOL_OR_INTEGER,
}
_FEW = 3
Infos = tuple[s.StructInfo | None, ...]


Chosen = dict[str, DType]
Spots = dict[str, list[tuple[int, int]]]  # of each value: numbers of operands, and of fields or -1


def dtype_demands(
    op: type[Op],
    call: e.Call,
    infos: Infos,
    called: Callable[[e.Expr, int], str],
    element: Callable[[str], p.PrimVar],
) -> Iterator[tuple[Demand, str]]:
    """The conditions on element types that inference did not know, each with the operands that it is about.

    `called` gives the name of a value, or of a field of it; `element` the variable of its element type. Nothing if the rule of
    the operator refuses the call anyway.
    """
    spots = _unknown(call, infos, called)
    if not spots or not _accepts(op, call, infos):
        return

    def accepts(chosen: Chosen) -> bool:
        return _accepts(op, call, _with(infos, spots, chosen))

    fitting = {name: [one for one in _ASKED if accepts({name: one})] for name in spots}
    for name, found in fitting.items():
        if 0 < len(found) < len(_ASKED):
            yield _fitting(element(name), found), name
    first, *others = spots
    for name in others:
        same = [one for one in fitting[first] if one in fitting[name] and accepts({first: one, name: one})]
        mixed = [(a, b) for a in same[:2] for b in same[:2] if a is not b]
        if mixed and not any(accepts({first: a, name: b}) for a, b in mixed):
            yield Demand.of(p.EQ(element(first), element(name))), f"{first} and {name}"


def _fitting(term: p.PrimVar, found: list[DType]) -> Demand:
    """The demand that an element type is one of those that fit."""
    whole = {kinds: [one for one in _ASKED if one.kind in kinds] for kinds in _KINDS}
    word = next((_KINDS[kinds] for kinds, members in whole.items() if members == found), None)
    if word is not None:
        return Demand.of(of_elements(term, word))
    if len(found) > _FEW:
        shown = " or ".join([one.name for one in found[:_FEW]])
        return Demand(f"{term} is {shown}, or another type that it takes")
    conditions: list[p.PrimExpr] = [p.EQ(term, element_number(one)) for one in found]
    return Demand.of(functools.reduce(p.Or, conditions))


def _unknown(call: e.Call, infos: Infos, called: Callable[[e.Expr, int], str]) -> Spots:
    """Where tensors of unknown element type stand, by name."""
    found: Spots = {}
    for number, (arg, info) in enumerate(zip(call.args, infos, strict=True)):
        if isinstance(info, s.TensorStructInfo) and info.dtype is None:
            found.setdefault(called(arg, -1), []).append((number, -1))
        elif isinstance(info, s.TupleStructInfo):
            for n, field in enumerate(info.fields):
                if isinstance(field, s.TensorStructInfo) and field.dtype is None:
                    name = called(arg.fields[n], -1) if isinstance(arg, e.Tuple) else called(arg, n)
                    found.setdefault(name, []).append((number, n))
    return found


def _with(infos: Infos, spots: Spots, chosen: Chosen) -> Infos:
    """The operands with element types for some values."""
    found = list(infos)
    for name, element in chosen.items():
        for operand, field in spots[name]:
            found[operand] = _typed(found[operand], field, element)
    return tuple(found)


def _typed(info: s.StructInfo | None, field: int, element: DType) -> s.StructInfo | None:
    if isinstance(info, s.TupleStructInfo):
        fields = [
            _typed(one, -1, element) or s.OBJECT if n == field else one for n, one in enumerate(info.fields)
        ]
        return s.TupleStructInfo(tuple(fields))
    assert isinstance(info, s.TensorStructInfo)  # no other operand has an element type
    return s.TensorStructInfo(info.shape, element, info.ndim, info.vdevice)


def _accepts(op: type[Op], call: e.Call, infos: Infos) -> bool:
    """True if the rule of the operator accepts operands of these types."""
    missing = [] if op.variadic else [None] * (len(op.operands) - len(infos))
    try:
        op.infer(Site(call, op), *infos, *missing, **call.attrs)
    except InferFailure:
        return False
    except OverflowError:  # a number of elements may exceed int64; that is no matter of element types
        return True
    return True
