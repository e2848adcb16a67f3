"""Translate PrimFuncs to Python source for numba. No name or string of the program enters the text: variables are v0, buffers b0.

Arithmetic keeps TIR's dtypes (`tir_expr`). Elements of float16, bfloat16 and float8 are computed as float32; the caller converts
the arrays. Memory allocated by a kernel starts with NaN, the least integer (the largest of an unsigned dtype) or True. A
program that reads it before a write has a bug, and gets the same numbers each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

from relax_explorer.core.exec import tir_memory, tir_packed, tir_polls
from relax_explorer.core.exec.thread_loops import exchange
from relax_explorer.core.exec.tir_expr import Expressions, element, into
from relax_explorer.core.exec.tir_nests import is_filled_first, reduction_nest
from relax_explorer.core.exec.values import MEMORY_LIMIT
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, DType
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.intervals import Interval, Intervals, limits, wrapped
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import statements

HEADER = """import math
import numpy as np
from numba import njit
from relax_explorer.core.exec.tir_support import (
    add, allocated, at, distance, floor_div, floor_mod, inside, larger, left, mul, nonzero, piece, poll, positive, power, quotient, rest,
    right, right_unsigned, smaller, sub, trunc_div, trunc_mod, whole, window,
)
from relax_explorer.core.exec.tir_narrow import narrow


"""
_MOST = (1 << 63) - 1
# Sample lengths for deciding the facts of a kernel with symbolic lengths: an increasing row and a decreasing row.
_SAMPLES = (
    (101, 103, 107, 109, 113, 127, 131, 137, 139, 149),
    (97, 89, 83, 79, 73, 71, 67, 61, 59, 53),
)


def generate(fn: t.PrimFunc) -> str:
    """The source of a module. Its `kernel` takes the parameters, then the shape variables, a note and a flag.

    Raises Failure if a part has no translation.
    """
    return translate(fn).source()


def translate(
    fn: t.PrimFunc,
    points: Mapping[p.PrimVar, int] | None = None,
    trusting: bool = True,
    in_order: bool = False,
    divided: t.For | None = None,
) -> Translation:
    """The translation of a PrimFunc. `points` are the values of the length variables for which facts are decided.

    Unless it is `trusting`, the text relies on no fact. With `in_order`, no loops are exchanged. The loop `divided` runs for the
    values from `first` to `last` only, which the text takes as numbers before the note.
    """
    if points is not None:
        return Translation(fn, [Intervals(points)], trusting, in_order)
    variables = length_variables(fn)
    rows = _SAMPLES if variables else _SAMPLES[:1]
    samples = [
        Intervals({var: row[number % len(row)] for number, var in enumerate(variables)}) for row in rows
    ]
    return Translation(fn, samples, trusting, in_order, divided)


def shape_variables(fn: t.PrimFunc) -> list[p.PrimVar]:
    """The variables of the parameters' dimensions, except those that are parameters themselves."""
    scalars = {param for param in fn.params if isinstance(param, p.PrimVar)}
    return [var for var in length_variables(fn) if var not in scalars]


def length_variables(fn: t.PrimFunc) -> list[p.PrimVar]:
    """The variables of the parameters' dimensions."""
    dims = [dim for param in fn.params if isinstance(param, Buffer) for dim in param.shape]
    return [var for var in p.free_vars(*dims) if var.dtype.is_int]


class Translation(Expressions):
    """Translates a PrimFunc to text, statement by statement."""

    def __init__(
        self,
        fn: t.PrimFunc,
        samples: Sequence[Intervals],
        trusting: bool,
        in_order: bool = False,
        divided: t.For | None = None,
    ) -> None:
        super().__init__(fn, samples, trusting)
        self.in_order, self.divided = in_order, divided
        self.lines: list[str] = []
        self.messages: list[str] = []  # the messages of assertions
        self.calls_packed = False
        self.polls = tir_polls.Polls()
        self.temporaries = 0
        self.following: tuple[t.Stmt, ...] = ()  # the statements after the current one in its sequence
        for param in fn.params:
            if isinstance(param, Buffer):
                self.measure(param)
        self.text = self._text()

    def line(self, depth: int, text: str) -> None:
        """Append a line at an indentation depth."""
        self.lines.append("    " * depth + text)

    def source(self) -> str:
        """The module's text."""
        return self.text

    def _text(self) -> str:
        params = [self.name(variable) for variable in (*self.fn.params, *shape_variables(self.fn))]
        params += [] if self.divided is None else ["first", "last"]
        for param in self.fn.params:
            if isinstance(param, p.PrimVar) and param.dtype is not HANDLE:
                self.line(1, f"{self.name(param)} = {_scalar(param.dtype, self.name(param))}")
        self.statement(self.fn.body, 1)
        body = self.lines or ["    pass"]
        if self.hides:  # the first byte of an address is 0, so this is -1
            body = ["    ones = ~right(stop, np.int64(56))", *body]
        header = (tir_packed.HEADER if self.calls_packed else "") + HEADER
        head = (
            '@njit(error_model="numpy", nogil=True)',
            f"def kernel({', '.join([*params, 'note', 'stop'])}):",
        )
        return "\n".join([header + head[0], head[1], *body, ""])

    @cached_property
    def exchange(self) -> str:
        """How GPU threads exchange values; empty if they can run one after the other."""
        return exchange(self.fn)

    def bind(self, var: p.PrimVar, interval: Callable[[Intervals], Interval | None]) -> None:
        """Bind a variable to its interval in each sample."""
        for sample in self.samples:
            sample.bind(var, interval(sample))

    def value(self, var: p.PrimVar, value: p.PrimExpr) -> str:
        """The value of a variable as text, converted to its dtype."""
        if not (var.dtype.is_int and value.dtype.is_int):
            return self.expr(value)
        value = value if value.dtype is var.dtype else p.Cast(var.dtype, value)
        with self.index():
            text = self.expr(value)
        self.bind(var, lambda sample: sample.of(value))
        return text

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, node: t.Stmt, depth: int) -> None:
        """Translate one statement."""
        rule = _STATEMENTS.get(type(node))
        if rule is None:
            raise self.refuse(f"the statement {type(node).__name__}", node)
        if type(node) not in (t.SeqStmt, t.AttrStmt):
            self.statement_now = node
        rule(self, node, depth)

    def _seq(self, node: t.SeqStmt, depth: int) -> None:
        for number, statement in enumerate(node.stmts, 1):
            self.following = node.stmts[number:]
            self.statement(statement, depth)
        if not node.stmts:
            self.line(depth, "pass")

    # -- loops ----------------------------------------------------------------------------------------------------

    def _for(self, node: t.For, depth: int) -> None:
        if node.kind == "thread_binding" and self.exchange:
            raise self.refuse(f"a loop over GPU threads {self.exchange}", node)
        chain, block = reduction_nest(node)
        if block is not None and not self.in_order:
            self._reduction(chain, block, depth)
            return
        state = self._loop_state()
        inner = self._loop(node, node.body, depth, tir_polls.loop(node.extent, self.polls.work(node.body))[0])
        self.statement(node.body, inner)
        self._release(state)

    def _loop_state(self) -> tuple[int, list[bool]]:
        """The state that a loop changes and restores: the number of open loops, and the samples that never enter it."""
        return len(self.loops), [sample.is_dead for sample in self.samples]

    def _release(self, state: tuple[int, list[bool]]) -> None:
        del self.loops[state[0] :]
        for sample, was in zip(self.samples, state[1], strict=True):
            sample.is_dead = was

    def _loop(self, node: t.For, inner: t.Stmt, depth: int, looks: str) -> int:
        """Emit the head of a loop and return the depth of its body. The end `start + extent` wraps like the loop variable."""
        self.statement_now = node
        var, start = node.var, _as(node.var.dtype, node.start)
        end: p.PrimExpr = p.Add(start, _as(var.dtype, node.extent))
        if isinstance(start, p.IntImm) and start.value == 0:
            end = _as(var.dtype, node.extent)
        low, high = _signed(var.dtype, self.expr(start)), _signed(var.dtype, self.expr(end))
        if low != "(0)" and not self.fact(lambda sample: sample.keeps(end) and var.dtype.name != "uint64"):
            # `range` needs the difference as a signed number, so it must be between 0 and 2**63 - 1.
            high = f"piece({low}, larger({high}, {low}), {_MOST})"
        step = self._step(node)
        if looks is tir_polls.PIECES and not any(type(item) is t.For for item in statements(inner)):
            extent = _as(var.dtype, node.extent)
            is_short = self.fact(lambda sample: sample.lies(extent, (-_MOST, tir_polls.SHORT)))
            looks = tir_polls.NEVER if is_short else looks
        self._enter(var, start, end)
        if node is self.divided:
            low, high = f"larger({low}, first)", f"smaller({high}, last)"
        bounds = f"{low}, {high}{step}" if low != "(0)" or step else high
        if looks is tir_polls.PIECES and not step:
            self.temporaries += 2
            first, last = f"t{self.temporaries - 1}", f"t{self.temporaries}"
            self.line(depth, f"{last} = {high}")
            self.line(depth, f"for {first} in range({low}, {last}, {tir_polls.PIECE}):")
            self.line(depth + 1, "poll(stop)")
            bounds, depth = f"{first}, piece({first}, {last}, {tir_polls.PIECE})", depth + 1
        self.line(depth, f"for {self.name(var)} in range({bounds}):")
        if looks is tir_polls.EACH or (step and looks is not tir_polls.NEVER):
            self.line(depth + 1, "poll(stop)")
        if var.dtype.name == "uint64":
            self.line(depth + 1, f"{self.name(var)} = np.uint64({self.name(var)})")
        return depth + 1

    def _step(self, node: t.For) -> str:
        if node.step is None:
            return ""
        step = _as(node.var.dtype, node.step)
        text = _signed(node.var.dtype, self.expr(step))
        site, known = self.site("step"), self.fact(lambda sample: sample.lies(step, (1, (1 << 63) - 1)))
        return f", {text}" if known else f", positive({text}, {site})"

    def _enter(self, var: p.PrimVar, start: p.PrimExpr, end: p.PrimExpr) -> None:
        for sample in self.samples:
            first, last = sample.of(start), sample.of(end)
            is_known = first is not None and last is not None and var.dtype.name != "uint64"
            if first is None or last is None or not is_known:
                sample.bind(var, None)
                continue
            sample.is_dead = sample.is_dead or last[1] <= first[0]
            sample.bind(var, (first[0], max(last[1] - 1, first[0])))
        self.loops.append(var)

    def _reduction(self, chain: list[t.For], block: t.SBlock, depth: int) -> None:
        """Emit `init` in separate loops, then the innermost spatial loop inside the reduction. The order of terms stays."""
        reduce_vars = {
            value
            for axis, value in zip(block.iter_vars, block.iter_values, strict=True)
            if axis.kind == "reduce"
        }
        spatial = [loop for loop in chain if loop.var not in reduce_vars]
        inner = [loop for loop in chain if loop.var in reduce_vars]
        assert block.init is not None  # `reduction_nest` requires it
        spatial_axes = {axis.var for axis in block.iter_vars if axis.kind != "reduce"}
        self._nest(spatial, block, block.init, spatial_axes, depth)
        self._nest([*spatial[:-1], *inner, *spatial[-1:]], block, block.body, None, depth)

    def _nest(
        self, loops: list[t.For], block: t.SBlock, body: t.Stmt, axes: set[p.PrimVar] | None, depth: int
    ) -> None:
        state = self._loop_state()
        for loop, looks in zip(loops, tir_polls.nest(loops, self.polls.work(body)), strict=True):
            depth = self._loop(loop, body if loop is loops[-1] else loop, depth, looks)
        self._axes(block, depth, axes)
        self.statement(body, depth)
        self._release(state)

    # -- blocks ---------------------------------------------------------------------------------------------------

    def _axes(self, block: t.SBlock, depth: int, chosen: set[p.PrimVar] | None) -> None:
        for axis, value in zip(block.iter_vars, block.iter_values, strict=True):
            if chosen is None or axis.var in chosen:
                self.line(depth, f"{self.name(axis.var)} = {self.value(axis.var, value)}")

    def _block(self, node: t.SBlock, depth: int) -> None:
        self._axes(node, depth, None)
        if node.predicate is not None:
            self.line(depth, f"if {self.expr(node.predicate)}:")
            depth += 1
        self.following = () if node.init is not None else (node.body,)
        for buffer in node.alloc_buffers:
            self._allocate(buffer, depth)
        if node.match_buffers:
            raise self.refuse("T.match_buffer inside a block", node)
        if node.init is not None:
            starts = [
                f"{self.name(axis.var)} == {self.expr(_as(axis.var.dtype, axis.domain.start))}"
                for axis in node.iter_vars
                if axis.kind == "reduce"
            ]
            self.line(depth, f"if {' and '.join(starts) or 'True'}:")
            self.statement(node.init, depth + 1)
        self.statement(node.body, depth)

    def _shape(self, buffer: Buffer) -> str:
        lengths = [f"np.int64({self.expr(dim)})" for dim in buffer.shape]
        return f"({', '.join(lengths)}{',' if len(lengths) == 1 else ''})"

    def _allocate(self, buffer: Buffer, depth: int) -> None:
        dtype = buffer.dtype
        if dtype.lanes != 1 or dtype is HANDLE:
            raise self.refuse(f"{buffer.name}, a buffer of {dtype},")
        if not buffer.shape:
            self.line(depth, f"{self.name(buffer)} = np.full((), {_poison(dtype)})")
            return
        size = max(dtype.bits, 32 if dtype.is_float else 8) // 8
        most, shape = MEMORY_LIMIT // size, self._shape(buffer)
        lengths = [dim.value if isinstance(dim, p.IntImm) else -1 for dim in buffer.shape]
        is_filled = is_filled_first(buffer, self.following)
        if is_filled and min(lengths) >= 0 and prod(lengths) <= most:
            text = f"np.empty({shape}, {element(dtype)})"
        else:
            text = f"allocated({shape}, {_poison(dtype)}, {most}, {not is_filled})"
        self.line(depth, f"{self.name(buffer)} = {text}")
        self.measure(buffer)

    def _alloc(self, node: t.AllocBuffer, depth: int) -> None:
        buffer = node.buffer
        if buffer.is_scalar:
            content = _poison(buffer.dtype)
            value = into(buffer.dtype, content) if buffer.dtype.kind == "uint" else content
            self.line(depth, f"{self.name(buffer)} = {value}")
            return
        if buffer.data is None:
            self._allocate(buffer, depth)
            return
        pointer = self.pointers.get(buffer.data, buffer.data)
        text = tir_memory.view(buffer, pointer, self.expr(buffer.data), self._shape(buffer), self.expr)
        if text is None:
            raise self.refuse(f"{buffer.name}, a view with strides or of another dtype,", node)
        self.line(depth, f"{self.name(buffer)} = {text}")
        self.measure(buffer)

    # -- effects --------------------------------------------------------------------------------------------------

    def _store(self, node: t.BufferStore, depth: int) -> None:
        self.line(depth, f"{self.place(node.buffer, node.indices)} = {self.expr(node.value)}")

    def _evaluate(self, node: t.Evaluate, depth: int) -> None:
        value = node.value
        if isinstance(value, p.PrimCall) and value.op == "ret":
            self.line(depth, f"return {self.expr(value.args[0])}")
            return
        packed = tir_packed.packed_call(value, self.name, self.expr)
        self.calls_packed = self.calls_packed or packed is not None
        if packed is None and not is_idle(value):
            raise self.refuse(f"{_effect(value)}, evaluated for its effect,", node)
        self.line(depth, packed or "pass")

    def _let(self, node: t.LetStmt, depth: int) -> None:
        self.line(depth, f"{self.name(node.var)} = {self.value(node.var, node.value)}")
        if node.var.dtype is HANDLE:
            self.pointers[node.var] = self.pointers.get(node.value, node.value)

    def _if(self, node: t.IfThenElse, depth: int) -> None:
        self.line(depth, f"if {self.expr(node.condition)}:")
        self.statement(node.then_case, depth + 1)
        if node.else_case is not None:
            self.line(depth, "else:")
            self.statement(node.else_case, depth + 1)

    def _while(self, node: t.While, depth: int) -> None:
        self.line(depth, "while True:")
        self.line(depth + 1, "poll(stop)")
        self.line(depth + 1, f"if not {self.expr(node.condition)}:")
        self.line(depth + 2, "break")
        self.statement(node.body, depth + 1)

    def _attr(self, node: t.AttrStmt, depth: int) -> None:
        if node.key == "launch_thread":
            raise self.refuse("a launched GPU thread", node)
        self.statement(node.body, depth)

    def _assert(self, node: t.AssertStmt, depth: int) -> None:
        self.line(depth, f"if not ({self.expr(node.condition)}):")
        self.line(depth + 1, f"raise AssertionError({len(self.messages)})")
        self.messages.append(node.message)


def _as(dtype: DType, value: p.PrimExpr) -> p.PrimExpr:
    """An integer expression converted to a dtype."""
    if value.dtype is dtype:
        return value
    if isinstance(value, p.IntImm) and wrapped((value.value, value.value), dtype)[0] == value.value:
        return p.IntImm(value.value, dtype)
    return p.Cast(dtype, value)


def _signed(dtype: DType, text: str) -> str:
    """A bound for `range`, which counts with signed integers."""
    return f"np.int64({text})" if dtype.name == "uint64" else text


def _scalar(dtype: DType, text: str) -> str:
    """A scalar parameter converted to its dtype."""
    return (
        f"{text} != 0"
        if dtype.is_bool
        else into(dtype, text)
        if dtype.is_int
        else f"{element(dtype)}({text})"
    )


def _poison(dtype: DType) -> str:
    """The content of uninitialized memory."""
    if dtype.is_bool:
        return "np.bool_(True)"
    if not dtype.is_int:
        return f"{element(dtype)}(np.nan)"
    return f"{element(dtype)}({limits(dtype)[0 if dtype.kind == 'int' else 1]})"


def is_idle(value: p.PrimExpr) -> bool:
    """True if evaluating an expression does nothing."""
    return isinstance(value, (p.IntImm, p.PrimVar)) or (
        isinstance(value, p.PrimCall) and value.op == "assume"
    )


def _effect(value: p.PrimExpr) -> str:
    """A short description of an evaluated expression."""
    if isinstance(value, p.PrimCall) and value.op == "call_packed" and value.args:
        return f"a call of {value.args[0]}"
    return f"{str(value)[:60]}"


_STATEMENTS: dict[type, Callable[[Translation, Any, int], None]] = {
    t.SeqStmt: Translation._seq,
    t.For: Translation._for,
    t.SBlock: Translation._block,
    t.AllocBuffer: Translation._alloc,
    t.BufferStore: Translation._store,
    t.Evaluate: Translation._evaluate,
    t.LetStmt: Translation._let,
    t.IfThenElse: Translation._if,
    t.While: Translation._while,
    t.AttrStmt: Translation._attr,
    t.AssertStmt: Translation._assert,
}
