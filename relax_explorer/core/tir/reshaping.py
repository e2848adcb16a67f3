"""PrimFuncs that copy a buffer into another shape, element by element in row-major order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relax_explorer.core.arith.prove import Answer, at_least, equal
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.fold import substitute
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import Buffer

_Ends = dict[p.PrimVar, p.PrimExpr]  # the largest values of loop variables


def is_reshape(fn: t.PrimFunc) -> bool:
    """True if a PrimFunc of two buffers and lengths provably copies all of the first into the second in row-major order.

    As in TVM, a copy into a tensor of rank 0 is none: the kernel has no loop.
    """
    buffers = [param for param in fn.params if isinstance(param, Buffer)]
    store = _only_store(fn.body)
    if store is None or len(buffers) != 2 or fn.params[0] is not buffers[0]:
        return False
    source, target = buffers
    value = store.value
    if type(value) is not BufferLoad or value.buffer is not source or store.buffer is not target:
        return False
    if not target.shape or equal(_size(source), _size(target)) is not Answer.YES:
        return False
    ends, values = _loops(fn.body)
    read = [substitute(index, values) for index in value.indices]
    written = [substitute(index, values) for index in store.indices]
    left = _flat([_reduced(index, ends) for index in read], source.shape)
    right = _flat([_reduced(index, ends) for index in written], target.shape)
    is_whole = _is_whole(written, ends, target) or _is_whole(read, ends, source)
    return is_whole and equal(left, right) is Answer.YES


def _chain(body: t.Stmt) -> Iterator[t.Stmt]:
    """The statements of a nest of loops and blocks, the outermost first."""
    node: t.Stmt | None = body
    while node is not None:
        yield node
        if isinstance(node, (t.For, t.SBlock)):
            node = node.body
        elif isinstance(node, t.SeqStmt) and len(node.stmts) == 1:
            node = node.stmts[0]
        else:
            node = None


def _only_store(body: t.Stmt) -> t.BufferStore | None:
    """The store of a nest of loops and plain blocks around one store."""
    last: t.Stmt = body
    for node in _chain(body):
        last = node
        if isinstance(node, t.SBlock):
            always = node.predicate is None or getattr(node.predicate, "value", None) in (True, 1)
            if node.init is not None or not always or node.alloc_buffers or node.match_buffers:
                return None
    return last if isinstance(last, t.BufferStore) else None


def _loops(body: t.Stmt) -> tuple[_Ends, dict[p.PrimVar, p.PrimExpr]]:
    """The largest value of each loop variable, and the axes of blocks in terms of loop variables. Loops of one turn have a value."""
    ends: _Ends = {}
    values: dict[p.PrimVar, p.PrimExpr] = {}
    for node in _chain(body):
        if isinstance(node, t.For) and getattr(node.extent, "value", None) == 1:
            values[node.var] = node.start
        elif isinstance(node, t.For):
            ends[node.var] = node.start + node.extent - 1
        elif isinstance(node, t.SBlock):
            for axis, value in zip(node.iter_vars, node.iter_values, strict=True):
                values[axis.var] = substitute(value, values)
    return ends, values


def _is_whole(indices: Sequence[p.PrimExpr], ends: _Ends, buffer: Buffer) -> bool:
    """True if each index of the buffer is a loop variable of its own that runs over the whole axis."""
    for index, length in zip(indices, buffer.shape, strict=True):
        if isinstance(index, p.IntImm):
            if index.value != 0 or equal(length, p.IntImm(1, length.dtype)) is not Answer.YES:
                return False
        elif (
            type(index) is not p.PrimVar
            or index not in ends
            or equal(ends[index] + 1, length) is not Answer.YES
        ):
            return False
    variables = [index for index in indices if type(index) is p.PrimVar]
    return len(set(variables)) == len(variables)


def _size(buffer: Buffer) -> p.PrimExpr:
    """The number of elements."""
    size: p.PrimExpr = p.IntImm(1, INT64)
    for length in buffer.shape:
        size = size * length
    return size


def _flat(indices: Sequence[p.PrimExpr], shape: Sequence[p.PrimExpr]) -> p.PrimExpr:
    """The row-major place of an element."""
    place: p.PrimExpr = p.IntImm(0, INT64)
    for index, length in zip(indices, shape, strict=True):
        place = place * length + index
    return place


def _reduced(index: p.PrimExpr, ends: _Ends) -> p.PrimExpr:
    """An index without remainders and quotients of numbers that are known to be smaller than the divisor."""
    if not isinstance(index, p.Binary):
        return index
    a, b = _reduced(index.a, ends), _reduced(index.b, ends)
    if type(index) is p.FloorMod and _is_less(a, b, ends):
        return a
    if type(index) is p.FloorDiv and _is_less(a, b, ends):
        return p.IntImm(0, index.dtype)
    return index.with_children((a, b))


def _is_less(a: p.PrimExpr, b: p.PrimExpr, ends: _Ends) -> bool:
    """True if `a < b` for all values of the loop variables; both are sums of products without subtractions."""
    if type(a) is p.FloorDiv:
        return _is_less(a.a, b * a.b, ends)
    if not _is_growing(a):
        return False
    return at_least(b - 1 - substitute(a, ends), 0) is Answer.YES


def _is_growing(expr: p.PrimExpr) -> bool:
    """True if an expression grows with each of its variables, none of which is negative."""
    todo = [expr]
    while todo:
        item = todo.pop()
        if isinstance(item, p.IntImm):
            if item.value < 0:
                return False
        elif type(item) in (p.Add, p.Mul):
            todo.extend(item.children())
        elif type(item) is p.FloorDiv and isinstance(item.b, p.IntImm) and item.b.value > 0:
            todo.append(item.a)
        elif type(item) is not p.PrimVar:
            return False
    return True
