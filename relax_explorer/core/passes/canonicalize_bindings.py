"""CanonicalizeBindings: remove copies of variables, fields of known tuples, and redundant match_casts."""

from __future__ import annotations

from relax_explorer.core.check.compatible import always_fits, defined_dims
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.properties import CANONICAL_BINDINGS, NORMAL_FORM
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite


@function_pass("CanonicalizeBindings", requires=[NORMAL_FORM], establishes=[CANONICAL_BINDINGS])
def canonicalize_bindings(fn: e.Function, at: PassSite) -> e.Function:
    """Propagate copies `y = x`, fold `(a, b)[0]`, and drop match_casts that neither check nor bind anything.

    A dataflow variable whose only reader is the output `gv = lv` becomes that output. An output of a dataflow block keeps
    its binding where dropping it would make a dataflow variable visible outside.
    """
    return rewrite(_merge_outputs(fn, at), at, _rule)


def _rule(walk: Rewriter, binding: e.Binding) -> Answer:
    if type(binding) is e.MatchCast:
        return _match_cast(walk, binding)
    assert type(binding) is e.VarBinding  # the only other type of binding
    value = binding.value
    if type(value) is e.TupleGetItem:
        known = walk.lookup(value.tuple)
        if known is not None and value.index < len(known.fields):
            binding = replace(binding, value=known.fields[value.index])
            value = binding.value
    if type(value) is e.Tuple:
        walk.note(binding.var, value)
        return binding
    if isinstance(value, e.Var) and _replaceable(binding.var, value):
        walk.rename(binding.var, value)
        return ()
    return binding


def _replaceable(var: e.Var, leaf: e.Var) -> bool:
    """True if readers of `var` may read `leaf`: its scope is as large, and its StructInfo as precise."""
    leaks = type(leaf) is e.DataflowVar and type(var) is not e.DataflowVar
    if leaks:
        return False
    have, want = leaf.struct_info, var.struct_info
    return have is want or (have is not None and want is not None and always_fits(have, want))


def _match_cast(walk: Rewriter, binding: e.MatchCast) -> Answer:
    value = binding.value
    if value.struct_info is not binding.struct_info or _binds(walk, binding):
        return binding
    if binding.var is None:
        return ()
    if isinstance(value, e.Var) and _replaceable(binding.var, value):
        walk.rename(binding.var, value)
        return ()
    return binding


def _binds(walk: Rewriter, binding: e.MatchCast) -> bool:
    """True if the cast defines a shape variable, which the StructInfo of the value does not mention yet."""
    info = binding.value.struct_info
    known = set(defined_dims(info)) if info is not None else set()
    return any(var not in known for var in defined_dims(binding.struct_info))


def _merge_outputs(fn: e.Function, at: PassSite) -> e.Function:
    """Replace a dataflow variable by the output `gv` if its only reader is `gv = lv` in the same block."""
    derived = facts(fn)
    merged: dict[e.Var, e.Var] = {}
    for block in fn.body.blocks:
        if type(block) is not e.DataflowBlock:
            continue
        local = {b.var for b in block.bindings if type(b.var) is e.DataflowVar}
        taken = set(merged)
        for binding in block.bindings:
            source = binding.value
            plain = (
                type(binding) is e.VarBinding and type(binding.var) is e.Var and type(source) is e.DataflowVar
            )
            if (
                plain
                and source in local
                and source not in taken
                and source.struct_info is binding.var.struct_info  # type: ignore[union-attr]  # narrowed by type() above
            ):
                merged[source] = binding.var  # type: ignore[assignment]  # narrower in the base class
                taken.add(source)
    if not merged:
        return fn
    outputs = {var: derived.number[b] for b in derived.bindings if (var := b.var) in set(merged.values())}

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        if (
            type(binding) is e.VarBinding
            and isinstance(binding.value, e.Var)
            and binding.var in outputs
            and binding.value is binding.var
        ):
            return ()
        target = merged.get(binding.var) if binding.var is not None else None
        if target is None:
            return binding
        walk.rename(binding.var, target)  # type: ignore[arg-type]  # `target` was looked up by its variable
        return replace(binding, var=target)

    return rewrite(fn, at, rule)
