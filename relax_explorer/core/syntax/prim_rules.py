"""Reading rules of scalar expressions: what an operator's symbol or a call means, over operands of which dtypes.

Only what is written with an operator's symbol is folded (`n + 0` is n). A tree that holds such an operation all the same, as
passes make them, is written as a function, `T.Add(n, 0)`, so that it reads back.
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
"""Calls that convert their two operands as operators do."""


def combine(operator: type[p.Binary], a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """The operator over two operands of one dtype, folded where literals decide the result."""
    folded = operator.fold(a, b)
    return operator(a, b) if folded is None else folded


def function_of(name: str, a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """What `T.max(a, b)` says; a name of a node, such as `T.Add`, makes just that node, and folds nothing."""
    operator = PRIM_FUNCTIONS[name]
    return operator(a, b) if name[0].isupper() else combine(operator, a, b)


def negated(value: p.PrimExpr) -> p.PrimExpr:
    """What `-value` says, as TVM reads it."""
    signed = value.dtype.is_float or value.dtype.kind == "int"
    return (
        combine(p.Mul, value, p.as_prim(-1, value.dtype))
        if signed
        else p.Sub(p.as_prim(0, value.dtype), value)
    )


def align(a: p.PrimExpr, b: p.PrimExpr, bare: DType = INT64) -> tuple[p.PrimExpr, p.PrimExpr]:
    """Two operands of one dtype, as TVM converts them: a literal of dtype `bare` takes that of the other, else the wider wins."""
    if a.dtype is b.dtype:
        return a, b
    if isinstance(b, p.IntImm) and b.dtype is bare and (a.dtype.is_int or a.dtype.is_float):
        return a, _converted(b, a.dtype)
    if isinstance(a, p.IntImm) and a.dtype is bare and (b.dtype.is_int or b.dtype.is_float):
        return _converted(a, b.dtype), b
    wide = _wider(a.dtype, b.dtype)
    return (a, b) if wide is None else (_converted(a, wide), _converted(b, wide))


def _converted(value: p.PrimExpr, target: DType) -> p.PrimExpr:
    if value.dtype is target:
        return value
    if isinstance(value, (p.IntImm, p.FloatImm)):
        with contextlib.suppress(OverflowError):
            return p.as_prim(value.value, target)
    return p.Cast(target, value)


def truth(ctx: Context, value: p.PrimExpr, node: ast.expr) -> p.PrimExpr:
    """A condition, which is a truth value and no number; raises Skip."""
    if value.dtype.kind == "bool":
        return value
    text = f"a condition is a truth value, this is {value.dtype}"
    raise ctx.fail(codes.BAD_EXPRESSION, text, node, help="compare it, as in n != 0")


def _wider(a: DType, b: DType) -> DType | None:
    """The dtype that both operands are converted to: a float before an integer before a bool, then the one of more bits."""
    left, right = _rank(a), _rank(b)
    if left != right:
        return None if min(left, right) < 0 else a if left > right else b
    if left < 0 or (left == 2 and a.bits == b.bits):
        return None  # such as float16 and bfloat16, which TVM refuses
    return a if a.bits >= b.bits else b


def _rank(dtype: DType) -> int:
    return 2 if dtype.is_float else 1 if dtype.is_int else 0 if dtype.is_bool else -1
