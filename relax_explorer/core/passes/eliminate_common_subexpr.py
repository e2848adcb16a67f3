"""EliminateCommonSubexpr: compute an equal expression once."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.check.purity import is_impure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes.decl import PassSite, function_pass
from relax_explorer.core.passes.properties import NORMAL_FORM
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite


@function_pass("EliminateCommonSubexpr", requires=[NORMAL_FORM])
def eliminate_common_subexpr(fn: e.Function, at: PassSite, *, call_only: bool = False) -> e.Function:
    """Let later bindings of an equal, pure expression read the first one's variable.

    A value of one dataflow block is not reused outside it. With `call_only` only calls count. The later binding stays as a
    copy, which CanonicalizeBindings removes.
    """

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if type(binding) is not e.VarBinding or not _counts(binding.value, call_only):
            return binding
        key = _key(binding.value)
        first = walk.lookup(key)
        visible = first is not None and (type(first[0]) is not e.DataflowVar or first[1] is walk.block)
        if not visible or first[0].struct_info is not binding.var.struct_info:
            walk.note(key, (binding.var, walk.block))
            return binding
        walk.rename(binding.var, first[0])
        if type(binding.var) is e.DataflowVar:
            return ()
        return e.VarBinding(binding.var, first[0], binding.annotation, binding.span)

    return rewrite(fn, at, rule)


def _counts(value: e.Expr, call_only: bool) -> bool:
    if type(value) is e.Call:
        return not is_impure(value) and not _allocates(value)
    return type(value) in (e.Tuple, e.TupleGetItem) and not call_only


def _allocates(value: e.Call) -> bool:
    """Memory is asked for twice because two pieces are wanted, and in-place calls change what they are given."""
    name = value.op.name if type(value.op) is e.OpRef else ""
    return "alloc" in name or "inplace" in name


def _key(expr: e.Expr) -> Any:
    """Equal for equal expressions over the same leaves; one hash, no recursion beyond nested tuples."""
    return _KEYS[type(expr)](expr)


def _constant_key(expr: e.Constant) -> Any:
    if expr.data is None or expr.data.size > 16:
        return (e.Constant, id(expr.data) if expr.data is not None else expr.key)
    return (e.Constant, str(expr.data.dtype), expr.data.shape, expr.data.tobytes())


_KEYS: dict[type, Any] = {
    e.Var: lambda x: x,
    e.DataflowVar: lambda x: x,
    e.GlobalVar: lambda x: (e.GlobalVar, x.name),
    e.ExternFunc: lambda x: (e.ExternFunc, x.name),
    e.OpRef: lambda x: x,
    e.Constant: _constant_key,
    e.ShapeExpr: lambda x: (e.ShapeExpr, x.values),
    e.PrimValue: lambda x: (e.PrimValue, x.value),
    e.StringImm: lambda x: (e.StringImm, x.value),
    e.DataTypeImm: lambda x: (e.DataTypeImm, x.value),
    e.Tuple: lambda x: (e.Tuple, *[_key(field) for field in x.fields]),
    e.TupleGetItem: lambda x: (e.TupleGetItem, _key(x.tuple), x.index),
    e.Call: lambda x: (_key(x.op), x.attrs, x.sinfo_args, *[_key(arg) for arg in x.args]),
}
