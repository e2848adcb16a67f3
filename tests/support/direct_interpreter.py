"""PrimFuncs evaluated node by node on Python integers: every access is checked, every operation wraps at the width of its dtype.

It shares only the node classes with the kernels, which are compared with it. An error is a `Trap`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr
from relax_explorer.core.tir.stmt import Buffer

MOST_BYTES = 4 << 30


class Trap(Exception):
    """The program stops: the kind of problem, and a sentence with its numbers (empty if they are not compared)."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(text)
        self.code, self.text = code, text


class TooLong(Exception):
    """The program takes too many steps."""


def wrap(value: int, dtype: DType) -> int:
    """A number wrapped to an integer dtype."""
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.kind == "int" and value >> (dtype.bits - 1) else value


def whole(value: float, dtype: DType) -> int:
    """A float converted to an integer as on x86: through int32 if that is wide enough, else through int64."""
    if dtype.name == "uint64" and 2.0**63 <= value < 2.0**64:
        return int(value)
    bits = 32 if dtype.bits < 32 or dtype.name == "int32" else 64
    fits = math.isfinite(value) and -(2.0 ** (bits - 1)) <= value < 2.0 ** (bits - 1)
    return wrap(int(value) if fits else -(1 << (bits - 1)), dtype)


def poison(dtype: DType) -> Any:
    """The content of fresh memory."""
    if dtype.is_float:
        return math.nan
    return -(1 << (dtype.bits - 1)) if dtype.kind == "int" else (1 << dtype.bits) - 1


class Interpreter:
    """One run; `values` holds the variables and the arrays of the buffers."""

    def __init__(self, values: dict[Any, Any], fuel: int) -> None:
        self.values, self.fuel = dict(values), fuel
        self.loops: list[p.PrimVar] = []

    # -- statements -----------------------------------------------------------------------------------------------

    def run(self, node: t.Stmt) -> None:
        """Run one statement."""
        self.spend()
        getattr(self, f"run_{type(node).__name__}")(node)

    def spend(self, steps: int = 1) -> None:
        """Count steps; TooLong beyond the limit."""
        self.fuel -= steps
        if self.fuel < 0:
            raise TooLong

    def run_SeqStmt(self, node: t.SeqStmt) -> None:
        for item in node.stmts:
            self.run(item)

    def run_For(self, node: t.For) -> None:
        kind = node.var.dtype
        start, extent = self.expr(node.start), self.expr(node.extent)
        end = wrap(start + extent, kind)
        step = 1 if node.step is None else self.expr(node.step)
        if kind.name == "uint64":  # `range` counts with signed numbers
            start, end, step = [wrap(value, INT64) for value in (start, end, step)]
        if step < 1:
            raise Trap("RX0509", f"the step of a loop is {step}" + self.where())
        self.loops.append(node.var)
        for value in range(start, end, step):
            self.values[node.var] = wrap(value, kind)
            self.run(node.body)
        self.loops.pop()

    def run_IfThenElse(self, node: t.IfThenElse) -> None:
        if self.expr(node.condition):
            self.run(node.then_case)
        elif node.else_case is not None:
            self.run(node.else_case)

    def run_LetStmt(self, node: t.LetStmt) -> None:
        self.values[node.var] = self.expr(node.value)

    def run_SBlock(self, node: t.SBlock) -> None:
        for axis, value in zip(node.iter_vars, node.iter_values, strict=True):
            self.values[axis.var] = wrap(self.expr(value), axis.var.dtype)
        if node.predicate is None or self.expr(node.predicate):
            self.run(node.body)

    def run_AllocBuffer(self, node: t.AllocBuffer) -> None:
        buffer = node.buffer
        if buffer.data is None:
            shape = [self.expr(dim) for dim in buffer.shape]
            size = math.prod(shape) if min(shape) >= 0 else -1
            if size < 0 or size * (buffer.dtype.bits // 8) > MOST_BYTES:
                raise Trap("RX0511")
            self.spend(size)
            self.values[buffer] = np.full(shape, poison(buffer.dtype), buffer.dtype.to_numpy())
            return
        assert isinstance(buffer.data, BufferPtr)
        flat = self.values[buffer.data.buffer].reshape(-1)
        shape = [self.expr(dim) for dim in buffer.shape]
        start = 0 if buffer.elem_offset is None else self.expr(buffer.elem_offset)
        size = math.prod(shape) if min(shape) >= 0 else -1
        if size < 0 or not 0 <= start <= start + size <= flat.size:
            raise Trap("RX0508")
        self.values[buffer] = flat[start : start + size].reshape(shape)

    def run_BufferStore(self, node: t.BufferStore) -> None:
        value = self.expr(node.value)
        place = self.place(node.buffer, node.indices)
        self.values[node.buffer][place] = value

    def where(self) -> str:
        """The values of the loop variables, as text."""
        found = ", ".join(f"{var.name} = {signed(self.values[var])}" for var in self.loops)
        return f"where {found}" if found else ""

    # -- expressions ----------------------------------------------------------------------------------------------

    def place(self, buffer: Buffer, indices: tuple[p.PrimExpr, ...]) -> tuple[int, ...]:
        """The position of an element; each index is checked."""
        found = []
        for axis, (index, length) in enumerate(zip(indices, self.values[buffer].shape, strict=True)):
            value = self.expr(index)
            if not 0 <= value < length:
                text = f"an index of buffer {buffer.name} is {signed(value)}, its axis {axis} has length {length}"
                raise Trap("RX0508", text + self.where())
            found.append(value)
        return tuple(found)

    def expr(self, node: p.PrimExpr) -> Any:
        """The value of an expression: an int within its dtype, a bool, or a float32."""
        self.spend()
        rule: Callable[[Any], Any] = getattr(self, f"of_{type(node).__name__}", self.of_Binary)
        return rule(node)

    def of_PrimVar(self, node: p.PrimVar) -> Any:
        return self.values[node]

    def of_IntImm(self, node: p.IntImm) -> Any:
        return node.value

    def of_BufferLoad(self, node: BufferLoad) -> Any:
        found = self.values[node.buffer][self.place(node.buffer, node.indices)]
        return np.float32(found) if node.dtype.is_float else int(found)

    def of_Cast(self, node: p.Cast) -> Any:
        value = self.expr(node.value)
        if node.dtype.is_bool:
            return value != 0
        if node.dtype.is_float:
            exact = np.uint64 if node.value.dtype.name == "uint64" else np.int64
            return value if isinstance(value, np.float32) else np.asarray(value, exact).astype(np.float32)[()]
        return (
            whole(float(value), node.dtype) if isinstance(value, np.float32) else wrap(int(value), node.dtype)
        )

    def of_Select(self, node: p.Select) -> Any:
        return self.expr(node.true_value if self.expr(node.condition) else node.false_value)

    def of_Not(self, node: p.Not) -> Any:
        return not self.expr(node.a)

    def of_And(self, node: p.And) -> Any:
        return self.expr(node.a) and self.expr(node.b)

    def of_Or(self, node: p.Or) -> Any:
        return self.expr(node.a) or self.expr(node.b)

    def of_Binary(self, node: p.Binary) -> Any:
        a, b = self.expr(node.a), self.expr(node.b)
        if type(node) in _DIVISIONS and b == 0:
            raise Trap("RX0509", "a divisor is 0" + self.where())
        found = _BINARY[type(node)](a, b)
        return found if node.compares else wrap(found, node.dtype)

    def of_PrimCall(self, node: p.PrimCall) -> Any:
        if node.op == "if_then_else":
            return self.expr(node.args[1] if self.expr(node.args[0]) else node.args[2])
        values = [self.expr(arg) for arg in node.args]
        if node.op in ("shift_left", "shift_right") and not 0 <= values[1] < node.dtype.bits:
            text = f"an integer of {node.dtype.bits} bits is shifted by {signed(values[1])}"
            raise Trap("RX0509", text + self.where())
        return wrap(_CALLS[node.op](*values), node.dtype)


def signed(value: int) -> int:
    """A number as in a kernel's note: signed, with 64 bits."""
    return value - (1 << 64) if value >> 63 and value > 0 else value


def _trunc(a: int, b: int) -> int:
    return abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))


_DIVISIONS: dict[type, Callable[[int, int], int]] = {
    p.FloorDiv: lambda a, b: a // b,
    p.FloorMod: lambda a, b: a % b,
    p.Div: _trunc,
    p.Mod: lambda a, b: a - _trunc(a, b) * b,
}
_BINARY: dict[type, Callable[[int, int], int]] = {
    **_DIVISIONS,
    p.Add: lambda a, b: a + b,
    p.Sub: lambda a, b: a - b,
    p.Mul: lambda a, b: a * b,
    p.Min: min,
    p.Max: max,
    p.EQ: lambda a, b: a == b,
    p.NE: lambda a, b: a != b,
    p.LT: lambda a, b: a < b,
    p.LE: lambda a, b: a <= b,
    p.GT: lambda a, b: a > b,
    p.GE: lambda a, b: a >= b,
}
_CALLS: dict[str, Callable[..., int]] = {
    "shift_left": lambda a, n: a << n,
    "shift_right": lambda a, n: a >> n,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "bitwise_not": lambda a: ~a,
    "abs": abs,
}
