"""Runs kernels whose GPU threads work together (SIMT): the threads run each statement at once, and all read before one writes.

So values go from thread to thread as with a barrier after each statement, and as in the lanes of a warp. It is how kernels mean it
that have their barriers, and those that get them later (TVM puts `tvm_storage_sync` where threads share memory, behind the last Relax
pass). Blocks run side by side, each with its own memory. Threads that are not in a branch or loop wait at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from relax_explorer.core.exec import kernel_traps
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernel_memory import is_idle
from relax_explorer.core.exec.loop_expr import element
from relax_explorer.core.exec.loop_nests import exchange
from relax_explorer.core.exec.reference_values import Stopped, poison
from relax_explorer.core.exec.simt_values import ThreadValues
from relax_explorer.core.exec.values import MEMORY_LIMIT, Value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import children, expressions, statements, subexpressions

_THREADS = ("threadIdx", "vthread")
_MOST_THREADS = 1 << 17  # that run at once
_MOST_BYTES = 1 << 24  # of memory of blocks that run at once
_BARRIERS = ("tvm_storage_sync",)
_NEEDED: PerNode[bool] = PerNode()


def needs_simt(fn: t.PrimFunc) -> bool:
    """True if the threads of a PrimFunc work together, or are launched where its text says so."""
    return _NEEDED.of(fn, _is_needed)


def _is_needed(fn: t.PrimFunc) -> bool:
    launches = any(type(node) is t.AttrStmt and _launch(node) is not None for node in statements(fn.body))
    return launches or exchange(fn)


def run_simt(
    fn: t.PrimFunc, variables: Sequence[p.PrimVar], values: Sequence[Value], interrupt: Interrupt
) -> None:
    """Run a PrimFunc on its arguments, as `run_reference` does. Fills the outputs.

    Raises Failure where the program stops or a part can't be run, Cancelled if interrupted.
    """
    machine = SimtKernel(fn, interrupt)
    for param, value in zip((*fn.params, *variables), values, strict=True):
        machine.bind(param, value)
    try:
        with np.errstate(all="ignore"):
            machine.run(fn.body)
    except Stopped as stop:
        raise kernel_traps.stopped(fn, stop.site, stop.value, stop.bound, list(stop.loops)) from None
    except (AssertionError, BufferError, MemoryError) as error:
        raise kernel_traps.failed(fn, error) from None


@dataclass(frozen=True, slots=True)
class _Launch:
    """Threads or blocks that a loop or `T.launch_thread` begins: their variable, its first value and their number."""

    var: p.PrimVar
    start: p.PrimExpr
    extent: p.PrimExpr
    is_block: bool


def _launch(node: t.Stmt) -> _Launch | None:
    """What a statement launches; None for others."""
    if type(node) is t.For and node.kind == "thread_binding":
        return _Launch(node.var, node.start, node.extent, not str(node.thread).startswith(_THREADS))
    if type(node) is t.AttrStmt and node.key == "launch_thread":
        var, thread = node.subject
        return _Launch(var, p.IntImm(0, var.dtype), node.value, not thread.value.startswith(_THREADS))
    return None


def _threads_inside(node: t.Stmt) -> int:
    """The most threads that a block has inside a statement. A number that is computed counts as what GPUs have at most."""
    inner, found = max(map(_threads_inside, children(node)), default=1), _launch(node)
    if found is None or found.is_block:
        return inner
    return inner * max(1, found.extent.value if isinstance(found.extent, p.IntImm) else 1024)


def _repeated(values: Array, count: int) -> Array:
    """The values of threads for so many threads each; a scalar, which all have, stays."""
    return np.repeat(values, count) if values.ndim else values


def _private(fn: t.PrimFunc) -> frozenset[Buffer]:
    """The local buffers of which each thread has its own, wherever they are allocated: no thread tells which element it means.

    Schedules also have local buffers with an axis for the threads, whose elements are read in other loops over the same threads.
    """
    by_thread: set[p.PrimExpr] = set()
    found: set[Buffer] = set()
    for node in statements(fn.body):
        by_thread |= {var for var, *values in _binds(node) if by_thread & set(p.free_vars(*values))}
        launched = _launch(node)
        if launched is not None and not launched.is_block:
            by_thread.add(launched.var)
        elif type(node) is t.BufferStore:
            found |= _ignoring(node.buffer, node.indices, by_thread)
        for part in subexpressions(*expressions(node)):
            if type(part) is BufferLoad:
                found |= _ignoring(part.buffer, part.indices, by_thread)
    return frozenset(found)


def _binds(node: t.Stmt) -> Iterator[tuple[p.PrimVar, *tuple[p.PrimExpr, ...]]]:
    """The variables that a statement binds, each with what its values come from."""
    if type(node) is t.LetStmt:
        yield node.var, node.value
    elif type(node) is t.For:
        yield node.var, node.start, node.extent
    elif type(node) is t.SBlock:
        for axis, value in zip(node.iter_vars, node.iter_values, strict=True):
            yield axis.var, value


def _ignoring(buffer: Buffer, indices: tuple[p.PrimExpr, ...], by_thread: set[p.PrimExpr]) -> set[Buffer]:
    is_local = buffer.scope == "local" and by_thread.isdisjoint(p.free_vars(*indices))
    return {buffer} if is_local else set()


class SimtKernel(ThreadValues):
    """Runs statements for the active threads."""

    def __init__(self, fn: t.PrimFunc, interrupt: Interrupt) -> None:
        super().__init__(fn)
        self.interrupt = interrupt
        self.private = _private(fn)

    def bind(self, param: Buffer | p.PrimVar, value: Value) -> None:
        """Give a parameter its argument."""
        if isinstance(param, Buffer):
            self.arrays[param] = value
        elif param.dtype is HANDLE:
            raise self.refuse(f"the handle {param.name} of a kernel whose threads work together")
        else:
            self.numbers[param] = np.asarray(value).astype(element(param.dtype))

    def run(self, node: t.Stmt) -> None:
        """Run a statement, unless no thread does."""
        rule = _STATEMENTS.get(type(node))
        if rule is None:
            raise self.refuse(f"the statement {type(node).__name__}", node)
        if type(node) not in (t.SeqStmt, t.AttrStmt):
            self.statement_now = node
        if self.active.any():
            rule(self, node)

    @contextmanager
    def only(self, condition: Array) -> Iterator[None]:
        """Inside, the active threads with a condition run."""
        outer = self.active
        self.active = outer & self.each(condition)
        try:
            yield
        finally:
            self.active = outer

    def _seq(self, node: t.SeqStmt) -> None:
        for part in node.stmts:
            self.run(part)

    # -- loops ----------------------------------------------------------------------------------------------------

    def _for(self, node: t.For) -> None:
        launched = _launch(node)
        if launched is not None:
            self._launched(launched, node.body)
            return
        step = 1 if node.step is None else self.common(node.step)
        if step is None or step < 1:
            raise self.refuse("a loop whose step differs from thread to thread", node)
        start, extent = self.of(node.start), self.of(node.extent)
        most = int(self.each(extent)[self.active].max())
        outer = dict(self.loops)
        for offset in range(0, most, step):
            self.interrupt.check()
            self.numbers[node.var] = (start + offset).astype(element(node.var.dtype))
            self.loops = {**outer, node.var: self.numbers[node.var]}
            with self.only(offset < extent):
                self.run(node.body)
        self.loops = outer

    def _attr(self, node: t.AttrStmt) -> None:
        launched = _launch(node)
        if launched is None:
            self.run(node.body)
        else:
            self._launched(launched, node.body)

    def _launched(self, found: _Launch, body: t.Stmt) -> None:
        """Run a statement in all threads of a block at once, or in as many blocks at a time as memory allows."""
        first, count = self.common(found.start), self.common(found.extent)
        if first is None or count is None:
            raise self.refuse(f"a number of threads that differs from thread to thread ({found.extent})")
        each = self._blocks_at_once(body) if found.is_block else _MOST_THREADS // self.threads
        if not found.is_block and count > each:
            raise self.refuse(f"a block of {count * self.threads} threads")
        for at in range(first, first + count, each):
            self.interrupt.check()
            numbers = np.arange(at, min(at + each, first + count), dtype=element(found.var.dtype))
            with self._spread(len(numbers), found.is_block):
                self.numbers[found.var] = self.loops[found.var] = np.tile(
                    numbers, self.threads // len(numbers)
                )
                self.run(body)

    def _blocks_at_once(self, body: t.Stmt) -> int:
        """How many blocks each thread becomes at a time: as many as the threads in them and the memory of blocks allow."""
        memory = sum([array.nbytes for array in self.shared.values()])
        return max(
            1, min(_MOST_THREADS // (self.threads * _threads_inside(body)), _MOST_BYTES // max(1, memory))
        )

    @contextmanager
    def _spread(self, count: int, is_block: bool) -> Iterator[None]:
        """Inside, each thread is so many, which begin with its values and its memory; of one block, or in so many blocks."""
        outer = vars(self).copy()
        self.threads *= count
        self.numbers = {key: _repeated(value, count) for key, value in self.numbers.items()}
        self.loops = {key: _repeated(value, count) for key, value in self.loops.items()}
        self.active = np.repeat(self.active, count)
        if is_block:
            self.blocks *= count
            self.block = np.repeat(self.block * count, count) + np.tile(
                np.arange(count), self.threads // count
            )
            if count > 1:  # else the same memory, which may be large
                self.shared = {key: np.repeat(array, count, axis=0) for key, array in self.shared.items()}
        else:
            private = {key: array[self.block] for key, array in self.shared.items() if key in self.private}
            self.own = {
                key: np.repeat(array, count, axis=0) for key, array in {**private, **self.own}.items()
            }
            self.block = np.repeat(self.block, count)
        try:
            yield
        finally:
            vars(self).update(outer)  # what all threads share, `arrays`, is the same object

    def _while(self, node: t.While) -> None:
        outer = self.active
        try:
            while True:
                self.interrupt.check()
                self.statement_now = node
                self.active = self.active & self.each(self.of(node.condition))
                if not self.active.any():
                    return
                self.run(node.body)
        finally:
            self.active = outer

    def _if(self, node: t.IfThenElse) -> None:
        condition = self.each(self.of(node.condition))
        with self.only(condition):
            self.run(node.then_case)
        if node.else_case is not None:
            with self.only(np.logical_not(condition)):
                self.run(node.else_case)

    def _block(self, node: t.SBlock) -> None:
        if node.match_buffers:
            raise self.refuse("T.match_buffer inside a block", node)
        for axis, value in zip(node.iter_vars, node.iter_values, strict=True):
            self._bound(axis.var, value)
        for buffer in node.alloc_buffers:
            self._allocate(buffer)
        reduced = [axis for axis in node.iter_vars if axis.kind == "reduce"]
        with self.only(self.active if node.predicate is None else self.of(node.predicate)):
            terms = [self.each(self.numbers[axis.var])[self.active] for axis in reduced]
            if all(bool((values == values[:1]).all()) for values in terms):
                self._once(node, reduced)
                return
            # Each thread adds a term of its own to one result: the order of terms is that of a loop.
            every = np.stack([self.each(self.numbers[axis.var]) for axis in reduced])
            for term in np.unique(every[:, self.active], axis=1).T:
                self.interrupt.check()
                with self.only((every == term[:, None]).all(axis=0)):
                    self._once(node, reduced)

    def _once(self, node: t.SBlock, reduced: Sequence[t.IterVar]) -> None:
        """Run the body of a block, after `init` where the sums begin."""
        if node.init is not None:
            firsts = [self.each(self.numbers[axis.var] == self.of(axis.domain.start)) for axis in reduced]
            with self.only(np.logical_and.reduce(firsts, axis=0)):
                self.run(node.init)
        self.run(node.body)

    # -- memory ---------------------------------------------------------------------------------------------------

    def _allocate(self, buffer: Buffer) -> None:
        if buffer.dtype.lanes != 1 or buffer.dtype is HANDLE:
            raise self.refuse(f"{buffer.name}, a buffer of {buffer.dtype},")
        if not buffer.scope.startswith(("local", "shared", "global")) and buffer.scope:
            raise self.refuse(f"{buffer.name}, a buffer of the scope {buffer.scope},")
        kind, lengths = np.dtype(element(buffer.dtype)), [self.common(dim) for dim in buffer.shape]
        kept, owners = self._place(buffer)
        shape = tuple([length for length in lengths if length is not None])
        if len(shape) < len(lengths):
            raise self.refuse(f"{buffer.name}, a buffer whose size differs from thread to thread,")
        size = kind.itemsize * prod(owners)
        for length in shape:
            size *= length
        if min(shape, default=0) < 0 or size > MEMORY_LIMIT:
            raise MemoryError
        kept[buffer] = np.full((*owners, *shape), poison(buffer.dtype), kind)

    def _place(self, buffer: Buffer) -> tuple[dict[Buffer, Array], tuple[int, ...]]:
        """Where a buffer belongs that is allocated now, and the threads or blocks that have one of their own."""
        if buffer.scope.startswith("global") or (not buffer.scope and self.threads == 1):
            return self.arrays, ()
        is_before_threads = self.threads == self.blocks  # the threads of a block are not launched yet
        if buffer.scope.startswith("shared") or is_before_threads:
            return self.shared, (self.blocks,)
        return self.own, (self.threads,)

    def _alloc(self, node: t.AllocBuffer) -> None:
        if node.buffer.data is not None:
            raise self.refuse(f"{node.buffer.name}, a view of other memory,", node)
        if node.buffer.is_scalar:
            self.numbers[node.buffer] = np.asarray(poison(node.buffer.dtype)).astype(
                element(node.buffer.dtype)
            )
        else:
            self._allocate(node.buffer)

    def _bound(self, var: p.PrimVar, value: p.PrimExpr) -> None:
        """Bind a variable. Inactive threads keep theirs: they may be in a loop that has ended for them."""
        if var.dtype is HANDLE:
            raise self.refuse(f"the pointer {var.name}")
        self.numbers[var] = self.of(value).astype(element(var.dtype), copy=False)

    def _store(self, node: t.BufferStore) -> None:
        buffer = node.buffer
        value = self.of(node.value)  # before the indices, as in compiled kernels
        if buffer.is_scalar:
            before = self.numbers[buffer]
            self.numbers[buffer] = np.where(self.active, value, before).astype(element(buffer.dtype))
            return
        places = self.places(buffer, node.indices)
        array = self.memory(buffer)
        array[tuple([place[self.active] for place in places])] = self.each(value)[self.active]

    def _evaluate(self, node: t.Evaluate) -> None:
        value = node.value
        if not is_idle(value) and not (isinstance(value, p.PrimCall) and value.op in _BARRIERS):
            raise self.refuse(f"{str(value)[:60]}, evaluated for its effect,", node)

    def _assert(self, node: t.AssertStmt) -> None:
        if not self.each(self.of(node.condition))[self.active].all():
            raise AssertionError(node.message)


_STATEMENTS: dict[type, Callable[[SimtKernel, Any], None]] = {
    t.SeqStmt: SimtKernel._seq,
    t.For: SimtKernel._for,
    t.SBlock: SimtKernel._block,
    t.AllocBuffer: SimtKernel._alloc,
    t.BufferStore: SimtKernel._store,
    t.Evaluate: SimtKernel._evaluate,
    t.LetStmt: lambda machine, node: machine._bound(node.var, node.value),
    t.IfThenElse: SimtKernel._if,
    t.While: SimtKernel._while,
    t.AttrStmt: SimtKernel._attr,
    t.AssertStmt: SimtKernel._assert,
}
