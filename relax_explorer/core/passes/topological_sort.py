"""TopologicalSort: put the bindings of dataflow blocks into another order."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Annotated

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import Facts, facts, reads, variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import (
    all_blocks,
    dataflow_blocks,
    map_block,
    map_sequences,
    operands,
    sequences,
    with_blocks,
)
from relax_explorer.core.passes.contract import PassSite, bad_option, function_pass
from relax_explorer.core.passes.readings import DATAFLOW
from relax_explorer.core.passes.same_lengths import length_binders, mentioned_lengths
from relax_explorer.core.phases.module_properties import NORMAL_FORM

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
