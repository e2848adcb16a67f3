"""Translate PrimFuncs to loops (`loop_ir`). No name or string of the program enters them: variables are v0, buffers b0.

Arithmetic keeps TIR's dtypes (`loop_expr`). Elements of float16, bfloat16 and float8 are computed as float32; the caller converts
the arrays. Memory allocated by a kernel starts with NaN, the least integer (the largest of an unsigned dtype) or True. A
program that reads it before a write has a bug, and gets the same numbers each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import nan, prod
from typing import Any

from relax_explorer.core.exec import kernel_memory
from relax_explorer.core.exec import loop_ir as ir
from relax_explorer.core.exec.loop_expr import element
from relax_explorer.core.exec.loop_ir import Apply, Const, Convert, Expr, Op, Var
from relax_explorer.core.exec.loop_nests import is_filled_first
from relax_explorer.core.exec.loop_order import Loops, Manner, converted
from relax_explorer.core.exec.values import MEMORY_LIMIT
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, DType
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.intervals import Intervals, limits
from relax_explorer.core.tir.stmt import Buffer

_Ends = tuple[p.PrimExpr, p.PrimExpr]  # the first value of a variable, and the one behind the last
_MOST = (1 << 63) - 1
# Sample lengths for deciding the facts of a kernel with symbolic lengths: an increasing row and a decreasing row.
_SAMPLES = (
    (101, 103, 107, 109, 113, 127, 131, 137, 139, 149),
    (97, 89, 83, 79, 73, 71, 67, 61, 59, 53),
)


def translate(
    fn: t.PrimFunc,
    points: Mapping[p.PrimVar, int] | None = None,
    trusting: bool = True,
    in_order: bool = False,
    divided: t.For | None = None,
    spread: bool = False,
    numbers: Sequence[p.PrimVar] = (),
) -> Translation:
    """The translation of a PrimFunc. `points` are the values of the length variables for which facts are decided.

    Its free variables `numbers` are taken behind all else, by their bits as float64.

    Unless it is `trusting`, the kernel relies on no fact. With `in_order`, no loops are exchanged. The loop `divided` runs for the
    values from `first` to `last` only, which the kernel takes as numbers before the note. With `spread` it is a parallel loop, and
    nothing polls.
    """
    if points is not None:
        return Translation(fn, [Intervals(points)], Manner(trusting, in_order), numbers)
    variables = length_variables(fn)
    rows = _SAMPLES if variables else _SAMPLES[:1]
    samples = [
        Intervals({var: row[number % len(row)] for number, var in enumerate(variables)}) for row in rows
    ]
    return Translation(fn, samples, Manner(trusting, in_order, divided, spread), numbers)


def shape_variables(fn: t.PrimFunc) -> list[p.PrimVar]:
    """The variables of the parameters' dimensions, except those that are parameters themselves."""
    scalars = {param for param in fn.params if isinstance(param, p.PrimVar)}
    return [var for var in length_variables(fn) if var not in scalars]


def length_variables(fn: t.PrimFunc) -> list[p.PrimVar]:
    """The variables of the parameters' dimensions."""
    dims = [dim for param in fn.params if isinstance(param, Buffer) for dim in param.shape]
    return [var for var in p.free_vars(*dims) if var.dtype.is_int]


class Translation(Loops):
    """Translates a PrimFunc, statement by statement."""

    def __init__(
        self,
        fn: t.PrimFunc,
        samples: Sequence[Intervals],
        manner: Manner,
        numbers: Sequence[p.PrimVar] = (),
    ) -> None:
        super().__init__(fn, samples, manner)
        self.numbers = numbers
        self.messages: list[str] = []  # the messages of assertions
        self.following: tuple[t.Stmt, ...] = ()  # the statements after the current one in its sequence
        for param in fn.params:
            if isinstance(param, Buffer):
                self.measure(param)
        self.routine = self._routine()

    @contextmanager
    def branch(self, condition: Expr) -> Iterator[None]:
        """Around the statements that a condition guards."""
        with self.block() as inner:
            yield
        self.out.append(ir.If(condition, tuple(inner)))

    def _routine(self) -> ir.Routine:
        params = [self.name(variable) for variable in (*self.fn.params, *shape_variables(self.fn))]
        params += [] if self.divided is None else ["first", "last"]
        for n, var in enumerate(self.numbers):
            value = Convert(element(var.dtype), ir.Bits("int64", "float64", Var(f"k{n}")))
            self.out.append(ir.Assign(self.name(var), value))
            params.append(f"k{n}")
        for param in self.fn.params:
            if isinstance(param, p.PrimVar) and param.dtype is not HANDLE:
                name = self.name(param)
                self.out.append(ir.Assign(name, _scalar(param.dtype, Var(name))))
        self.statement(self.fn.body)
        if self.hides:  # the first byte of an address is 0, so this is -1
            self.out.insert(0, ir.Assign("ones", Op("~", (Apply("right", (Var("stop"), Const(56))),))))
        return ir.Routine(tuple(params), tuple(self.out))

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, node: t.Stmt) -> None:
        """Translate one statement."""
        rule = _STATEMENTS.get(type(node))
        if rule is None:
            raise self.refuse(f"the statement {type(node).__name__}", node)
        if type(node) not in (t.SeqStmt, t.AttrStmt):
            self.statement_now = node
        rule(self, node)

    def _seq(self, node: t.SeqStmt) -> None:
        for number, statement in enumerate(node.stmts, 1):
            self.following = node.stmts[number:]
            self.statement(statement)

    # -- blocks -------------------------------------------------------------------------------------------------------

    def _block(self, node: t.SBlock) -> None:
        self.axes(node, None)
        if node.predicate is None:
            self._inside(node)
            return
        with self.branch(self.expr(node.predicate)):
            self._inside(node)

    def _inside(self, node: t.SBlock) -> None:
        """What stands in a block behind its axes and its predicate."""
        self.following = () if node.init is not None else (node.body,)
        for buffer in node.alloc_buffers:
            self._allocate(buffer)
        if node.match_buffers:
            raise self.refuse("T.match_buffer inside a block", node)
        if node.init is not None:
            condition: Expr | None = None
            for axis in node.iter_vars:
                if axis.kind == "reduce":
                    start = self.expr(converted(axis.var.dtype, axis.domain.start))
                    test = Op("==", (Var(self.name(axis.var)), start))
                    condition = test if condition is None else Op("and", (condition, test))
            with self.branch(Const(True) if condition is None else condition):
                self.statement(node.init)
        self.statement(node.body)

    def _shape(self, buffer: Buffer) -> tuple[Expr, ...]:
        return tuple([Convert("int64", self.expr(dim)) for dim in buffer.shape])

    def _allocate(self, buffer: Buffer) -> None:
        dtype = buffer.dtype
        if dtype.lanes != 1 or dtype is HANDLE:
            raise self.refuse(f"{buffer.name}, a buffer of {dtype},")
        size = max(dtype.bits, 32 if dtype.is_float else 8) // 8
        most, shape = MEMORY_LIMIT // size, self._shape(buffer)
        lengths = [dim.value if isinstance(dim, p.IntImm) else -1 for dim in buffer.shape]
        is_filled = bool(shape) and is_filled_first(buffer, self.following)
        is_small = is_filled and min(lengths) >= 0 and prod(lengths) <= most
        poison = None if is_filled else _poison(dtype)
        name = self.name(buffer)
        self.out.append(ir.Allocate(name, element(dtype), shape, poison, None if is_small else most))
        if shape:
            self.measure(buffer)

    def _alloc(self, node: t.AllocBuffer) -> None:
        buffer = node.buffer
        if buffer.is_scalar:
            content = Convert(element(buffer.dtype), Const(_poison(buffer.dtype)))
            self.out.append(ir.Assign(self.name(buffer), content))
            return
        if buffer.data is None:
            self._allocate(buffer)
            return
        start = kernel_memory.view_start(buffer, self.pointers.get(buffer.data, buffer.data))
        flat, shape = self.expr(buffer.data), self._shape(buffer)
        if start is None:
            raise self.refuse(f"{buffer.name}, a view with strides or of another dtype,", node)
        first = Convert("int64", self.expr(start))
        self.out.append(ir.Window(self.name(buffer), flat, first, shape))
        self.measure(buffer)

    # -- effects --------------------------------------------------------------------------------------------------

    def put(self, place: ir.Element | Var, value: Expr) -> None:
        """Write an element, or the only one of a scalar."""
        self.out.append(ir.Assign(place.name, value) if isinstance(place, Var) else ir.Store(place, value))

    def _store(self, node: t.BufferStore) -> None:
        place, value = self.place(node.buffer, node.indices), self.expr(node.value)
        self.put(place, value)

    def _evaluate(self, node: t.Evaluate) -> None:
        value = node.value
        if isinstance(value, p.PrimCall) and value.op == "ret":
            self.out.append(ir.Return(self.expr(value.args[0])))
            return
        call = kernel_memory.known_call(value)
        if call is not None:
            self.out.append(ir.Packed(call[0], tuple([self._passed(part) for part in call[1]])))
        elif not kernel_memory.is_idle(value):
            raise self.refuse(f"{kernel_memory.effect(value)}, evaluated for its effect,", node)

    def _passed(self, part: Buffer | p.PrimExpr) -> Expr:
        """An argument of a packed function. A literal would be a type of its own, for which numba compiles the function anew."""
        if isinstance(part, Buffer):
            return Var(self.name(part))
        return Convert("bool_" if part.dtype.is_bool else "int64", self.expr(part))

    def _let(self, node: t.LetStmt) -> None:
        self.out.append(ir.Assign(self.name(node.var), self.value(node.var, node.value)))
        if node.var.dtype is HANDLE:
            self.pointers[node.var] = self.pointers.get(node.value, node.value)

    def _if(self, node: t.IfThenElse) -> None:
        condition = self.expr(node.condition)
        with self.block() as then:
            self.statement(node.then_case)
        with self.block() as otherwise:
            if node.else_case is not None:
                self.statement(node.else_case)
        self.out.append(ir.If(condition, tuple(then), tuple(otherwise)))

    def _while(self, node: t.While) -> None:
        condition = self.expr(node.condition)
        with self.block() as body:
            self.statement(node.body)
        self.out.append(ir.While(condition, tuple(body)))

    def _attr(self, node: t.AttrStmt) -> None:
        self.statement(node.body)

    def _assert(self, node: t.AssertStmt) -> None:
        with self.branch(Op("not", (self.expr(node.condition),))):
            self.out.append(ir.Fail(len(self.messages)))
        self.messages.append(node.message)


def _scalar(dtype: DType, value: Expr) -> Expr:
    """A scalar parameter converted to its dtype."""
    return Op("!=", (value, Const(0))) if dtype.is_bool else Convert(element(dtype), value)


def _poison(dtype: DType) -> bool | int | float:
    """The content of uninitialized memory."""
    if dtype.is_bool:
        return True
    return limits(dtype)[0 if dtype.kind == "int" else 1] if dtype.is_int else nan


_STATEMENTS: dict[type, Callable[[Translation, Any], None]] = {
    t.SeqStmt: Translation._seq,
    t.For: Translation.loop,
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
