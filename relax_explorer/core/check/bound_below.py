"""Where a variable is bound that has no value at a place: in a binding below it."""

from __future__ import annotations

from relax_explorer.core.check.compatible import defined_dims
from relax_explorer.core.diagnostics import Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.source import Span


def bound_below(fn: e.Function, var: e.Var | p.PrimVar, place: object) -> tuple[str, tuple[Label, ...]]:
    """The end of a sentence about the binding of a variable below a place of `fn`, and its label; empty if there is none."""
    use = place if isinstance(place, Span) else getattr(place, "span", None)
    for binding in bindings(fn):
        is_cast = isinstance(binding, e.MatchCast) and var in defined_dims(binding.struct_info)
        if is_cast or binding.var is var:
            span = binding.span
            if use is None or span is None or span.line <= use.line:
                break  # bound above, where another scope has ended
            return f": it is bound only in line {span.line}, below", (Label(binding, "bound here"),)
    return "", ()
