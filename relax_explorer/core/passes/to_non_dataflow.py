"""ToNonDataflow: dataflow blocks become ordinary ones."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.passes.decl import PassSite, function_pass
from relax_explorer.core.passes.properties import NO_DATAFLOW, NORMAL_FORM


@function_pass("ToNonDataflow", requires=[NORMAL_FORM], establishes=[NO_DATAFLOW])
def to_non_dataflow(fn: e.Function, at: PassSite) -> e.Function:
    """Make every dataflow block an ordinary block and every dataflow variable an ordinary one; neighbours merge."""
    renamed: dict[e.Var, e.Expr] = {}
    body = _sequence(fn.body, renamed, at)
    if body is fn.body:
        return fn
    return replace(fn, body=Substitution(renamed).sequence(body))


def _sequence(seq: e.SeqExpr, renamed: dict[e.Var, e.Expr], at: PassSite) -> e.SeqExpr:
    if not any(type(block) is e.DataflowBlock for block in seq.blocks):
        return seq
    merged: list[e.Binding] = []
    for block in seq.blocks:
        for binding in block.bindings:
            new = _ordinary(binding, renamed)
            if new is not binding:
                at.record(binding, new)
            merged.append(new)
    return replace(seq, blocks=(e.BindingBlock(tuple(merged)),))


def _ordinary(binding: e.Binding, renamed: dict[e.Var, e.Expr]) -> e.Binding:
    var = binding.var
    if type(var) is not e.DataflowVar:
        return binding
    plain = e.Var(var.name, var.struct_info, var.span)
    renamed[var] = plain
    return replace(binding, var=plain)
