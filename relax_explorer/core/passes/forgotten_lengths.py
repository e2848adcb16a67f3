"""Results of branches without their lengths, as TVM's passes with patterns leave them in the profile `tvm`.

They visit a body without the parameters around it, so that a branch with bindings knows none of its lengths.
"""

from __future__ import annotations

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.erase import erase
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.contents import contents
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import map_sequences, sequences
from relax_explorer.core.passes.branch_results import cast_branch
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite


def forget_lengths(fn: e.Function, at: PassSite) -> e.Function:
    """Let the variable of an If have no lengths, and cast the result of a branch without bindings accordingly.

    The branches of nested functions know their parameters.
    """
    if e.If not in contents(fn).values:
        return fn
    names = FreshNames.of(fn)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(binding) is not e.VarBinding or type(value) is not e.If or walk.owner is not fn:
            return binding
        info = binding.var.struct_info
        if info is None or not any(seq.blocks for seq in sequences(value)):
            return binding
        vague = erase(info, ())
        if vague is info:
            return binding
        at.is_open = True

        def cast(seq: e.SeqExpr) -> e.SeqExpr:
            return seq if seq.blocks else cast_branch(seq, vague, names, binding.var.name)

        return replace(map_sequences(binding, cast), annotation=vague)

    return rewrite(fn, at, rule)
