"""Results of branches without their lengths, as some passes of TVM leave them in the profile `tvm`.

They visit a body without the parameters around it, so that a branch with bindings knows none of its lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_

from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.matching import erase
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import contents, defined_dims, map_sequences, sequences
from relax_explorer.core.passes.branch_results import cast_branch
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite, without_plain_annotation

Rule = Callable[[Rewriter, e.Binding], Answer]
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
        if walk.owner is not walk.fn and not is_plain:
            return binding
        info = binding.var.struct_info
        if info is None or not any(seq.blocks for seq in sequences(value)):
            return binding
        vague = erase(info, known.get(walk.given(binding.var), ()))
        if vague is info:
            return binding

        def cast(seq: e.SeqExpr) -> e.SeqExpr:
            if seq.blocks or is_plain or seq.struct_info is vague:
                return seq
            return cast_branch(seq, vague, names, binding.var.name)

        new = map_sequences(binding, cast)
        return replace(new, value=replace(new.value, struct_info=vague), annotation=vague)

    return _without_plain_annotations(fn, rule, at)


def forget_changed_results(fn: e.Function, before: e.Function, at: PassSite, had_blocks: bool) -> e.Function:
    """Let the variable of an If have no lengths if the result of a branch is another one than `before`, with this branch."""
    if e.If not in contents(fn).values:
        return fn
    old = {b.var: b.value for b in facts(before).bindings if type(b.value) is e.If}

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value, given = binding.value, old.get(walk.given(binding.var)) if binding.var is not None else None
        if type(binding) is not e.VarBinding or type(value) is not e.If or given is None:
            return binding
        if walk.owner is not walk.fn or binding.var.struct_info is None:
            return binding
        vague = erase(binding.var.struct_info, ())
        branches = [
            new
            if new.body is old.body or (had_blocks and not old.blocks)
            else replace(new, struct_info=vague)
            for old, new in zip(sequences(given), sequences(value), strict=True)
        ]
        if vague is binding.var.struct_info or all(map(is_, branches, sequences(value))):
            return binding
        value = replace(value, true_branch=branches[0], false_branch=branches[1])
        return replace(binding, value=value, annotation=vague)

    return _without_plain_annotations(fn, rule, at)


def _without_plain_annotations(fn: e.Function, rule: Rule, at: PassSite) -> e.Function:
    """The function after a rule. If it forgets lengths, annotations that tell them again, as in printed text, go before."""
    new = rewrite(fn, at, rule)
    return new if new is fn else rewrite(rewrite(fn, at, _plain), at, rule)


def _plain(walk: Rewriter, binding: e.Binding) -> Answer:
    """A binding without a plain annotation. That of an If tells what was forgotten."""
    return binding if type(binding.value) is e.If else without_plain_annotation(walk, binding)


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
