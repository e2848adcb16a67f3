"""Stages of a PrimFunc in one loop: what one stage writes and the next one reads stays in registers, or in one row.

    for i: T[i] = x[i] + x[i]                 for i:
    for i: y[i] = T[i] * x[i]         →           T = x[i] + x[i]
                                                  y[i] = T * x[i]

Neighbouring nests share their outermost loop if each iteration reads and writes its own slice of every buffer that one of them writes.
A buffer that only they use loses that dimension. No value changes, for each is computed from the same ones; but arguments must not share
memory, and the kernel must not stop inside, for the stages before would not have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.exec.loop_nests import buffers, is_filled_first, same_length, step
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.node import replace
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.mutator import Mutator, Substitution
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions

# None for a PrimFunc that stays as it is: a cache that held it would keep it alive.
_KNOWN: PerNode[t.PrimFunc | None] = PerNode()
_PLAIN = (t.BufferStore, t.SeqStmt, t.LetStmt, t.IfThenElse)


def fused(fn: t.PrimFunc) -> t.PrimFunc:
    """The PrimFunc with stages in common loops; itself if there are none."""
    return _KNOWN.of(fn, _other(_fused)) or fn


def _other(change: Callable[[t.PrimFunc], t.PrimFunc]) -> Callable[[t.PrimFunc], t.PrimFunc | None]:
    """A change that gives None for what it leaves as it is."""

    def changed(fn: t.PrimFunc) -> t.PrimFunc | None:
        new = change(fn)
        return None if new is fn else new

    return changed


def _fused(fn: t.PrimFunc) -> t.PrimFunc:
    fn = forwarded(fn)
    found = _stages(fn)
    if found is None:
        return fn
    memory, stages = found
    work = _Fusion(memory)
    nodes = work.sequence(stages, frozenset())
    if not work.dropped and len(nodes) == len(stages):
        return fn
    return _with(fn, [buffer for buffer in memory if buffer not in work.dropped], nodes)


def _stages(fn: t.PrimFunc) -> tuple[list[Buffer], list[t.Stmt]] | None:
    """The memory that a PrimFunc allocates, and its statements. None if it has one statement, or another form."""
    root = fn.body
    if type(root) is not t.SBlock or root.iter_vars or root.init is not None or root.match_buffers:
        return None
    if type(root.body) is not t.SeqStmt or root.predicate is not None:
        return None
    memory = [node.buffer for node in root.body.stmts if type(node) is t.AllocBuffer and _is_memory(node)]
    return [*root.alloc_buffers, *memory], [node for node in root.body.stmts if not _is_memory(node)]


def _with(fn: t.PrimFunc, memory: Sequence[Buffer], nodes: Sequence[t.Stmt]) -> t.PrimFunc:
    body: t.Stmt = nodes[0] if len(nodes) == 1 else t.SeqStmt(tuple(nodes))
    return replace(fn, body=replace(fn.body, body=body, alloc_buffers=tuple(memory), reads=None, writes=None))


def _is_memory(node: t.Stmt) -> bool:
    """True for memory that a statement allocates for the whole kernel."""
    return type(node) is t.AllocBuffer and node.buffer.data is None and not node.buffer.is_scalar


@dataclass(frozen=True)
class _Nest:
    """A loop around one block; its outermost loop is the axis `axis` of the block."""

    node: t.For
    block: t.SBlock
    axis: t.IterVar

    @staticmethod
    def of(node: t.Stmt) -> _Nest | None:
        """The nest of a statement. None for anything else, and where the outermost loop is no axis of results."""
        current, loops = node, []
        while type(current) is t.For and current.kind == "serial" and current.step is None:
            if not isinstance(current.start, p.IntImm) or current.start.value:
                return None
            loops.append(current)
            current = current.body
        if type(current) is not t.SBlock or not loops or current.predicate is not None:
            return None
        if current.alloc_buffers or current.match_buffers or not _is_plain(current.body):
            return None
        others = [value for value in current.iter_values if value is not loops[0].var]
        if loops[0].var in p.free_vars(*others, *[loop.extent for loop in loops[1:]]):
            return None
        for axis, value in zip(current.iter_vars, current.iter_values, strict=True):
            if value is loops[0].var and axis.kind == "spatial" and axis.var.dtype is value.dtype:
                return _Nest(loops[0], current, axis)
        return None

    @cached_property
    def accesses(self) -> list[tuple[Buffer, tuple[p.PrimExpr, ...], bool]]:
        """The buffers with their indices, and whether they are written."""
        found = []
        for part in (self.block.body, *([] if self.block.init is None else [self.block.init])):
            for node in statements(part):
                if type(node) is t.BufferStore:
                    found.append((node.buffer, node.indices, True))
                for expr in subexpressions(*expressions(node)):
                    if type(expr) is BufferLoad:
                        found.append((expr.buffer, expr.indices, False))
        return found

    @cached_property
    def written(self) -> set[Buffer]:
        """The buffers that it writes."""
        return {buffer for buffer, _, is_written in self.accesses if is_written}

    @property
    def goes_along(self) -> bool:
        """True for a reduction that reads neighbours along the outermost loop, which must stay its innermost one."""
        loads = [indices for buffer, indices, _ in self.accesses if buffer not in self.written and indices]
        var = self.axis.var
        return self.block.init is not None and any(step(indices[-1], var, {}) == 1 for indices in loads)

    def slice_of(self, indices: Sequence[p.PrimExpr]) -> int | None:
        """The dimension that the outermost loop goes along, and no other one. None if there is none."""
        places = [n for n, index in enumerate(indices) if self.axis.var in p.free_vars(index)]
        if len(places) != 1:
            return None
        index = indices[places[0]]
        is_axis = index is self.axis.var or simplify(self._of_one.expr(index)) is self.axis.var
        return places[0] if is_axis else None

    @cached_property
    def _of_one(self) -> Substitution:
        """Puts 0 for the axes that have one place, such as the channel of a group in a depthwise convolution."""
        loops, current = set(), self.node.body
        while type(current) is t.For:
            if isinstance(current.extent, p.IntImm) and current.extent.value == 1:
                loops.add(current.var)
            current = current.body
        pairs = zip(self.block.iter_vars, self.block.iter_values, strict=True)
        return Substitution(
            {axis.var: p.IntImm(0, axis.var.dtype) for axis, value in pairs if value in loops}
        )

    def inside(self, var: p.PrimVar) -> t.Stmt:
        """What one iteration does, for a loop with this variable."""
        rest = [
            pair
            for pair in zip(self.block.iter_vars, self.block.iter_values, strict=True)
            if pair[0] is not self.axis
        ]
        put = Substitution({self.axis.var: var, self.node.var: var})
        body = put.stmt(self.block.body)
        init = None if self.block.init is None else put.stmt(self.block.init)
        inner: t.Stmt = body
        if rest:
            axes, values = zip(*rest, strict=True)
            inner = replace(
                self.block, iter_vars=axes, iter_values=values, body=body, init=init, reads=None, writes=None
            )
        chain, current = [], self.node.body
        while type(current) is t.For:
            chain.append(current)
            current = current.body
        for loop in reversed(chain):
            inner = replace(loop, body=inner)
        return inner


def _is_plain(body: t.Stmt) -> bool:
    return all(
        type(node) in _PLAIN
        and not any(type(expr) is BufferPtr for expr in subexpressions(*expressions(node)))
        for node in statements(body)
    )


class _Group:
    """Nests that can share their outermost loop."""

    def __init__(self, nests: Sequence[_Nest] = ()) -> None:
        self.nests: list[_Nest] = []
        self.written: set[Buffer] = set()
        self.places: dict[
            Buffer, set[int | None]
        ] = {}  # dimensions that the loop goes along; None where it leaves its slice
        for nest in nests:
            taken = self.takes(nest)
            assert taken

    @property
    def slices(self) -> dict[Buffer, int]:
        """The dimension of each written buffer that the common loop goes along. The order decides the text, so it is the program's."""
        written = [item for item in self.places.items() if item[0] in self.written]
        return {buffer: place for buffer, places in written for place in places if place is not None}

    def takes(self, nest: _Nest | None) -> bool:
        """Add a nest, if it can share the loop of the others: no access of a written buffer leaves its slice."""
        if nest is None or nest.goes_along:
            return False
        first = (self.nests or [nest])[0].node
        if not same_length(nest.node.extent, first.extent) or nest.node.var.dtype is not first.var.dtype:
            return False
        places = {buffer: set(self.places.get(buffer, ())) for buffer, _, _ in nest.accesses}
        for buffer, indices, _ in nest.accesses:
            places[buffer].add(nest.slice_of(indices))
        if any(
            len(found) > 1 or None in found
            for buffer, found in places.items()
            if buffer in self.written or buffer in nest.written
        ):
            return False
        self.nests.append(nest)
        self.written |= nest.written
        self.places |= places
        return True


class _Fusion:
    """Fuses sequences. The buffers of `dropped` are replaced by ones with fewer dimensions, inside the loops."""

    def __init__(self, local: Collection[Buffer]) -> None:
        self.local, self.dropped = set(local), set[Buffer]()

    def sequence(self, nodes: Sequence[t.Stmt], elsewhere: Collection[Buffer]) -> list[t.Stmt]:
        """Statements one after the other, where other ones use the buffers `elsewhere`."""
        made: list[t.Stmt] = []
        nests = [_Nest.of(node) for node in nodes]
        used = [buffers(node) for node in nodes]
        start = 0
        while start < len(nodes):
            group = _Group()
            end = next((n for n in range(start, len(nodes)) if not group.takes(nests[n])), len(nodes))
            end = max(end, start + 1)
            others = set(elsewhere).union(*used[:start], *used[end:])
            whole = group.nests
            while len(whole) > 1 and self._remaining(whole, others):
                end -= 1
                whole.pop()
                others.update(used[end])
            made += [self._joined(whole, others)] if len(whole) > 1 else nodes[start:end]
            start = end
        return made

    def _remaining(self, nests: Sequence[_Nest], others: Collection[Buffer]) -> bool:
        """True if a buffer of the kernel would keep its whole size, so that nothing is gained."""
        written = set().union(*[nest.written for nest in nests])
        return any(buffer in self.local and buffer in others for buffer in written)

    def _joined(self, nests: Sequence[_Nest], others: Collection[Buffer]) -> t.Stmt:
        """The nests in one loop."""
        slices = _Group(nests).slices
        loop = nests[0].node
        var = p.PrimVar(loop.var.name, loop.var.dtype)
        inner = [nest.inside(var) for nest in nests]
        news = {buffer: _without(buffer, place) for buffer, place in slices.items() if buffer in self.local}
        drop = _Drop({buffer: (news[buffer], slices[buffer]) for buffer in news})
        inner = [drop.stmt(node) for node in inner]
        self.local = (self.local - news.keys()) | set(news.values())
        self.dropped |= news.keys()
        parts = self.sequence(inner, others)
        memory = [t.AllocBuffer(new) for new in news.values() if new not in self.dropped]
        body: t.Stmt = parts[0] if len(parts) + len(memory) == 1 else t.SeqStmt((*memory, *parts))
        return replace(loop, var=var, body=body)


def _without(buffer: Buffer, place: int) -> Buffer:
    """A new buffer without one dimension."""
    return Buffer(
        buffer.name, (*buffer.shape[:place], *buffer.shape[place + 1 :]), buffer.dtype, buffer.scope
    )


class _Drop(Mutator):
    """Removes one index of each access of some buffers, which are replaced."""

    def __init__(self, news: Mapping[Buffer, tuple[Buffer, int]]) -> None:
        super().__init__()
        self.news = news

    def expr(self, expr: p.PrimExpr) -> p.PrimExpr:
        """An expression with its loads replaced."""
        if type(expr) is BufferLoad and expr.buffer in self.news:
            new, place = self.news[expr.buffer]
            return BufferLoad(new, tuple([self.expr(n) for n in _others(expr.indices, place)]))
        return super().expr(expr)

    def stmt(self, node: t.Stmt) -> t.Stmt:
        """A statement with its stores replaced."""
        if type(node) is t.BufferStore and node.buffer in self.news:
            new, place = self.news[node.buffer]
            indices = tuple([self.expr(n) for n in _others(node.indices, place)])
            return t.BufferStore(new, indices, self.expr(node.value), node.span)
        return super().stmt(node)


def _others(indices: Sequence[p.PrimExpr], place: int) -> Iterator[p.PrimExpr]:
    return (index for n, index in enumerate(indices) if n != place)


# -- copies ----------------------------------------------------------------------------------------------------------
# A stage that only copies elements in another order is left out: its readers read what it would have read. So a product with a
# transposed matrix is one with the matrix itself, which BLAS takes as it is.


def forwarded(fn: t.PrimFunc) -> t.PrimFunc:
    """The PrimFunc without stages that copy a parameter that it never writes; itself if there are none."""
    return _FORWARDED.of(fn, _other(_forwarded)) or fn


_FORWARDED: PerNode[t.PrimFunc | None] = PerNode()


def _forwarded(fn: t.PrimFunc) -> t.PrimFunc:
    found = _stages(fn)
    if found is None:
        return fn
    memory, stages = found
    written = [_written(node) for node in stages]
    for number, node in enumerate(stages):
        copy = _Copy.of(node)
        others = set().union(*written[:number], *written[number + 1 :])
        if (
            copy is None
            or copy.target not in memory
            or not others.isdisjoint((copy.target, copy.source.buffer))
        ):
            continue
        if copy.source.buffer not in fn.params or any(_points(other) for other in stages):
            continue
        rest = [_Forward(copy).stmt(other) for other in (*stages[:number], *stages[number + 1 :])]
        return (
            _forwarded(_with(fn, [buffer for buffer in memory if buffer is not copy.target], rest))
            if rest
            else fn
        )
    return fn


@dataclass(frozen=True)
class _Copy:
    """The nest `target[axes] = source`: each index of the source is an axis of the same length, so that none is outside."""

    target: Buffer
    axes: tuple[p.PrimExpr, ...]
    source: BufferLoad

    @staticmethod
    def of(node: t.Stmt) -> _Copy | None:
        """The copy that a nest makes; None for another one."""
        nest = _Nest.of(node)
        store = None if nest is None else nest.block.body
        if nest is None or type(store) is not t.BufferStore or type(store.value) is not BufferLoad:
            return None
        source = store.value
        if (
            nest.block.init is not None
            or source.dtype is not store.buffer.dtype
            or not is_filled_first(store.buffer, [node])
        ):
            return None
        lengths = dict(zip(store.indices, store.buffer.shape, strict=True))
        whole = all(
            index in lengths and same_length(lengths[index], length)
            for index, length in zip(source.indices, source.buffer.shape, strict=True)
        )
        return _Copy(store.buffer, store.indices, source) if whole else None


def transposition(fn: t.PrimFunc) -> tuple[int, ...] | None:
    """The axes of the first buffer in the order of the second, if a PrimFunc of these two only permutes them."""
    return _TRANSPOSITION.of(fn, _transposition) or None


_TRANSPOSITION: PerNode[tuple[int, ...]] = PerNode()


def _transposition(fn: t.PrimFunc) -> tuple[int, ...]:
    body = fn.body
    if type(body) is t.SBlock and not (body.iter_vars or body.alloc_buffers or body.match_buffers):
        body = body.body if body.predicate is None and body.init is None else body
    copy = _Copy.of(body)
    if copy is None or (copy.source.buffer, copy.target) != fn.params:
        return ()
    indices = copy.source.indices
    if len(set(indices)) != len(indices) or len(indices) != len(copy.axes):
        return ()
    return tuple([indices.index(axis) for axis in copy.axes])


class _Forward(Mutator):
    """Replaces loads of a copy by loads of its source."""

    def __init__(self, copy: _Copy) -> None:
        super().__init__()
        self.copy = copy

    def expr(self, expr: p.PrimExpr) -> p.PrimExpr:
        """An expression with its loads replaced."""
        if type(expr) is not BufferLoad or expr.buffer is not self.copy.target:
            return super().expr(expr)
        places = dict(zip(self.copy.axes, [self.expr(index) for index in expr.indices], strict=True))
        indices = tuple([places[index] for index in self.copy.source.indices])
        return BufferLoad(self.copy.source.buffer, indices)


def _written(node: t.Stmt) -> set[Buffer]:
    return {part.buffer for part in statements(node) if type(part) is t.BufferStore}


def _points(node: t.Stmt) -> bool:
    """True if a statement passes the memory of a buffer on."""
    exprs = [expr for part in statements(node) for expr in subexpressions(*expressions(part))]
    return any(type(expr) is BufferPtr for expr in exprs)
