"""Recognize loop nests: plain reductions, and nests that fill a whole buffer before its first read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from relax_explorer.core.ir import prim as p
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions


def is_filled_first(buffer: Buffer, following: Sequence[t.Stmt]) -> bool:
    """True if the first of these statements that mentions a buffer is a loop nest that writes each of its elements."""
    for node in _parts(following):
        if _mentions(node, buffer):
            return _fills(node, buffer)
    return False


def _parts(nodes: Sequence[t.Stmt]) -> Iterator[t.Stmt]:
    for node in nodes:
        if type(node) is t.SeqStmt:
            yield from _parts(node.stmts)
        else:
            yield node


def _mentions(node: t.Stmt, buffer: Buffer) -> bool:
    for part in statements(node):
        if type(part) is t.BufferStore and part.buffer is buffer:
            return True
        if _reads(buffer, *expressions(part)):
            return True
    return False


def _reads(buffer: Buffer, *exprs: p.PrimExpr) -> bool:
    return any(
        isinstance(expr, (BufferLoad, BufferPtr)) and expr.buffer is buffer for expr in subexpressions(*exprs)
    )


def _fills(node: t.Stmt, buffer: Buffer) -> bool:
    """True for loops from 0 around one store that they all index, possibly in one block. For a reduction, `init` counts."""
    chain, block = reduction_nest(node) if type(node) is t.For else ([], None)
    if block is not None and block.init is not None:
        pairs = list(zip(block.iter_vars, block.iter_values, strict=True))
        names = {axis.var: value for axis, value in pairs if axis.kind != "reduce"}
        taken = set(names.values())
        extents = {loop.var: loop.extent for loop in chain if loop.var in taken}
        return _writes_all(block.init, buffer, extents, names)
    extents = {}
    while type(node) is t.For:
        is_plain = isinstance(node.start, p.IntImm) and node.start.value == 0 and node.step is None
        if not is_plain or node.kind == "thread_binding":
            return False
        extents[node.var] = node.extent
        node = node.body
    names = {var: var for var in extents}
    if type(node) is t.SBlock:
        if node.predicate is not None or node.alloc_buffers or node.match_buffers or node.init is not None:
            return False
        names = dict(zip([axis.var for axis in node.iter_vars], node.iter_values, strict=True))
        node = node.body
    return _writes_all(node, buffer, extents, names)


def _writes_all(
    node: t.Stmt,
    buffer: Buffer,
    extents: Mapping[p.PrimVar, p.PrimExpr],
    names: Mapping[p.PrimVar, p.PrimExpr],
) -> bool:
    if type(node) is not t.BufferStore or node.buffer is not buffer or _reads(buffer, node.value):
        return False
    loops = [names.get(index) if type(index) is p.PrimVar else None for index in node.indices]
    return (
        set(loops) == set(extents)  # each loop is one index, so no element is left out
        and len(loops) == len(extents)
        and all([_same(extents[loop], dim) for loop, dim in zip(loops, buffer.shape, strict=True)])  # type: ignore[index]  # the keys are equal, as tested above
    )


def _same(a: p.PrimExpr, b: p.PrimExpr) -> bool:
    if isinstance(a, p.IntImm) and isinstance(b, p.IntImm):
        return a.value == b.value
    return a is b and not any(isinstance(part, BufferLoad) for part in subexpressions(a))


def reduction_nest(node: t.For) -> tuple[list[t.For], t.SBlock | None]:
    """The loops of a plain reduction and its block: every axis is one loop from 0, and there is nothing else.

    Each element of the result is started and summed by itself. So all may be started first, and the loops may be exchanged.
    """
    chain: list[t.For] = []
    current: t.Stmt = node
    while type(current) is t.For and current.kind != "thread_binding" and current.step is None:
        if not isinstance(current.start, p.IntImm) or current.start.value:
            return chain, None
        chain.append(current)
        current = current.body
    if (
        type(current) is not t.SBlock
        or current.init is None
        or current.predicate is not None
        or current.alloc_buffers
    ):
        return chain, None
    loops = [loop.var for loop in chain]
    plain = (
        sorted(map(id, current.iter_values)) == sorted(map(id, loops)) and type(current.body) is t.BufferStore
    )
    bound = set(loops)
    square = all(not bound & set(p.free_vars(loop.extent)) for loop in chain)
    has_reduce = any(axis.kind == "reduce" for axis in current.iter_vars)
    return chain, current if plain and square and has_reduce and _is_apart(current) else None


def _is_apart(block: t.SBlock) -> bool:
    """True if each element of the result is written for one point of the spatial axes, and read only there."""
    first, store = block.init, block.body
    if type(first) is not t.BufferStore or type(store) is not t.BufferStore:
        return False
    buffer, indices = store.buffer, store.indices
    if first.buffer is not buffer or first.indices != indices or _reads(buffer, *indices, first.value):
        return False
    accesses = [expr for expr in subexpressions(store.value) if isinstance(expr, (BufferLoad, BufferPtr))]
    if any(
        expr.buffer is buffer and (type(expr) is not BufferLoad or expr.indices != indices)
        for expr in accesses
    ):
        return False
    summed = {axis.var for axis in block.iter_vars if axis.kind == "reduce"}
    if not summed.isdisjoint(p.free_vars(*indices, first.value)):
        return False
    return {axis.var for axis in block.iter_vars} - summed <= set(map(_moved, indices))


def _moved(index: p.PrimExpr) -> p.PrimExpr:
    """The variable of an index `v` or `v + 1`; another index itself."""
    return index.a if type(index) is p.Add and isinstance(index.b, p.IntImm) else index
