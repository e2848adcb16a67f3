"""Values of expressions for all threads of a block at once: an array with an element for each thread.

Arithmetic is that of `reference_values`, in the dtype of each expression. A part that only some threads evaluate, such as a case of
`T.if_then_else`, is evaluated for those: the others have some value there, which nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.exec.loop_expr import Site, element, reinterprets
from relax_explorer.core.exec.reference_values import BITS, COUNTS, MATH, TESTS, Stopped, refusal, scalar
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, DType
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, Let
from relax_explorer.core.tir.stmt import Buffer

_SIZES = (1, 8, 16, 32, 64)  # of integers that numpy has, and of bools


class ThreadValues:
    """Variables and buffers of the threads of a block. `active` tells which of them run the current statement.

    `own` holds the buffers of which each thread has its own, with the threads as their first axis, and `shared` those of blocks;
    `block` is the number of each thread's block.
    """

    def __init__(self, fn: t.PrimFunc) -> None:
        self.fn = fn
        self.numbers: dict[Any, Array] = {}  # variables, and scalar buffers
        self.arrays: dict[Buffer, Array] = {}
        self.loops: dict[p.PrimVar, Array] = {}  # around the current statement
        self.statement_now: t.Stmt | None = None
        self.threads = 1
        self.active = np.ones(1, np.bool_)
        self.own: dict[Buffer, Array] = {}
        self.shared: dict[Buffer, Array] = {}
        self.block, self.blocks = np.zeros(1, np.int64), 1

    def refuse(self, what: str, place: t.Stmt | None = None) -> Failure:
        """The failure for a part that can't be evaluated."""
        return refusal(self.fn, what, place)

    def of(self, expr: p.PrimExpr) -> Array:
        """The values of an expression: an array, or a scalar of numpy if all threads have the same."""
        rule = _RULES.get(type(expr))
        if rule is None or expr.dtype.lanes != 1 or (expr.dtype.is_int and expr.dtype.bits not in _SIZES):
            raise self.refuse(f"the expression {type(expr).__name__} of dtype {expr.dtype}")
        found: Array = rule(self, expr)
        return found

    def each(self, values: Array) -> Array:
        """An element for each thread."""
        return np.broadcast_to(values, (self.threads,))

    def common(self, expr: p.PrimExpr) -> int | None:
        """The value that an expression has for each active thread; None if they have several."""
        values = self.each(self.of(expr))[self.active]
        return int(values[0]) if len(values) and bool((values == values[0]).all()) else None

    def stopped(self, kind: str, at: Array, value: Array, bound: int = 0, buffer: Buffer | None = None, axis: int = 0) -> Stopped:  # fmt: skip
        """The exception for a check that failed at the current statement, for the first of these threads."""
        thread = int(np.argmax(at))
        loops = [int(self.each(np.asarray(number))[thread]) for number in self.loops.values()]
        site = Site(kind, self.statement_now, tuple(self.loops), buffer, axis)
        return Stopped(site, int(self.each(value)[thread]), bound, tuple(loops))

    def where(self, condition: Array, expr: p.PrimExpr) -> Array:
        """The values of an expression for the active threads with a condition."""
        outer, inner = self.active, self.active & self.each(condition)
        if not inner.any():
            return _zero(expr.dtype)
        self.active = inner
        try:
            return self.of(expr)
        finally:
            self.active = outer

    def memory(self, buffer: Buffer) -> Array:
        """The elements of a buffer, for all threads or blocks that have their own."""
        found = self.own.get(buffer)
        found = self.shared.get(buffer) if found is None else found
        return self.arrays[buffer] if found is None else found

    # -- elements -------------------------------------------------------------------------------------------------

    def places(self, buffer: Buffer, indices: tuple[p.PrimExpr, ...]) -> tuple[Array, ...]:
        """The checked indices of elements, one for each thread; those of inactive threads are inside, too."""
        found: list[Array] = []
        if buffer in self.own:
            found = [np.arange(self.threads)]
        elif buffer in self.shared:
            found = [self.block]
        shape = self.memory(buffer).shape[len(found) :]
        for axis, index in enumerate(indices):
            place, length = self.each(self.of(index)).astype(np.int64), shape[axis]
            out = self.active & ((place < 0) | (place >= length))
            if out.any():
                raise self.stopped("index", out, place, length, buffer, axis)
            found.append(np.clip(place, 0, max(length - 1, 0)))
        return tuple(found)

    def _load(self, expr: BufferLoad) -> Array:
        buffer = expr.buffer
        if buffer.is_scalar:
            return self.numbers[buffer]
        places = self.places(buffer, expr.indices)
        array = self.memory(buffer)
        if not array.size:
            return _zero(expr.dtype)
        return np.asarray(array[places]).astype(element(buffer.dtype), copy=False)

    # -- expressions ----------------------------------------------------------------------------------------------

    def _literal(self, expr: p.IntImm | p.FloatImm) -> Array:
        found: Array = np.asarray(expr.value).astype(element(expr.dtype))
        return found

    def _arithmetic(self, expr: p.Binary) -> Array:
        found: Array = _ARITHMETIC[type(expr)](self.of(expr.a), self.of(expr.b))
        return found

    def _division(self, expr: p.Binary) -> Array:
        a, b = self.of(expr.a), self.of(expr.b)
        if not expr.dtype.is_int:
            quotient: Array = _OF_FLOATS[type(expr)](a, b)
            return quotient
        nothing = self.active & self.each(b == 0)
        if nothing.any():
            raise self.stopped("division", nothing, b)
        result: Array = _OF_INTEGERS[type(expr)](a, np.where(b == 0, b.dtype.type(1), b))
        return result

    def _comparison(self, expr: p.Binary) -> Array:
        found: Array = _COMPARISONS[type(expr)](self.of(expr.a), self.of(expr.b))
        return found

    def _and(self, expr: p.And) -> Array:
        first = self.of(expr.a)
        return np.logical_and(first, self.where(first, expr.b))

    def _or(self, expr: p.Or) -> Array:
        first = self.of(expr.a)
        return np.logical_or(first, self.where(np.logical_not(first), expr.b))

    def _cast(self, expr: p.Cast) -> Array:
        value, source, dtype = self.of(expr.value), expr.value.dtype, expr.dtype
        if dtype is HANDLE or source is HANDLE:
            raise self.refuse(f"the expression {expr}")
        if dtype.is_bool:
            return np.not_equal(value, 0)
        if dtype.is_int and source.is_float:
            return _whole(value, dtype)
        if dtype.is_float and dtype.bits < 32 and source is not dtype:
            value = value.astype(dtype.to_numpy())
        return value.astype(element(dtype), copy=False)

    def _choice(self, condition: p.PrimExpr, yes: p.PrimExpr, no: p.PrimExpr) -> Array:
        chosen = self.of(condition)
        return np.where(chosen, self.where(chosen, yes), self.where(np.logical_not(chosen), no))

    def _let(self, expr: Let) -> Array:
        self.numbers[expr.var] = self.of(expr.value)
        return self.of(expr.body)

    # -- intrinsics -----------------------------------------------------------------------------------------------

    def _call(self, expr: p.PrimCall) -> Array:
        if expr.op == "if_then_else":
            return self._choice(*expr.args)
        if expr.op == "reinterpret" and reinterprets(expr):
            return np.ascontiguousarray(self.of(expr.args[1])).view(np.dtype(expr.dtype.name))
        if not all(type(arg) in _RULES for arg in expr.args):
            raise self.refuse(f"the intrinsic T.{expr.op}")
        args = [self.of(arg) for arg in expr.args]
        if expr.op in ("likely", "tvm_thread_invariant"):
            return args[0]
        if expr.op in ("shift_left", "shift_right") and expr.dtype.is_int:
            return self._shift(expr, *args)
        return self._of_numbers(expr, args)

    def _of_numbers(self, expr: p.PrimCall, args: list[Array]) -> Array:
        """An intrinsic that computes a number from numbers."""
        found: Array | None = None
        if expr.op in BITS:
            found = BITS[expr.op](*args)
        elif expr.op == "bitwise_not":
            found = np.invert(args[0])
        elif expr.op in TESTS:
            found = TESTS[expr.op](args[0])
        elif expr.op in COUNTS:
            count, bits = COUNTS[expr.op], expr.args[0].dtype.bits
            found = np.asarray(np.frompyfunc(lambda number: count(int(number), bits), 1, 1)(args[0]))
        elif expr.dtype.is_int:
            found = np.abs(args[0]) if expr.op in ("abs", "fabs") else None
        elif expr.op in ("rsqrt", "sigmoid"):
            one = scalar(expr.dtype)(1)
            found = one / (np.sqrt(args[0]) if expr.op == "rsqrt" else one + np.exp(-args[0]))
        elif expr.op in MATH:
            function = MATH[expr.op]
            found = np.asarray(
                (function if isinstance(function, np.ufunc) else np.frompyfunc(function, 1, 1))(*args)
            )
        if found is None:
            raise self.refuse(f"the intrinsic T.{expr.op}")
        return np.asarray(found, element(expr.dtype))

    def _shift(self, expr: p.PrimCall, value: Array, by: Array) -> Array:
        bits = expr.dtype.bits
        out = self.active & self.each((by < 0) | (by >= bits))
        if out.any():
            raise self.stopped("shift", out, by, bits)
        by = np.clip(by, 0, bits - 1).astype(value.dtype)
        found: Array = np.left_shift(value, by) if expr.op == "shift_left" else np.right_shift(value, by)
        return found


def _zero(dtype: DType) -> Array:
    return np.zeros((), element(dtype))


def _whole(values: Array, dtype: DType) -> Array:
    """Floats as integers. One that does not fit becomes the least integer, as on x86 (`reference_values.whole`)."""
    limit = float(1 << ((32 if dtype.bits < 32 or dtype.name == "int32" else 64) - 1))
    if dtype.name == "uint64":
        large = (values >= limit) & (values < 2 * limit)
        return np.where(
            large, np.where(large, values, 0).astype(np.uint64), _fitting(values, limit).astype(np.uint64)
        )
    return _fitting(values, limit).astype(element(dtype))


def _fitting(values: Array, limit: float) -> Array:
    fits = (values >= -limit) & (values < limit)
    return np.where(fits, np.where(fits, values, 0).astype(np.int64), np.int64(-limit))


def _truncated(a: Array, b: Array) -> Array:
    quotient = np.floor_divide(a, b)
    found: Array = np.add(quotient, (a - quotient * b != 0) & ((a < 0) != (b < 0)))
    return found


def _remainder(a: Array, b: Array) -> Array:
    found: Array = np.subtract(a, b * _truncated(a, b)).astype(a.dtype)
    return found


_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    p.Add: np.add, p.Sub: np.subtract, p.Mul: np.multiply,
    p.Max: lambda a, b: np.where(a > b, a, b), p.Min: lambda a, b: np.where(a < b, a, b),
}  # fmt: skip
_OF_FLOATS: dict[type, Callable[[Any, Any], Any]] = {
    p.FloorDiv: np.floor_divide, p.FloorMod: np.mod, p.Div: np.divide, p.Mod: np.fmod,
}  # fmt: skip
_OF_INTEGERS: dict[type, Callable[[Any, Any], Any]] = {
    p.FloorDiv: np.floor_divide, p.FloorMod: np.mod, p.Div: lambda a, b: _truncated(a, b).astype(a.dtype), p.Mod: _remainder,
}  # fmt: skip
_COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    p.EQ: np.equal, p.NE: np.not_equal, p.LT: np.less, p.LE: np.less_equal, p.GT: np.greater, p.GE: np.greater_equal,
}  # fmt: skip
_RULES: dict[type, Callable[[ThreadValues, Any], Any]] = {
    p.PrimVar: lambda v, x: v.numbers[x],
    p.IntImm: ThreadValues._literal,
    p.FloatImm: ThreadValues._literal,
    BufferLoad: ThreadValues._load,
    p.Not: lambda v, x: np.logical_not(v.of(x.a)),
    p.And: ThreadValues._and,
    p.Or: ThreadValues._or,
    p.Cast: ThreadValues._cast,
    p.Select: lambda v, x: v._choice(x.condition, x.true_value, x.false_value),
    p.PrimCall: ThreadValues._call,
    Let: ThreadValues._let,
    **dict.fromkeys(_ARITHMETIC, ThreadValues._arithmetic),
    **dict.fromkeys(_OF_INTEGERS, ThreadValues._division),
    **dict.fromkeys(_COMPARISONS, ThreadValues._comparison),
}
