"""Which kinds of bindings a function has: most analyses ask first whether there is anything for them."""

from __future__ import annotations

from dataclasses import dataclass

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import all_blocks


@dataclass(frozen=True, slots=True)
class Contents:
    """What stands in a function, in its branches and in its nested functions."""

    bindings: frozenset[type]  # the types of its bindings
    values: frozenset[type]  # the types of their values
    operators: frozenset[e.Expr]  # those that it calls
    calls_packed: bool  # True if it calls a packed function
    hides_infos: bool  # True if an annotation says something else than the StructInfo of its value


def contents(fn: e.Function) -> Contents:
    """The contents of a function, found in one walk and kept as long as it lives."""
    return _CONTENTS.of(fn, _contents)


_CONTENTS: PerNode[Contents] = PerNode()


def _contents(fn: e.Function) -> Contents:
    kinds, values, callees = set[type](), set[type](), set[e.Expr]()
    hides_infos = False
    for block in all_blocks(fn):
        own = [binding.value for binding in block.bindings]
        kinds.update(map(type, block.bindings))
        values.update(map(type, own))
        callees.update([value.op for value in own if type(value) is e.Call])
        hides_infos = hides_infos or any(map(_hides_info, block.bindings))
    operators = frozenset([op for op in callees if type(op) is e.OpRef])
    calls_packed = e.ExternFunc in map(type, callees)
    return Contents(frozenset(kinds), frozenset(values), operators, calls_packed, hides_infos)


def _hides_info(binding: e.Binding) -> bool:
    var = binding.var
    return (
        binding.annotation is not None
        and var is not None
        and var.struct_info is not binding.value.struct_info
    )
