"""Loops over GPU threads, run as plain loops: one thread after the other.

That is right unless a thread reads what another one writes meanwhile. Blocks of TensorIR mean sequential loops: a tile in shared
memory is filled by loops over all threads before its first use. Kernels written by hand put the store and the load into the same
loop instead, with a barrier between them; these are found here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relax_explorer.core.ir import prim as p
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import children, expressions, statements, subexpressions

_WAITING = ("tvm_storage_sync", "tvm_thread_allreduce", "tvm_warp_shuffle", "ptx_", "cuda_")
_Depends = Mapping[p.PrimExpr, frozenset[p.PrimExpr]]  # the loops over threads that a variable depends on


@dataclass(frozen=True, slots=True)
class _Touch:
    """A store or load in shared memory: the loops over threads around it, and those that its index depends on."""

    buffer: Buffer
    is_store: bool
    loops: tuple[p.PrimExpr, ...]
    depends: frozenset[p.PrimExpr]


def exchange(fn: t.PrimFunc) -> str:
    """How the threads of a PrimFunc exchange values, so that they can't run one after the other. Empty if they can."""
    for node in statements(fn.body):
        for expr in subexpressions(*expressions(node)):
            if isinstance(expr, p.PrimCall) and expr.op.startswith(_WAITING):
                return f"that wait for each other by T.{expr.op}"
    touches = list(_touches(fn.body, (), {}))
    stores = [touch for touch in touches if touch.is_store]
    for load in touches:
        for store in stores:
            if store.buffer is load.buffer and not load.is_store:
                common = set(store.loops) & set(load.loops)
                if common & store.depends:
                    return f"that exchange values through {load.buffer.name}"
    return ""


def _touches(node: t.Stmt, loops: tuple[p.PrimExpr, ...], depends: _Depends) -> Iterator[_Touch]:
    """The accesses of shared memory inside a statement."""
    if type(node) is t.SeqStmt:
        for part in node.stmts:
            yield from _touches(part, loops, depends)
            if type(part) is t.LetStmt:
                depends = {**depends, part.var: _behind(part.value, depends)}
        return
    if type(node) is t.For:
        is_thread = node.kind == "thread_binding" and str(node.thread).startswith("threadIdx")
        own = frozenset({node.var}) if is_thread else frozenset()
        depends = {**depends, node.var: own | _behind(node.start, depends) | _behind(node.extent, depends)}
        loops = (*loops, node.var) if is_thread else loops
    elif type(node) is t.SBlock:
        values = zip(node.iter_vars, node.iter_values, strict=True)
        depends = {**depends, **{axis.var: _behind(value, depends) for axis, value in values}}
    if type(node) is t.BufferStore and _is_shared(node.buffer):
        yield _Touch(node.buffer, True, loops, _behind_all(node.indices, depends))
    for expr in subexpressions(*expressions(node)):
        if isinstance(expr, (BufferLoad, BufferPtr)) and _is_shared(expr.buffer):
            yield _Touch(expr.buffer, type(expr) is BufferPtr, loops, frozenset(loops))
    for inner in children(node):
        yield from _touches(inner, loops, depends)


def _is_shared(buffer: Buffer) -> bool:
    """True for memory of several threads. Memory of the scope `local` belongs to one."""
    return buffer.scope.startswith(("shared", "warp", "wmma", "m16n8k8", "metal"))


def _behind(expr: p.PrimExpr, depends: _Depends) -> frozenset[p.PrimExpr]:
    return frozenset().union(*[depends.get(var, frozenset()) for var in p.free_vars(expr)])


def _behind_all(exprs: tuple[p.PrimExpr, ...], depends: _Depends) -> frozenset[p.PrimExpr]:
    return frozenset().union(*[_behind(expr, depends) for expr in exprs])
