"""ConvertToDataflow: gather runs of pure bindings into dataflow blocks."""

from __future__ import annotations

from relax_explorer.core.check.purity import is_impure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import Facts, facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.passes.decl import PassSite, function_pass
from relax_explorer.core.passes.properties import NO_DATAFLOW, NORMAL_FORM
from relax_explorer.core.passes.rewrite import record_in_order


@function_pass("ConvertToDataflow", requires=[NORMAL_FORM], invalidates=[NO_DATAFLOW])
def convert_to_dataflow(fn: e.Function, at: PassSite, *, min_size: int = 2) -> e.Function:
    """Make each run of at least `min_size` pure bindings without control flow a dataflow block.

    Variables that only the run reads become dataflow variables. Existing dataflow blocks stay, and a run that touches one
    joins it.
    """
    derived = facts(fn)
    runs = _runs(fn.body)
    blocks: list[e.BindingBlock] = []
    renamed: dict[e.Var, e.Expr] = {}
    changed = False
    for run, is_graph, original in runs:
        if not is_graph or len(run) < min_size:
            blocks.append(original if original is not None else e.BindingBlock(tuple(run)))
            changed |= original is None
        elif original is not None and type(original) is e.DataflowBlock:
            blocks.append(original)
        else:
            blocks.append(_dataflow(run, derived, renamed))
            changed = True
    if not changed:
        return fn
    body = replace(fn.body, blocks=tuple(blocks))
    new = replace(fn, body=Substitution(renamed).sequence(body) if renamed else body)
    record_in_order(fn, new, at)
    return new


Run = tuple[list[e.Binding], bool, e.BindingBlock | None]


def _runs(body: e.SeqExpr) -> list[Run]:
    """Bindings in runs: (bindings, whether they may form a graph, the block that holds exactly them)."""
    runs: list[Run] = []
    for block in body.blocks:
        if type(block) is e.DataflowBlock:
            _append(runs, list(block.bindings), True, block)
            continue
        start = 0
        kinds = [_is_graph(b) for b in block.bindings]
        for end in range(1, len(kinds) + 1):
            if end == len(kinds) or kinds[end] != kinds[start]:
                whole = block if end - start == len(kinds) else None
                _append(runs, list(block.bindings[start:end]), kinds[start], whole)
                start = end
    return runs


def _append(runs: list[Run], run: list[e.Binding], is_graph: bool, block: e.BindingBlock | None) -> None:
    if runs and is_graph and runs[-1][1]:
        runs[-1] = (runs[-1][0] + run, True, None)
    else:
        runs.append((run, is_graph, block))


def _is_graph(binding: e.Binding) -> bool:
    return type(binding.value) not in (e.If, e.Function, e.SeqExpr) and not is_impure(binding.value)


def _dataflow(run: list[e.Binding], derived: Facts, renamed: dict[e.Var, e.Expr]) -> e.DataflowBlock:
    inside = {derived.number[b] for b in run}
    made: list[e.Binding] = []
    for binding in run:
        var = binding.var
        if (
            var is None
            or type(var) is e.DataflowVar
            or any(user not in inside for user in derived.users(var))
            or not derived.users(var)
        ):
            made.append(binding)
            continue
        local = e.DataflowVar(var.name, var.struct_info, var.span)
        renamed[var] = local
        made.append(replace(binding, var=local))
    return e.DataflowBlock(tuple(made))
