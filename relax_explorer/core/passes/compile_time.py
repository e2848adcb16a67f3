"""Which variables of a function are known when it is compiled: those that only weights lead to."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.patterns.matcher import Match


def known_at_compile_time(fn: e.Function) -> Callable[[e.Expr, Match], bool]:
    """A test of operands: True if only parameters after the first `num_input` ones lead to a variable.

    As in TVM, a variable of the block in which the match stands is not known.
    """

    @cache  # only matches ask
    def known() -> set[e.Expr]:
        count = fn.attrs.get("num_input")
        found: set[e.Expr] = set(fn.params[count:] if isinstance(count, int) else ())
        derived = facts(fn)
        for binding, read in zip(derived.bindings, derived.operands, strict=True):
            if binding.var is not None and found.issuperset(read):
                found.add(binding.var)
        return found

    return lambda operand, found: operand in known() and operand not in found.values
