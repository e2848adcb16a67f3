"""The loop of a PrimFunc whose iterations threads share, if that is proved to change nothing (`tir/independent`).

Kernels of LLVM share the loops that the program calls parallel. Those of numba share serial ones, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ops.kit.by_rows import are_shared
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.independent import Iterations, independent_iterations

PARALLEL, ANY = ("parallel",), ("parallel", "serial")  # the kinds of loops that are shared
# Operations from which two threads are faster than one (tests/perf: run-parallel). Their start takes 0.08 ms: 2**20 cheap stores
# took 0.20 instead of 0.12 ms, four times as many 0.63 instead of 0.88 ms, and 2**20 stores of two calls 3.6 instead of 7.0 ms.
WORTHWHILE = 1 << 24
KNOWN_LENGTHS = 4096  # combinations of lengths in the cache of a PrimFunc
_SHARED: PerNode[dict[tuple[object, ...], Iterations | None]] = PerNode()


def parallel_loop(fn: t.PrimFunc, kinds: Collection[str] = PARALLEL) -> t.For | None:
    """The loop of these kinds that is the whole body of a PrimFunc. None if the body is another one."""
    nest = _nest(fn, kinds)
    return nest[-1] if nest else None


def _nest(fn: t.PrimFunc, kinds: Collection[str]) -> list[t.For]:
    """The loops of one iteration around the parallel loop, and that one. Empty if there is none."""
    node, nest = fn.body, []
    while type(node) is t.SBlock and not (
        node.iter_vars or node.alloc_buffers or node.match_buffers or node.init or node.predicate
    ):
        node = node.body
    while type(node) is t.For and is_parallel(node, kinds):
        nest.append(node)
        if node.extent is not p.IntImm(1, node.extent.dtype) or not isinstance(node.start, p.IntImm):
            break
        node = node.body
    return nest


def is_parallel(node: t.Stmt, kinds: Collection[str] = PARALLEL) -> bool:
    """True for a loop of these kinds over signed integers."""
    return type(node) is t.For and node.kind in kinds and node.var.dtype.kind == "int"


def shared_iterations(
    fn: t.PrimFunc, points: Mapping[p.PrimVar, int], kinds: Collection[str] = PARALLEL
) -> Iterations | None:
    """The iterations that threads share for these lengths. None if the loop runs in order."""
    nest = _nest(fn, kinds)
    if not nest:
        return None
    known, key = _SHARED.of(fn, lambda _: {}), (*kinds, *points.values())
    if key not in known:
        if len(known) >= KNOWN_LENGTHS:
            known.clear()
        around = {loop.var: loop.start.value for loop in nest[:-1] if isinstance(loop.start, p.IntImm)}
        found = independent_iterations(nest[-1], {**points, **around})
        pays = found is not None and found.operations >= WORTHWHILE and are_shared(found.operations)
        known[key] = found if pays else None
    return known[key]
