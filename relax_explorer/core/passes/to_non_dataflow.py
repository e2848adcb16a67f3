"""ToNonDataflow: dataflow blocks become ordinary ones."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.passes.decl import PassSite, function_pass
from relax_explorer.core.passes.properties import NO_DATAFLOW, NORMAL_FORM
from relax_explorer.core.passes.rewrite import record_in_order


@function_pass("ToNonDataflow", requires=[NORMAL_FORM], establishes=[NO_DATAFLOW])
def to_non_dataflow(fn: e.Function, at: PassSite) -> e.Function:
    """Make every dataflow block an ordinary block and every dataflow variable an ordinary one; neighbours merge."""
    renamed: dict[e.Var, e.Expr] = {}
    body = _sequence(fn.body, renamed)
    if body is fn.body:
        return fn
    new = replace(fn, body=Substitution(renamed).sequence(body))
    record_in_order(fn, new, at)
    return new


def _sequence(seq: e.SeqExpr, renamed: dict[e.Var, e.Expr]) -> e.SeqExpr:
    if not any(type(block) is e.DataflowBlock for block in seq.blocks):
        return seq
    merged: list[e.Binding] = []
    for block in seq.blocks:
        for binding in block.bindings:
            merged.append(_ordinary(binding, renamed))
    return replace(seq, blocks=(e.BindingBlock(tuple(merged)),))


def _ordinary(binding: e.Binding, renamed: dict[e.Var, e.Expr]) -> e.Binding:
    var = binding.var
    if type(var) is not e.DataflowVar:
        return binding
    plain = e.Var(var.name, var.struct_info, var.span)
    renamed[var] = plain
    return replace(binding, var=plain)
