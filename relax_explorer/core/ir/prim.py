"""Scalar expressions: dimensions of tensors, and the arithmetic inside PrimFuncs.

Variables and literals are in `prim_atoms`, operations on two operands in `prim_binary`; all names can be imported from here.
"""

from __future__ import annotations

from typing import Any

from relax_explorer.core.ir import prim_text as pt
from relax_explorer.core.ir.dtype import BOOL, INT64, DType
from relax_explorer.core.ir.node import DEEP, operands_first, over
from relax_explorer.core.ir.prim_atoms import (
    INT64_MAX,
    INT64_MIN,
    TABLE,
    AnyDim,
    FloatImm,
    IntImm,
    PrimExpr,
    PrimString,
    PrimVar,
    as_prim,
)
from relax_explorer.core.ir.prim_binary import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Binary,
    Called,
    Comparison,
    Div,
    FloorDiv,
    FloorMod,
    Logical,
    Max,
    Min,
    Mod,
    Mul,
    Or,
    Sub,
)

__all__ = [
    "EQ",
    "GE",
    "GT",
    "INT64_MAX",
    "INT64_MIN",
    "LE",
    "LT",
    "NE",
    "OF_MODULE",
    "Add",
    "And",
    "AnyDim",
    "Binary",
    "Called",
    "Cast",
    "Comparison",
    "Div",
    "FloatImm",
    "FloorDiv",
    "FloorMod",
    "IntImm",
    "Logical",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Not",
    "Or",
    "PrimCall",
    "PrimExpr",
    "PrimString",
    "PrimVar",
    "Select",
    "Sub",
    "as_dim",
    "as_prim",
    "free_vars",
    "substitute",
]


class Not(PrimExpr):
    """`not a`."""

    __slots__ = ("a",)
    a: PrimExpr
    operands = ("a",)

    def __new__(cls, a: PrimExpr) -> Not:
        key = (cls, a)
        unique = TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.a, unique.dtype = a, BOOL
            TABLE.add(key, unique)
        return unique

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`not a`."""
        return f"not {out.operand(self.a, pt.NOT)}", pt.NOT


class Cast(PrimExpr):
    """`value` converted to `dtype`."""

    __slots__ = ("size", "value")
    value: PrimExpr
    operands = ("value",)

    def __new__(cls, dtype: DType, value: PrimExpr) -> Cast:
        key = (cls, dtype, value)
        unique = TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.value, unique.dtype, unique.size = value, dtype, value.size + 1
            TABLE.add(key, unique)
        return unique

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """The same conversion of another value."""
        return Cast(self.dtype, children[0])

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`T.Cast("float32", value)`."""
        return f'T.Cast("{self.dtype}", {out.write(self.value)})', pt.ATOM


class Select(PrimExpr):
    """`true_value` where `condition` holds, else `false_value`."""

    __slots__ = ("condition", "false_value", "size", "true_value")
    condition: PrimExpr
    true_value: PrimExpr
    false_value: PrimExpr
    operands = ("condition", "true_value", "false_value")

    def __new__(cls, condition: PrimExpr, true_value: PrimExpr, false_value: PrimExpr) -> Select:
        key = (cls, condition, true_value, false_value)
        unique = TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.condition, unique.true_value, unique.false_value = condition, true_value, false_value
            unique.dtype = true_value.dtype
            unique.size = condition.size + true_value.size + false_value.size + 1
            TABLE.add(key, unique)
        return unique

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`T.Select(condition, a, b)`."""
        return out.call("Select", self.children())


_BIT_OPERATORS = {
    "shift_left": ("<<", pt.SHIFT),
    "shift_right": (">>", pt.SHIFT),
    "bitwise_and": ("&", pt.BIT_AND),
    "bitwise_xor": ("^", pt.BIT_XOR),
    "bitwise_or": ("|", pt.BIT_OR),
}
OF_MODULE = "Module."  # prefix of called functions of the module


class PrimCall(PrimExpr):
    """An intrinsic such as `T.exp(x)`: `op` is its TVMScript name without the `T.`, `keywords` its named arguments.

    In a call of another function of the module, `op` is its name with the prefix `OF_MODULE`.
    """

    __slots__ = ("args", "keywords", "op", "size")
    op: str
    args: tuple[PrimExpr, ...]
    keywords: tuple[tuple[str, Any], ...]

    def __new__(
        cls, op: str, args: tuple[PrimExpr, ...], dtype: DType, keywords: tuple[tuple[str, Any], ...] = ()
    ) -> PrimCall:
        key = (cls, op, args, dtype, keywords)
        unique = TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.op, unique.args, unique.dtype, unique.keywords = op, args, dtype, keywords
            unique.size = 1 + sum([arg.size for arg in args])
            TABLE.add(key, unique)
        return unique

    def children(self) -> tuple[PrimExpr, ...]:
        """The arguments."""
        return self.args

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """The same intrinsic on other arguments."""
        return PrimCall(self.op, children, self.dtype, self.keywords)

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`T.op(…)`, or Python's operator for it."""
        sign = _BIT_OPERATORS.get(self.op) if len(self.args) == 2 else None
        if sign is not None:
            symbol, strength = sign
            a, b = self.args
            return f"{out.operand(a, strength)} {symbol} {out.operand(b, strength + 1)}", strength
        keywords = [
            f"{key}={list(value) if isinstance(value, tuple) else value!r}" for key, value in self.keywords
        ]
        name = self.op if self.op.startswith(OF_MODULE) else f"T.{self.op}"
        return f"{name}({', '.join([out.write(arg) for arg in self.args] + keywords)})", pt.ATOM


def as_dim(value: PrimExpr) -> PrimExpr:
    """`value` as an int64 dimension. Narrower integers are widened; any other dtype raises TypeError."""
    if value.dtype is INT64:
        return value
    if value.dtype.kind not in ("int", "uint") or value.dtype.bits > 64:
        raise TypeError(f"a dimension is an int64, {value} is {value.dtype}")
    return IntImm(value.value, INT64) if type(value) is IntImm else Cast(INT64, value)


def free_vars(*exprs: PrimExpr) -> list[PrimVar]:
    """The variables in `exprs`, in order of first occurrence."""
    variables: dict[PrimVar, None] = {}
    stack = list(reversed(exprs))
    while stack:
        expr = stack.pop()
        if type(expr) is PrimVar:
            variables[expr] = None
        elif type(expr) is not IntImm:
            stack.extend(reversed(expr.children()))
    return list(variables)


def substitute(expr: PrimExpr, mapping: dict[PrimVar, PrimExpr]) -> PrimExpr:
    """`expr` with variables replaced. The same object if none of them occurs."""
    if type(expr) is PrimVar:
        return mapping.get(expr, expr)
    if expr.size <= DEEP:
        return over(expr, tuple([substitute(child, mapping) for child in expr.children()]))
    new: dict[PrimExpr, PrimExpr] = dict(mapping.items())
    for part in operands_first(expr, lambda part: part.children(), new):
        new[part] = over(part, tuple([new[child] for child in part.children()]))
    return new[expr]
