"""ToNonDataflow: turn dataflow blocks into ordinary blocks."""

from __future__ import annotations

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.struct_info import TensorStructInfo
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.properties import NO_DATAFLOW, NORMAL_FORM


@function_pass("ToNonDataflow", requires=[NORMAL_FORM], establishes=[NO_DATAFLOW])
def to_non_dataflow(fn: e.Function, at: PassSite) -> e.Function:
    """Make every dataflow block and every dataflow variable ordinary. Adjacent blocks merge."""
    ordinary = _Ordinary()
    ordinary.keeps_infos = True  # only the classes of variables change
    body = ordinary.sequence(fn.body)
    if body is fn.body:
        return fn
    new = replace(fn, body=body)
    at.record_in_order(fn, new)
    return new


class _Ordinary(Substitution):
    """Replaces dataflow variables by ordinary ones, and dataflow blocks by ordinary blocks."""

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """The sequence in one ordinary block where it had a dataflow block."""
        new = super().sequence(seq)
        if not any(type(block) is e.DataflowBlock for block in seq.blocks):
            return new
        return replace(
            new, blocks=(e.BindingBlock(tuple([b for block in new.blocks for b in block.bindings])),)
        )

    def _define(self, var: e.Var) -> e.Var:
        if type(var) is not e.DataflowVar:
            return super()._define(var)
        info = var.struct_info
        if type(info) is not TensorStructInfo or type(info.shape) is not tuple:
            info = self.info(info)  # it may hold variables
        plain = self.variables[var] = e.Var(var.name, info, var.span)
        return plain
