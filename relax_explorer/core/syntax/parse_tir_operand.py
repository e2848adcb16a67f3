"""Reads names, literals and operators in PrimFuncs. Integer literals are int32 and adapt to the dtype of the other operand."""

from __future__ import annotations

import ast
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.codes import tir as tir_codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import (
    BOOL,
    FLOAT32,
    HANDLE,
    INT32,
    DType,
    dtype,
)
from relax_explorer.core.syntax.context import UNREADABLE, Context, Skip
from relax_explorer.core.syntax.parse_dim import full_name
from relax_explorer.core.syntax.prim_rules import (
    PRIM_OPERATORS,
    align,
    beside,
    combine,
    negated,
    truth,
)
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.prim_expr import ORIGIN, BufferLoad, BufferPtr

_SHIFTS: dict[type, str] = {
    ast.LShift: "shift_left",
    ast.RShift: "shift_right",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
}


class OperandReader(ABC):
    """Reads names, literals and operators. `names` has the variables and buffers of a PrimFunc."""

    def __init__(
        self, ctx: Context, names: dict[str, Any], define: Callable[[str, DType], p.PrimVar]
    ) -> None:
        self.ctx, self.names, self.define = ctx, names, define

    @abstractmethod
    def read(self, node: ast.expr) -> p.PrimExpr:
        """Any expression. Reports anything else and raises Skip."""

    def bad(self, node: ast.expr) -> Skip:
        """Report that `node` is not an expression, and return a Skip for the caller to raise."""
        text = f"{ast.unparse(node)[:60]!r} is not an expression of a PrimFunc"
        return self.ctx.fail(tir_codes.TIR_EXPRESSION, text, node, help=tir_codes.TIR_EXPRESSION.why)

    def index(self, node: ast.expr) -> p.PrimExpr:
        """An index or extent, which must be an integer."""
        value = self.read(node)
        if not value.dtype.is_int and value.dtype is not BOOL:
            raise self.ctx.fail(
                tir_codes.TIR_EXPRESSION, f"an integer is needed, this is {value.dtype}", node
            )
        return value

    def _name(self, node: ast.Name) -> p.PrimExpr:
        if node.id == UNREADABLE:
            raise Skip
        value = self.names.get(node.id)
        if isinstance(value, p.PrimExpr):
            return value
        if isinstance(value, Buffer) and value.is_scalar:
            return BufferLoad(value, ORIGIN)
        if isinstance(value, Buffer):
            return BufferPtr(value, "buffer")
        declared = self.ctx.type_var_dtype(node.id)
        if declared is not None:
            return self.define(node.id, declared)
        hint = self.ctx.meant(node.id, ()) or codes.UNDEFINED.fix
        raise self.ctx.fail(
            codes.UNDEFINED, f"{node.id!r} is not defined", node, "not defined here", help=hint
        )

    def _constant(self, node: ast.Constant) -> p.PrimExpr:
        value = node.value
        if isinstance(value, bool):
            return p.IntImm(value, BOOL)
        if isinstance(value, int):
            return self.literal(value, INT32, node)
        if isinstance(value, float):
            return p.FloatImm(value, FLOAT32)
        if isinstance(value, str):
            return p.PrimString(value)
        raise self.bad(node)

    def literal(self, value: float, target: DType, node: ast.expr) -> p.PrimExpr:
        """A literal of a dtype. Raises Skip if it does not fit."""
        try:
            return p.as_prim(value, target)
        except OverflowError:
            text = f"{str(value)[:40]} does not fit {target}"
            raise self.ctx.fail(codes.BAD_LITERAL, text, node, help=codes.BAD_LITERAL.fix) from None

    def _binary(self, node: ast.BinOp) -> p.PrimExpr:
        operations = [node]  # a sum of many terms nests deeply to the left
        while isinstance(operations[-1].left, ast.BinOp):
            operations.append(operations[-1].left)
        value = self.read(operations[-1].left)
        for operation in reversed(operations):
            value = self._operation(operation, *self.align(value, self.read(operation.right)))
        return value

    def _operation(self, node: ast.BinOp, left: p.PrimExpr, right: p.PrimExpr) -> p.PrimExpr:
        if left.dtype is HANDLE or right.dtype is HANDLE:
            raise self.bad(node)
        operator = PRIM_OPERATORS.get(type(node.op))
        if operator is not None:
            return combine(operator, left, right)
        name = _SHIFTS.get(type(node.op))
        if name is not None:
            return p.PrimCall(name, (left, right), left.dtype)
        if isinstance(node.op, ast.Pow):
            return p.PrimCall("pow", (left, right), left.dtype)
        raise self.bad(node)

    def align(self, a: p.PrimExpr, b: p.PrimExpr) -> tuple[p.PrimExpr, p.PrimExpr]:
        """Two operands converted to one dtype. A scalar is broadcast to the lanes of the other operand."""
        if a.dtype is b.dtype or a.dtype.kind == "handle" or b.dtype.kind == "handle":
            return a, b
        if a.dtype.lanes != b.dtype.lanes:
            wide = max(a.dtype.lanes, b.dtype.lanes)
            a, b = self._broadcast(beside(a, b), wide), self._broadcast(beside(b, a), wide)
        return (a, b) if a.dtype is b.dtype else align(a, b, INT32)

    def _broadcast(self, value: p.PrimExpr, lanes: int) -> p.PrimExpr:
        if value.dtype.lanes == lanes:
            return value
        return p.PrimCall("Broadcast", (value, p.IntImm(lanes, INT32)), value.dtype.with_lanes(lanes))

    def _compare(self, node: ast.Compare) -> p.PrimExpr:
        operator = PRIM_OPERATORS.get(type(node.ops[0]))
        if operator is None or len(node.ops) != 1:
            raise self.bad(node)
        return combine(operator, *self.align(self.read(node.left), self.read(node.comparators[0])))

    def _bool(self, node: ast.BoolOp) -> p.PrimExpr:
        operator = PRIM_OPERATORS[type(node.op)]
        first, *others = map(self.truth, node.values)
        return functools.reduce(operator, others, first)

    def truth(self, node: ast.expr) -> p.PrimExpr:
        """A condition. Raises Skip for a number."""
        return truth(self.ctx, self.read(node), node)

    def _unary(self, node: ast.UnaryOp) -> p.PrimExpr:
        inner = node.operand
        if isinstance(node.op, ast.Not):
            return p.Not(self.truth(inner))
        if isinstance(node.op, ast.USub):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, (int, float)):
                return self.literal(-inner.value, INT32 if isinstance(inner.value, int) else FLOAT32, node)
            value = self.read(inner)
            if isinstance(value, p.FloatImm):
                return p.FloatImm(-value.value, value.dtype)
            return negated(value)
        if isinstance(node.op, ast.Invert):
            value = self.read(inner)
            return p.PrimCall("bitwise_not", (value,), value.dtype)
        raise self.bad(node)

    def _ternary(self, node: ast.IfExp) -> p.PrimExpr:
        a, b = self.align(self.read(node.body), self.read(node.orelse))
        return p.PrimCall("if_then_else", (self.truth(node.test), a, b), a.dtype)

    def dtype(self, node: ast.expr) -> DType:
        """The dtype in a string literal."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                return dtype(full_name(node.value))
            except ValueError:
                text = f"{node.value[:40]!r} is not a dtype"
                raise self.ctx.fail(codes.BAD_DTYPE, text, node, help=codes.BAD_DTYPE.fix) from None
        raise self.ctx.fail(codes.BAD_DTYPE, f"{ast.unparse(node)[:40]!r} is not a dtype", node)
