"""All matches of a pattern in a function. The bindings are indexed by their operation, so that only likely ones are tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import Facts, facts
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.patterns import pattern as q
from relax_explorer.core.patterns.matcher import COMMUTATIVE, Match, Matching, Values, seen_through
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shown import Readable

Root = str | type
"""The operator of a call, else the class of the callee or of the value."""


@dataclass(frozen=True, slots=True, repr=False)
class Occurrence(Readable):
    """One match: the bindings of the chain (mostly one), and what the parts of the pattern matched."""

    bindings: tuple[e.VarBinding, ...]
    match: Match

    @property
    def binding(self) -> e.VarBinding:
        """The last binding, which reads all others."""
        return self.bindings[-1]


class BindingIndex:
    """The values of the variables of a function, and its bindings by their operation."""

    def __init__(self, fn: e.Function) -> None:
        self.values: dict[e.Var, e.Expr] = {}
        self.all: list[e.VarBinding] = []
        self.by_root: dict[Root, list[e.VarBinding]] = {}
        for binding in facts(fn).bindings:
            if type(binding) is not e.VarBinding:
                continue  # a match_cast may change the StructInfo, so nothing looks through it
            value = binding.value
            self.all.append(binding)
            self.by_root.setdefault(root_of(value), []).append(binding)
            self.values[binding.var] = self.values.get(value, value) if isinstance(value, e.Var) else value

    def likely(self, pattern: q.Pattern) -> list[e.VarBinding]:
        """The bindings that may match, in text order."""
        wanted = roots(pattern)
        if wanted is None:
            return self.all
        lists = [self.by_root[root] for root in wanted if root in self.by_root]
        if len(lists) < 2:
            return lists[0] if lists else []
        chosen = set().union(*lists)
        return [binding for binding in self.all if binding in chosen]


_INDICES: PerNode[BindingIndex] = PerNode()


def binding_index(fn: e.Function) -> BindingIndex:
    """The index of a function, built once."""
    return _INDICES.of(fn, BindingIndex)


def root_of(value: e.Expr) -> Root:
    """The operation that a value has at its root."""
    if type(value) is e.Call:
        return value.op.name if type(value.op) is e.OpRef else type(value.op)
    return e.Var if isinstance(value, e.Var) else type(value)


def roots(pattern: q.Pattern) -> frozenset[Root] | None:
    """The roots that a matching value may have; None if any."""
    if isinstance(pattern, q.CallOf):
        return _call_roots(pattern.op)
    if isinstance(pattern, q.Either):
        left, right = roots(pattern.left), roots(pattern.right)
        return None if left is None or right is None else left | right
    if isinstance(pattern, q.Both):
        return roots(pattern.left) or roots(pattern.right)
    if isinstance(pattern, (q.WithAttrs, q.WithDType, q.WithShape, q.WithInfo, q.ShapedLike)):
        return roots(pattern.pattern)
    value_class = _CLASSES.get(type(pattern))
    return None if value_class is None else frozenset({value_class})


_CLASSES: dict[type, type] = {
    q.ItemOf: e.TupleGetItem, q.TupleOf: e.Tuple, q.ConstantValue: e.Constant, q.ShapeOf: e.ShapeExpr,
}  # fmt: skip


Test = tuple[frozenset[Root] | None, tuple["frozenset[Root] | None", ...]]
"""The roots of a value, and for a call without further operands those of what it reads."""


def tests(pattern: q.Pattern) -> tuple[Test, ...]:
    """What a value needs to match a pattern, told by roots alone; one test suffices."""
    if isinstance(pattern, q.Either):
        return tests(pattern.left) + tests(pattern.right)
    if isinstance(pattern, q.CallOf):
        return ((roots(pattern), tuple(map(roots, pattern.args))),)
    return ((roots(pattern), ()),)


def is_likely(alternatives: tuple[Test, ...], value: e.Expr, values: Values) -> bool:
    """True if a value may match. Most values do not, so this comes before a match."""
    root = root_of(value)
    fitting = [operands for wanted, operands in alternatives if wanted is None or root in wanted]
    if not fitting or type(value) is not e.Call:
        return bool(fitting)
    read = [root_of(seen_through(arg, values)) for arg in value.args]
    if any([_fit(wanted, read) for wanted in fitting]):
        return True
    return root in COMMUTATIVE and any([_fit(wanted, read[::-1]) for wanted in fitting])


def _fit(wanted: Sequence[frozenset[Root] | None], read: Sequence[Root]) -> bool:
    return all([one is None or root in one for one, root in zip(wanted, read, strict=False)])


def _call_roots(op: q.Pattern) -> frozenset[Root] | None:
    if isinstance(op, q.Exactly) and isinstance(op.value, (e.OpRef, e.ExternFunc)):
        return frozenset({op.value.name if type(op.value) is e.OpRef else e.ExternFunc})
    if isinstance(op, q.FunctionRef):
        return frozenset({op.kind})
    return None


def occurrences(fn: e.Function, pattern: q.Pattern | q.Chain) -> Iterator[Occurrence]:
    """The matches of a pattern with the bindings of a function, in text order; for a chain, one for each first binding."""
    chain = pattern if isinstance(pattern, q.Chain) else q.Chain((pattern,))
    index, derived = binding_index(fn), facts(fn)
    if not all(map(index.likely, chain.patterns)):
        return
    for binding in index.likely(chain.patterns[0]):
        walk = _ChainWalk(chain, index, derived)
        if walk.accepts(0, binding):
            yield Occurrence(tuple(walk.bindings), walk.matching.result)


def module_occurrences(module: IRModule, pattern: q.Pattern | q.Chain) -> Iterator[tuple[str, Occurrence]]:
    """The matches in all Relax functions, each with the name of its function."""
    for name, fn in module.relax_functions.items():
        for one in occurrences(fn, pattern):
            yield name, one


class _ChainWalk:
    """Follows the readers of a binding along a chain. What a failed reader noted is forgotten."""

    def __init__(self, chain: q.Chain, index: BindingIndex, derived: Facts) -> None:
        self.chain, self.index, self.facts = chain, index, derived
        self.matching = Matching(Match(index.values))
        self.bindings: list[e.VarBinding] = []
        self._failed: set[tuple[int, e.VarBinding]] = set()

    def accepts(self, place: int, binding: e.VarBinding) -> bool:
        """True if a binding and its readers match the chain from `place` on."""
        if (place, binding) in self._failed:
            return False
        state = self.matching.state()
        self.bindings.append(binding)
        if self.matching.accepts(self.chain.patterns[place], binding.var) and self._goes_on(place, binding):
            return True
        self.bindings.pop()
        self.matching.forget(state)
        self._failed.add((place, binding))
        return False

    def _goes_on(self, place: int, binding: e.VarBinding) -> bool:
        if place == len(self.chain.links):
            return self.matching.keeps_shapes()
        readers, link = self.facts.users(binding.var), self.chain.links[place]
        if link.only and len(readers) != 1:
            return False
        for number in readers:
            reader = self.facts.bindings[number] if number < len(self.facts.bindings) else None
            if (
                type(reader) is e.VarBinding
                and _reads(reader.value, binding.var, link.index)
                and self.accepts(place + 1, reader)
            ):
                return True
        return False


def _reads(value: e.Expr, var: e.Var, index: int) -> bool:
    """True if a value has a variable as operand `index`, or if any will do."""
    if index < 0:
        return True
    return type(value) is e.Call and index < len(value.args) and value.args[index] is var
