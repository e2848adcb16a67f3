"""The scope at a binding: variables with their StructInfo, and shape variables. For views, not for checks."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.check.compatible import defined_dims
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import sequences


def environment(fn: e.Function, at: e.Binding) -> dict[e.Var, s.StructInfo]:
    """The variables that the value of binding `at` may read, in order, with their StructInfo.

    Raises KeyError if `at` is not a binding of `fn`.
    """
    variables: dict[e.Var, s.StructInfo] = {}
    for binder in _before(fn, at):
        if isinstance(binder, e.Function):
            variables.update({param: param.struct_info or s.OBJECT for param in binder.params})
        elif binder.var is not None:
            variables[binder.var] = binder.var.struct_info or s.OBJECT
    return variables


def shape_variables(fn: e.Function, at: e.Binding) -> list[p.PrimVar]:
    """The shape variables with a value before binding `at`, in binding order. Raises KeyError like `environment`."""
    variables: dict[p.PrimVar, None] = {}
    for binder in _before(fn, at):
        if isinstance(binder, e.Function):
            for param in binder.params:
                variables.update(dict.fromkeys(defined_dims(param.struct_info or s.OBJECT)))
        elif isinstance(binder, e.MatchCast):
            variables.update(dict.fromkeys(defined_dims(binder.struct_info)))
    return list(variables)


def _before(fn: e.Function, at: e.Binding) -> list[e.Binding | e.Function]:
    """The binders that `at` can see: the functions around it, and the bindings before it in scope."""
    for path in _paths(fn):
        if path[-1] is at:
            return path[:-1]
    raise KeyError("the binding does not belong to the function")


def _paths(fn: e.Function) -> Iterator[list[e.Binding | e.Function]]:
    """For every binding, the binders in scope, followed by the binding itself."""
    stack: list[tuple[e.SeqExpr, list[e.Binding | e.Function]]] = [(fn.body, [fn])]
    while stack:
        seq, scope = stack.pop()
        for block in seq.blocks:
            for binding in block.bindings:
                yield [*scope, binding]
                if isinstance(binding.value, e.Function):
                    stack.append((binding.value.body, [*scope, binding, binding.value]))
                else:
                    stack.extend((inner, list(scope)) for inner in sequences(binding.value))
                scope.append(binding)
            if type(block) is e.DataflowBlock:
                scope = [
                    binder for binder in scope if not (not isinstance(binder, e.Function) and _ends(binder))
                ]


def _ends(binding: e.Binding) -> bool:
    return type(binding.var) is e.DataflowVar
