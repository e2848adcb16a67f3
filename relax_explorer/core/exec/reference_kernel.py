"""Runs a PrimFunc statement by statement, without compiling it. It is slow, and says what compiled kernels must say.

It runs kernels that numba cannot compile, and all kernels with the engine `reference`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from relax_explorer.core.exec import kernel_memory, kernel_traps
from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernel_memory import is_idle
from relax_explorer.core.exec.loop_expr import element
from relax_explorer.core.exec.loop_nests import reduction_nest
from relax_explorer.core.exec.reference_values import Stopped, Values, poison, scalar
from relax_explorer.core.exec.values import MEMORY_LIMIT, Value
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, INT64
from relax_explorer.core.ir.literals import wrap
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.stmt import Buffer

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]
Open = tuple[t.Stmt, Value]
"""A statement that is not done yet, with what is left of it. None stands for all."""


class Returned(Exception):
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
    machine = Reference(fn, variables, values, interrupt)
    try:
        with machine.explained():
            while machine.advance() is not None:
                pass
    except Returned as result:
        return result.value
    return None


class Reference(Values):
    """Runs statements. What is left to do stands in `open`, so that a copy of it is a place to go on from."""

    def __init__(
        self, fn: t.PrimFunc, variables: Sequence[p.PrimVar], values: Sequence[Value], interrupt: Interrupt
    ) -> None:
        super().__init__(fn)
        self.interrupt = interrupt
        self.open: list[Open] = [(fn.body, None)]  # the innermost last
        for param, value in zip((*fn.params, *variables), values, strict=True):
            self._bind(param, value)

    def _bind(self, param: Buffer | p.PrimVar, value: Value) -> None:
        """Give a parameter its argument."""
        if isinstance(param, Buffer):
            self.arrays[param] = value
        elif param.dtype is HANDLE:
            self.numbers[param] = value
        else:
            self.numbers[param] = self._element(param.dtype, value)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Raises a Failure where the program stops, and keeps numpy quiet. To be put around `advance`."""
        try:
            with np.errstate(all="ignore"):
                yield
        except Stopped as stop:
            note = [wrap(number, INT64) for number in (stop.value, stop.bound, *stop.loops)]
            raise kernel_traps.stopped(self.fn, stop.site, note[0], note[1], note[2:]) from None
        except (AssertionError, BufferError, MemoryError) as error:
            raise kernel_traps.failed(self.fn, error) from None

    def advance(self) -> t.Stmt | None:
        """Run to the end of the next store, or of the next call of a packed function; None at the end.

        Raises Cancelled if interrupted, and Returned at a return.
        """
        opened = self.open
        while opened:
            node, left = opened.pop()
            rule = _STATEMENTS.get(type(node))
            if rule is None:
                raise self.refuse(f"the statement {type(node).__name__}", node)
            if left is None and type(node) not in (t.SeqStmt, t.AttrStmt):
                self.statement_now = node
            if rule(self, node, left):
                return node
        return None

    def _seq(self, node: t.SeqStmt, left: Value) -> None:
        number = left or 0
        if number + 1 < len(node.stmts):
            self.open.append((node, number + 1))
        if node.stmts:
            self.open.append((node.stmts[number], None))

    def _for(self, node: t.For, left: Value) -> None:
        if left is None:
            chain, block = reduction_nest(node)
            if block is not None and block.init is not None and self._has_no_terms(chain, block):
                self.open.append((_initialization(chain, block, block.init), None))
                return
            left = self._start(node)
        value, end, step, outside = left
        if value >= end:
            self.loops = dict(outside)
            return
        self.interrupt.check()
        self.numbers[node.var] = self.loops[node.var] = value
        self.open += [(node, (value + step, end, step, outside)), (node.body, None)]

    def _start(self, node: t.For) -> tuple[int, int, int, dict[p.PrimVar, int]]:
        """The first value of a loop, its end, its step, and the values of the loops around it."""
        dtype = node.var.dtype
        start = wrap(self.of(node.start), dtype)
        end = wrap(start + wrap(self.of(node.extent), dtype), dtype)
        step = 1 if node.step is None else wrap(wrap(self.of(node.step), dtype), INT64)
        if step < 1:
            raise self.stop("step", step)
        # Loops count in 64 bits with a sign.
        return (wrap(start, INT64), wrap(end, INT64), step, dict(self.loops))

    def _has_no_terms(self, chain: list[t.For], block: t.SBlock) -> bool:
        """True for a reduction over an axis of length 0. Its loops never reach `init`, which compiled kernels run apart."""
        return any([self.of(loop.extent) <= 0 for loop in _split(chain, block)[1]])

    def _while(self, node: t.While, left: Value) -> None:
        self.interrupt.check()
        self.statement_now = node
        if self.of(node.condition):
            self.open += [(node, None), (node.body, None)]

    def _if(self, node: t.IfThenElse, left: Value) -> None:
        case = node.then_case if self.of(node.condition) else node.else_case
        if case is not None:
            self.open.append((case, None))

    def _block(self, node: t.SBlock, left: Value) -> None:
        for axis, value in zip(node.iter_vars, node.iter_values, strict=True):
            self._let_value(axis.var, value)
        if node.predicate is not None and not self.of(node.predicate):
            return
        if node.match_buffers:
            raise self.refuse("T.match_buffer inside a block", node)
        for buffer in node.alloc_buffers:
            self._allocate(buffer)
        self.open.append((node.body, None))
        if node.init is not None and all(
            [
                self.numbers[axis.var] == wrap(self.of(axis.domain.start), axis.var.dtype)
                for axis in node.iter_vars
                if axis.kind == "reduce"
            ]
        ):
            self.open.append((node.init, None))

    def _attr(self, node: t.AttrStmt, left: Value) -> None:
        self.open.append((node.body, None))

    # -- memory ---------------------------------------------------------------------------------------------------

    def _shape(self, buffer: Buffer) -> tuple[int, ...]:
        return tuple([int(self.of(dim)) for dim in buffer.shape])

    def _allocate(self, buffer: Buffer) -> None:
        dtype = buffer.dtype
        if dtype.lanes != 1 or dtype is HANDLE:
            raise self.refuse(f"{buffer.name}, a buffer of {dtype},")
        kind = np.dtype(element(dtype))
        shape, size = self._shape(buffer), kind.itemsize
        for length in shape:
            size *= length
        if min(shape, default=0) < 0 or size > MEMORY_LIMIT:
            raise MemoryError
        self.arrays[buffer] = np.full(shape, poison(dtype), kind)

    def _alloc(self, node: t.AllocBuffer, left: Value) -> None:
        buffer = node.buffer
        if buffer.is_scalar:
            self.numbers[buffer] = poison(buffer.dtype)
        elif buffer.data is None:
            self._allocate(buffer)
        else:
            self._view(node, buffer, buffer.data)

    def _view(self, node: t.AllocBuffer, buffer: Buffer, data: p.PrimExpr) -> None:
        start = kernel_memory.view_start(buffer, self.pointers.get(data, data))
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

    def _let_stmt(self, node: t.LetStmt, left: Value) -> None:
        self._let_value(node.var, node.value)
        if node.var.dtype is HANDLE:
            self.pointers[node.var] = self.pointers.get(node.value, node.value)

    # -- effects --------------------------------------------------------------------------------------------------

    def _store(self, node: t.BufferStore, left: Value) -> bool:
        buffer, dtype = node.buffer, node.buffer.dtype
        value = self.of(node.value)  # before the indices, as in compiled kernels
        value = wrap(int(value), dtype) if dtype.is_int else value if dtype.is_bool else scalar(dtype)(value)
        if buffer.is_scalar:
            self.numbers[buffer] = value
        else:
            self.write(self.arrays[buffer], self.place(buffer, node.indices), value)
        return True

    def write(self, array: Array, place: tuple[int, ...], value: Value) -> None:
        """Put an element into a buffer."""
        array[place] = value

    def _evaluate(self, node: t.Evaluate, left: Value) -> bool:
        value = node.value
        if isinstance(value, p.PrimCall) and value.op == "ret":
            raise Returned(self.of(value.args[0]))
        call = kernel_memory.known_call(value)
        if call is not None:
            arguments = [self.arrays[part] if isinstance(part, Buffer) else self.of(part) for part in call[1]]
            self.call(call[0], arguments)
        elif not is_idle(value):
            raise self.refuse(f"{str(value)[:60]}, evaluated for its effect,", node)
        return call is not None

    def call(self, name: str, arguments: Sequence[Value]) -> None:
        """Call a packed function, which fills buffers."""
        from relax_explorer.core.exec import loop_runtime

        getattr(loop_runtime, name)(*arguments)

    def _assert(self, node: t.AssertStmt, left: Value) -> None:
        if not self.of(node.condition):
            raise AssertionError(node.message)


def _initialization(chain: list[t.For], block: t.SBlock, init: t.Stmt) -> t.Stmt:
    """The loops over the results of a reduction that has no terms, around its `init`."""
    pairs = zip(block.iter_vars, block.iter_values, strict=True)
    own = [(axis, value) for axis, value in pairs if axis.kind != "reduce"]
    nest: t.Stmt = t.SBlock(
        block.name, tuple([axis for axis, _ in own]), tuple([value for _, value in own]), init
    )
    for loop in reversed(_split(chain, block)[0]):
        nest = replace(loop, body=nest)
    return nest


def _split(chain: list[t.For], block: t.SBlock) -> tuple[list[t.For], list[t.For]]:
    """The loops of a reduction over its results, and those over its terms."""
    terms = {
        value for axis, value in zip(block.iter_vars, block.iter_values, strict=True) if axis.kind == "reduce"
    }
    return [loop for loop in chain if loop.var not in terms], [loop for loop in chain if loop.var in terms]


_STATEMENTS: dict[type, Callable[[Reference, Any, Value], bool | None]] = {
    t.SeqStmt: Reference._seq,
    t.For: Reference._for,
    t.SBlock: Reference._block,
    t.AllocBuffer: Reference._alloc,
    t.BufferStore: Reference._store,
    t.Evaluate: Reference._evaluate,
    t.LetStmt: Reference._let_stmt,
    t.IfThenElse: Reference._if,
    t.While: Reference._while,
    t.AttrStmt: Reference._attr,
    t.AssertStmt: Reference._assert,
}
