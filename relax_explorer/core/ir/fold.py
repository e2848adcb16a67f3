"""What literals among its operands make of an operator when a text is read, as TVM reads it: `n + 0` is n, `2 * 3` is 6.

Only what is written with an operator's symbol is folded. A tree that holds such an operation all the same (a pass made it)
prints as a function, `T.Add(n, 0)`, so that what is printed reads back.
"""

from __future__ import annotations

from collections.abc import Callable

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import BOOL, DType


def combine(kind: type[p.Binary], a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    """The operator over two operands of one dtype, folded where literals decide the result."""
    found = fold(kind, a, b)
    return kind(a, b) if found is None else found


def substitute(expr: p.PrimExpr, mapping: dict[p.PrimVar, p.PrimExpr]) -> p.PrimExpr:
    """`expr` with variables replaced, and folded where that makes literals of operands; unchanged, the same object."""
    if type(expr) is p.PrimVar:
        return mapping.get(expr, expr)
    children = expr.children()
    if not children:
        return expr
    new = tuple([substitute(child, mapping) for child in children])
    if all([a is b for a, b in zip(children, new, strict=True)]):
        return expr
    found = fold(type(expr), *new) if isinstance(expr, p.Binary) else None
    return expr.with_children(new) if found is None else found


def fold(kind: type[p.Binary], a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr | None:
    """What literals among the operands make of an operator; None when they decide nothing."""
    if a is b and kind in (p.Max, p.Min):
        return a
    one, two = _value(a), _value(b)
    if (one is None and two is None) or a.dtype is not b.dtype or a.dtype.lanes != 1:
        return None
    if one is not None and two is not None:
        return _of_literals(kind, one, two, a.dtype)
    rule = _NEUTRAL.get(kind)
    return rule(a, b, one, two) if rule is not None else None


def _value(expr: p.PrimExpr) -> float | None:
    if type(expr) is p.IntImm:
        return None if expr.dtype.is_bool else expr.value
    return expr.value if type(expr) is p.FloatImm else None


def _of_literals(kind: type[p.Binary], a: float, b: float, dtype: DType) -> p.PrimExpr | None:
    rule = _CONSTANT.get(kind)
    if rule is None or (b == 0 and kind in _DIVISIONS) or (dtype.is_float and kind in _OF_INTEGERS):
        return None
    if kind is p.Div and not dtype.is_float:
        rule = _towards_zero
    result = rule(a, b)
    if kind.compares:
        return p.IntImm(int(result), BOOL)
    return _rounded(result, dtype) if dtype.is_float else p.IntImm(wrap(int(result), dtype), dtype)


def _rounded(value: float, dtype: DType) -> p.PrimExpr:
    import numpy as np

    with np.errstate(all="ignore"):
        return p.FloatImm(float(np.asarray(value).astype(dtype.to_numpy())), dtype)


def wrap(value: int, dtype: DType) -> int:
    """`value` brought into the range of an integer dtype, as two's complement does."""
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if dtype.kind == "int" and value >> (dtype.bits - 1) else value


def _towards_zero(a: float, b: float) -> int:
    quotient = abs(int(a)) // abs(int(b))
    return quotient if (a >= 0) == (b >= 0) else -quotient


_DIVISIONS = frozenset({p.Div, p.Mod, p.FloorDiv, p.FloorMod})
_OF_INTEGERS = frozenset({p.Mod, p.FloorDiv, p.FloorMod})
_CONSTANT: dict[type, Callable[[float, float], float]] = {
    p.Add: lambda a, b: a + b,
    p.Sub: lambda a, b: a - b,
    p.Mul: lambda a, b: a * b,
    p.Div: lambda a, b: a / b,
    p.Mod: lambda a, b: int(a) - _towards_zero(a, b) * int(b),
    p.FloorDiv: lambda a, b: int(a) // int(b),
    p.FloorMod: lambda a, b: int(a) % int(b),
    p.Max: lambda a, b: a if a > b else b,
    p.Min: lambda a, b: a if a < b else b,
    p.EQ: lambda a, b: a == b,
    p.NE: lambda a, b: a != b,
    p.LT: lambda a, b: a < b,
    p.LE: lambda a, b: a <= b,
    p.GT: lambda a, b: a > b,
    p.GE: lambda a, b: a >= b,
}
_Neutral = Callable[[p.PrimExpr, p.PrimExpr, float | None, float | None], p.PrimExpr | None]


def _add(a: p.PrimExpr, b: p.PrimExpr, one: float | None, two: float | None) -> p.PrimExpr | None:
    return b if one == 0 else a if two == 0 else None


def _sub(a: p.PrimExpr, b: p.PrimExpr, one: float | None, two: float | None) -> p.PrimExpr | None:
    return a if two == 0 else None


def _mul(a: p.PrimExpr, b: p.PrimExpr, one: float | None, two: float | None) -> p.PrimExpr | None:
    if one == 1 or two == 0:
        return b
    return a if one == 0 or two == 1 else None


def _quotient(a: p.PrimExpr, b: p.PrimExpr, one: float | None, two: float | None) -> p.PrimExpr | None:
    return a if one == 0 or two == 1 else None


def _remainder(a: p.PrimExpr, b: p.PrimExpr, one: float | None, two: float | None) -> p.PrimExpr | None:
    if a.dtype.is_float:
        return None
    return a if one == 0 else p.as_prim(0, a.dtype) if two == 1 else None


_NEUTRAL: dict[type, _Neutral] = {
    p.Add: _add,
    p.Sub: _sub,
    p.Mul: _mul,
    p.Div: _quotient,
    p.FloorDiv: _quotient,
    p.Mod: _remainder,
    p.FloorMod: _remainder,
}
