"""Scalar expressions: dimensions of tensors, and the arithmetic inside PrimFuncs.

Everything but variables is interned: two expressions built alike are one object, so `is` decides equality. A variable is
its identity; its name is a hint.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from relax_explorer.core.ir.dtype import BOOL, FLOAT32, INT32, INT64, DType
from relax_explorer.core.ir.interned import InternTable

_TABLE: InternTable[tuple[Any, ...], Any] = InternTable()
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


class PrimExpr:
    """A scalar expression of element type `dtype`."""

    __slots__ = ("__weakref__", "dtype")
    dtype: DType
    operands: ClassVar[tuple[str, ...]] = ()
    size = 1  # how many literals, variables and operations are written in it; what is shared counts each time

    def children(self) -> tuple[PrimExpr, ...]:
        """The operands, in source order."""
        return tuple(getattr(self, name) for name in self.operands)

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """The same expression over other operands."""
        return type(self)(*children) if children else self

    def __add__(self, other: PrimExpr | int) -> PrimExpr:
        return Add(self, as_prim(other, self.dtype))

    def __radd__(self, other: int) -> PrimExpr:
        return Add(as_prim(other, self.dtype), self)

    def __sub__(self, other: PrimExpr | int) -> PrimExpr:
        return Sub(self, as_prim(other, self.dtype))

    def __rsub__(self, other: int) -> PrimExpr:
        return Sub(as_prim(other, self.dtype), self)

    def __mul__(self, other: PrimExpr | int) -> PrimExpr:
        return Mul(self, as_prim(other, self.dtype))

    def __rmul__(self, other: int) -> PrimExpr:
        return Mul(as_prim(other, self.dtype), self)

    def __floordiv__(self, other: PrimExpr | int) -> PrimExpr:
        return FloorDiv(self, as_prim(other, self.dtype))

    def __mod__(self, other: PrimExpr | int) -> PrimExpr:
        return FloorMod(self, as_prim(other, self.dtype))

    def __truediv__(self, other: PrimExpr | float) -> PrimExpr:
        return Div(self, as_prim(other, self.dtype))

    def __neg__(self) -> PrimExpr:
        return Sub(as_prim(0, self.dtype), self)

    def __repr__(self) -> str:
        from relax_explorer.core.ir.prim_text import prim_text

        return prim_text(self)


class PrimVar(PrimExpr):
    """A scalar variable: a shape variable (int64), a loop or let variable of a PrimFunc, or a scalar parameter.

    `pointee` is of a handle that is a parameter: the type it says to point to, as text; empty when it says none.
    """

    __slots__ = ("name", "pointee")
    name: str
    pointee: str

    def __init__(self, name: str, dtype: DType = INT64, pointee: str = "") -> None:
        self.name, self.dtype, self.pointee = name, dtype, pointee

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """A variable has no operands: itself."""
        return self


class AnyDim(PrimExpr):
    """A length of which nothing is known, and which may differ at each place: experimental, written `R.any_dim`."""

    __slots__ = ()

    def __init__(self) -> None:
        self.dtype = INT64


class IntImm(PrimExpr):
    """An integer or bool literal; a value that its dtype can't hold raises OverflowError."""

    __slots__ = ("value",)
    value: int

    def __new__(cls, value: int, dtype: DType = INT64) -> IntImm:
        key = (cls, int(value), dtype)
        entry = _TABLE.get(key)
        hit = None if entry is None else entry()
        if hit is not None:
            return hit  # type: ignore[no-any-return]  # the table holds what this key made
        if not _fits(int(value), dtype):
            raise OverflowError(f"{value} does not fit {dtype}")
        made = object.__new__(cls)
        made.value, made.dtype = int(value), dtype
        return _TABLE.add(key, made)  # type: ignore[no-any-return]  # as above

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """A literal has no operands: itself."""
        return self


def _fits(value: int, dtype: DType) -> bool:
    if dtype.kind == "int":
        return -(1 << (dtype.bits - 1)) <= value < 1 << (dtype.bits - 1)
    if dtype.kind in ("uint", "handle"):
        return 0 <= value < 1 << dtype.bits
    return value in (0, 1) if dtype.kind == "bool" else False


class FloatImm(PrimExpr):
    """A floating point literal, kept as a Python float (64 bits) of element type `dtype`."""

    __slots__ = ("value",)
    value: float

    def __new__(cls, value: float, dtype: DType = FLOAT32) -> FloatImm:
        key = (cls, float(value).hex(), dtype)
        entry = _TABLE.get(key)
        hit = None if entry is None else entry()
        if hit is not None:
            return hit  # type: ignore[no-any-return]  # the table holds what this key made
        made = object.__new__(cls)
        made.value, made.dtype = float(value), dtype
        return _TABLE.add(key, made)  # type: ignore[no-any-return]  # as above

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """A literal has no operands: itself."""
        return self


class PrimString(PrimExpr):
    """A string literal among the arguments of an intrinsic."""

    __slots__ = ("value",)
    value: str

    def __new__(cls, value: str) -> PrimString:
        from relax_explorer.core.ir.dtype import HANDLE

        key = (cls, value)
        hit = _TABLE.find(key)
        if hit is None:
            hit = object.__new__(cls)
            hit.value, hit.dtype = value, HANDLE
            _TABLE.add(key, hit)
        return hit

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """A literal has no operands: itself."""
        return self


class Binary(PrimExpr):
    """An operation on two operands `a` and `b`, kept in source order."""

    __slots__ = ("a", "b", "size")
    a: PrimExpr
    b: PrimExpr
    operands = ("a", "b")
    symbol: ClassVar[str] = ""
    compares: ClassVar[bool] = False

    def __new__(cls, a: PrimExpr, b: PrimExpr) -> Self:
        key = (cls, a, b)
        entry = _TABLE.get(key)
        hit = None if entry is None else entry()
        if hit is not None:
            return hit  # type: ignore[no-any-return]  # typed by the table it comes from
        made = object.__new__(cls)
        made.a, made.b, made.size = a, b, a.size + b.size + 1
        made.dtype = BOOL if cls.compares else a.dtype
        return _TABLE.add(key, made)  # type: ignore[no-any-return]  # typed by the table it comes from

    def children(self) -> tuple[PrimExpr, ...]:
        """Both operands."""
        return self.a, self.b


class Add(Binary):
    """`a + b`; integers wrap at the width of their dtype."""

    __slots__ = ()
    symbol = "+"


class Sub(Binary):
    """`a - b`."""

    __slots__ = ()
    symbol = "-"


class Mul(Binary):
    """`a * b`."""

    __slots__ = ()
    symbol = "*"


class Div(Binary):
    """`a / b`: true division of floats, truncating division of integers (errata E-29)."""

    __slots__ = ()
    symbol = "/"


class Mod(Binary):
    """`truncmod(a, b)`: the remainder with the sign of `a`."""

    __slots__ = ()


class FloorDiv(Binary):
    """`a // b`, rounded towards minus infinity."""

    __slots__ = ()
    symbol = "//"


class FloorMod(Binary):
    """`a % b`, with the sign of `b`."""

    __slots__ = ()
    symbol = "%"


class Min(Binary):
    """The smaller operand; `a` only if `a < b`, as TVM compares (matters for NaN and -0.0)."""

    __slots__ = ()


class Max(Binary):
    """The larger operand; `a` only if `a > b`, as TVM compares (matters for NaN and -0.0)."""

    __slots__ = ()


class Comparison(Binary):
    """A comparison: two operands, a bool."""

    __slots__ = ()
    compares = True


class EQ(Comparison):
    """`a == b`."""

    __slots__ = ()
    symbol = "=="


class NE(Comparison):
    """`a != b`."""

    __slots__ = ()
    symbol = "!="


class LT(Comparison):
    """`a < b`."""

    __slots__ = ()
    symbol = "<"


class LE(Comparison):
    """`a <= b`."""

    __slots__ = ()
    symbol = "<="


class GT(Comparison):
    """`a > b`."""

    __slots__ = ()
    symbol = ">"


class GE(Comparison):
    """`a >= b`."""

    __slots__ = ()
    symbol = ">="


class And(Comparison):
    """`a and b`."""

    __slots__ = ()
    symbol = "and"


class Or(Comparison):
    """`a or b`."""

    __slots__ = ()
    symbol = "or"


class Not(PrimExpr):
    """`not a`."""

    __slots__ = ("a",)
    a: PrimExpr
    operands = ("a",)

    def __new__(cls, a: PrimExpr) -> Not:
        key = (cls, a)
        hit = _TABLE.find(key)
        if hit is None:
            hit = object.__new__(cls)
            hit.a, hit.dtype = a, BOOL
            _TABLE.add(key, hit)
        return hit


class Cast(PrimExpr):
    """`value` converted to `dtype`."""

    __slots__ = ("size", "value")
    value: PrimExpr
    operands = ("value",)

    def __new__(cls, dtype: DType, value: PrimExpr) -> Cast:
        key = (cls, dtype, value)
        hit = _TABLE.find(key)
        if hit is None:
            hit = object.__new__(cls)
            hit.value, hit.dtype, hit.size = value, dtype, value.size + 1
            _TABLE.add(key, hit)
        return hit

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """The same conversion of another value."""
        return Cast(self.dtype, children[0])


class Select(PrimExpr):
    """`true_value` where `condition` holds, else `false_value`."""

    __slots__ = ("condition", "false_value", "size", "true_value")
    condition: PrimExpr
    true_value: PrimExpr
    false_value: PrimExpr
    operands = ("condition", "true_value", "false_value")

    def __new__(cls, condition: PrimExpr, true_value: PrimExpr, false_value: PrimExpr) -> Select:
        key = (cls, condition, true_value, false_value)
        hit = _TABLE.find(key)
        if hit is None:
            hit = object.__new__(cls)
            hit.condition, hit.true_value, hit.false_value = condition, true_value, false_value
            hit.dtype = true_value.dtype
            hit.size = condition.size + true_value.size + false_value.size + 1
            _TABLE.add(key, hit)
        return hit


OF_MODULE = "Module."  # starts the name of what is called and is a function of the module


class PrimCall(PrimExpr):
    """An intrinsic such as `T.exp(x)`: `op` is its TVMScript name without the `T.`, `keywords` its named arguments.

    A call of another function of the module has its name with `OF_MODULE` before it for `op`.
    """

    __slots__ = ("args", "keywords", "op", "size")
    op: str
    args: tuple[PrimExpr, ...]
    keywords: tuple[tuple[str, Any], ...]

    def __new__(
        cls, op: str, args: tuple[PrimExpr, ...], dtype: DType, keywords: tuple[tuple[str, Any], ...] = ()
    ) -> PrimCall:
        key = (cls, op, args, dtype, keywords)
        hit = _TABLE.find(key)
        if hit is None:
            hit = object.__new__(cls)
            hit.op, hit.args, hit.dtype, hit.keywords = op, args, dtype, keywords
            hit.size = 1 + sum([arg.size for arg in args])
            _TABLE.add(key, hit)
        return hit

    def children(self) -> tuple[PrimExpr, ...]:
        """The arguments."""
        return self.args

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """The same intrinsic on other arguments."""
        return PrimCall(self.op, children, self.dtype, self.keywords)


def as_prim(value: PrimExpr | float, dtype: DType | None = None) -> PrimExpr:
    """`value` as a literal of `dtype` (bool, int64 or float32 when not given) unless it is an expression already."""
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, bool):
        return IntImm(value, dtype or BOOL)
    if isinstance(value, int):
        return (
            FloatImm(float(value), dtype)
            if dtype is not None and dtype.is_float
            else IntImm(value, dtype or INT64)
        )
    return FloatImm(value, dtype or FLOAT32)


def as_dim(value: PrimExpr) -> PrimExpr:
    """`value` as a dimension, which is an int64: narrower integers are widened; raises TypeError for anything else."""
    if value.dtype is INT64:
        return value
    if value.dtype.kind not in ("int", "uint") or value.dtype.bits > 64:
        raise TypeError(f"a dimension is an int64, {value} is {value.dtype}")
    return IntImm(value.value, INT64) if type(value) is IntImm else Cast(INT64, value)


def free_vars(*exprs: PrimExpr) -> list[PrimVar]:
    """The variables in `exprs`, in order of first occurrence."""
    found: dict[PrimVar, None] = {}
    stack = list(reversed(exprs))
    while stack:
        expr = stack.pop()
        if type(expr) is PrimVar:
            found[expr] = None
        elif type(expr) is not IntImm:
            stack.extend(reversed(expr.children()))
    return list(found)


def substitute(expr: PrimExpr, mapping: dict[PrimVar, PrimExpr]) -> PrimExpr:
    """`expr` with variables replaced; the same object when none of them occurs (recursion over nesting depth)."""
    if type(expr) is PrimVar:
        return mapping.get(expr, expr)
    children = expr.children()
    if not children:
        return expr
    new = tuple(substitute(child, mapping) for child in children)
    return expr if all(a is b for a, b in zip(children, new, strict=True)) else expr.with_children(new)


__all__ = [
    "EQ", "GE", "GT", "INT32", "INT64_MAX", "INT64_MIN", "LE", "LT", "NE", "Add", "And", "Binary", "Cast", "Comparison", "Div",
    "FloatImm", "FloorDiv", "FloorMod", "IntImm", "Max", "Min", "Mod", "Mul", "Not", "Or", "PrimCall", "PrimExpr", "PrimString",
    "PrimVar", "Select", "Sub", "as_dim", "as_prim", "free_vars", "substitute",
]  # fmt: skip
