"""Rewrites values by named rules. Each rule has a pattern, and a function from its match to the new value.

    MERGE = Rule("merge reshapes", read_pattern("reshape(reshape(x, _), _)"), lambda found: …)
    return apply_rules(fn, at, [MERGE])

As in TVM, a pattern looks through the variables of one block, and the function is cleaned up: copies, common subexpressions and
unread bindings go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from relax_explorer.core.check.aliases import Aliases, aliases
from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.attrs import Attrs, freeze
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import contents
from relax_explorer.core.passes.cleaning import cleaned, forget_lengths
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.patterns.matcher import Match, match, seen_through
from relax_explorer.core.patterns.matches import Root, Test, is_likely, root_of, tests
from relax_explorer.core.patterns.pattern import Pattern

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
