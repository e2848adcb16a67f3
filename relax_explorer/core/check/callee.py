"""Which function a callee is: one called by its name, through a copy, or through a field of a tuple."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e

_HOLDING = frozenset({e.Var, e.DataflowVar, e.GlobalVar, e.Tuple, e.TupleGetItem})


class Callees:
    """What the variables of a function hold, as far as it may be a function."""

    def __init__(self) -> None:
        self._values: dict[e.Var, e.Expr] = {}

    def note(self, binding: e.Binding) -> None:
        """Remember what a binding makes of its variable."""
        if binding.var is not None:
            self.hold(binding.var, binding.value)

    def hold(self, var: e.Var, value: e.Expr) -> None:
        """Remember what a variable is bound to."""
        if type(value) in _HOLDING:
            self._values[var] = value

    def of(self, callee: e.Expr) -> e.Expr:
        """The function that a callee is; the callee itself where that is not known."""
        first = callee
        while True:
            value = self._values.get(callee) if isinstance(callee, e.Var) else None
            if type(value) is e.TupleGetItem:
                value = self._field(value)
            if value is None or type(value) is e.Tuple:
                break
            callee = value
        if isinstance(first, e.Var) and callee is not first:
            self._values[first] = callee  # so that a chain of copies is followed once
        return callee

    def _field(self, item: e.TupleGetItem) -> e.Expr | None:
        whole = self.of(item.tuple)
        whole = self._values.get(whole, whole) if isinstance(whole, e.Var) else whole
        fields = whole.fields if type(whole) is e.Tuple else ()
        return fields[item.index] if item.index < len(fields) else None
