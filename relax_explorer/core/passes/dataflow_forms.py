"""Rewrites a function so that the variables of its dataflow blocks hold their values in other forms: in another dtype or layout.

A form ends with its block: what leaves the block, and operands of calls that need it, have their first form again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from operator import is_

from relax_explorer.core.build.block_builder import BlockBuilder
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import map_operands, sequences
from relax_explorer.core.passes.contract import PassSite


class DataflowForms(ABC):
    """Walks over one function. `now` maps variables to those that hold their values in another form."""

    def __init__(self, fn: e.Function, at: PassSite) -> None:
        self.fn, self.at = fn, at
        self.build = BlockBuilder(at.editor, within=fn, record=at.record)
        self.now: dict[e.Var, e.Var] = {}
        self.params = fn.params  # of the current function
        self.in_dataflow = False
        self.ready: e.Expr | None = None  # the last value that is in normal form already

    @abstractmethod
    def value(self, binding: e.Binding) -> e.Expr:
        """The new value of a binding. In its first form, unless a dataflow variable holds it."""

    @abstractmethod
    def first_form(self, current: e.Expr, var: e.Var) -> e.Expr:
        """The value of `current`, which holds that of `var`, in its first form."""

    def begin(self, block: e.BindingBlock) -> None:  # noqa: B027  # a hook that not every walk needs
        """Called at the start of each dataflow block."""

    def after(self, binding: e.Binding) -> None:  # noqa: B027  # likewise
        """Called after each binding of a dataflow block."""

    def enter(self, fn: e.Function) -> None:  # noqa: B027  # likewise
        """Called in front of each nested function."""

    def function(self) -> e.Function:
        """The function after the walk."""
        return replace(self.fn, body=self.sequence(self.fn.body))

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """A sequence after the walk."""
        outer = self.in_dataflow
        with self.build.apart():
            for block in seq.blocks:
                self.build.start_block(block)
                self.in_dataflow = type(block) is e.DataflowBlock
                self._block(block)
            self.in_dataflow = False
            blocks, result = self.build.blocks(), self.restored(seq.body)
        self.in_dataflow = outer
        same = len(blocks) == len(seq.blocks) and all(map(is_, blocks, seq.blocks))
        return replace(seq, blocks=seq.blocks if same else tuple(blocks), body=result)

    def current(self, expr: e.Expr) -> e.Expr:
        """An operand with the variables that hold the present forms."""
        if isinstance(expr, e.Var):
            return self.now.get(expr, expr)
        new = map_operands(expr, self.current)
        return e.tuple_of(new.fields) if new is not expr and type(new) is e.Tuple else new

    def restored(self, expr: e.Expr) -> e.Expr:
        """An expression whose operands have their first form."""
        if not isinstance(expr, e.Var):
            return map_operands(expr, self.restored)
        current = self.now.get(expr)
        return expr if current is None else self.first_form(current, expr)

    @contextmanager
    def emitting(self, origin: e.Binding) -> Iterator[None]:
        """Note that the bindings emitted meanwhile, if any, come from `origin`."""
        count = self.build.count
        with self.build.inherit(origin, records=False):
            yield
        new = self.build.emitted_since(count)
        if new:
            self.at.record(origin, new)

    def _block(self, block: e.BindingBlock) -> None:
        known = set(self.now)
        if self.in_dataflow:
            self.begin(block)
        for binding in block.bindings:
            self._binding(binding)
            if self.in_dataflow:
                self.after(binding)
        bound = [binding.var for binding in block.bindings if binding.var is not None]
        for var in (*self.params, *bound):
            if var not in known:
                self.now.pop(var, None)

    def _binding(self, binding: e.Binding) -> None:
        value = binding.value
        if type(value) is e.Function:
            self.enter(value)
            outer, self.params = self.params, value.params
            new = replace(binding, value=replace(value, body=self.sequence(value.body)))
            self.params = outer
        elif type(value) is e.If:
            true, false = (self.sequence(branch) for branch in sequences(value))
            condition = self.restored(value.condition)
            new = replace(
                binding, value=replace(value, condition=condition, true_branch=true, false_branch=false)
            )
        else:
            count, place = self.build.count, self.build.span  # as `emitting` does, in less time
            self.build.normalizer.place = value.span or place
            formed = self.value(binding)
            if formed is not value:
                ready = formed is self.ready
                formed = e.replace_span(formed, value.span)
                self._bind(binding, formed if ready else self.build.informed(formed))
            self.build.normalizer.place = place
            emitted = self.build.emitted_since(count)
            if emitted:
                self.at.record(binding, emitted)
            if formed is not value:
                return
            new = binding
        if new is not binding:
            self.at.record(binding, new)
        self.build.keep(new)

    def _bind(self, binding: e.Binding, value: e.Expr) -> None:
        """Emit a binding with a new value in normal form. A dataflow variable gets its StructInfo."""
        if type(binding) is not e.VarBinding:
            self.build.add(replace(binding, value=value))
            return
        var = binding.var
        if binding.annotation is not None and value.struct_info is s.OBJECT:
            # The value is known by its annotation alone: the text omits a constant.
            self.build.add(replace(binding, value=value))
        elif type(var) is e.DataflowVar:
            self.build.add(e.VarBinding(e.var_like(var, value.struct_info), value, None, binding.span))
            self.hold(var)
        elif value.struct_info is not var.struct_info:
            # Readers elsewhere know no more of the variable than before.
            self.build.add(replace(binding, value=value, annotation=var.struct_info))
        else:
            self.build.add(replace(binding, value=value))

    def hold(self, var: e.Var) -> e.Var:
        """Let the last emitted variable hold the value of `var`."""
        (last,) = self.build.emitted_since(self.build.count - 1)
        assert last.var is not None  # only bindings with a variable hold values
        self.now[var] = last.var
        return last.var
