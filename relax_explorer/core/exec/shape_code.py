"""Compiles shape expressions to instructions over a heap of int64: variables, literals, intermediate values.

Results and errors are those of `scalars.evaluate`, for many rows of lengths at a time. Without numba, and for arithmetic
other than int64, the tree is evaluated instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64

try:
    from relax_explorer.core.exec import shape_kernel as kernel
except ImportError:  # numba is missing
    kernel = None  # type: ignore[assignment]  # without it nothing is compiled

_KINDS = (
    p.Add, p.Sub, p.Mul, p.FloorDiv, p.FloorMod, p.Div, p.Mod, None, p.Min, p.Max,
    p.EQ, p.NE, p.LT, p.LE, p.GT, p.GE, p.And, p.Or, p.Not, p.Select,
)  # fmt: skip
_NUMBERS: dict[type, int] = {kind: number for number, kind in enumerate(_KINDS) if kind is not None}
_CALLS = {"if_then_else": _NUMBERS[p.Select], "ceildiv": _KINDS.index(None)}
OVERFLOW, ZERO_DIVISION = 1, 2
_ERRORS = {codes.OVERFLOW: OVERFLOW, codes.BAD_ARITHMETIC: ZERO_DIVISION}


class ShapeCode:
    """A compiled sequence of dimensions. `variables` is the order of the lengths."""

    def __init__(self, exprs: Sequence[p.PrimExpr]) -> None:
        self.exprs = tuple(exprs)
        self.variables = tuple(p.free_vars(*exprs))
        self._slots: dict[p.PrimExpr, int] = {var: n for n, var in enumerate(self.variables)}
        self._start = [0] * len(self.variables)
        self._rows: list[tuple[int, ...]] = []
        self.compiled = kernel is not None and all([self._compile(expr) for expr in self.exprs])
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

    def table(self, rows: Any) -> tuple[Any, Any]:
        """The values for each row of lengths, and their errors: 0, OVERFLOW or ZERO_DIVISION."""
        lengths = np.asarray(rows, dtype=np.int64).reshape(len(rows), len(self.variables))
        values = np.zeros((len(rows), len(self.exprs)), dtype=np.int64)
        errors = np.zeros_like(values)
        if self.compiled:
            kernel.interpret_rows(self._program, self._heap, lengths, self._results, values, errors)
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
