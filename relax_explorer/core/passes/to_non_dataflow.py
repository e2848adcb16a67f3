"""ToNonDataflow: dataflow blocks become ordinary ones."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.struct_info import TensorStructInfo
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import map_block, sequences
from relax_explorer.core.passes.contract import PassSite, function_pass
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
    for old, var in renamed.items():
        at.renamed(old, var)
        info = old.struct_info
        if isinstance(info, TensorStructInfo) and isinstance(info.shape, e.Var):
            at.is_open = True  # results that may now keep this shape
    record_in_order(fn, new, at)
    return new


def _sequence(seq: e.SeqExpr, renamed: dict[e.Var, e.Expr]) -> e.SeqExpr:
    """The sequence in ordinary blocks, and so those of the branches and functions inside it; itself if nothing changes."""
    blocks = [_block(block, renamed) for block in seq.blocks]
    if all(new is old for new, old in zip(blocks, seq.blocks, strict=True)):
        return seq
    if any(type(block) is e.DataflowBlock for block in seq.blocks):
        blocks = [e.BindingBlock(tuple([binding for block in blocks for binding in block.bindings]))]
    return replace(seq, blocks=tuple(blocks))


def _block(block: e.BindingBlock, renamed: dict[e.Var, e.Expr]) -> e.BindingBlock:
    inside = map_block(block, lambda binding: _ordinary(_nested(binding, renamed), renamed))
    return e.BindingBlock(inside.bindings, block.span) if type(block) is e.DataflowBlock else inside


def _nested(binding: e.Binding, renamed: dict[e.Var, e.Expr]) -> e.Binding:
    value = binding.value
    if type(value) is e.If:
        true, false = (_sequence(seq, renamed) for seq in sequences(value))
        return replace(binding, value=replace(value, true_branch=true, false_branch=false))
    if type(value) is e.Function:
        return replace(binding, value=replace(value, body=_sequence(value.body, renamed)))
    return binding


def _ordinary(binding: e.Binding, renamed: dict[e.Var, e.Expr]) -> e.Binding:
    var = binding.var
    if type(var) is not e.DataflowVar:
        return binding
    plain = e.var_like(var, var.struct_info, e.Var)
    renamed[var] = plain
    return replace(binding, var=plain)
