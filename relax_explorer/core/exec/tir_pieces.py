"""A PrimFunc in pieces: its large contractions are computed by BLAS, and the statements between them by kernels of their own.

A parallel loop is a piece, too: threads share it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from relax_explorer.core.exec.contraction import Contraction, contraction
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.parallel_loop import PARALLEL, is_parallel, parallel_loop, shared_iterations
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.exec.tir_codegen import length_variables, shape_variables
from relax_explorer.core.exec.tir_nests import is_filled_first
from relax_explorer.core.exec.values import MEMORY_LIMIT, Value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import expressions, memory, statements, subexpressions

WORTHWHILE = (
    1 << 17
)  # multiplications from which BLAS is faster than the loops, the cost of the call included

Piece = Contraction | t.PrimFunc


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of a PrimFunc in order, its parameters, the buffers that it allocates, and the kinds of loops that threads share."""

    params: tuple[Buffer | p.PrimVar, ...]
    allocated: tuple[Buffer, ...]
    pieces: tuple[Piece, ...]
    kinds: Collection[str]

    def pays(self, dims: Mapping[p.PrimVar, int]) -> bool:
        """True if a contraction or a parallel loop is large enough for these lengths."""
        return any(_pays(piece, dims, self.kinds) for piece in self.pieces)

    def run(
        self,
        values: Sequence[Value],
        dims: Mapping[p.PrimVar, int],
        interrupt: Interrupt,
        kernel: Callable[[t.PrimFunc], Callable[..., None]],
    ) -> bool:
        """Fill the outputs. False, with nothing done, if the loops must run: where memory is shared, or where they stop."""
        known: dict[object, Value] = dict(zip(self.params, values, strict=False))
        for buffer in self.allocated:
            array = _allocated(buffer, dims)
            if array is None:
                return False
            known[buffer] = array
        known.update(dims.items())
        views = [piece.views(known, dims) if type(piece) is Contraction else None for piece in self.pieces]
        for piece, view in zip(self.pieces, views, strict=True):
            if view is None and type(piece) is Contraction:
                return False
        for piece, view in zip(self.pieces, views, strict=True):
            if view is not None:
                with np.errstate(all="ignore"):
                    view.multiply(interrupt)
            elif type(piece) is t.PrimFunc:
                kernel(piece)(*[known[param] for param in piece.params], interrupt=interrupt)
        return True


def _pays(piece: Piece, dims: Mapping[p.PrimVar, int], kinds: Collection[str]) -> bool:
    if type(piece) is Contraction:
        return piece.size(dims) >= WORTHWHILE
    if not isinstance(piece, t.PrimFunc) or parallel_loop(piece, kinds) is None:
        return False
    points = {var: int(dims[var]) for var in length_variables(piece)}
    return shared_iterations(piece, points, kinds) is not None


def _allocated(buffer: Buffer, dims: Mapping[p.PrimVar, int]) -> Value:
    """Memory for a buffer; None if its size is unknown or beyond the limit."""
    try:
        shape = [evaluate(dim, dims) for dim in buffer.shape]
    except Undefined:
        return None
    dtype = np.dtype(buffer.dtype.to_numpy())
    if any(type(n) is not int or n < 0 for n in shape) or prod(shape) * dtype.itemsize > MEMORY_LIMIT:
        return None
    return np.empty(shape, dtype)


def pieces(fn: t.PrimFunc, kinds: Collection[str] = PARALLEL) -> Pieces | None:
    """The pieces of a PrimFunc. None if it can't be divided, or has neither a parallel loop nor a contraction that may be large."""
    parts = _top(fn.body)
    if parts is None or fn.ret_type is not None or memory(fn.body):
        return None
    allocated, nodes = parts
    found = [contraction(node) for node in nodes]
    large = [item for item in found if item is not None and (item.size({}) or WORTHWHILE) >= WORTHWHILE]
    if not (large or any(is_parallel(node, kinds) for node in nodes)) or not all(
        map(_is_plain, _buffers(*nodes))
    ):
        return None
    if parallel_loop(fn, kinds) is not None and not large:
        return None  # one piece
    if not all(is_filled_first(buffer, nodes) for buffer in allocated):
        return None  # what the memory holds before would differ
    result: list[Piece] = []
    pending: list[t.Stmt] = []
    for node, item in zip(nodes, found, strict=True):
        if item is not None and item in large:
            result += [*_kernel(fn, pending), item]
        elif is_parallel(node, kinds):
            result += [*_kernel(fn, pending), *_kernel(fn, [node])]
        else:
            pending.append(node)
            continue
        pending = []
    return Pieces((*fn.params, *shape_variables(fn)), allocated, (*result, *_kernel(fn, pending)), kinds)


def _top(body: t.Stmt) -> tuple[tuple[Buffer, ...], list[t.Stmt]] | None:
    """The buffers that a body allocates, and its statements. None if it holds other declarations."""
    allocated: tuple[Buffer, ...] = ()
    if type(body) is t.SBlock and not body.iter_vars:
        if body.predicate is not None or body.match_buffers or body.init is not None:
            return None
        allocated, body = body.alloc_buffers, body.body
    nodes: list[t.Stmt] = []
    for node in body.stmts if type(body) is t.SeqStmt else (body,):
        if type(node) is t.AllocBuffer and not node.buffer.is_scalar and node.buffer.data is None:
            allocated = (*allocated, node.buffer)
        elif type(node) is t.For or (type(node) is t.SBlock and node.iter_vars):
            nodes.append(node)
        else:
            return None
    return allocated, nodes


def _is_plain(buffer: Buffer) -> bool:
    """True for an array of whole elements. Narrow floats are held in a wider dtype while a kernel runs."""
    dtype = buffer.dtype
    narrow = dtype.is_float and dtype.bits < 32
    return not narrow and dtype.lanes == 1 and not buffer.is_scalar and buffer.strides is None


def _buffers(*nodes: t.Stmt) -> list[Buffer]:
    """The buffers that statements read, write or declare, in order."""
    found: dict[Buffer, None] = {}
    for node in nodes:
        for part in statements(node):
            if type(part) is t.BufferStore:
                found[part.buffer] = None
            for expr in subexpressions(*expressions(part)):
                if isinstance(expr, (BufferLoad, BufferPtr)):
                    found[expr.buffer] = None
    return list(found)


def _kernel(fn: t.PrimFunc, nodes: Sequence[t.Stmt]) -> list[t.PrimFunc]:
    """Statements of a PrimFunc as one of its own: over the buffers that they use, the scalars and the shape variables."""
    if not nodes:
        return []
    inner = {
        buffer
        for node in nodes
        for part in statements(node)
        if type(part) is t.SBlock
        for buffer in (*part.alloc_buffers, *[match.buffer for match in part.match_buffers])
    }
    inner |= {part.buffer for node in nodes for part in statements(node) if type(part) is t.AllocBuffer}
    used = [buffer for buffer in _buffers(*nodes) if buffer not in inner]
    scalars = [param for param in fn.params if isinstance(param, p.PrimVar)]
    body = nodes[0] if len(nodes) == 1 else t.SeqStmt(tuple(nodes))
    params: tuple[Buffer | p.PrimVar, ...] = (*used, *scalars, *shape_variables(fn))
    return [t.PrimFunc(params, body, None, fn.attrs, fn.s_tir, None, fn.span)]
