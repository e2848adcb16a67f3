"""Rewrites values by named rules, and cleans up behind them. Each rule has a pattern, and a function from its match to the new value.

    MERGE = Rule("merge reshapes", read_pattern("reshape(reshape(x, _), _)"), lambda found: …)
    return apply_rules(fn, at, [MERGE])

As in TVM, a pattern looks through the variables of one block, and the function is cleaned up: copies, common subexpressions and
unread bindings go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import cycle
from operator import is_

from relax_explorer.core.check.aliases import Aliases, aliases
from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.check.emission import FreshNames
from relax_explorer.core.check.matching import erase
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs, freeze
from relax_explorer.core.ir.dataflow import Analysis, solve
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import (
    WITH_BLOCKS,
    contents,
    defined_dims,
    map_blocks,
    map_sequences,
    sequences,
)
from relax_explorer.core.passes import canonicalize_bindings, eliminate
from relax_explorer.core.passes.canonicalize_bindings import cast_branch
from relax_explorer.core.passes.cast_checks import bound_dims
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite, without_plain_annotation
from relax_explorer.core.passes.rewrite import Rule as WalkRule
from relax_explorer.core.patterns.matcher import Match, match, seen_through
from relax_explorer.core.patterns.matches import Root, Test, is_likely, root_of, tests
from relax_explorer.core.patterns.pattern import Pattern

# -- forgotten lengths -----------------------------------------------------------------------------------------------
# Results of branches without their lengths, as some passes of TVM leave them in the profile `tvm`.
#
# They visit a body without the parameters around it, so that a branch with bindings knows none of its lengths.


def forget_lengths(fn: e.Function, at: PassSite, is_plain: bool = False) -> e.Function:
    """Let the variable of an If have no lengths, and cast the result of a branch without bindings accordingly.

    The branches of nested functions know their parameters. Not so in a pass that `is_plain`: it casts no results either, and the
    branches know the lengths to which they cast a value.
    """
    if e.If not in contents(fn).values:
        return fn
    names = FreshNames.of(fn)
    known = _known_lengths(fn) if is_plain else {}

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


def _without_plain_annotations(fn: e.Function, rule: WalkRule, at: PassSite) -> e.Function:
    """The function after a rule. If it forgets lengths, annotations that tell them again, as in printed text, go before."""
    new = rewrite(fn, at, rule)
    return new if new is fn else rewrite(rewrite(fn, at, _plain), at, rule)


def _plain(walk: Rewriter, binding: e.Binding) -> Answer:
    """A binding without a plain annotation. That of an If tells what was forgotten."""
    return binding if type(binding.value) is e.If else without_plain_annotation(walk, binding)


Dims = frozenset[p.PrimVar]


def _known_lengths(fn: e.Function) -> dict[e.Var, Dims]:
    """The lengths that casts bind in all branches of an If, or in branches around it. Outside of branches none is known (None)."""
    known: dict[e.Var, Dims] = {}

    def transfer(here: Dims | None, binding: e.Binding) -> Dims | None:
        if here is None or type(binding) is not e.MatchCast:
            return here
        return here.union(defined_dims(binding.struct_info))

    def enter(here: Dims | None, binding: e.Binding) -> list[tuple[e.SeqExpr, Dims | None]]:
        if type(binding.value) is e.Function:
            return [(binding.value.body, here)]
        return [(branch, here or Dims()) for branch in sequences(binding.value) if branch.blocks]

    def join(here: Dims | None, binding: e.Binding, ends: list[Dims | None]) -> Dims | None:
        if type(binding.value) is e.If and binding.var is not None:
            branches = [end for end in ends if end is not None]
            known[binding.var] = Dims.intersection(*branches) if branches else here or Dims()
        return here

    solve(Analysis(transfer, enter, join), fn.body, None)
    return known


# -- cleaning --------------------------------------------------------------------------------------------------------
# The cleaning behind rules: copies, common subexpressions and unread bindings go.


def cleaned(fn: e.Function, at: PassSite) -> e.Function:
    """The function without copies, common subexpressions and unread bindings.

    In the profile `tvm`, branches and nested functions are cleaned by themselves before, and lengths are forgotten as in TVM.
    """
    if at.as_tvm and not WITH_BLOCKS.isdisjoint(contents(fn).values):
        fn = _Parts(fn, at).cleaned()
    return _cleaned(fn, at)


def _cleaned(fn: e.Function, at: PassSite) -> e.Function:
    """The function after all three passes, as often as they find something.

    Dropping bindings makes no others common, except for functions and Ifs: the next search waits until copies are gone.
    """
    # Of each pass: it leaves its own result as it is.
    results: dict[Callable[..., e.Function], e.Function] = {}
    passes = (
        canonicalize_bindings.canonicalize_bindings.run,
        eliminate.eliminate_common_subexpr.run,
        eliminate.drop_unread,
    )
    for number, clean in enumerate(cycle(passes)):
        if results.get(clean) is fn:
            return fn
        given, fn = fn, clean(fn, at)
        if at.as_tvm and clean is not passes[2]:
            fn = forget_changed_results(fn, given, at, had_blocks=clean is passes[1])
        if fn is given and clean is passes[0] and results and not _has_inner(fn):
            return fn
        results[clean] = fn
        if at.as_tvm and number == 0 and fn is not given:
            del results[clean]  # lengths that are merged now are those that it merges next
    raise AssertionError("a cycle of three passes does not end by itself")


def _has_inner(fn: e.Function) -> bool:
    """True if a function contains functions or Ifs, which may have become equal."""
    return any(type(binding.value) in WITH_BLOCKS for binding in facts(fn).bindings)


class _Parts:
    """The branches and nested functions of a function, each cleaned by itself, inner ones first, as TVM does.

    What is cleaned does not know the parameters around it: a nested function forgets its lengths.
    """

    def __init__(self, fn: e.Function, at: PassSite) -> None:
        self.fn, self.at = fn, at
        self.has_merged = False  # lengths, so that the result is what the body tells

    def cleaned(self) -> e.Function:
        new = replace(self.fn, body=map_blocks(self.fn.body, partial(self._binding, self.fn)))
        return replace(new, ret_struct_info=None, struct_info=None) if self.has_merged else new

    def _binding(self, owner: e.Function, binding: e.Binding) -> e.Binding:
        """A binding of the function `owner`."""
        value = binding.value
        new = map_sequences(binding, partial(self._part, value if type(value) is e.Function else owner))
        if type(new.value) is e.Function:
            new = replace(new, value=self._without_captured_lengths(new.value))
        elif type(new.value) is e.If and _results(new.value) != _results(value):
            new = replace(new, value=replace(new.value, struct_info=None))
        if new is not binding:
            self.at.record(binding, new)
        return new

    def _part(self, owner: e.Function, seq: e.SeqExpr) -> e.SeqExpr:
        seq = map_blocks(seq, partial(self._binding, owner))
        if _is_graph(seq):
            return seq
        new = _cleaned(replace(owner, body=seq), self.at)
        self.has_merged |= new.ret_struct_info is not owner.ret_struct_info
        return (new if owner is self.fn else forget_lengths(new, self.at)).body

    def _without_captured_lengths(self, fn: e.Function) -> e.Function:
        """A nested function that does not promise the lengths that its result captures."""
        told = fn.ret_struct_info
        if told is None or told is not fn.body.body.struct_info or _is_graph(fn.body):
            return fn
        vague = erase(told, bound_dims(fn))
        if vague is told:
            return fn
        return replace(fn, ret_struct_info=vague, struct_info=None)


def _is_graph(seq: e.SeqExpr) -> bool:
    return all(type(block) is e.DataflowBlock for block in seq.blocks)


def _results(value: e.Expr) -> list[s.StructInfo | None]:
    """What is known of the results of branches."""
    return [seq.body.struct_info for seq in sequences(value)]


# -- pattern rules ---------------------------------------------------------------------------------------------------


MOST_ROUNDS = 100  # a rule that undoes another would not end


@dataclass(frozen=True, slots=True)
class Rule:
    """One rewrite: `rewrite` returns the new value, or None if the match does not qualify."""

    name: str
    pattern: Pattern
    rewrite: Callable[[Match], e.Expr | None]


def call(op: str, *args: e.Expr, **attrs: object) -> e.Call:
    """A call of an operator, for the results of rules."""
    return e.Call(e.op_ref(op), args, Attrs({name: freeze(value) for name, value in attrs.items()}))


def apply_rules(fn: e.Function, at: PassSite, rules: Sequence[Rule]) -> e.Function:
    """The function after its values were rewritten as often as rules match.

    It is cleaned up if a rule matched, and, as in TVM, if it has bindings outside dataflow blocks. Then rules may match once more:
    blocks that a dead one parted are one. A value stays if memory that its match reads may be overwritten, or if its StructInfo
    would say less.
    """
    if fn.attrs.get("Primitive"):
        return fn
    by_root = _ByRoot(rules)
    new = _applied(fn, at, by_root) if by_root.may_match(fn) else finished(fn, fn, at)
    if not at.as_tvm:
        return new
    forgot = forget_lengths(new, at)
    if new.ret_struct_info is fn.ret_struct_info:
        return forgot
    return replace(forgot, ret_struct_info=None, struct_info=None)


def _applied(fn: e.Function, at: PassSite, by_root: _ByRoot) -> e.Function:
    """The function after all rounds of the rules, cleaned up."""
    name = at.rule
    current, before = fn, None
    for _ in range(MOST_ROUNDS):
        if current is before:
            current = finished(current, fn, at)
            if current is before:
                return current
        before, current = current, rewrite(current, at, _Rules(current, at, by_root).rule)
        at.rule = name
    return finished(current, fn, at)


def finished(fn: e.Function, before: e.Function, at: PassSite) -> e.Function:
    """The function, cleaned up if it changed, or if it has bindings outside dataflow blocks."""
    is_graph = all(type(block) is e.DataflowBlock for block in fn.body.blocks)
    return fn if fn is before and is_graph else cleaned(fn, at)


class _ByRoot:
    """Rules by the operations that values have at their roots, so that most values meet none."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.all = [(rule, tests(rule.pattern)) for rule in rules]
        wanted = [roots for _, alternatives in self.all for roots, _ in alternatives]
        self.known = None if None in wanted else frozenset().union(*filter(None, wanted))
        self.by_root: dict[Root, list[tuple[Rule, tuple[Test, ...]]]] = {}

    def may_match(self, fn: e.Function) -> bool:
        """True if a function has a value with the root of a rule."""
        has = contents(fn)
        if self.known is None or has.calls_packed or has.calls_functions:
            return True
        found: set[Root] = {op.name for op in has.operators if type(op) is e.OpRef}
        kinds = {e.Var if kind is e.DataflowVar else kind for kind in has.values}
        return not self.known.isdisjoint(found | kinds)

    def of(self, value: e.Expr) -> Sequence[tuple[Rule, tuple[Test, ...]]]:
        """The rules for a value, in their order."""
        if self.known is None:
            return self.all
        root = root_of(value)
        if root not in self.known:
            return ()
        if root not in self.by_root:
            self.by_root[root] = [
                (rule, alternatives)
                for rule, alternatives in self.all
                if any(roots is not None and root in roots for roots, _ in alternatives)
            ]
        return self.by_root[root]


class _Rules:
    """The rules applied in one round. Each block has a table of the values of its variables.

    As in TVM, nothing looks through a value that this round rewrites. A chain of n matches takes about log(n) rounds.
    """

    def __init__(self, fn: e.Function, at: PassSite, rules: _ByRoot) -> None:
        self.fn, self.at, self.name = fn, at, at.rule
        self.rules = rules
        self.tables: dict[e.BindingBlock | None, dict[e.Var, e.Expr]] = {}

    @cached_property
    def memory(self) -> Aliases:
        """The aliases of the function. Only matches ask for them."""
        return aliases(self.at.module, self.at.function, self.fn)

    def rule(self, walk: Rewriter, binding: e.Binding) -> Answer:
        """The binding with its value rewritten, after the bindings that the new value needs."""
        value, values = binding.value, self.tables.setdefault(walk.block, {})
        self.at.rule = self.name
        rules = self.rules.of(value) if type(binding) is e.VarBinding else ()
        for rule, alternatives in rules:
            if is_likely(alternatives, value, values):
                new = self._rewritten(walk, binding, rule, match(rule.pattern, value, values))
                if new is not None:
                    self.at.rule = rule.name
                    return new
        if binding.var is not None:
            values[binding.var] = seen_through(value, values) if isinstance(value, e.Var) else value
        return binding

    def _rewritten(
        self, walk: Rewriter, binding: e.Binding, rule: Rule, found: Match | None
    ) -> tuple[e.Binding, ...] | None:
        """The bindings that replace one after a rule; None if the rule does not apply."""
        if type(binding) is not e.VarBinding or found is None:
            return None
        if any(map(self.memory.written, found.operands.values())):
            return None
        value = rule.rewrite(found)
        if value is None:
            return None
        build = walk.front_of(binding)
        value = build.informed(value)
        front = list[e.Binding](build.bindings)
        if _says_less(value, binding.var):
            return None
        return (*front, self._bound(walk, binding, value))

    def _bound(self, walk: Rewriter, binding: e.VarBinding, value: e.Expr) -> e.Binding:
        """A binding of a new value. The variable is a new one if the StructInfo is."""
        if value.struct_info is binding.var.struct_info:
            return replace(binding, value=value)
        var = e.var_like(binding.var, value.struct_info)
        walk.rename(binding.var, var)
        return e.VarBinding(var, value, None, binding.span)


def _says_less(value: e.Expr, var: e.Var) -> bool:
    have, want = value.struct_info, var.struct_info
    return have is not want and (have is None or want is None or not always_fits(have, want))
