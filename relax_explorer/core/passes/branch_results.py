"""The results of branches: each has the StructInfo of its If."""

from __future__ import annotations

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.matching import erase
from relax_explorer.core.check.wildcards import alike, renewed
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import contents, info_holders, map_sequences, merged_blocks, sequences
from relax_explorer.core.passes.cast_checks import bound_dims
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite


def cast_branches(fn: e.Function, at: PassSite) -> e.Function:
    """Cast the result of a branch to the StructInfo of the If where it is more precise, as TVM does.

    The cast always fits. Branches without bindings stay as they are, unless the other one has some.
    """
    if e.If not in contents(fn).values:
        return fn
    names = FreshNames.of(fn)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(value) is not e.If or not any(seq.blocks for seq in sequences(value)):
            return binding
        info, hint = value.struct_info, binding.var.name if binding.var is not None else "value"
        if info is None or isinstance(info, s.FuncStructInfo):  # a function is not looked into at run time
            return binding
        owner = walk.owner
        known = None if owner is None or owner is fn else bound_dims(owner)

        def cast(seq: e.SeqExpr) -> e.SeqExpr:
            have = seq.body.struct_info
            if known is not None and have is not None and alike(info, erase(have, known)):
                return seq  # what a nested function captures has no lengths of the function around it there
            return cast_branch(seq, info, names, hint)

        return map_sequences(binding, cast)

    return rewrite(fn, at, rule)


def cast_branch(seq: e.SeqExpr, info: s.StructInfo, names: FreshNames, hint: str) -> e.SeqExpr:
    """The branch with the cast behind its last binding. The same object if its result has this StructInfo."""
    have = seq.body.struct_info
    if (
        have is None or alike(info, s.without_values(have)) or alike(info, have) or info_holders(have)
    ):  # a variable with the shape ends with its branch
        return seq
    info = renewed(info)  # its wildcards are those of this value
    var = e.Var(names(hint), info)
    block = e.BindingBlock((e.MatchCast(var, seq.body, info, None, seq.body.span),))
    return replace(seq, blocks=tuple(merged_blocks([*seq.blocks, block])), body=var, struct_info=info)
