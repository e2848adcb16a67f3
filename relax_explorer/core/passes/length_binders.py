"""Which match_cast binds a shape variable, and which shape variables a binding mentions: passes that move bindings obey both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import all_dims, defined_dims, operands


def length_binders(params: Sequence[e.Var], bindings: Iterable[e.Binding]) -> dict[p.PrimVar, e.MatchCast]:
    """The first match_cast that binds each shape variable, of those that the parameters do not tell."""
    known = {dim for param in params for dim in defined_dims(param.struct_info or s.OBJECT)}
    found: dict[p.PrimVar, e.MatchCast] = {}
    for binding in bindings:
        if type(binding) is e.MatchCast:
            for dim in defined_dims(binding.struct_info):
                if dim not in known:
                    found.setdefault(dim, binding)
    return found


def mentioned_lengths(binding: e.Binding) -> list[p.PrimVar]:
    """The shape variables in the StructInfo of a binding, of its value and of all operands."""
    infos = [binding.var.struct_info if binding.var is not None else None]
    infos.append(binding.struct_info if type(binding) is e.MatchCast else None)
    stack = [binding.value]
    while stack:
        value = stack.pop()
        infos.append(value.struct_info)
        stack.extend(operands(value))
    return [dim for info in dict.fromkeys(infos) if info is not None for dim in all_dims(info)]
