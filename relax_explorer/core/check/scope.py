"""What is in scope at a binding: variables with what is known of each, and shape variables. For views, not for checks."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.check.compatible import defined_dims
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import sequences


def environment(fn: e.Function, at: e.Binding) -> dict[e.Var, s.StructInfo]:
    """The variables that the value of binding `at` may read, in order, with their StructInfo.

    Raises KeyError when `at` is no binding of `fn`.
    """
    known: dict[e.Var, s.StructInfo] = {}
    for item in _before(fn, at):
        if isinstance(item, e.Function):
            known.update({param: param.struct_info or s.OBJECT for param in item.params})
        elif item.var is not None:
            known[item.var] = item.var.struct_info or s.OBJECT
    return known


def shape_variables(fn: e.Function, at: e.Binding) -> list[p.PrimVar]:
    """The shape variables that have a value before binding `at`, in the order in which they get it; KeyError as above."""
    found: dict[p.PrimVar, None] = {}
    for item in _before(fn, at):
        if isinstance(item, e.Function):
            for param in item.params:
                found.update(dict.fromkeys(defined_dims(param.struct_info or s.OBJECT)))
        elif isinstance(item, e.MatchCast):
            found.update(dict.fromkeys(defined_dims(item.struct_info)))
    return list(found)


def _before(fn: e.Function, at: e.Binding) -> list[e.Binding | e.Function]:
    """What binds something that `at` can see: the functions around it, and the bindings above it in scope."""
    for path in _paths(fn):
        if path[-1] is at:
            return path[:-1]
    raise KeyError("the binding does not belong to the function")


def _paths(fn: e.Function) -> Iterator[list[e.Binding | e.Function]]:
    """For every binding, what is in scope there, and then itself."""
    stack: list[tuple[e.SeqExpr, list[e.Binding | e.Function]]] = [(fn.body, [fn])]
    while stack:
        seq, seen = stack.pop()
        scope = list(seen)
        for block in seq.blocks:
            for binding in block.bindings:
                yield [*scope, binding]
                if isinstance(binding.value, e.Function):
                    stack.append((binding.value.body, [*scope, binding, binding.value]))
                else:
                    stack.extend((inner, list(scope)) for inner in sequences(binding.value))
                scope.append(binding)
            if type(block) is e.DataflowBlock:
                scope = [item for item in scope if not (not isinstance(item, e.Function) and _ends(item))]


def _ends(binding: e.Binding) -> bool:
    return type(binding.var) is e.DataflowVar
