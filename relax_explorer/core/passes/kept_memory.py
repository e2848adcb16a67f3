"""What every pass keeps of memory: no call overwrites a value in place that is read later, unless one did so before.

Only copies, fields and captured values count here. Those of `check.aliases` may share memory, as all parameters may: too many to
blame a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import free_variables
from relax_explorer.core.ir.walk import bindings, contents, operands, sequences
from relax_explorer.core.passes.kept import Loss
from relax_explorer.core.program.module import IRModule

_IN_PLACE = e.op_ref("relax.call_tir_inplace")


def overwritten(before: IRModule, after: IRModule) -> Iterator[Loss]:
    """The first call of a function that overwrites what is read later, if the module has more such calls than before."""
    changed = [
        (name, fn) for name, fn in after.relax_functions.items() if before.functions.get(name) is not fn
    ]
    found = [(name, loss) for name, fn in changed for loss in _of_function(fn)]
    if not found:
        return
    same = {name for name, _ in changed}
    old = [
        loss.place
        for name, fn in before.relax_functions.items()
        if name in same or name not in after.functions
        for loss in _of_function(fn)
    ]
    if len(found) > len(old):
        yield next((loss for _, loss in found if loss.place not in old), found[0][1])


def _of_function(fn: e.Function) -> list[Loss]:
    """The calls of a function, and of those nested in it, that overwrite a value that is read later."""
    if _IN_PLACE not in contents(fn).operators:
        return []
    walk = _Later(fn)
    walk.sequence(fn.body)
    return walk.found


class _Later:
    """A walk from the end of a function. `later` are the variables whose memory is read behind a binding."""

    def __init__(self, fn: e.Function) -> None:
        self.found: list[Loss] = []
        self.later: dict[e.Var, None] = {}
        self.added: list[e.Var] = []  # to `later`, in this order
        self.values = {b.var: b.value for b in bindings(fn) if b.var is not None}

    def sequence(self, seq: e.SeqExpr) -> None:
        """Walk over a sequence, the last binding first."""
        self._read([seq.body])
        for block in reversed(seq.blocks):
            for binding in reversed(block.bindings):
                self._binding(binding)

    def _binding(self, binding: e.Binding) -> None:
        value = binding.value
        if type(value) is e.If:
            self._branches(value)
        elif type(value) is e.Function:
            inner = _Later(value)
            inner.values = self.values
            inner.sequence(value.body)
            self.found += inner.found
        elif type(value) is e.Call:
            if value.op is _IN_PLACE:
                self._overwrite(binding, value)
            self._read(operands(value))

    def _branches(self, value: e.If) -> None:
        """Walk over both branches. What one reads is not read behind the other."""
        read: list[e.Var] = []
        for branch in sequences(value):
            start = len(self.added)
            self.sequence(branch)
            read += self.added[start:]
            for var in self.added[start:]:
                del self.later[var]
            del self.added[start:]
        self._read([*read, value.condition])

    def _overwrite(self, binding: e.Binding, call: e.Call) -> None:
        places = call.attrs.get("inplace_indices") or ()
        given = call.args[1]
        fields = given.fields if type(given) is e.Tuple else (given,)
        for place in places:
            if isinstance(place, int) and 0 <= place < len(fields):
                for var in self._memory([fields[place]]):
                    if var in self.later:
                        self.found.append(
                            Loss(binding, f"a call overwrites {var.name!r}, which is read later")
                        )
                        return

    def _read(self, values: Iterable[e.Expr]) -> None:
        for var in self._memory(values):
            if var not in self.later:
                self.later[var] = None
                self.added.append(var)

    def _memory(self, values: Iterable[e.Expr]) -> Iterator[e.Var]:
        """The variables that hold the memory of values, and of what functions capture: copies and fields are looked through."""
        open_, seen = list(values), set[e.Expr]()
        while open_:
            value = open_.pop()
            if value in seen:
                continue
            seen.add(value)
            if type(value) is e.Tuple:
                open_ += value.fields
            elif isinstance(value, e.Var):
                known = self.values.get(value)
                if type(known) is e.Function:
                    open_ += free_variables(known)
                part = self._part(known)
                if part is None:
                    yield value
                else:
                    open_.append(part)

    def _part(self, value: e.Expr | None) -> e.Expr | None:
        """What a variable with this value stands for: another variable, a tuple, or a field of one."""
        if isinstance(value, (e.Var, e.Tuple)):
            return value
        if type(value) is not e.TupleGetItem:
            return None
        whole: e.Expr | None = value.tuple
        while isinstance(whole, e.Var):
            whole = self.values.get(whole)
        if type(whole) is e.TupleGetItem:
            whole = self._part(whole)
            while isinstance(whole, e.Var):
                whole = self.values.get(whole)
        return whole.fields[value.index] if type(whole) is e.Tuple else None
