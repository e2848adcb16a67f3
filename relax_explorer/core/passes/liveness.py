"""The live bindings of a function: those that its result or an effect reads."""

from __future__ import annotations

from typing import NamedTuple

from relax_explorer.core.check.purity import has_effect, is_impure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dataflow import unneeded
from relax_explorer.core.ir.facts import facts, signature_holders, variables
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import WITH_BLOCKS, bindings, contents, info_vars, operands, sequences

KILLS = ("relax.memory.kill_tensor", "relax.memory.kill_storage", "relax.vm.kill_object")


def killed(fn: e.Function) -> frozenset[e.Expr]:
    """The variables whose life an explicit kill ends. A copy of one lives on: the kill empties one register of the machine."""
    has_kills = not contents(fn).operators.isdisjoint(_KILL_OPS)  # hardly ever
    return _KILLED.of(fn, _killed) if has_kills else frozenset()


_KILLED: PerNode[frozenset[e.Expr]] = PerNode()
_KILL_OPS = frozenset(map(e.op_ref, KILLS))


def _killed(fn: e.Function) -> frozenset[e.Expr]:
    calls = [b.value for b in bindings(fn) if type(b.value) is e.Call and b.value.op in _KILL_OPS]
    return frozenset(arg for call in calls for arg in operands(call)[1:])


def unread_in_graphs(fn: e.Function) -> set[e.Binding] | None:
    """The bindings without effects that nothing reads, found in one sweep from the end. None where that does not tell enough.

    So it is with branches and nested functions, with unread bindings outside of dataflow blocks, which may stop a run, and with
    variables that are read in front of their bindings.
    """
    return _UNREAD.of(fn, _unread_in_graphs)


_UNREAD: PerNode[set[e.Binding] | None] = PerNode()


def _unread_in_graphs(fn: e.Function) -> set[e.Binding] | None:
    if not WITH_BLOCKS.isdisjoint(contents(fn).values):
        return None
    read: set[e.Expr] = set(variables(fn.body.body))
    unread: set[e.Binding] = set()
    for block in reversed(fn.body.blocks):
        here = unneeded(reversed(block.bindings), read, _does_something)
        if here and type(block) is not e.DataflowBlock:
            return None
        unread.update(here)
    return None if any(binding.var in read for binding in unread) else unread


def _does_something(binding: e.Binding) -> bool:
    """True for a check, and for a call that may have an effect."""
    return type(binding) is e.MatchCast or is_impure(binding.value)


class _Place(NamedTuple):
    """The If or nested function that holds a block, and the innermost nested function around it. None at the top."""

    around: e.Binding | None = None
    owner: e.Binding | None = None


class _Placed(NamedTuple):
    """A binding, with the one that holds it."""

    binding: e.Binding
    holder: e.Binding | None


class Live:
    """The live bindings of a function: read by its result or by an effect, or kept anyway.

    What a nested function reads for its result, its effects or its checks is live even if nothing reads the function, and a
    function with effects is kept, as in TVM. Without `every_cast` a match_cast of a dataflow block is none of the checks, unless it may bind a
    shape variable: the language lets passes drop it (errata E-35).
    """

    def __init__(self, fn: e.Function, every_cast: bool = True) -> None:
        self.facts = facts(fn)
        self._every_cast = every_cast
        self.read: set[e.Var] = set()
        self.kept: set[e.Binding] = set()
        # Those that are not in dataflow blocks, which may lose errors (errata E-35), from the last one.
        self.outside: list[_Placed] = []
        # The match_casts that stay if the If or the function around them does, from the last one.
        self._casts: list[_Placed] = []
        self._effects: dict[e.Binding | None, list[e.Binding]] = {}  # by the nested function that they are in
        self._functions: list[e.Function] = [fn]
        self._collect(fn)
        for function in self._functions:
            self._mark(variables(function.body.body))
        for binding, around in self._casts:
            if around is not None and type(around.value) is e.Function:
                self._mark(self._operands(self.facts.number[binding]))
        for owner, effects in self._effects.items():
            for binding in (*effects, owner) if owner is not None else effects:
                self.keep(binding)

    def _collect(self, fn: e.Function) -> None:
        blocks = [(block, _Place()) for block in fn.body.blocks]
        while blocks:
            block, place = blocks.pop()
            inside = type(block) is e.DataflowBlock
            for binding in block.bindings:
                if type(binding) is e.MatchCast:
                    if not inside or self._every_cast or info_vars(binding.struct_info):
                        self._casts.append(_Placed(binding, place.around))
                    continue
                value = binding.value
                if type(value) in WITH_BLOCKS:
                    owner = binding if type(value) is e.Function else place.owner
                    self._functions += [value] if type(value) is e.Function else []
                    inner = [block for seq in sequences(value) for block in seq.blocks]
                    blocks += [(block, _Place(binding, owner)) for block in inner]
                if not inside:
                    self.outside.append(_Placed(binding, place.owner))
                if has_effect(value):
                    self._effects.setdefault(place.owner, []).append(binding)
        for placed in (self._casts, self.outside):
            placed.sort(key=lambda item: -self.facts.number[item.binding])

    def keep_casts(self) -> None:
        """Keep match_casts whose errors must stay: those of the function itself, and those in Ifs and functions that stay."""
        for binding, around in self._casts:  # it is known by now which Ifs later bindings read
            if around is None or self.stays(around):
                self.keep(binding)

    def stays(self, binding: e.Binding) -> bool:
        """True if a binding is live or kept."""
        return binding in self.kept or binding.var in self.read

    def keep(self, binding: e.Binding) -> None:
        """Keep a binding and what it reads."""
        self.kept.add(binding)
        if binding.var is not None:
            self.read.add(binding.var)  # a walk rebuilds the binding of an If when it drops something inside
        self._mark(self._operands(self.facts.number[binding]))

    def _mark(self, variables: list[e.Var]) -> None:
        stack = list(variables)
        while stack:
            var = stack.pop()
            if var in self.read:
                continue
            self.read.add(var)
            number = self.facts.defs.get(var, -1)
            if number >= 0:
                stack += self._operands(number)

    def _operands(self, number: int) -> list[e.Var]:
        """What a binding reads; of a nested function only its signature. What its body reads is marked by itself."""
        value = self.facts.bindings[number].value
        return signature_holders(value) if type(value) is e.Function else self.facts.operands[number]
