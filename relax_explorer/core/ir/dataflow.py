"""Data-flow analysis: facts that hold at each place of a function, found in one walk.

An analysis is data: a `transfer` for bindings, a `join` for the ends of branches, a direction. Relax has no loops, so that each binding is
visited once. Recursion is a matter of the call graph (`check/call_graph.py`), along which facts spread: `reachable`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import add_read
from relax_explorer.core.ir.pauses import with_pauses
from relax_explorer.core.ir.walk import WITH_BLOCKS, sequences

Facts = TypeVar("Facts")
Node = TypeVar("Node", bound=Hashable)


def _everywhere(facts: Facts, binding: e.Binding) -> list[tuple[e.SeqExpr, Facts]]:
    return [(seq, facts) for seq in sequences(binding.value)]


@dataclass(frozen=True, slots=True)
class Analysis(Generic[Facts]):
    """What becomes of facts along the bindings of a function, from the first to the last one, or `backward`.

    Facts may change in place: then `enter` copies them. By default, what a branch or a nested function tells ends with it.
    """

    transfer: Callable[[Facts, e.Binding], Facts]
    """The facts on the other side of a binding, apart from the sequences in it."""
    enter: Callable[[Facts, e.Binding], Iterable[tuple[e.SeqExpr, Facts]]] = _everywhere
    """The sequences of an If or a nested function to walk through, each with the facts that hold where the walk enters it."""
    join: Callable[[Facts, e.Binding, list[Facts]], Facts] = lambda around, binding, ends: around
    """The facts after the walk through these sequences, of those `around` them and those at their ends."""
    result: Callable[[Facts, e.Expr], Facts] = lambda facts, result: facts
    """The facts on the other side of the result of a sequence."""
    begin: Callable[[Facts, e.BindingBlock], Facts] = lambda facts, block: facts
    """The facts where the walk enters a block."""
    backward: bool = False


def solve(of: Analysis[Facts], seq: e.SeqExpr, facts: Facts) -> Facts:
    """The facts at the end of the walk through a sequence. Branches may nest deeper than Python's stack."""
    found: list[Facts] = []
    stack = [_steps(of, seq, facts, found)]
    while stack:
        inner = next(stack[-1], None)
        if inner is None:
            stack.pop()
        else:
            stack.append(inner)
    return found[0]


Steps = Iterator["Steps"]  # the rest of a walk, which stops where that through an inner sequence comes first


def _steps(of: Analysis[Facts], seq: e.SeqExpr, facts: Facts, found: list[Facts]) -> Steps:
    """The walk through a sequence, which adds the facts at its end to those that were `found`."""
    transfer, backward = of.transfer, of.backward
    if backward:
        facts = of.result(facts, seq.body)
    for block in reversed(seq.blocks) if backward else seq.blocks:
        facts = of.begin(facts, block)
        for binding in with_pauses(reversed(block.bindings) if backward else block.bindings):
            has_blocks = type(binding.value) in WITH_BLOCKS
            if backward or not has_blocks:
                facts = transfer(facts, binding)
            if has_blocks:
                ends: list[Facts] = []
                for inner, entering in of.enter(facts, binding):
                    yield _steps(of, inner, entering, ends)
                facts = of.join(facts, binding, ends)
                facts = facts if backward else transfer(facts, binding)
    found.append(facts if backward else of.result(facts, seq.body))


def unneeded(
    bindings: Iterable[e.Binding],
    read: set[e.Expr],
    stays: Callable[[e.Binding], bool],
    note: Callable[[e.Binding, set[e.Expr]], None] = add_read,
) -> list[e.Binding]:
    """Of bindings from the last one, those that nothing needs: none that `stays` needs reads them, and nothing in `read`.

    What the others read is added to `read`. Sequences in a binding count as a part of it.
    """
    dropped = []
    for binding in with_pauses(bindings):
        if binding.var in read or stays(binding):
            note(binding, read)
        else:
            dropped.append(binding)
    return dropped


def reachable(starts: Iterable[Node], neighbours: Callable[[Node], Iterable[Node]]) -> dict[Node, None]:
    """The nodes of a graph that some nodes lead to, these included."""
    found = dict.fromkeys(starts)
    stack = list(found)
    while stack:
        for node in neighbours(stack.pop()):
            if node not in found:
                found[node] = None
                stack.append(node)
    return found
