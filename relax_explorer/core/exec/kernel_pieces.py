"""PrimFuncs in pieces: large contractions are computed by BLAS, parallel loops by threads, and the statements between them by kernels.

A contraction is a loop nest that sums products of two buffers:

    for i, j, k in T.grid(n, m, l):
        with T.sblock("matmul"):
            with T.init():
                C[i, j] = 0
            C[i, j] = C[i, j] + A[i, k] * B[k, j]

Indices are sums of axes times constants, so convolutions are contractions too: `A[n, c, y * 2 + r, x * 2 + s] * W[f, c, r, s]`.
An operand becomes a view with one dimension for each axis, and the views become matrices. Sums of floats are rounded in another
order than by the loops, as `R.matmul` does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.loop_nests import (
    PARALLEL,
    buffers,
    is_filled_first,
    is_parallel,
    parallel_loop,
    shared_iterations,
)
from relax_explorer.core.exec.loop_statements import length_variables, shape_variables
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.exec.values import MEMORY_LIMIT, Value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ops.kit.ndarrays import dense
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import memory, statements

MOST_AT_ONCE = 1 << 31  # multiplications between two looks at the interrupt: less than 0.2 s
MOST_COPIED = 1 << 26  # elements of a matrix that is a copy, such as the patches of a convolution


@dataclass(frozen=True, slots=True)
class Access:
    """The element of a buffer for each point of the axes: for each dimension a constant, and the factor of each axis."""

    buffer: Buffer
    starts: tuple[int, ...]
    factors: tuple[Mapping[p.PrimExpr, int], ...]

    def axes(self) -> set[p.PrimExpr]:
        """The axes that the element depends on."""
        return {axis for factors in self.factors for axis in factors}

    def view(self, array: Value, axes: Sequence[p.PrimExpr], lengths: Mapping[p.PrimExpr, int]) -> Value:
        """`array` with one dimension for each of `axes`. None if an index is outside, or if axes have no length."""
        if array.ndim != len(self.starts):
            return None
        first = []
        for start, factors, length in zip(self.starts, self.factors, array.shape, strict=True):
            last = start + sum([factor * (lengths[axis] - 1) for axis, factor in factors.items()])
            if start < 0 or last >= length:
                return None
            first.append(slice(start, None))
        strides = [
            sum([f.get(axis, 0) * step for f, step in zip(self.factors, array.strides, strict=True)])
            for axis in axes
        ]
        sizes = [lengths[axis] for axis in axes]
        if array.flags.c_contiguous:  # a fifth of the time of `as_strided`
            offset = sum([start * step for start, step in zip(self.starts, array.strides, strict=True)])
            return np.ndarray(sizes, array.dtype, array, offset, strides)
        return np.lib.stride_tricks.as_strided(array[(..., *first)], sizes, strides)


@dataclass(frozen=True, slots=True)
class Contraction:
    """A recognised nest. `common` axes are in all three buffers, `rows` in `left`, `columns` in `right`, `summed` in both."""

    out: Access
    left: Access
    right: Access
    extents: Mapping[p.PrimExpr, p.PrimExpr]
    common: tuple[p.PrimExpr, ...]
    rows: tuple[p.PrimExpr, ...]
    columns: tuple[p.PrimExpr, ...]
    summed: tuple[p.PrimExpr, ...]

    def size(self, dims: Mapping[p.PrimVar, int]) -> int:
        """The number of multiplications for these lengths; 0 if it is not known."""
        lengths = self._lengths(dims)
        return 0 if lengths is None else prod(lengths.values())

    def _lengths(self, dims: Mapping[p.PrimVar, int]) -> dict[p.PrimExpr, int] | None:
        try:
            found = {axis: evaluate(extent, dims) for axis, extent in self.extents.items()}
        except Undefined:
            return None
        return found if all(type(n) is int and n > 0 for n in found.values()) else None

    def views(self, arrays: Mapping[object, Value], dims: Mapping[p.PrimVar, int]) -> Views | None:
        """The operands and the result as views. None where the loops must run: at an index outside, or shared memory."""
        lengths = self._lengths(dims)
        out, left, right = (arrays[access.buffer] for access in (self.out, self.left, self.right))
        if lengths is None or np.may_share_memory(out, left) or np.may_share_memory(out, right):
            return None
        result = self.out.view(out, (*self.common, *self.rows, *self.columns), lengths)
        a = self.left.view(left, (*self.common, *self.rows, *self.summed), lengths)
        b = self.right.view(right, (*self.common, *self.summed, *self.columns), lengths)
        if result is None or a is None or b is None:
            return None
        return Views(result, a, b, len(self.common), len(self.rows), len(self.summed))


@dataclass(frozen=True, slots=True)
class Views:
    """`out[common, rows, columns] = left[common, rows, summed] @ right[common, summed, columns]`, with several axes each."""

    out: Value
    left: Value
    right: Value
    common: int
    rows: int
    summed: int

    def multiply(self, interrupt: Interrupt) -> None:
        """Fill `out`. Large products are halved along an axis of the result until each part is quick. Raises Cancelled."""
        interrupt.check()
        work = self.out.size * prod(self.left.shape[self.common + self.rows :])
        copied = max(_copied(self.left), _copied(self.right))
        axis = int(np.argmax(self.out.shape)) if self.out.ndim else 0
        if (work <= MOST_AT_ONCE and copied <= MOST_COPIED) or not self.out.ndim or self.out.shape[axis] < 2:
            self._multiply()
            return
        middle = self.out.shape[axis] // 2
        for part in (slice(0, middle), slice(middle, None)):
            self._part(axis, part).multiply(interrupt)

    def _part(self, axis: int, part: slice) -> Views:
        def cut(array: Value, place: int) -> Value:
            return array[(*[slice(None)] * place, part)]

        left, right, shared = self.left, self.right, self.common
        if axis < shared + self.rows:
            left = cut(left, axis)
        if axis < shared:
            right = cut(right, axis)
        elif axis >= shared + self.rows:
            right = cut(right, axis - self.rows + self.summed)
        return Views(cut(self.out, axis), left, right, shared, self.rows, self.summed)

    def _multiply(self) -> None:
        left = dense(_matrix(self.left.astype(self.out.dtype, copy=False), self.common, self.rows))
        right = dense(_matrix(self.right.astype(self.out.dtype, copy=False), self.common, self.summed))
        target = _matrix(self.out, self.common, self.rows)
        if not np.may_share_memory(target, self.out):
            self.out[...] = np.matmul(left, right).reshape(self.out.shape)
        elif target.strides[-1] == target.itemsize:
            np.matmul(left, right, out=target)
        else:  # NumPy would multiply into other memory, and copy
            np.matmul(right.swapaxes(-1, -2), left.swapaxes(-1, -2), out=target.swapaxes(-1, -2))


_NEAR = 4  # elements between two of an axis that are read together


def _matrix(view: Value, common: int, rows: int) -> Value:
    """The axes behind the `common` ones as those of a matrix. What must be copied is copied in long pieces, whichever axis has them."""
    lead, first = view.shape[:common], prod(view.shape[common : common + rows])
    second = prod(view.shape[common + rows :])
    near = [axis for axis in range(common, view.ndim) if abs(view.strides[axis]) <= _NEAR * view.itemsize]
    longest = max(near, key=view.shape.__getitem__, default=view.ndim)
    if longest >= common + rows or view.shape[longest] == 1:
        return view.reshape(*lead, first, second)
    order = (*range(common), *range(common + rows, view.ndim), *range(common, common + rows))
    return view.transpose(order).reshape(*lead, second, first).swapaxes(-1, -2)


def _copied(view: Value) -> int:
    """The number of elements that a matrix of this view copies, at most."""
    return 0 if view.flags.c_contiguous else int(view.size)


def contraction(node: t.Stmt) -> Contraction | None:
    """The contraction that a loop nest computes; None if it is another nest."""
    extents: dict[p.PrimExpr, p.PrimExpr] = {}
    while type(node) is t.For:
        if node.kind == "thread_binding" or node.step is not None or not _is_zero(node.start):
            return None
        if not extents.keys().isdisjoint(p.free_vars(node.extent)):
            return None
        extents[node.var] = node.extent
        node = node.body
    if type(node) is not t.SBlock or node.predicate is not None or node.alloc_buffers or node.match_buffers:
        return None
    axes = _axes(node, extents)
    parts = _parts(node)
    if axes is None or parts is None:
        return None
    out, left, right = (_access(buffer, indices, axes) for buffer, indices in parts)
    if out is None or left is None or right is None:
        return None
    return _classified(out, left, right, extents)


def _is_zero(value: p.PrimExpr | None) -> bool:
    return isinstance(value, (p.IntImm, p.FloatImm)) and value.value == 0


def _axes(block: t.SBlock, extents: Mapping[p.PrimExpr, p.PrimExpr]) -> dict[p.PrimExpr, p.PrimExpr] | None:
    """The loop, or the constant, behind each axis of a block. None if a loop is not exactly one axis."""
    values = [value for value in block.iter_values if not isinstance(value, p.IntImm)]
    if len(values) != len(extents) or set(values) != set(extents):
        return None
    return {axis.var: value for axis, value in zip(block.iter_vars, block.iter_values, strict=True)}


_Place = tuple[Buffer, tuple[p.PrimExpr, ...]]


def _parts(block: t.SBlock) -> tuple[_Place, _Place, _Place] | None:
    """The buffers and indices of `C[…] = C[…] + A[…] * B[…]` over floats, in that order. The block sets `C[…]` to 0 first."""
    first, store = block.init, block.body
    if type(first) is not t.BufferStore or type(store) is not t.BufferStore or not _is_zero(first.value):
        return None
    buffer, dtype = store.buffer, store.buffer.dtype
    if dtype.name not in ("float32", "float64") or type(store.value) is not p.Add:
        return None
    before, product = store.value.a, store.value.b
    if type(before) is not BufferLoad:
        before, product = product, before
    if type(before) is not BufferLoad or type(product) is not p.Mul or product.dtype is not dtype:
        return None
    same = first.buffer is buffer is before.buffer and first.indices == store.indices == before.indices
    a, b = _factor(product.a), _factor(product.b)
    if not same or a is None or b is None or buffer in (a.buffer, b.buffer):
        return None
    return (buffer, store.indices), (a.buffer, a.indices), (b.buffer, b.indices)


def _factor(value: p.PrimExpr) -> BufferLoad | None:
    """The load behind a factor. A cast may widen it."""
    if type(value) is p.Cast:
        inner = value.value
        return inner if type(inner) is BufferLoad and inner.dtype.is_float else None
    return value if type(value) is BufferLoad else None


def _access(
    buffer: Buffer, indices: Sequence[p.PrimExpr], axes: Mapping[p.PrimExpr, p.PrimExpr]
) -> Access | None:
    terms = [_terms(index, axes) for index in indices]
    if buffer.strides or buffer.elem_offset is not None or buffer.dtype.lanes != 1:
        return None
    known = [term for term in terms if term is not None]
    if len(known) < len(terms):
        return None
    factors = [{axis: factor for axis, factor in sums.items() if factor} for _, sums in known]
    if any(factor < 0 for sums in factors for factor in sums.values()):
        return None
    return Access(buffer, tuple([start for start, _ in known]), tuple(factors))


def _terms(
    index: p.PrimExpr, axes: Mapping[p.PrimExpr, p.PrimExpr]
) -> tuple[int, dict[p.PrimExpr, int]] | None:
    """An index as a constant and the factor of each loop. None if it is not such a sum."""
    index = axes.get(index, index)
    if isinstance(index, p.IntImm):
        return index.value, {}
    if type(index) is p.PrimVar:
        return (0, {index: 1}) if index in axes.values() else None
    if type(index) is p.Cast and index.dtype.is_int and index.dtype.bits >= index.value.dtype.bits:
        return _terms(index.value, axes)
    if not isinstance(index, (p.Add, p.Mul)):
        return None
    a, b = _terms(index.a, axes), _terms(index.b, axes)
    if a is None or b is None:
        return None
    if type(index) is p.Add:
        return a[0] + b[0], {axis: a[1].get(axis, 0) + b[1].get(axis, 0) for axis in {**a[1], **b[1]}}
    if a[1] and b[1]:
        return None
    (scale, _), (start, sums) = (b, a) if a[1] else (a, b)
    return start * scale, {axis: factor * scale for axis, factor in sums.items()}


def _classified(
    out: Access, left: Access, right: Access, extents: Mapping[p.PrimExpr, p.PrimExpr]
) -> Contraction | None:
    """The contraction, if each axis of the result is a dimension of it, and each summed one is in both operands."""
    written = [axis for factors in out.factors for axis in factors]
    a, b, c = left.axes(), right.axes(), set(written)
    plain = all(len(factors) <= 1 and set(factors.values()) <= {1} for factors in out.factors)
    if not plain or len(c) < len(written) or not c <= a | b or (a | b) - c != (a & b) - c:
        return None
    if set(extents) != a | b:
        return None
    return Contraction(
        out, left, right, extents,
        tuple([axis for axis in written if axis in a and axis in b]),
        tuple([axis for axis in written if axis not in b]),
        tuple([axis for axis in written if axis not in a]),
        tuple([axis for axis in extents if axis not in c]),
    )  # fmt: skip


# -- pieces ----------------------------------------------------------------------------------------------------------
# A PrimFunc in pieces: its large contractions are computed by BLAS, and the statements between them by kernels of
# their own.
#
# A parallel loop is a piece, too: threads share it.


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
    viewed: frozenset[object]  # the buffers that only contractions read

    def pays(self, dims: Mapping[p.PrimVar, int]) -> bool:
        """True if a contraction or a parallel loop is large enough for these lengths."""
        return any(_pays(piece, dims, self.kinds) for piece in self.pieces)

    def takes_view(self, buffer: object, dims: Mapping[p.PrimVar, int]) -> bool:
        """True if an array need not be compact: contractions alone read it, and one is known to be large enough."""
        return buffer in self.viewed and any(
            type(piece) is Contraction and _pays(piece, dims, ()) for piece in self.pieces
        )

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
        map(_is_plain, buffers(*nodes))
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
    result += _kernel(fn, pending)
    return Pieces((*fn.params, *shape_variables(fn)), allocated, tuple(result), kinds, _viewed(result))


def _viewed(parts: Sequence[Piece]) -> frozenset[object]:
    contractions = [part for part in parts if type(part) is Contraction]
    read = {access.buffer for part in contractions for access in (part.left, part.right)}
    written = {part.out.buffer for part in contractions}
    return frozenset(read - written).difference(*[part.params for part in parts if type(part) is t.PrimFunc])


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


def filled(fn: t.PrimFunc) -> frozenset[int]:
    """The numbers of the parameters of which a kernel stores each element before it reads one, whatever the lengths."""
    return _FILLED.of(fn, _filled)


def _filled(fn: t.PrimFunc) -> frozenset[int]:
    parts = None if memory(fn.body) else _top(fn.body)
    if parts is None:
        return frozenset()
    nodes = parts[1]
    never_empty = all([isinstance(n, p.IntImm) and n.value > 0 for node in nodes for n in _summed(node)])
    params = [(number, q) for number, q in enumerate(fn.params) if isinstance(q, Buffer)]
    return frozenset([number for number, q in params if never_empty and is_filled_first(q, nodes)])


_FILLED: PerNode[frozenset[int]] = PerNode()


def _summed(node: t.Stmt) -> list[p.PrimExpr]:
    """The extents of the loops around a reduction: one without terms starts no sum."""
    parts = list(statements(node))
    if all([type(part) is not t.SBlock or part.init is None for part in parts]):
        return []
    return [part.extent for part in parts if type(part) is t.For]


def _is_plain(buffer: Buffer) -> bool:
    """True for an array of whole elements. Narrow floats are held in a wider dtype while a kernel runs."""
    dtype = buffer.dtype
    narrow = dtype.is_float and dtype.bits < 32
    return not narrow and dtype.lanes == 1 and not buffer.is_scalar and buffer.strides is None


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
    used = [buffer for buffer in buffers(*nodes) if buffer not in inner]
    scalars = [param for param in fn.params if isinstance(param, p.PrimVar)]
    body = nodes[0] if len(nodes) == 1 else t.SeqStmt(tuple(nodes))
    params: tuple[Buffer | p.PrimVar, ...] = (*used, *scalars, *shape_variables(fn))
    return [t.PrimFunc(params, body, None, fn.attrs, fn.s_tir, None, fn.span)]
