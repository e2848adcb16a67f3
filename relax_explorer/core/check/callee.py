"""Resolve callees: a function called by its name, through a copy, or through a field of a tuple."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e

_HOLDING = frozenset({e.Var, e.DataflowVar, e.GlobalVar, e.Tuple})


class Callees:
    """The values of variables that may hold functions."""

    def __init__(self) -> None:
        self._values: dict[e.Var, e.Expr] = {}
        self._defined: set[e.Expr] = set()

    def note(self, binding: e.Binding) -> None:
        """Record the value of a binding."""
        if binding.var is not None:
            self.hold(binding.var, binding.value)

    def hold(self, var: e.Var, value: e.Expr | None) -> None:
        """Record the value of a variable."""
        if type(value) is e.TupleGetItem:
            fields = self.fields(value.tuple) or ()
            value = fields[value.index] if 0 <= value.index < len(fields) else None
        if type(value) in _HOLDING:
            self._values[var] = value  # type: ignore[assignment]  # the test excludes None

    def define(self, var: e.Var) -> None:
        """Record that a variable names a local function."""
        self._defined.add(var)

    def is_known(self, callee: e.Expr) -> bool:
        """True if a callee resolves to a function of the module or to a local function."""
        function = self.of(callee)
        return type(function) is e.GlobalVar or function in self._defined

    def of(self, callee: e.Expr) -> e.Expr:
        """The function that a callee resolves to; the callee itself if that is not known."""
        if not isinstance(callee, e.Var):
            return callee
        first, value = callee, self._values.get(callee)
        while value is not None and type(value) is not e.Tuple:
            self._values[first] = callee = value  # so that a chain of copies is followed once
            value = self._values.get(callee) if isinstance(callee, e.Var) else None
        return callee

    def fields(self, whole: e.Expr) -> tuple[e.Expr, ...] | None:
        """The fields of a tuple; None if they are not known."""
        value = self.of(whole)
        value = self._values.get(value, value) if isinstance(value, e.Var) else value
        return value.fields if type(value) is e.Tuple else None
