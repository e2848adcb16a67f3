"""Planned memory: no write may destroy the elements of another tensor in the same storage that are read later.

Each function is followed once, in the order of a run, with the tensors that each variable shows: copies, casts, reshapes, views, tuples,
their fields, and results of branches and of functions show those of their operands. A kernel writes the parameters that it stores into.
What a packed function gets without elements it fills, as the results that lowering allocates for it; everything else it reads.

What is reported happens in each run that takes the named branches, unless one of the two tensors is empty, or a kernel with branches skips its
store. What is not reported is proved only as far as bytes are known: two tensors at symbolic offsets are compared by arithmetic,
and no overlap is assumed where that tells nothing. The same holds of views at unknown offsets, results of unknown functions, objects that may be
one storage under two names, and what a nested function captures.
"""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.check.call_graph import call_graph, components, is_recursive
from relax_explorer.core.check.memory_walk import MemoryWalk, Summary
from relax_explorer.core.check.storage_bytes import Loss
from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import contents
from relax_explorer.core.program.module import IRModule

_PLACED = frozenset(map(e.op_ref, ("relax.memory.alloc_tensor", "relax.vm.alloc_tensor")))
_ROUNDS = 8  # of a group of recursive functions: each one learns what its callees do with parameters


def violations(module: IRModule) -> Iterator[Diagnostic]:
    """Every write of a planned module that destroys elements which are read later."""
    functions = module.relax_functions
    if not any(_is_planned(fn) for fn in functions.values()):
        return
    summaries: dict[str, Summary] = {}
    graph = call_graph(module)
    found: dict[str, list[Loss]] = {}
    for group in components(graph):
        for _ in range(_ROUNDS if is_recursive(group, graph) else 1):
            before = [summaries[name].key() if name in summaries else None for name in group]
            for name in group:
                walk = MemoryWalk(module, functions[name], summaries)
                summaries[name], found[name] = walk.summary(), walk.losses()
            if [summaries[name].key() for name in group] == before:
                break
    for name in functions:
        yield from map(_problem, found[name])


def _is_planned(fn: e.Function) -> bool:
    """True if a function places a tensor in a storage, or may do so by a packed function."""
    found = contents(fn)
    return found.calls_packed or not found.operators.isdisjoint(_PLACED)


def _problem(loss: Loss) -> Diagnostic:
    victim, by, storage = loss.victim, loss.by, loss.by.storage
    where = "a storage" if storage is None else storage.name
    text = f"the write to {by.name!r} destroys {victim.name!r}, which is read later; both are in {where!r}"
    both = f"{victim.name} and {by.name} are" if by.last_read is loss.last_read else f"{victim.name} is"
    labels = [
        Label(loss.place, f"{by.name} is written here: {by.extent()} of {where}", True),
        Label(loss.written, f"{victim.name} was written here: {victim.extent()} of {where}"),
        Label(loss.last_read, f"{both} last read here"),
    ]
    if by.last_read is not None and by.last_read is not loss.last_read:
        labels.append(Label(by.last_read, f"{by.name} is last read here"))
    size = "" if storage is None or storage.size is None else f", of {storage.size} bytes"
    plan = f"the plan: {where}{size}, holds {victim.name} at {victim.extent()} and {by.name} at {by.extent()}"
    return Diagnostic(codes.SHARED_MEMORY, text, tuple(labels), (plan,), help=codes.SHARED_MEMORY.fix)
