"""ConvertToDataflow and ToNonDataflow: blocks with and without effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from relax_explorer.core.check.call_graph import Callees, recursive
from relax_explorer.core.check.purity import is_impure
from relax_explorer.core.check.stopping import stopping
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import free_variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.struct_info import TensorStructInfo
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import bindings, map_block, map_sequences, with_blocks
from relax_explorer.core.passes.canonicalize_bindings import canonicalize
from relax_explorer.core.passes.contract import PassSite, function_pass
from relax_explorer.core.passes.liveness import Live
from relax_explorer.core.phases.module_properties import CANONICAL_BINDINGS, NO_DATAFLOW, NORMAL_FORM

_Test = Callable[[e.Binding], bool]


@function_pass(
    "ConvertToDataflow",
    rebuilds=True,
    requires=[NORMAL_FORM],
    establishes=[CANONICAL_BINDINGS],
    invalidates=[NO_DATAFLOW],
)
def convert_to_dataflow(
    fn: e.Function,
    at: PassSite,
    *,
    min_size: Annotated[int, "the least number of bindings in a new dataflow block"] = 2,
) -> e.Function:
    """Make each run of at least `min_size` pure bindings without control flow a dataflow block, then canonicalize the bindings.

    Variables that only the run reads become dataflow variables. Existing dataflow blocks stay, and a run that touches one
    joins it. Unused bindings of a dataflow block may lose their errors. So an unused binding that may stop the
    run stays outside, unless it is a match_cast, and so does a call by which a function calls itself. In the profile `tvm` both go in.
    """
    stays = _nothing if at.as_tvm else _staying(fn, at)
    new = replace(fn, body=_sequence(fn.body, min_size, stays))
    if new is not fn:
        at.record_in_order(fn, new)
    return canonicalize(new, at)


def _nothing(binding: e.Binding) -> bool:
    return False


def _staying(fn: e.Function, at: PassSite) -> _Test:
    """A test for bindings that must not go into a block."""
    unused, calls_itself = _lost(fn, at), _recursive(fn, at)
    return lambda binding: unused(binding) or calls_itself(binding)


def _lost(fn: e.Function, at: PassSite) -> _Test:
    """A test for unused bindings that may stop the run, and that a dataflow block may lose."""
    live, may_stop = Live(fn), stopping(at.module).binding
    live.keep_casts()

    def test(binding: e.Binding) -> bool:
        # A match_cast stays in a block, too.
        return type(binding) is not e.MatchCast and not live.stays(binding) and may_stop(binding)

    return test


def _recursive(fn: e.Function, at: PassSite) -> _Test:
    """A test for calls by which a function calls itself, which a dataflow block must not have."""
    own = at.once("recursive", lambda: recursive(at.module)).get(at.function, ())
    around: set[e.Expr] = set()
    callees = Callees()
    for inner in bindings(fn):
        callees.note(inner)
        if type(inner.value) is e.Function and inner.var in free_variables(inner.value):
            around.add(inner.var)

    def test(binding: e.Binding) -> bool:
        if type(binding.value) is not e.Call:
            return False
        op = callees.of(binding.value.op)
        return op in around or (isinstance(op, e.GlobalVar) and op.name in own)

    return test


def _sequence(seq: e.SeqExpr, min_size: int, stays: _Test) -> e.SeqExpr:
    """A sequence with dataflow blocks, also in branches and nested functions."""

    def nested(binding: e.Binding) -> e.Binding:
        return map_sequences(binding, lambda inner: _sequence(inner, min_size, stays))

    blocks: list[e.BindingBlock] = []
    first = {block.bindings[0]: block for block in seq.blocks if block.bindings}
    for is_graph, run in _runs(seq, min_size, stays):
        kind = e.DataflowBlock if is_graph else e.BindingBlock
        existing = first.get(run[0])
        kept = existing is not None and type(existing) is kind and existing.bindings == tuple(run)
        blocks.append(existing if kept and existing is not None else kind(tuple(run)))
    return with_blocks(seq, [map_block(block, nested) for block in blocks])


@dataclass(slots=True)
class _Run:
    """Consecutive bindings that all may be in a graph, or all may not."""

    is_graph: bool
    has_block: bool  # True if some are already in a dataflow block
    bindings: list[e.Binding]


def _runs(seq: e.SeqExpr, min_size: int, stays: _Test) -> list[tuple[bool, list[e.Binding]]]:
    """The bindings in runs, each with True if it becomes a dataflow block."""
    runs: list[_Run] = []
    for block in seq.blocks:
        inside = type(block) is e.DataflowBlock
        for binding in block.bindings:
            is_graph = inside or (_is_graph(binding) and not stays(binding))
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
    return type(binding.value) is not e.If and not is_impure(binding.value)


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
        row = tuple([binding for block in new.blocks for binding in block.bindings])
        return replace(new, blocks=(e.BindingBlock(row),))

    def _define(self, var: e.Var) -> e.Var:
        if type(var) is not e.DataflowVar:
            return super()._define(var)
        info = var.struct_info
        if type(info) is not TensorStructInfo or type(info.shape) is not tuple:
            info = self.info(info)  # it may hold variables
        plain = self.variables[var] = e.Var(var.name, info, var.span)
        return plain
