"""ConvertToDataflow: gather runs of pure bindings into dataflow blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import is_
from typing import Annotated

from relax_explorer.core.check.purity import is_impure
from relax_explorer.core.check.stopping import stopping
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import Facts, facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.passes.contract import PassSite, check_errors, function_pass
from relax_explorer.core.passes.properties import CANONICAL_BINDINGS, NO_DATAFLOW, NORMAL_FORM


@function_pass("ConvertToDataflow", requires=[NORMAL_FORM], invalidates=[NO_DATAFLOW, CANONICAL_BINDINGS])
def convert_to_dataflow(
    fn: e.Function,
    at: PassSite,
    *,
    min_size: Annotated[int, "the least number of bindings in a new dataflow block"] = 2,
    errors: Annotated[str, '"keep" bindings that may stop the run outside, or "drop" their errors'] = "keep",
) -> e.Function:
    """Make each run of at least `min_size` pure bindings without control flow a dataflow block.

    Variables that only the run reads become dataflow variables. Existing dataflow blocks stay, and a run that touches one
    joins it. A dataflow block may lose errors. So with `errors="keep"` a binding that may stop the run stays outside.
    With `errors="drop"` it goes in, as in TVM.
    """
    check_errors(errors)
    may_stop = stopping(at.module).binding if errors == "keep" else None
    derived = facts(fn)
    blocks: list[e.BindingBlock] = []
    renamed: dict[e.Var, e.Expr] = {}
    first = {block.bindings[0]: block for block in fn.body.blocks if block.bindings}
    for is_graph, bindings in _runs(fn.body, min_size, may_stop):
        existing = first.get(bindings[0])
        kept = existing is not None and existing.bindings == tuple(bindings)
        if kept and (type(existing) is e.DataflowBlock) is is_graph:
            blocks.append(existing)  # type: ignore[arg-type]  # `kept` implies that it is a block
        else:
            blocks.append(
                _dataflow(bindings, derived, renamed) if is_graph else e.BindingBlock(tuple(bindings))
            )
    if len(blocks) == len(fn.body.blocks) and all(map(is_, blocks, fn.body.blocks)):
        return fn
    body = replace(fn.body, blocks=tuple(blocks))
    new = replace(fn, body=Substitution(renamed).sequence(body) if renamed else body)
    for old, var in renamed.items():
        at.renamed(old, var)
    at.record_in_order(fn, new)
    return new


@dataclass(slots=True)
class _Run:
    """Consecutive bindings that all may be in a graph, or all may not."""

    is_graph: bool
    has_block: bool  # True if some are already in a dataflow block
    bindings: list[e.Binding]


def _runs(
    body: e.SeqExpr, min_size: int, may_stop: Callable[[e.Binding], bool] | None
) -> list[tuple[bool, list[e.Binding]]]:
    """The bindings in runs, each with True if it becomes a dataflow block."""
    runs: list[_Run] = []
    for block in body.blocks:
        inside = type(block) is e.DataflowBlock
        for binding in block.bindings:
            is_graph = inside or (_is_graph(binding) and not (may_stop is not None and may_stop(binding)))
            if not runs or runs[-1].is_graph is not is_graph:
                runs.append(_Run(is_graph, inside, []))
            runs[-1].has_block |= inside
            runs[-1].bindings.append(binding)
    groups: list[tuple[bool, list[e.Binding]]] = []
    for run in runs:
        is_graph = run.has_block or (run.is_graph and len(run.bindings) >= min_size)
        if groups and not is_graph and not groups[-1][0]:
            groups[-1][1].extend(run.bindings)
        else:
            groups.append((is_graph, run.bindings))
    return groups


def _is_graph(binding: e.Binding) -> bool:
    return type(binding.value) not in (e.If, e.Function, e.SeqExpr) and not is_impure(binding.value)


def _dataflow(run: list[e.Binding], derived: Facts, renamed: dict[e.Var, e.Expr]) -> e.DataflowBlock:
    inside = {derived.number[b] for b in run}
    converted: list[e.Binding] = []
    for binding in run:
        var = binding.var
        if (
            var is None
            or type(var) is e.DataflowVar
            or any(user not in inside for user in derived.users(var))
            or not derived.users(var)
        ):
            converted.append(binding)
            continue
        local = e.var_like(var, var.struct_info, e.DataflowVar)
        renamed[var] = local
        converted.append(replace(binding, var=local))
    return e.DataflowBlock(tuple(converted))
