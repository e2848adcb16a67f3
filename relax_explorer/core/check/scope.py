"""The scope at a binding, and the origin of a StructInfo in words. For views, not for checks."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.check.compatible import Conversion, conversion, defined_dims
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import sequences
from relax_explorer.core.ops import find


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


# -- origin ----------------------------------------------------------------------------------------------------------
# The origin of a variable's StructInfo, in words, for views.


_CLAIMED = {
    Conversion.FITS: "from the annotation; inferred was {derived}",
    Conversion.MAYBE: "assumed from the annotation, not proven; inferred was {derived}",
    Conversion.NARROWS: "claimed by the annotation; inferred was only {derived}",
    Conversion.NEVER: "claimed by the annotation, which contradicts the inferred {derived}",
}


def origin(binding: e.Binding) -> str:
    """The origin of the StructInfo of the variable of a normalized binding."""
    if isinstance(binding, e.MatchCast):
        return "checked at run time by this match_cast"
    value, info = binding.value, binding.var.struct_info
    derived = value.struct_info
    if binding.annotation is not None and derived is not None and info is not derived and info is not None:
        return _CLAIMED[conversion(derived, info)].format(derived=derived)
    if isinstance(value, e.Call):
        return _of_call(value)
    if isinstance(value, e.If):
        return "the common StructInfo of both branches"
    if isinstance(value, e.Function):
        return "its signature"
    if isinstance(value, e.Var):
        return f"the same as {value.name}"
    if isinstance(value, e.TupleGetItem) and isinstance(value.tuple, e.Var):
        return f"a field of {value.tuple.name}"
    return "from the expression itself"


def _field(value: e.Expr) -> bool:
    return isinstance(value, e.TupleGetItem) and isinstance(value.tuple, e.Var)


def _of_call(call: e.Call) -> str:
    op = call.op
    if isinstance(op, e.OpRef):
        declared = find(op.name)
        if declared is None:
            return f"the operator {op.name} is unknown"
        if declared.takes_sinfo:
            return "stated by this call; the kernel or packed function is not checked"
        return f"inferred by the rule of {op.name}"
    if isinstance(op, e.ExternFunc):
        return "stated by this call; the packed function is not checked" if call.sinfo_args else "not stated"
    name = getattr(op, "name", "the function")
    known = isinstance(op.struct_info, s.FuncStructInfo) and op.struct_info.params is not None
    return f"from the signature of {name}" if known else f"from the StructInfo of {name}"
