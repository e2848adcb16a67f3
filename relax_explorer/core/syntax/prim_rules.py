"""Rules for reading scalar expressions: the meaning of operators and calls, and the conversion of operands.

Only operations written with a symbol are folded (`n + 0` is n). A pass may build a tree with such an operation. It is
printed as a function, `T.Add(n, 0)`, so that it reads back unchanged.
"""

from __future__ import annotations

import ast
import contextlib

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.syntax.context import Context

PRIM_OPERATORS: dict[type, type[p.Binary]] = {
    ast.Add: p.Add, ast.Sub: p.Sub, ast.Mult: p.Mul, ast.Div: p.Div, ast.FloorDiv: p.FloorDiv, ast.Mod: p.FloorMod,
    ast.Eq: p.EQ, ast.NotEq: p.NE, ast.Lt: p.LT, ast.LtE: p.LE, ast.Gt: p.GT, ast.GtE: p.GE, ast.And: p.And, ast.Or: p.Or,
}  # fmt: skip
PRIM_FUNCTIONS: dict[str, type[p.Binary]] = {
    "max": p.Max, "min": p.Min, "floordiv": p.FloorDiv, "FloorDiv": p.FloorDiv, "floormod": p.FloorMod, "FloorMod": p.FloorMod,
    "truncdiv": p.Div, "Div": p.Div, "truncmod": p.Mod, "Mod": p.Mod, "Add": p.Add, "Sub": p.Sub, "Mul": p.Mul, "Max": p.Max, "Min": p.Min,
    "EQ": p.EQ, "NE": p.NE, "LT": p.LT, "LE": p.LE, "GT": p.GT, "GE": p.GE, "And": p.And, "Or": p.Or,
}  # fmt: skip
OF_ONE_DTYPE = frozenset(
    ("T.bitwise_and", "T.bitwise_or", "T.bitwise_xor", "T.pow", "T.shift_left", "T.shift_right")
)
"""Calls that convert their two operands like operators."""


def combine(operator: type[p.Binary], a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """The operator on two operands of one dtype, folded if literals decide the result."""
    folded = operator.fold(a, b)
    return operator(a, b) if folded is None else folded


def function_of(name: str, a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """The expression `T.max(a, b)`. The name of a node class, such as `T.Add`, makes that node without folding."""
    operator = PRIM_FUNCTIONS[name]
    return operator(a, b) if name[0].isupper() else combine(operator, a, b)


def negated(value: p.PrimExpr) -> p.PrimExpr:
    """The expression `-value`, as TVM reads it."""
    signed = value.dtype.is_float or value.dtype.kind == "int"
    return (
        combine(p.Mul, value, p.as_prim(-1, value.dtype))
        if signed
        else p.Sub(p.as_prim(0, value.dtype), value)
    )


def align(a: p.PrimExpr, b: p.PrimExpr, bare: DType = INT64) -> tuple[p.PrimExpr, p.PrimExpr]:
    """Two operands converted to one dtype, like in TVM. A literal of dtype `bare` takes the other dtype; else the wider one wins."""
    if a.dtype is b.dtype:
        return a, b
    if isinstance(b, p.IntImm) and b.dtype is bare and (a.dtype.is_int or a.dtype.is_float):
        return a, _converted(b, a.dtype)
    if isinstance(a, p.IntImm) and a.dtype is bare and (b.dtype.is_int or b.dtype.is_float):
        return _converted(a, b.dtype), b
    wide = _wider(a.dtype, b.dtype)
    return (a, b) if wide is None else (_converted(a, wide), _converted(b, wide))


def beside(value: p.PrimExpr, vector: p.PrimExpr) -> p.PrimExpr:
    """A scalar, converted to the wider dtype of its own and of a vector's elements. TVM converts it before it broadcasts it."""
    wide = _wider(value.dtype, vector.dtype.with_lanes(1)) if value.dtype.lanes == 1 else None
    return value if wide is None else _converted(value, wide)


def _converted(value: p.PrimExpr, target: DType) -> p.PrimExpr:
    if value.dtype is target:
        return value
    if isinstance(value, (p.IntImm, p.FloatImm)):
        with contextlib.suppress(OverflowError):
            return p.as_prim(value.value, target)
    return p.Cast(target, value)


def truth(ctx: Context, value: p.PrimExpr, node: ast.expr) -> p.PrimExpr:
    """A condition. Reports any dtype except bool, and raises Skip."""
    if value.dtype.kind == "bool":
        return value
    text = f"a condition is a truth value, this is {value.dtype}"
    raise ctx.fail(codes.BAD_EXPRESSION, text, node, help="compare it, as in n != 0")


def _wider(a: DType, b: DType) -> DType | None:
    """The common dtype of two operands: float before integer before bool, then the one with more bits."""
    left, right = _rank(a), _rank(b)
    if left != right:
        return None if min(left, right) < 0 else a if left > right else b
    if left < 0 or (left == 2 and a.bits == b.bits):
        return None  # such as float16 and bfloat16, which TVM rejects
    return a if a.bits >= b.bits else b


def _rank(dtype: DType) -> int:
    return 2 if dtype.is_float else 1 if dtype.is_int else 0 if dtype.is_bool else -1
