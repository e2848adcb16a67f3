"""Evaluates scalar expressions on Python numbers: the dimensions of a running program. Many of them can be compiled.

Integers never wrap: overflow and division by zero are errors. Evaluation is lazy: only the selected side of a selection,
and the second operand of `and` and `or` only if the first does not decide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache as once
from math import isfinite
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Code
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64, limits
from relax_explorer.core.ops.kit.ndarrays import Array

ScalarValues = Mapping[p.PrimVar, Any]
Compiled = Callable[..., Any]
Compile = Callable[[Compiled], Compiled]  # numba's njit


class Undefined(Exception):
    """An expression has no value for these lengths. Carries a code and a message."""

    def __init__(self, code: Code, expr: p.PrimExpr, what: str, dims: ScalarValues) -> None:
        known = [f"{var.name} = {dims[var]}" for var in p.free_vars(expr) if var in dims]
        super().__init__(f"{expr} {what}" + (f" where {', '.join(known)}" if known else ""))
        self.code = code


def evaluate(expr: p.PrimExpr, dims: ScalarValues) -> Any:
    """The value of `expr`, or None if a needed variable has no value. Raises Undefined."""
    if type(expr) is p.IntImm or type(expr) is p.FloatImm:
        return expr.value
    if type(expr) is p.PrimVar:
        return dims.get(expr)
    if isinstance(expr, p.Binary) and type(expr) in _OPERATORS:
        return _operator(expr, dims)
    rule = _RULES.get(type(expr))
    return None if rule is None else rule(expr, dims)


def _operator(expr: p.Binary, dims: ScalarValues) -> float | None:
    chain = [expr]  # no recursion along `a + b + c + …`
    left = expr.a
    while isinstance(left, p.Binary) and type(left) in _OPERATORS:
        chain.append(left)
        left = chain[-1].a
    value: float | None = evaluate(left, dims)
    for node in reversed(chain):
        other = None if value is None else evaluate(node.b, dims)
        if other is None:
            return None
        try:
            value = _OPERATORS[type(node)](value, other)
        except ZeroDivisionError:
            raise Undefined(codes.BAD_ARITHMETIC, node, "divides by zero", dims) from None
        value = checked(node, value, dims)
    return value


def checked(expr: p.PrimExpr, value: float, dims: ScalarValues) -> float:
    """`value` in the dtype of `expr`. Floats are rounded. Raises Undefined if the dtype cannot hold it."""
    if expr.dtype.is_float:
        if expr.dtype.bits == 64:
            return float(value)
        with np.errstate(over="ignore"):  # overflowing floats become infinite
            return float(expr.dtype.to_numpy().type(value))
    if not expr.dtype.is_int:
        return value
    low, high = limits(expr.dtype)
    if low <= value <= high:
        return value
    raise Undefined(codes.OVERFLOW, expr, f"overflows {expr.dtype}", dims)


def _divided(a: float, b: float) -> float:
    if isinstance(a, float) or isinstance(b, float):
        return a / b
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b >= 0) else -quotient


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    p.Add: lambda a, b: a + b,
    p.Sub: lambda a, b: a - b,
    p.Mul: lambda a, b: a * b,
    p.Div: _divided,
    p.Mod: lambda a, b: a - _divided(a, b) * b,
    p.FloorDiv: lambda a, b: a // b,
    p.FloorMod: lambda a, b: a % b,
    p.Min: lambda a, b: a if a < b else b,
    p.Max: lambda a, b: a if a > b else b,
    p.EQ: lambda a, b: a == b,
    p.NE: lambda a, b: a != b,
    p.LT: lambda a, b: a < b,
    p.LE: lambda a, b: a <= b,
    p.GT: lambda a, b: a > b,
    p.GE: lambda a, b: a >= b,
}


def _junction(expr: p.Binary, dims: ScalarValues) -> float | None:
    value = evaluate(expr.a, dims)
    if value is None or bool(value) is (type(expr) is p.Or):
        return None if value is None else bool(value)
    other = evaluate(expr.b, dims)
    return None if other is None else bool(other)


def _not(expr: p.Not, dims: ScalarValues) -> float | None:
    value = evaluate(expr.a, dims)
    return None if value is None else not value


def _taken(condition: p.PrimExpr, yes: p.PrimExpr, no: p.PrimExpr, dims: ScalarValues) -> float | None:
    value = evaluate(condition, dims)
    return None if value is None else evaluate(yes if value else no, dims)


def _cast(expr: p.Cast, dims: ScalarValues) -> float | None:
    value = evaluate(expr.value, dims)
    if value is None or expr.dtype.is_float:
        return None if value is None else checked(expr, value, dims)
    if expr.dtype.is_bool:
        return bool(value)
    if not isfinite(value):
        raise Undefined(codes.OVERFLOW, expr, f"overflows {expr.dtype}", dims)
    return checked(expr, int(value), dims)


def _call(expr: p.PrimCall, dims: ScalarValues) -> float | None:
    if expr.op == "if_then_else" and len(expr.args) == 3:
        return _taken(*expr.args, dims)
    if expr.op == "ceildiv" and len(expr.args) == 2:
        a, b = [evaluate(arg, dims) for arg in expr.args]
        if a is None or b is None:
            return None
        if b == 0:
            raise Undefined(codes.BAD_ARITHMETIC, expr, "divides by zero", dims)
        return checked(expr, -(-a // b), dims)
    if expr.op in _ROUNDING and len(expr.args) == 1:
        value = evaluate(expr.args[0], dims)
        return (
            value if value is None or not isfinite(value) else checked(expr, _ROUNDING[expr.op](value), dims)
        )
    return None


# Round to whole numbers of the same dtype; halves to even.
_ROUNDING: dict[str, Callable[[Any], Any]] = {
    "ceil": math.ceil, "floor": math.floor, "trunc": math.trunc, "round": round, "nearbyint": round,
}  # fmt: skip

_RULES: dict[type, Callable[[Any, ScalarValues], Any]] = {
    p.And: _junction,
    p.Or: _junction,
    p.Not: _not,
    p.Select: lambda expr, dims: _taken(expr.condition, expr.true_value, expr.false_value, dims),
    p.Cast: _cast,
    p.PrimCall: _call,
}


# -- compiled dimensions ---------------------------------------------------------------------------------------------
# Compiles shape expressions to instructions over a heap of int64: variables, literals, intermediate values.
#
# Results and errors are those of `scalars.evaluate`, for many rows of lengths at a time. Numba compiles one
# interpreter for all programs, because that takes a second and there are many dimensions. Without numba, and for
# arithmetic other than int64, the tree is evaluated instead.


_KINDS = (
    p.Add, p.Sub, p.Mul, p.FloorDiv, p.FloorMod, p.Div, p.Mod, None, p.Min, p.Max,
    p.LT, p.EQ, p.LE, p.GT, p.NE, p.GE, p.And, p.Or, p.Not, p.Select,
)  # fmt: skip
_ADD, _MUL, _FLOOR_MOD, _DIV, _MOD, _CEIL_DIV, _MIN, _MAX, _LT, _AND, _OR, _NOT, _SELECT = (
    0, 2, 4, 5, 6, 7, 8, 9, 10, 16, 17, 18, 19,
)  # fmt: skip
_NUMBERS: dict[type, int] = {kind: number for number, kind in enumerate(_KINDS) if kind is not None}
_CALLS = {"if_then_else": _SELECT, "ceildiv": _CEIL_DIV}
OVERFLOW, ZERO_DIVISION = 1, 2
_ERRORS = {codes.OVERFLOW: OVERFLOW, codes.BAD_ARITHMETIC: ZERO_DIVISION}
_LEAST = -(1 << 63)


class ShapeCode:
    """A compiled sequence of dimensions. `variables` is the order of the lengths."""

    def __init__(self, exprs: Sequence[p.PrimExpr]) -> None:
        self.exprs = tuple(exprs)
        self.variables = tuple(p.free_vars(*exprs))
        self._slots: dict[p.PrimExpr, int] = {var: n for n, var in enumerate(self.variables)}
        self._start = [0] * len(self.variables)
        self._rows: list[tuple[int, ...]] = []
        self.compiled = _interpreter() is not None and all([self._compile(expr) for expr in self.exprs])
        self._results = np.array([self._slots.get(expr, 0) for expr in self.exprs], dtype=np.int64)
        self._heap = np.array(self._start, dtype=np.int64)
        self._program = np.array(self._rows, dtype=np.int64).reshape(-1, 5)

    def _compile(self, expr: p.PrimExpr) -> bool:
        """Emit instructions for the parts of an expression, then for itself. False if it cannot be compiled."""
        stack = [expr]
        while stack:
            node = stack[-1]
            missing = [child for child in node.children() if child not in self._slots]
            if missing and node not in self._slots:
                stack.extend(missing)
                continue
            stack.pop()
            if node not in self._slots and not self._instruction(node):
                return False
        return all(var.dtype is INT64 for var in self.variables)

    def _instruction(self, node: p.PrimExpr) -> bool:
        operands = [self._slots[child] for child in node.children()]
        if (
            type(node) is p.Cast
            and node.dtype is INT64
            and (node.value.dtype is INT64 or node.value.dtype.is_bool)
        ):
            self._slots[node] = operands[0]
            return True
        if type(node) is p.IntImm:
            self._slots[node] = self._slot(node.value)
            return True
        opcode = _CALLS.get(node.op) if type(node) is p.PrimCall else _NUMBERS.get(type(node))
        if opcode is None or not (node.dtype is INT64 or node.dtype.is_bool):
            return False
        target = self._slots[node] = self._slot(0)
        self._rows.append((opcode, target, *operands, *[operands[0]] * (3 - len(operands))))
        return True

    def _slot(self, value: int) -> int:
        self._start.append(value)
        return len(self._start) - 1

    def __call__(self, dims: Mapping[p.PrimVar, int]) -> tuple[Any, ...]:
        """The values for these lengths; None for dimensions without a value yet. Raises Undefined like `evaluate`."""
        if self.compiled and all(var in dims for var in self.variables):
            values, errors = self.table([[dims[var] for var in self.variables]])
            if not errors.any():
                return tuple(values[0].tolist())
        return tuple([evaluate(expr, dims) for expr in self.exprs])

    def table(self, rows: Sequence[Sequence[int]]) -> tuple[Array, Array]:
        """The values for each row of lengths, and their errors: 0, OVERFLOW or ZERO_DIVISION."""
        lengths = np.asarray(rows, dtype=np.int64).reshape(len(rows), len(self.variables))
        values = np.zeros((len(rows), len(self.exprs)), dtype=np.int64)
        errors = np.zeros_like(values)
        interpret = _interpreter() if self.compiled else None
        if interpret is not None:
            interpret(self._program, self._heap, lengths, self._results, values, errors)
            return values, errors
        for number, row in enumerate(lengths.tolist()):
            dims = dict(zip(self.variables, row, strict=True))
            for column, expr in enumerate(self.exprs):
                try:
                    values[number, column] = evaluate(expr, dims)
                except Undefined as problem:
                    errors[number, column] = _ERRORS[problem.code]
        return values, errors


def compile_shapes(exprs: Sequence[p.PrimExpr]) -> ShapeCode:
    """Compile the dimensions `exprs` to one function of their variables."""
    return ShapeCode(exprs)


# -- the interpreter ----------------------------------------------------------------------------------------------------------
# Nothing branches on errors: each slot of the heap has an error (0 for none), and an operation passes on the first error of its
# operands. Each operation returns its value and an error. Sums and products use unsigned numbers, because LLVM may assume that
# signed ones never wrap.


def _sum(opcode: int, a: int, b: int) -> tuple[Any, int]:
    if opcode == _ADD:
        total = np.int64(np.uint64(a) + np.uint64(b))
        return total, OVERFLOW if ((a ^ total) & (b ^ total)) < 0 else 0
    total = np.int64(np.uint64(a) - np.uint64(b))
    return total, OVERFLOW if ((a ^ b) & (a ^ total)) < 0 else 0


def _product(a: int, b: int) -> tuple[Any, int]:
    if a == 0 or b == 0:
        return 0, 0
    if (a == -1 and b == _LEAST) or (b == -1 and a == _LEAST):
        return 0, OVERFLOW
    product = np.int64(np.uint64(a) * np.uint64(b))
    return product, OVERFLOW if product // b != a else 0


def _quotient(opcode: int, a: int, b: int) -> tuple[Any, int]:
    """A quotient or a remainder."""
    is_rest = opcode in (_FLOOR_MOD, _MOD)
    if b == 0:
        return 0, ZERO_DIVISION
    if b == -1:
        return 0 if is_rest else -a, OVERFLOW if a == _LEAST and not is_rest else 0
    quotient, rest = a // b, a % b
    if rest != 0 and (opcode == _CEIL_DIV or (opcode in (_DIV, _MOD) and (a < 0) != (b < 0))):
        quotient, rest = quotient + 1, rest - b
    return rest if is_rest else quotient, 0


def _other(opcode: int, a: int, b: int) -> tuple[Any, int]:
    """The smaller or the larger number, or a comparison. The bits of these say for which order they hold: <, =, >."""
    if opcode in (_MIN, _MAX):
        return a if (a < b) == (opcode == _MIN) else b, 0
    return (opcode - _LT + 1) >> (int(a > b) - int(a < b) + 1) & 1, 0


def _strict(njit: Compile) -> Compiled:
    """The compiled operations that need both operands."""
    total, product, quotient, other = (njit(part) for part in (_sum, _product, _quotient, _other))

    def strict(opcode: int, a: int, b: int) -> Any:
        if opcode < _MUL:
            return total(opcode, a, b)
        if opcode == _MUL:
            return product(a, b)
        return quotient(opcode, a, b) if opcode < _MIN else other(opcode, a, b)

    return njit(strict)


def _step(njit: Compile) -> Compiled:
    """The compiled function that runs one instruction."""
    strict = _strict(njit)

    def step(row: Array, heap: Array, errors: Array) -> None:
        opcode, target, a, b, c = row[0], row[1], row[2], row[3], row[4]
        source = target  # or the slot that is passed on
        if errors[a] != 0:
            source = a
        elif opcode == _SELECT:
            source = b if heap[a] != 0 else c
        elif opcode in (_AND, _OR):
            source = a if (heap[a] != 0) == (opcode == _OR) else b
        elif errors[b] != 0:
            source = b
        value, error = heap[source], errors[source]
        if source == target:
            value, error = (1 - heap[a], 0) if opcode == _NOT else strict(opcode, heap[a], heap[b])
        heap[target], errors[target] = value, error

    return njit(step)


@once
def _interpreter() -> Any:
    """Runs instructions (opcode, target, a, b, c) for each row of variables, on a heap that starts as `start`; `results` are the slots
    to keep. None if numba is missing.
    """
    try:
        from numba import njit  # takes 0.3 s to import
    except ImportError:
        return None
    compiled = njit(error_model="numpy")
    step = _step(compiled)

    def interpret(
        program: Array, start: Array, rows: Array, results: Array, values: Array, bad: Array
    ) -> None:
        errors = start * 0
        for row in range(len(rows)):
            heap = start.copy()
            errors[:] = 0
            heap[: rows.shape[1]] = rows[row]
            for n in range(len(program)):
                step(program[n], heap, errors)
            for n in range(len(results)):
                values[row, n], bad[row, n] = heap[results[n]], errors[results[n]]

    return compiled(interpret)
