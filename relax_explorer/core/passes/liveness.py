"""The live bindings of a function: those that its result or an effect reads."""

from __future__ import annotations

from relax_explorer.core.check.purity import has_effect
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts, variables
from relax_explorer.core.ir.walk import bindings, info_vars, operands, sequences

KILLS = ("relax.memory.kill_tensor", "relax.memory.kill_storage", "relax.vm.kill_object")


def killed(fn: e.Function) -> frozenset[e.Expr]:
    """The variables whose life an explicit kill ends. A copy of one lives on: the kill empties one register of the machine."""
    return frozenset(
        arg
        for binding in bindings(fn)
        if type(value := binding.value) is e.Call and type(value.op) is e.OpRef and value.op.name in KILLS
        for arg in operands(value)[1:]
    )


class Live:
    """The live bindings of a function: read by its result or by an effect, or kept anyway."""

    def __init__(self, fn: e.Function) -> None:
        self.facts = facts(fn)
        self.read: set[e.Var] = set()
        self.kept: set[e.Binding] = set()
        self.outside: list[e.Binding] = []  # not in dataflow blocks, which may lose errors (errata E-35)
        # The match_casts that stay if the If or the function around them does (None at the top).
        self._casts: list[tuple[e.Binding, e.Binding | None]] = []
        self._collect(fn)
        self._mark(variables(fn.body.body))
        for binding in self.facts.bindings:
            if type(binding) is not e.MatchCast and has_effect(binding.value):
                self.keep(binding)
            if type(binding.value) is e.Function:  # callers read its result
                self._mark(variables(binding.value.body.body))

    def _collect(self, fn: e.Function) -> None:
        blocks: list[tuple[e.BindingBlock, e.Binding | None]] = [(block, None) for block in fn.body.blocks]
        while blocks:
            block, around = blocks.pop()
            inside = type(block) is e.DataflowBlock
            for binding in block.bindings:
                if type(binding) is not e.MatchCast:
                    blocks.extend(
                        (inner, binding) for seq in sequences(binding.value) for inner in seq.blocks
                    )
                    if not inside:
                        self.outside.append(binding)
                elif not inside or info_vars(binding.struct_info):
                    self._casts.append((binding, around))
        self._casts.sort(key=lambda item: -self.facts.number[item[0]])

    def keep_casts(self) -> None:
        """Keep match_casts whose errors must stay: those of the function itself, and those in Ifs and functions that stay."""
        for (
            binding,
            around,
        ) in self._casts:  # from the last one, so that it is known which Ifs later bindings read
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
        self._mark(self.facts.operands[self.facts.number[binding]])

    def _mark(self, variables: list[e.Var]) -> None:
        stack = list(variables)
        while stack:
            var = stack.pop()
            if var in self.read:
                continue
            self.read.add(var)
            number = self.facts.defs.get(var, -1)
            if number >= 0:
                stack += self.facts.operands[number]
