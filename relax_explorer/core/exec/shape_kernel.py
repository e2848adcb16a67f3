"""The compiled half of `shape_code`: runs instructions over a heap of int64, and records errors.

One kernel serves all programs, because compiling takes a second and there are many dimensions. Nothing branches on errors:
each slot of the heap has an error (0 for none), and an operation passes on the first error of its operands. Sums and products
use unsigned numbers, because LLVM may assume that signed ones never wrap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

OVERFLOW, ZERO_DIVISION = 1, 2
(
    ADD,
    SUB,
    MUL,
    FLOOR_DIV,
    FLOOR_MOD,
    DIV,
    MOD,
    CEIL_DIV,
    MIN,
    MAX,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE,
    AND,
    OR,
    NOT,
    SELECT,
) = range(20)
LEAST = -(1 << 63)


@njit(error_model="numpy")
def _sum(opcode: int, a: int, b: int) -> Any:
    """Each operation returns its value, and an error or 0."""
    if opcode == ADD:
        total = np.int64(np.uint64(a) + np.uint64(b))
        return total, OVERFLOW if ((a ^ total) & (b ^ total)) < 0 else 0
    total = np.int64(np.uint64(a) - np.uint64(b))
    return total, OVERFLOW if ((a ^ b) & (a ^ total)) < 0 else 0


@njit(error_model="numpy")
def _product(a: int, b: int) -> Any:
    if a == 0 or b == 0:
        return 0, 0
    if (a == -1 and b == LEAST) or (b == -1 and a == LEAST):
        return 0, OVERFLOW
    product = np.int64(np.uint64(a) * np.uint64(b))
    return product, OVERFLOW if product // b != a else 0


@njit(error_model="numpy")
def _quotient(opcode: int, a: int, b: int) -> Any:
    if b == 0:
        return 0, ZERO_DIVISION
    if a == LEAST and b == -1:
        return 0, OVERFLOW
    quotient = a // b
    if a % b != 0 and (opcode == CEIL_DIV or (opcode == DIV and (a < 0) != (b < 0))):
        quotient += 1
    return quotient, 0


@njit(error_model="numpy")
def _remainder(opcode: int, a: int, b: int) -> Any:
    if b == 0:
        return 0, ZERO_DIVISION
    if b == -1:
        return 0, 0
    remainder = a % b
    if opcode == MOD and remainder != 0 and (a < 0) != (b < 0):
        remainder -= b  # with the sign of `a`
    return remainder, 0


@njit(error_model="numpy")
def _compared(opcode: int, a: int, b: int) -> Any:
    if opcode == EQ:
        return a == b
    if opcode == NE:
        return a != b
    if opcode == LT:
        return a < b
    if opcode == LE:
        return a <= b
    return a > b if opcode == GT else a >= b


@njit(error_model="numpy")
def _strict(opcode: int, a: int, b: int) -> Any:
    """An operation that needs both operands."""
    if opcode <= SUB:
        return _sum(opcode, a, b)
    if opcode == MUL:
        return _product(a, b)
    if opcode in (FLOOR_DIV, DIV, CEIL_DIV):
        return _quotient(opcode, a, b)
    if opcode in (FLOOR_MOD, MOD):
        return _remainder(opcode, a, b)
    if opcode == MIN:
        return min(a, b), 0
    return (max(a, b), 0) if opcode == MAX else (int(_compared(opcode, a, b)), 0)


@njit(error_model="numpy")
def interpret(program: Any, heap: Any, errors: Any) -> None:
    """Run instructions (opcode, target, a, b, c) on a heap. `errors` has the length of the heap."""
    for n in range(len(program)):
        opcode, target, a, b, c = program[n, 0], program[n, 1], program[n, 2], program[n, 3], program[n, 4]
        if errors[a] != 0:
            heap[target], errors[target] = 0, errors[a]
        elif opcode == NOT:
            heap[target], errors[target] = 1 - heap[a], 0
        elif opcode == SELECT:
            source = b if heap[a] != 0 else c
            heap[target], errors[target] = heap[source], errors[source]
        elif opcode in (AND, OR):
            source = a if (heap[a] != 0) == (opcode == OR) else b
            heap[target], errors[target] = heap[source], errors[source]
        elif errors[b] != 0:
            heap[target], errors[target] = 0, errors[b]
        else:
            heap[target], errors[target] = _strict(opcode, heap[a], heap[b])


@njit(error_model="numpy")
def interpret_rows(program: Any, start: Any, rows: Any, results: Any, values: Any, bad: Any) -> None:
    """Run a program for each row of variables. The heap starts as `start`; `results` are the slots to keep."""
    errors = start * 0
    for row in range(len(rows)):
        heap = start.copy()
        errors[:] = 0
        heap[: rows.shape[1]] = rows[row]
        interpret(program, heap, errors)
        for n in range(len(results)):
            values[row, n], bad[row, n] = heap[results[n]], errors[results[n]]
