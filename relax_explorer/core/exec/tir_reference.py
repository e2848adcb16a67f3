"""Runs a PrimFunc statement by statement, without compiling it. It is slow, and says what compiled kernels must say.

It runs kernels that numba cannot compile, and all kernels with the engine `reference`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from relax_explorer.core.exec import tir_memory, tir_packed, tir_traps
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.tir_codegen import is_idle
from relax_explorer.core.exec.tir_expr import element
from relax_explorer.core.exec.tir_nests import reduction_nest
from relax_explorer.core.exec.tir_values import Stopped, Values, scalar, wrap
from relax_explorer.core.exec.values import MEMORY_LIMIT, Value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, DType
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.intervals import limits

Stores = Iterator[t.BufferStore]


class _Return(Exception):
    """The PrimFunc returned a scalar."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


def run_reference(
    fn: t.PrimFunc, variables: Sequence[p.PrimVar], values: Sequence[Value], interrupt: Interrupt
) -> Value:
    """Run a PrimFunc on the arguments of its compiled text (`Kernel.passed`); `variables` are those after the parameters.

    Fills the outputs and returns the scalar result, or None. Raises Failure where the program stops, Cancelled if interrupted.
    """
    machine = _Reference(fn, interrupt)
    for param, value in zip((*fn.params, *variables), values, strict=True):
        machine.bind(param, value)
    try:
        with np.errstate(all="ignore"):
            deque(machine.statement(fn.body), maxlen=0)
    except _Return as result:
        return result.value
    except Stopped as stop:
        raise tir_traps.stopped(fn, stop.site, stop.value, stop.bound, stop.loops) from None
    except (AssertionError, BufferError, MemoryError) as error:
        raise tir_traps.failed(fn, error) from None
    return None


class _Reference(Values):
    """Runs statements. Each rule yields the stores that it has done."""

    def __init__(self, fn: t.PrimFunc, interrupt: Interrupt) -> None:
        super().__init__(fn)
        self.interrupt = interrupt

    def bind(self, param: Buffer | p.PrimVar, value: Value) -> None:
        """Give a parameter its argument."""
        if isinstance(param, Buffer):
            self.arrays[param] = value
        elif param.dtype is HANDLE:
            self.numbers[param] = value
        else:
            self.numbers[param] = self._element(param.dtype, value)

    def statement(self, node: t.Stmt) -> Stores:
        """Run one statement."""
        rule = _STATEMENTS.get(type(node))
        if rule is None:
            raise self.refuse(f"the statement {type(node).__name__}", node)
        if type(node) not in (t.SeqStmt, t.AttrStmt):
            self.statement_now = node
        return rule(self, node)

    def _seq(self, node: t.SeqStmt) -> Stores:
        for statement in node.stmts:
            yield from self.statement(statement)

    def _for(self, node: t.For) -> Stores:
        if node.kind == "thread_binding":
            raise self.refuse("a loop over GPU threads", node)
        chain, block = reduction_nest(node)
        if block is not None and block.init is not None and self._has_no_terms(chain, block):
            yield from self._initialize(chain, block, block.init)
            return
        for _ in self._values(node):
            yield from self.statement(node.body)

    def _values(self, node: t.For) -> Iterator[int]:
        """The values of a loop variable, which is bound to each."""
        dtype = node.var.dtype
        start = wrap(self.of(node.start), dtype)
        end = wrap(start + wrap(self.of(node.extent), dtype), dtype)
        step = 1 if node.step is None else wrap(self.of(node.step), dtype)
        if step < 1:
            raise self.stop("step", step)
        outside = dict(self.loops)
        for value in range(start, end, step):
            self.interrupt.check()
            self.numbers[node.var] = self.loops[node.var] = value
            yield value
        self.loops = outside

    def _has_no_terms(self, chain: list[t.For], block: t.SBlock) -> bool:
        """True for a reduction over an axis of length 0. Its loops never reach `init`, which compiled kernels run apart."""
        return any([self.of(loop.extent) <= 0 for loop in _split(chain, block)[1]])

    def _initialize(self, chain: list[t.For], block: t.SBlock, init: t.Stmt) -> Stores:
        loops = _split(chain, block)[0]
        if not loops:
            for axis, value in zip(block.iter_vars, block.iter_values, strict=True):
                if axis.kind != "reduce":
                    self._let_value(axis.var, value)
            yield from self.statement(init)
            return
        for _ in self._values(loops[0]):
            yield from self._initialize([loop for loop in chain if loop is not loops[0]], block, init)

    def _while(self, node: t.While) -> Stores:
        while True:
            self.interrupt.check()
            self.statement_now = node
            if not self.of(node.condition):
                return
            yield from self.statement(node.body)

    def _if(self, node: t.IfThenElse) -> Stores:
        case = node.then_case if self.of(node.condition) else node.else_case
        if case is not None:
            yield from self.statement(case)

    def _block(self, node: t.SBlock) -> Stores:
        for axis, value in zip(node.iter_vars, node.iter_values, strict=True):
            self._let_value(axis.var, value)
        if node.predicate is not None and not self.of(node.predicate):
            return
        if node.match_buffers:
            raise self.refuse("T.match_buffer inside a block", node)
        for buffer in node.alloc_buffers:
            self._allocate(buffer)
        if node.init is not None and all(
            [
                self.numbers[axis.var] == wrap(self.of(axis.domain.start), axis.var.dtype)
                for axis in node.iter_vars
                if axis.kind == "reduce"
            ]
        ):
            yield from self.statement(node.init)
        yield from self.statement(node.body)

    def _attr(self, node: t.AttrStmt) -> Stores:
        if node.key == "launch_thread":
            raise self.refuse("a launched GPU thread", node)
        yield from self.statement(node.body)

    # -- memory ---------------------------------------------------------------------------------------------------

    def _shape(self, buffer: Buffer) -> tuple[int, ...]:
        return tuple([int(self.of(dim)) for dim in buffer.shape])

    def _allocate(self, buffer: Buffer) -> None:
        dtype = buffer.dtype
        if dtype.lanes != 1 or dtype is HANDLE:
            raise self.refuse(f"{buffer.name}, a buffer of {dtype},")
        kind = np.dtype(element(dtype).removeprefix("np."))
        shape, size = self._shape(buffer), kind.itemsize
        for length in shape:
            size *= length
        if min(shape, default=0) < 0 or size > MEMORY_LIMIT:
            raise MemoryError
        self.arrays[buffer] = np.full(shape, _poison(dtype), kind)

    def _alloc(self, node: t.AllocBuffer) -> Stores:
        buffer = node.buffer
        if buffer.is_scalar:
            self.numbers[buffer] = _poison(buffer.dtype)
        elif buffer.data is None:
            self._allocate(buffer)
        else:
            self._view(node, buffer, buffer.data)
        yield from ()

    def _view(self, node: t.AllocBuffer, buffer: Buffer, data: p.PrimExpr) -> None:
        start = tir_memory.view_start(buffer, self.pointers.get(data, data))
        if start is None:
            raise self.refuse(f"{buffer.name}, a view with strides or of another dtype,", node)
        flat, first, shape = self.of(data), int(self.of(start)), self._shape(buffer)
        size = int(np.prod(shape, dtype=object))
        if min(shape, default=0) < 0 or not 0 <= first <= len(flat) or size > len(flat) - first:
            raise BufferError
        self.arrays[buffer] = flat[first : first + size].reshape(shape)

    def _let_value(self, var: p.PrimVar, value: p.PrimExpr) -> None:
        number = self.of(value)
        self.numbers[var] = (
            wrap(int(number), var.dtype) if var.dtype.is_int and value.dtype.is_int else number
        )

    def _let_stmt(self, node: t.LetStmt) -> Stores:
        self._let_value(node.var, node.value)
        if node.var.dtype is HANDLE:
            self.pointers[node.var] = self.pointers.get(node.value, node.value)
        yield from ()

    # -- effects --------------------------------------------------------------------------------------------------

    def _store(self, node: t.BufferStore) -> Stores:
        buffer, dtype = node.buffer, node.buffer.dtype
        value = self.of(node.value)  # before the indices, as in compiled kernels
        value = wrap(int(value), dtype) if dtype.is_int else value if dtype.is_bool else scalar(dtype)(value)
        if buffer.is_scalar:
            self.numbers[buffer] = value
        else:
            self.arrays[buffer][self.place(buffer, node.indices)] = value
        yield node

    def _evaluate(self, node: t.Evaluate) -> Stores:
        value = node.value
        if isinstance(value, p.PrimCall) and value.op == "ret":
            raise _Return(self.of(value.args[0]))
        call = tir_packed.known_call(value)
        if call is not None:
            from relax_explorer.core.exec import tir_sorting  # loads numba

            arguments = [self.arrays[part] if isinstance(part, Buffer) else self.of(part) for part in call[1]]
            getattr(tir_sorting, call[0])(*arguments)
        elif not is_idle(value):
            raise self.refuse(f"{str(value)[:60]}, evaluated for its effect,", node)
        yield from ()

    def _assert(self, node: t.AssertStmt) -> Stores:
        if not self.of(node.condition):
            raise AssertionError(node.message)
        yield from ()


def _split(chain: list[t.For], block: t.SBlock) -> tuple[list[t.For], list[t.For]]:
    """The loops of a reduction over its results, and those over its terms."""
    terms = {
        value for axis, value in zip(block.iter_vars, block.iter_values, strict=True) if axis.kind == "reduce"
    }
    return [loop for loop in chain if loop.var not in terms], [loop for loop in chain if loop.var in terms]


def _poison(dtype: DType) -> Value:
    """The content of memory that was not written, as in compiled kernels."""
    if dtype.is_bool:
        return True
    return limits(dtype)[0 if dtype.kind == "int" else 1] if dtype.is_int else scalar(dtype)(np.nan)


_STATEMENTS: dict[type, Callable[[_Reference, Any], Stores]] = {
    t.SeqStmt: _Reference._seq,
    t.For: _Reference._for,
    t.SBlock: _Reference._block,
    t.AllocBuffer: _Reference._alloc,
    t.BufferStore: _Reference._store,
    t.Evaluate: _Reference._evaluate,
    t.LetStmt: _Reference._let_stmt,
    t.IfThenElse: _Reference._if,
    t.While: _Reference._while,
    t.AttrStmt: _Reference._attr,
    t.AssertStmt: _Reference._assert,
}
