"""Which kinds of bindings a function has: most analyses ask first whether there is anything for them."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import WITH_BLOCKS, sequences


class Contents(NamedTuple):
    """What stands in a function, in its branches and in its nested functions."""

    bindings: Set[type]  # the types of its bindings
    values: Set[type]  # the types of their values
    operators: Set[e.Expr]  # those that it calls
    calls_packed: bool  # True if it calls a packed function
    calls_functions: bool  # True if it calls a function of the module, or a variable that holds one
    hides_infos: bool  # True if an annotation says something else than the StructInfo of its value


def contents(fn: e.Function) -> Contents:
    """The contents of a function, found in one walk and kept as long as it lives."""
    return _CONTENTS.of(fn, _contents)


_CONTENTS: PerNode[Contents] = PerNode()


def _contents(fn: e.Function) -> Contents:
    kinds, values, callees = set[type](), set[type](), set[e.Expr]()
    hides_infos = False
    todo = list(fn.body.blocks)
    for block in todo:  # it grows
        own = [binding.value for binding in block.bindings]
        kinds.update(map(type, block.bindings))
        values.update(map(type, own))
        callees.update([value.op for value in own if type(value) is e.Call])
        hides_infos = hides_infos or any([_hides_info(b) for b in block.bindings if b.annotation is not None])
        if not WITH_BLOCKS.isdisjoint(map(type, own)):
            todo += [inner for value in own for seq in sequences(value) for inner in seq.blocks]
    operators = {op for op in callees if type(op) is e.OpRef}
    others = set(map(type, callees - operators))
    return Contents(
        kinds, values, operators, e.ExternFunc in others, bool(others - {e.ExternFunc}), hides_infos
    )


def _hides_info(binding: e.Binding) -> bool:
    return binding.var is not None and binding.var.struct_info is not binding.value.struct_info
