"""The parallel loop of a PrimFunc, whose iterations threads share if that is proved to change nothing (`tir/independent`)."""

from __future__ import annotations

from collections.abc import Mapping

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ops.kit.ndarrays import are_shared
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.independent import Iterations, independent_iterations

# Operations from which two threads are faster than one (tests/perf: run-parallel). Their start takes 0.08 ms: 2**20 cheap stores
# took 0.20 instead of 0.12 ms, four times as many 0.63 instead of 0.88 ms, and 2**20 stores of two calls 3.6 instead of 7.0 ms.
WORTHWHILE = 1 << 24
KNOWN_LENGTHS = 4096  # combinations of lengths in the cache of a PrimFunc
_SHARED: PerNode[dict[tuple[int, ...], Iterations | None]] = PerNode()


def parallel_loop(fn: t.PrimFunc) -> t.For | None:
    """The parallel loop that is the whole body of a PrimFunc. None if the body is another one."""
    node = fn.body
    while type(node) is t.SBlock and not (
        node.iter_vars or node.alloc_buffers or node.match_buffers or node.init or node.predicate
    ):
        node = node.body
    return node if type(node) is t.For and is_parallel(node) else None


def is_parallel(node: t.Stmt) -> bool:
    """True for a parallel loop over signed integers."""
    return type(node) is t.For and node.kind == "parallel" and node.var.dtype.kind == "int"


def shared_iterations(fn: t.PrimFunc, points: Mapping[p.PrimVar, int]) -> Iterations | None:
    """The iterations that threads share for these lengths. None if the loop runs in order."""
    loop = parallel_loop(fn)
    if loop is None:
        return None
    known, key = _SHARED.of(fn, lambda _: {}), tuple(points.values())
    if key not in known:
        if len(known) >= KNOWN_LENGTHS:
            known.clear()
        found = independent_iterations(loop, points)
        pays = found is not None and found.operations >= WORTHWHILE and are_shared(found.operations)
        known[key] = found if pays else None
    return known[key]
