"""EliminateCommonSubexpr: compute an equal expression once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from relax_explorer.core.check.aliases import Aliases, aliases
from relax_explorer.core.check.cache_effects import is_new
from relax_explorer.core.check.purity import is_impure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ops import find
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.properties import NORMAL_FORM
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite


@function_pass("EliminateCommonSubexpr", requires=[NORMAL_FORM])
def eliminate_common_subexpr(
    fn: e.Function, at: PassSite, *, call_only: Annotated[bool, "merge calls only"] = False
) -> e.Function:
    """Let later bindings of an equal, pure expression read the first one's variable.

    Two values are kept apart if memory of their operands may be overwritten between them, or memory of their results
    afterwards. Values of a dataflow block are not reused outside it. With `call_only` only calls count. The later binding
    stays as a copy, which CanonicalizeBindings removes.
    """
    memory = aliases(at.module, at.function, fn)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if type(binding) is not e.VarBinding or not _counts(binding.value, call_only, memory):
            return binding
        key = _key(binding.value)
        first = walk.lookup(key)
        if first is None or not _stands_for(first, walk, binding, memory):
            walk.note(key, _Known(binding, walk.block, walk.owner))
            return binding
        known = first.binding.var
        if type(binding.var) is e.DataflowVar or type(known) is not e.DataflowVar:
            walk.rename(binding.var, known)  # other variables are outputs, which are read outside the block
        if type(binding.var) is e.DataflowVar:
            return ()
        return e.VarBinding(binding.var, known, binding.annotation, binding.span)

    return rewrite(fn, at, rule)


@dataclass(frozen=True, slots=True)
class _Known:
    """A reusable binding, with its block and its function."""

    binding: e.VarBinding
    block: e.BindingBlock | None
    owner: e.Function | None


def _counts(value: e.Expr, call_only: bool, memory: Aliases) -> bool:
    if type(value) is e.Call:
        return not is_impure(value) and not memory.effect(value).writes and not _allocates(value)
    return type(value) in (e.Tuple, e.TupleGetItem) and not call_only


def _allocates(value: e.Call) -> bool:
    """True if each call must return new memory, even for equal calls."""
    declared = find(value.op.name) if type(value.op) is e.OpRef else None
    return (declared is not None and declared.allocates) or is_new(value)


def _stands_for(first: _Known, walk: Rewriter, binding: e.VarBinding, memory: Aliases) -> bool:
    """True if readers of `binding` may read `first`, which has equal operands."""
    known = first.binding.var
    if known.struct_info is not binding.var.struct_info:
        return False
    if type(known) is e.DataflowVar and first.block is not walk.block:
        return False
    read = variables(binding.value)
    if type(binding.value) is e.Call:
        if memory.written(known) or memory.written(binding.var):
            return False
        if first.owner is not walk.owner:  # a nested function can run at any time
            return not any(map(memory.written, read))
        return not memory.written_between(read, known, binding.var)
    return True  # equal tuples and fields hold the same values


def _key(expr: e.Expr) -> Any:
    """A key that is equal for equal expressions over the same leaves. It is hashed once and recurses only into tuples."""
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
