"""Results of branches without their lengths, as some passes of TVM leave them in the profile `tvm`.

They visit a body without the parameters around it, so that a branch with bindings knows none of its lengths.
"""

from __future__ import annotations

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.erase import erase
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.contents import contents
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import defined_dims, map_sequences, sequences
from relax_explorer.core.passes.branch_results import cast_branch
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite

Known = dict[e.Var, set[p.PrimVar]]


def forget_lengths(fn: e.Function, at: PassSite, is_plain: bool = False) -> e.Function:
    """Let the variable of an If have no lengths, and cast the result of a branch without bindings accordingly.

    The branches of nested functions know their parameters. Not so in a pass that `is_plain`: it casts no results either, and the
    branches know the lengths to which they cast a value.
    """
    if e.If not in contents(fn).values:
        return fn
    names = FreshNames.of(fn)
    known: Known = {}
    if is_plain:
        _collect(fn.body, None, known)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(binding) is not e.VarBinding or type(value) is not e.If:
            return binding
        if walk.owner is not fn and not is_plain:
            return binding
        info = binding.var.struct_info
        if info is None or not any(seq.blocks for seq in sequences(value)):
            return binding
        vague = erase(info, known.get(walk.given(binding.var), ()))
        if vague is info:
            return binding
        at.is_open = True

        def cast(seq: e.SeqExpr) -> e.SeqExpr:
            return seq if seq.blocks or is_plain else cast_branch(seq, vague, names, binding.var.name)

        return replace(map_sequences(binding, cast), annotation=vague)

    return rewrite(fn, at, rule)


def _collect(seq: e.SeqExpr, around: set[p.PrimVar] | None, known: Known) -> set[p.PrimVar]:
    """The lengths that casts bind in a branch and `around` it, which is None outside of branches; those of each If are `known`."""
    here = set(around or ())
    for binding in [binding for block in seq.blocks for binding in block.bindings]:
        if type(binding) is e.MatchCast and around is not None:
            here.update(defined_dims(binding.struct_info))
        elif type(binding.value) is e.Function:
            _collect(binding.value.body, around if around is None else here, known)
        elif type(binding.value) is e.If and binding.var is not None:
            branches = [_collect(branch, here, known) for branch in sequences(binding.value) if branch.blocks]
            known[binding.var] = set.intersection(*branches) if branches else here
    return here
