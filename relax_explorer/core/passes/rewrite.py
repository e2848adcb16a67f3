"""The driver of most passes: one forward walk over the bindings, which also replaces renamed variables.

A rule gets each binding with replaced operands. It returns the same binding, another one, several, or () to drop it.
Every change is recorded. Lists are copied only on their first change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import free_variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import (
    WITH_BLOCKS,
    bindings,
    called,
    map_block,
    map_branches,
    map_sequences,
    merged_blocks,
    with_blocks,
)
from relax_explorer.core.passes.contract import PassSite

Answer = e.Binding | tuple[e.Binding, ...]


Rule = Callable[["Rewriter", e.Binding], Answer]
Result = Callable[[BlockBuilder, e.Expr], e.Expr]
"""Changes the result of a sequence, and emits what that needs behind the bindings."""


class Rewriter:
    """One forward walk over a function. `rename` replaces later uses of a variable by another leaf."""

    def __init__(self, fn: e.Function, at: PassSite, rule: Rule, result: Result | None = None) -> None:
        self.fn, self.at, self.rule, self.result = fn, at, rule, result
        self._builder: BlockBuilder | None = None  # created on first use
        self.substitution = Substitution()
        self.block: e.BindingBlock | None = None  # the current block
        self.owner: e.Function | None = None  # the current function, which may be nested
        self._noted: dict[Any, Any] = {}  # the table of the rule
        # What it had for each key that was noted in an open scope, by scope. What the function itself notes stays.
        self._hidden_notes: list[list[tuple[Any, Any]]] = []
        # Emitted bindings by their variables, where they are new. None for dropped ones.
        self._changed: dict[e.Var, e.Binding | None] = {}
        self._until_end: list[e.Var] = []  # variables that are renamed in the current block only
        self._here: set[e.Var] = set()  # variables that are not renamed in nested functions
        # Variables of the function by those that replace them with new StructInfo.
        self._old: dict[e.Var, e.Var] = {}

    def front_of(self, binding: e.Binding) -> BlockBuilder:
        """A builder for bindings in front of `binding`. They get the same kind of block and the same span."""
        return self._restarted(type(self.block) is e.DataflowBlock, binding.value)

    def _restarted(self, is_dataflow: bool, origin: e.Expr) -> BlockBuilder:
        if self._builder is None:
            self._builder = BlockBuilder(self.at.editor, within=self.fn)
        return self._builder.restart(is_dataflow, origin)

    def given(self, var: e.Var) -> e.Var:
        """The variable as it was before the walk. The walk replaces one whose StructInfo names what is renamed."""
        return self._old.get(var, var)

    def now(self, var: e.Var) -> e.Expr:
        """What later bindings read in place of `var`."""
        return self.substitution.variables.get(var, var)

    def rename(self, var: e.Var, leaf: e.Expr) -> None:
        """Replace later uses of `var` by `leaf`."""
        self.substitution.variables[var] = leaf
        if var in self._old:
            self.substitution.variables[self._old[var]] = leaf

    def rename_in_block(self, var: e.Var, leaf: e.Expr) -> None:
        """Replace later uses of `var` by `leaf`, up to the end of the current block."""
        self.rename(var, leaf)
        self._until_end.append(var)

    def rename_here(self, var: e.Var, leaf: e.Expr) -> None:
        """Replace later uses of `var` by `leaf`, but not in nested functions."""
        self.rename(var, leaf)
        self._here.add(var)

    def run(self) -> e.Function:
        """The function after the walk."""
        self.owner = self.fn
        return replace(self.fn, body=self.sequence(self.fn.body))

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """A sequence after the walk."""
        blocks: list[e.BindingBlock] = []
        for block in seq.blocks:
            outer, self.block, self._until_end = (self.block, self._until_end), block, []
            new = map_block(block, self._binding)
            for var in self._until_end:
                del self.substitution.variables[var]
                if var in self._old:
                    self.substitution.variables[self._old[var]] = var
            self.block, self._until_end = outer
            blocks.append(new)
        body = self.substitution.expr(seq.body)
        if self.result is not None:
            build = self._restarted(False, body)
            body = self.result(build, body)
            blocks.append(e.BindingBlock(tuple(build.bindings)))
        return with_blocks(seq, merged_blocks(blocks), body=body)  # a dropped block can make others adjacent

    def _binding(self, binding: e.Binding) -> Answer:
        change = self.substitution
        if type(binding.value) is e.Call and not change.variables and not change.dims:
            current = binding  # most often
        else:
            current = self._replaced(binding)
        answer = self.rule(self, current)
        if answer is not binding:
            self.at.record(binding, answer or self._in_place_of(binding))
            if binding.var is not None:
                self._changed[binding.var] = None
            for emitted in answer if isinstance(answer, tuple) else (answer,):
                if emitted.var is not None:
                    self._changed[emitted.var] = emitted
        return answer

    def _replaced(self, binding: e.Binding) -> e.Binding:
        """A binding with renamed operands. Bindings in branches and nested functions are rewritten."""
        value, change = binding.value, self.substitution
        if type(value) is e.Call and not change.dims:  # most often
            new = change.call(value)
            current = change.infos(binding if new is value else e.with_value(binding, new))
        elif type(value) is e.Function:  # it may call itself, so its variable is renamed first
            current = replace(change.infos(binding), value=self._value(value))
        else:
            current = change.infos(e.with_value(binding, self._value(value)))
        if current.var is not binding.var and current.var is not None and binding.var is not None:
            self._old[current.var] = binding.var
        return current

    def _in_place_of(self, binding: e.Binding) -> Answer:
        """The binding whose variable is read in place of that of a dropped binding."""
        leaf = self.substitution.variables.get(binding.var) if binding.var is not None else None
        if not isinstance(leaf, e.Var):
            return ()
        found = self._changed[leaf] if leaf in self._changed else self._given.get(leaf)
        return () if found is None else found

    @cached_property
    def _given(self) -> dict[e.Var, e.Binding]:
        """The bindings of the function before the walk by their variables."""
        return {binding.var: binding for binding in bindings(self.fn) if binding.var is not None}

    def _value(self, value: e.Expr) -> e.Expr:
        if type(value) is e.If:
            condition = self.substitution.expr(value.condition)
            return replace(map_branches(value, self._inner), condition=condition)
        if type(value) is e.Function:
            value = self.substitution.signature(value)
            outer, self.owner = self.owner, value
            renamed = self.substitution.variables
            hidden = {var: renamed.pop(var) for var in self._hidden(value) if var in renamed}
            inner = self._inner(value.body)
            renamed.update(hidden)
            self.owner = outer
            return replace(value, body=inner)
        return self.substitution.expr(value)

    def _hidden(self, value: e.Function) -> set[e.Var]:
        """The variables of a nested function that are renamed only around it."""
        return self._here & set(free_variables(value)) if self._here else set()

    def _inner(self, branch: e.SeqExpr) -> e.SeqExpr:
        self._hidden_notes.append([])
        try:
            return self.sequence(branch)
        finally:
            for key, value in reversed(self._hidden_notes.pop()):
                if value is None:
                    del self._noted[key]
                else:
                    self._noted[key] = value

    def lookup(self, key: object) -> Any:
        """The value noted under `key` in this scope or an enclosing one."""
        return self._noted.get(key)

    def note(self, key: object, value: object) -> None:
        """Note a value under `key` until this scope closes."""
        if self._hidden_notes:
            self._hidden_notes[-1].append((key, self._noted.get(key)))
        self._noted[key] = value


Entry = TypeVar("Entry", bound=object)


def at_calls(table: Mapping[str, Entry], change: Callable[[Entry, e.Call], e.Expr]) -> Rule:
    """A rule for the calls of those operators and functions of the module that a table names: `change` gets the entry of the callee."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        entry = table.get(called(value))
        if entry is None or type(value) is not e.Call:
            return binding
        return e.with_value(binding, change(entry, value))

    return rule


def rewrite(fn: e.Function, at: PassSite, rule: Rule, result: Result | None = None) -> e.Function:
    """`fn` after one forward walk with `rule`, and one for results of sequences. The same object if nothing changed."""
    return Rewriter(fn, at, rule, result).run()


def without_plain_annotation(walk: Rewriter, binding: e.Binding) -> Answer:
    """Drop an annotation that tells only what its value tells, as printed text has them. That of a new value is derived then."""
    if type(binding) is not e.VarBinding or binding.annotation is None:
        return binding
    return replace(binding, annotation=None) if binding.annotation is binding.value.struct_info else binding


def without(fn: e.Function, at: PassSite, stays: Callable[[e.Binding], bool]) -> e.Function:
    """`fn` without the bindings for which `stays` is False. The same object if all stay.

    As `rewrite` does, but nothing is renamed, so that the operands of what stays need no look.
    """

    def binding_kept(binding: e.Binding) -> Answer:
        new = map_sequences(binding, sequence) if type(binding.value) in WITH_BLOCKS else binding
        answer: Answer = new if stays(binding) else ()
        if answer is not binding:
            at.record(binding, answer)
        return answer

    def sequence(seq: e.SeqExpr) -> e.SeqExpr:
        return with_blocks(seq, merged_blocks([map_block(block, binding_kept) for block in seq.blocks]))

    return replace(fn, body=sequence(fn.body))
