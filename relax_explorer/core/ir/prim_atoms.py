"""The base of scalar expressions, and those without operands: variables and literals.

All nodes except variables are interned: equal expressions are one object, so `is` decides equality. Only the identity of
a variable counts; its name is a hint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from relax_explorer.core.ir import prim_text as pt
from relax_explorer.core.ir.dtype import BOOL, FLOAT32, HANDLE, INT64, DType
from relax_explorer.core.ir.interned import InternTable

TABLE: InternTable[tuple[Any, ...], Any] = InternTable()
"""The nodes, by their classes and contents."""
BY_SYMBOL: dict[str, Callable[[PrimExpr, PrimExpr], PrimExpr]] = {}
"""The binary operations by the symbols of Python. Each one registers itself."""
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


class PrimExpr:
    """A scalar expression of element type `dtype`."""

    __slots__ = ("__weakref__", "dtype")
    dtype: DType
    operands: ClassVar[tuple[str, ...]] = ()
    is_literal: ClassVar[bool] = False  # a number
    size = 1  # number of literals, variables and operations in the text; a shared part counts each time

    def children(self) -> tuple[PrimExpr, ...]:
        """The operands, in source order."""
        return tuple([getattr(self, name) for name in self.operands]) if self.operands else ()

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """The same expression with other operands."""
        return type(self)(*children) if children else self

    def __add__(self, other: PrimExpr | float) -> PrimExpr:
        return BY_SYMBOL["+"](self, as_prim(other, self.dtype))

    def __radd__(self, other: float) -> PrimExpr:
        return BY_SYMBOL["+"](as_prim(other, self.dtype), self)

    def __sub__(self, other: PrimExpr | float) -> PrimExpr:
        return BY_SYMBOL["-"](self, as_prim(other, self.dtype))

    def __rsub__(self, other: float) -> PrimExpr:
        return BY_SYMBOL["-"](as_prim(other, self.dtype), self)

    def __mul__(self, other: PrimExpr | float) -> PrimExpr:
        return BY_SYMBOL["*"](self, as_prim(other, self.dtype))

    def __rmul__(self, other: float) -> PrimExpr:
        return BY_SYMBOL["*"](as_prim(other, self.dtype), self)

    def __floordiv__(self, other: PrimExpr | float) -> PrimExpr:
        return BY_SYMBOL["//"](self, as_prim(other, self.dtype))

    def __mod__(self, other: PrimExpr | float) -> PrimExpr:
        return BY_SYMBOL["%"](self, as_prim(other, self.dtype))

    def __truediv__(self, other: PrimExpr | float) -> PrimExpr:
        return BY_SYMBOL["/"](self, as_prim(other, self.dtype))

    def __neg__(self) -> PrimExpr:
        return BY_SYMBOL["-"](as_prim(0, self.dtype), self)

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """The TVMScript text, and the binding strength of its outermost operator in Python."""
        raise TypeError(f"no text form for {type(self).__name__}")

    def __repr__(self) -> str:
        return pt.PLAIN.write(self)


class PrimVar(PrimExpr):
    """A scalar variable: a shape variable (int64), a loop or let variable of a PrimFunc, or a scalar parameter.

    `pointee` is the declared pointee type of a handle parameter, as text. Empty if there is none.
    """

    __slots__ = ("name", "pointee")
    name: str
    pointee: str

    def __init__(self, name: str, dtype: DType = INT64, pointee: str = "") -> None:
        self.name, self.dtype, self.pointee = name, dtype, pointee

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """Its name."""
        return out.name(self), pt.ATOM


class AnyDim(PrimExpr):
    """A length without a name, written `R.any_dim` (experimental). Each object is a length of its own."""

    __slots__ = ()

    def __init__(self) -> None:
        self.dtype = INT64

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`R.any_dim`."""
        return "R.any_dim", pt.ATOM


class IntImm(PrimExpr):
    """An integer or bool literal. Raises OverflowError if the value does not fit its dtype."""

    __slots__ = ("value",)
    is_literal = True
    value: int

    def __new__(cls, value: int, dtype: DType = INT64) -> IntImm:
        key = (cls, int(value), dtype)
        entry = TABLE.get(key)
        cached: IntImm | None = None if entry is None else entry()
        if cached is not None:
            return cached
        if not _fits(int(value), dtype):
            raise OverflowError(f"{value} does not fit {dtype}")
        new = object.__new__(cls)
        new.value, new.dtype = int(value), dtype
        unique: IntImm = TABLE.add(key, new)
        return unique

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """The number, with its dtype unless that is the default one."""
        if self.dtype.is_bool and out.bare_int is INT64:
            return str(bool(self.value)), pt.ATOM
        if self.dtype.is_bool:
            return f"T.bool({bool(self.value)})", pt.ATOM
        if self.dtype is out.bare_int:
            return str(self.value), pt.ATOM if self.value >= 0 else pt.UNARY
        return f"T.{self.dtype}({self.value})", pt.ATOM


def _fits(value: int, dtype: DType) -> bool:
    if dtype.kind == "int":
        return -(1 << (dtype.bits - 1)) <= value < 1 << (dtype.bits - 1)
    if dtype.kind in ("uint", "handle"):
        return 0 <= value < 1 << dtype.bits
    return value in (0, 1) if dtype.kind == "bool" else False


class FloatImm(PrimExpr):
    """A floating point literal, kept as a Python float (64 bits) of element type `dtype`."""

    __slots__ = ("value",)
    is_literal = True
    value: float

    def __new__(cls, value: float, dtype: DType = FLOAT32) -> FloatImm:
        key = (cls, float(value).hex(), dtype)
        entry = TABLE.get(key)
        cached: FloatImm | None = None if entry is None else entry()
        if cached is not None:
            return cached
        new = object.__new__(cls)
        new.value, new.dtype = float(value), dtype
        unique: FloatImm = TABLE.add(key, new)
        return unique

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """The number with its dtype."""
        return pt.float_literal(self.value, self.dtype), pt.ATOM


class PrimString(PrimExpr):
    """A string literal among the arguments of an intrinsic."""

    __slots__ = ("value",)
    value: str

    def __new__(cls, value: str) -> PrimString:
        key = (cls, value)
        unique = TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.value, unique.dtype = value, HANDLE
            TABLE.add(key, unique)
        return unique

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """The string in quotes."""
        return pt.quoted(self.value), pt.ATOM


def as_prim(value: PrimExpr | float, dtype: DType | None = None) -> PrimExpr:
    """`value` as a literal of `dtype` (default: bool, int64 or float32). An expression is returned unchanged."""
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
