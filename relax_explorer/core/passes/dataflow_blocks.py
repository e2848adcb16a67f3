"""Dataflow blocks: ConvertToDataflow, ToNonDataflow and TopologicalSort; and purity that later passes break: RemovePurityChecking."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from relax_explorer.core.check.call_graph import Callees, recursive
from relax_explorer.core.check.purity import is_impure, stated
from relax_explorer.core.check.stopping import stopping
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import Facts, facts, free_variables, reads, variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.struct_info import TensorStructInfo
from relax_explorer.core.ir.substitute import Substitution
from relax_explorer.core.ir.walk import (
    all_blocks,
    bindings,
    dataflow_blocks,
    map_block,
    map_sequences,
    operands,
    sequences,
    with_blocks,
)
from relax_explorer.core.passes.canonicalize_bindings import canonicalize
from relax_explorer.core.passes.contract import PassSite, bad_option, function_pass
from relax_explorer.core.passes.eliminate import Live
from relax_explorer.core.passes.pattern_rules import forget_lengths
from relax_explorer.core.passes.readings import DATAFLOW
from relax_explorer.core.passes.rewrite import Answer, Rewriter, at_calls, rewrite
from relax_explorer.core.passes.same_lengths import length_binders, mentioned_lengths
from relax_explorer.core.phases.module_properties import (
    CANONICAL_BINDINGS,
    NO_DATAFLOW,
    NORMAL_FORM,
    PURE_DATAFLOW,
    PURITY_ERASED,
)

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


# -- remove purity checking ------------------------------------------------------------------------------------------
# RemovePurityChecking: stop the purity checks of functions that lowering will make impure.


@function_pass(
    "RemovePurityChecking",
    rebuilds=True,
    requires=[NORMAL_FORM, NO_DATAFLOW],
    establishes=[PURITY_ERASED],
    invalidates=[PURE_DATAFLOW],  # if it runs on dataflow blocks nevertheless
)
def remove_purity_checking(fn: e.Function, at: PassSite) -> e.Function:
    """Mark pure functions `relax.force_pure`, nested ones included, and turn pure calls into ordinary ones.

    Later passes write into memory, which the checker of purity would refuse. `call_pure_packed` and `call_inplace_packed`
    become calls of the packed function, `invoke_pure_closure` becomes `invoke_closure`. A function that does not declare its purity
    is as pure as its body; the profile `tvm` marks it in any case.
    """
    forced = _forced(rewrite(fn, at, _rule), at)
    return forget_lengths(forced, at, is_plain=True) if at.as_tvm else forced


def _forced(fn: e.Function, at: PassSite) -> e.Function:
    info = fn.struct_info
    if not isinstance(info, s.FuncStructInfo) or fn.attrs.get("relax.force_pure"):
        return fn
    attrs = fn.attrs.having(**{"relax.force_pure": True})
    if info.pure:
        return replace(fn, attrs=attrs)
    if at.as_tvm and stated(fn) is None:
        return replace(fn, attrs=attrs, struct_info=None)
    return fn


def _rule(walk: Rewriter, binding: e.Binding) -> Answer:
    value = binding.value
    if type(value) is e.Function:
        return replace(binding, value=_forced(value, walk.at))
    return _ordinary(walk, binding)


def _called_directly(call: e.Call) -> e.Call:
    """The call of a packed function without the operator that promises its purity."""
    info = call.struct_info
    return e.Call(call.args[0], call.args[1:], struct_info=info, sinfo_args=call.sinfo_args, span=call.span)


_PLAIN: dict[str, Callable[[e.Call], e.Call]] = {
    "relax.call_pure_packed": _called_directly,
    "relax.call_inplace_packed": _called_directly,
    "relax.invoke_pure_closure": lambda call: replace(call, op=e.op_ref("relax.invoke_closure")),
}
"""The calls without the promise of purity, by operators that give it."""
_ordinary = at_calls(_PLAIN, lambda plain, call: plain(call))


# -- topological sort ------------------------------------------------------------------------------------------------
# TopologicalSort: put the bindings of dataflow blocks into another order.


_CHOICES = {"order": ("depth-first", "breadth-first"), "direction": ("from-inputs", "from-outputs")}


@function_pass(
    "TopologicalSort", rebuilds=True, reads=[DATAFLOW], only_with=[DATAFLOW], requires=[NORMAL_FORM]
)
def topological_sort(
    fn: e.Function,
    at: PassSite,
    *,
    order: Annotated[str, '"depth-first" or "breadth-first"'] = "depth-first",
    direction: Annotated[str, '"from-inputs" or "from-outputs" of the function'] = "from-inputs",
) -> e.Function:
    """Sort the bindings of dataflow blocks in the order of a search through the function.

    The search visits a binding after the bindings that it reads; `direction="from-outputs"` visits it after its readers, and
    the order is reversed at the end. So `a = exp(x); b = exp(y); c = sin(a)` becomes `a, c, b` by a depth-first search.
    """
    for name, value in (("order", order), ("direction", direction)):
        if value not in _CHOICES[name]:
            help = f"write {' or '.join(f'{name}={choice!r}' for choice in _CHOICES[name])}"
            raise bad_option(f"{name} is {value!r}", help)
    return _Sorter(order == "depth-first", direction == "from-inputs").function(fn)


class _Sorter:
    """Sorts the dataflow blocks of functions. A nested function has a search of its own, which knows nothing around it, as in TVM."""

    def __init__(self, is_deep: bool, is_forward: bool) -> None:
        self.is_deep, self.is_forward = is_deep, is_forward
        self.ranks: dict[e.Binding, int] = {}  # of the current function

    def function(self, fn: e.Function) -> e.Function:
        """A function with sorted dataflow blocks."""
        outer, self.ranks = self.ranks, _ranks(fn, self.is_deep, self.is_forward)
        new = replace(fn, body=self.sequence(fn.body))
        self.ranks = outer
        return new

    def sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        """A sequence with sorted dataflow blocks, those of branches and nested functions included."""
        return with_blocks(seq, [map_block(self._block(block), self._inside) for block in seq.blocks])

    def _block(self, block: e.BindingBlock) -> e.BindingBlock:
        if type(block) is not e.DataflowBlock or not all(binding in self.ranks for binding in block.bindings):
            return block
        ordered = tuple(sorted(block.bindings, key=self.ranks.__getitem__))
        return replace(block, bindings=block.bindings if ordered == block.bindings else ordered)

    def _inside(self, binding: e.Binding) -> e.Binding:
        if type(binding.value) is e.Function:
            return replace(binding, value=self.function(binding.value))
        return map_sequences(binding, self.sequence)


def _ranks(fn: e.Function, is_deep: bool, is_forward: bool) -> dict[e.Binding, int]:
    """The place of each binding in the order of the search. A nested function reads its result, as in TVM.

    If that leaves it in front of what it captures, or in a circle with its own bindings, it reads what it captures.
    """
    ranks = _searched(fn, is_deep, is_forward, by_result=True)
    if len(ranks) == len(facts(fn).bindings) and _keep_captured(fn, ranks):
        return ranks
    return _searched(fn, is_deep, is_forward, by_result=False)


def _keep_captured(fn: e.Function, ranks: Mapping[e.Binding, int]) -> bool:
    """True if each function in a dataflow block comes after the bindings of the block that it reads."""
    for block in dataflow_blocks(fn):
        inner = [binding for binding in block.bindings if type(binding.value) is e.Function]
        own = {binding.var: ranks[binding] for binding in block.bindings} if inner else {}
        if any(own.get(var, -1) > ranks[binding] for binding in inner for var in reads(binding)):
            return False
    return True


def _searched(fn: e.Function, is_deep: bool, is_forward: bool, by_result: bool) -> dict[e.Binding, int]:
    derived = facts(fn)
    functions = [fn, *[b.value for b in derived.bindings if type(b.value) is e.Function]]
    params = [param for each in functions for param in each.params]
    reading = _operands(fn, params, derived, by_result, from_last=is_deep and not is_forward)
    readers: list[list[int]] = [[] for _ in reading]
    for reader, read in enumerate(reading):
        for number in read:
            readers[number].append(reader)
    count = len(derived.bindings)
    if is_forward:
        starts = list(range(count, len(reading) - 1))
        visited = _search(readers, reading, count, starts[::-1] if is_deep else starts, is_deep, is_deep)
    else:
        visited = _search(reading, readers, count, [len(reading) - 1], is_deep, False)[::-1]
    return {derived.bindings[number]: rank for rank, number in enumerate(visited) if number < count}


def _operands(
    fn: e.Function, params: Sequence[e.Var], derived: Facts, by_result: bool, from_last: bool
) -> list[list[int]]:
    """The numbers that each node reads. The nodes are the bindings, then the parameters, then the result.

    They are in the order in which they are read first, with `from_last` in that in which they are read for the last time: a stack
    that has one twice gives the upper one.
    """
    numbers = derived.defs | {param: n for n, param in enumerate(params, len(derived.bindings))}
    binders = length_binders(params, derived.bindings)
    lengths = {dim: derived.number[cast] for dim, cast in binders.items()}
    home = {binding: block for block in all_blocks(fn) for binding in block.bindings} if lengths else {}
    nodes: list[list[int]] = []
    for own, (binding, read) in enumerate(zip(derived.bindings, derived.operands, strict=True)):
        if type(binding.value) is e.If:  # its results in the order of the branches
            parts = (binding.value.condition, *[branch.body for branch in sequences(binding.value)])
            read = [var for part in parts for var in variables(part)]
        elif type(binding.value) is e.Function and by_result:
            read = variables(binding.value.body.body)
        if from_last and len(read) > 1:
            again = _read_last(binding.value)
            read = [*[var for var in again if var in read], *[var for var in read if var not in again]]
        found = [numbers[var] for var in read if var in numbers]
        if lengths:
            bound = [lengths[dim] for dim in mentioned_lengths(binding) if dim in lengths]
            found += [number for number in bound if home[derived.bindings[number]] is home[binding]]
        nodes.append([number for number in dict.fromkeys(found) if number != own])
    nodes += [[] for _ in params]
    results = _read_last(fn.body.body) if from_last else variables(fn.body.body)
    nodes.append([numbers[var] for var in results if var in numbers])
    return nodes


def _read_last(value: e.Expr) -> dict[e.Var, None]:
    """The variables in a value, in the order in which they are read for the last time."""
    found: dict[e.Var, None] = {}
    stack = [value]
    while stack:
        expr = stack.pop()
        if isinstance(expr, e.Var):
            found.pop(expr, None)
            found[expr] = None
        stack += [*operands(expr), *[seq.body for seq in sequences(expr)]][::-1]
    return found


def _search(
    edges: Sequence[Sequence[int]],
    before: Sequence[Sequence[int]],
    count: int,
    starts: list[int],
    is_deep: bool,
    is_reversed: bool,
) -> list[int]:
    """The nodes in the order of a search along `edges`, each after those `before` it.

    Bindings with nothing before them are found first by a broad search, and last by a deep one.
    """
    missing = [len(nodes) for nodes in before]
    free = [number for number in range(count) if not missing[number]]
    todo = deque(free[::-1] if is_reversed else free) if is_deep else deque(starts + free)
    todo.extend(starts if is_deep else ())
    visited: list[int] = []
    while todo:
        number = todo.pop() if is_deep else todo.popleft()
        visited.append(number)
        ready = []
        for other in edges[number]:
            missing[other] -= 1
            if not missing[other]:
                ready.append(other)
        todo.extend(ready[::-1] if is_reversed else ready)
    return visited
