"""Scalar expressions: dimensions of tensors, and the arithmetic inside PrimFuncs.

All nodes except variables are interned: equal expressions are one object, so `is` decides equality. Only the identity of
a variable counts; its name is a hint.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from relax_explorer.core.ir import literals
from relax_explorer.core.ir import prim_text as pt
from relax_explorer.core.ir.dtype import BOOL, FLOAT32, HANDLE, INT64, DType
from relax_explorer.core.ir.interned import InternTable
from relax_explorer.core.ir.node import DEEP, operands_first, over

_TABLE: InternTable[tuple[Any, ...], Any] = InternTable()
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
        entry = _TABLE.get(key)
        cached: IntImm | None = None if entry is None else entry()
        if cached is not None:
            return cached
        if not _fits(int(value), dtype):
            raise OverflowError(f"{value} does not fit {dtype}")
        new = object.__new__(cls)
        new.value, new.dtype = int(value), dtype
        unique: IntImm = _TABLE.add(key, new)
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
        entry = _TABLE.get(key)
        cached: FloatImm | None = None if entry is None else entry()
        if cached is not None:
            return cached
        new = object.__new__(cls)
        new.value, new.dtype = float(value), dtype
        unique: FloatImm = _TABLE.add(key, new)
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
        unique = _TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.value, unique.dtype = value, HANDLE
            _TABLE.add(key, unique)
        return unique

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """The string in quotes."""
        return pt.quoted(self.value), pt.ATOM


def _number(expr: PrimExpr) -> float | None:
    """The number of a literal, for folding. None for bools, which do not fold."""
    if type(expr) is IntImm:
        return None if expr.dtype.is_bool else expr.value
    return expr.value if type(expr) is FloatImm else None


def _literal(value: float, dtype: DType) -> PrimExpr:
    """A folded number as a literal of `dtype`."""
    if dtype.is_float:
        return FloatImm(literals.rounded(value, dtype), dtype)
    return IntImm(int(value) if dtype.is_bool else literals.wrap(int(value), dtype), dtype)


class Binary(PrimExpr):
    """An operation on two operands `a` and `b`, kept in source order."""

    __slots__ = ("a", "b", "size")
    a: PrimExpr
    b: PrimExpr
    operands = ("a", "b")
    symbol: ClassVar[str] = ""
    strength: ClassVar[int] = pt.ATOM  # of the symbol
    compares: ClassVar[bool] = False
    folding: ClassVar[literals.Folding | None] = None
    function: ClassVar[str] = ""  # the TVMScript function of an operation without a symbol

    def __init_subclass__(
        cls,
        symbol: str = "",
        function: str = "",
        strength: int | None = None,
        folding: literals.Folding | None = None,
    ) -> None:
        cls.symbol, cls.function, cls.folding = symbol, function, folding
        cls.strength = cls.strength if strength is None else strength

    def __new__(cls, a: PrimExpr, b: PrimExpr) -> Self:
        key = (cls, a, b)
        entry = _TABLE.get(key)
        cached: Self | None = None if entry is None else entry()
        if cached is not None:
            return cached
        new = object.__new__(cls)
        new.a, new.b, new.size = a, b, a.size + b.size + 1
        new.dtype = BOOL if cls.compares else a.dtype
        unique: Self = _TABLE.add(key, new)
        return unique

    def children(self) -> tuple[PrimExpr, ...]:
        """Both operands."""
        return self.a, self.b

    @classmethod
    def fold(cls, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
        """The folded operation, or None if its literals do not decide the result.

        TVM folds like this when it reads an operator's symbol: `n + 0` is n, `2 * 3` is 6.
        """
        if a is b and cls in (Max, Min):
            return a
        x, y = _number(a), _number(b)
        if (x is None and y is None) or a.dtype is not b.dtype or a.dtype.lanes != 1 or not cls.folding:
            return None
        decision = cls.folding.decide(x, y, a.dtype)
        if decision in ("a", "b"):
            return a if decision == "a" else b
        return None if decision is None else _literal(decision, BOOL if cls.compares else a.dtype)  # type: ignore[arg-type]  # a number

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`a + b`, or `T.Add(a, b)` if the symbol would be folded when read back."""
        a, b, strength = self.a, self.b, self.strength
        if self.folds():
            return out.call(type(self).__name__, (a, b))
        left = strength + 1 if strength == pt.COMPARE else strength  # a < b < c would be a chain
        if isinstance(a, Binary):
            return f"{self._left(out, left)} {self.symbol} {out.operand(b, strength + 1)}", strength
        return f"{out.operand(a, left)} {self.symbol} {out.operand(b, strength + 1)}", strength

    def folds(self) -> bool:
        """True if TVM would fold the text with the operator's symbol."""
        a, b = self.a, self.b
        return (a.is_literal or b.is_literal or a is b) and self.fold(a, b) is not None

    def _left(self, out: pt.PrimText, strength: int) -> str:
        """The left operand. A long sum nests to the left and is written without recursion."""
        spine: list[Binary] = []
        node: PrimExpr = self.a
        while (
            isinstance(node, Binary)
            and type(node).text is Binary.text
            and node.strength >= strength
            and node.strength != pt.COMPARE
            and not node.folds()
        ):
            spine.append(node)
            strength = node.strength
            node = node.a
        text = out.operand(node, strength)
        for outer in reversed(spine):
            text = f"{text} {outer.symbol} {out.operand(outer.b, outer.strength + 1)}"
        return text


class Add(Binary, symbol="+", strength=pt.SUM, folding=literals.ADD):
    """`a + b`. Integers wrap at the width of their dtype."""

    __slots__ = ()


class Sub(Binary, symbol="-", strength=pt.SUM, folding=literals.SUB):
    """`a - b`."""

    __slots__ = ()


class Mul(Binary, symbol="*", strength=pt.PRODUCT, folding=literals.MUL):
    """`a * b`."""

    __slots__ = ()


class Div(Binary, symbol="/", strength=pt.PRODUCT, folding=literals.DIV):
    """`a / b`: true division of floats, truncating division of integers (errata E-29)."""

    __slots__ = ()

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`a / b` of floats, `T.Div(a, b)` of integers."""
        return super().text(out) if self.dtype.is_float else out.call("Div", (self.a, self.b))


class Called(Binary):
    """An operation without a symbol. Its text is a call."""

    __slots__ = ()

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`T.max(a, b)`, or `T.Max(a, b)` if that would be folded."""
        name = type(self).__name__ if self.folds() else self.function
        return out.call(name, (self.a, self.b))


class Mod(Called, function="truncmod", folding=literals.MOD):
    """`truncmod(a, b)`: the remainder with the sign of `a`."""

    __slots__ = ()


class FloorDiv(Binary, symbol="//", strength=pt.PRODUCT, folding=literals.FLOOR_DIV):
    """`a // b`, rounded towards minus infinity."""

    __slots__ = ()


class FloorMod(Binary, symbol="%", strength=pt.PRODUCT, folding=literals.FLOOR_MOD):
    """`a % b`, with the sign of `b`."""

    __slots__ = ()


class Min(Called, function="min", folding=literals.MIN):
    """The smaller operand. It is `a` only if `a < b`, as in TVM (matters for NaN and -0.0)."""

    __slots__ = ()


class Max(Called, function="max", folding=literals.MAX):
    """The larger operand. It is `a` only if `a > b`, as in TVM (matters for NaN and -0.0)."""

    __slots__ = ()


class Comparison(Binary, strength=pt.COMPARE):
    """A comparison of two operands. Its dtype is bool."""

    __slots__ = ()
    compares = True


class EQ(Comparison, symbol="==", folding=literals.EQ):
    """`a == b`."""

    __slots__ = ()


class NE(Comparison, symbol="!=", folding=literals.NE):
    """`a != b`."""

    __slots__ = ()


class LT(Comparison, symbol="<", folding=literals.LT):
    """`a < b`."""

    __slots__ = ()


class LE(Comparison, symbol="<=", folding=literals.LE):
    """`a <= b`."""

    __slots__ = ()


class GT(Comparison, symbol=">", folding=literals.GT):
    """`a > b`."""

    __slots__ = ()


class GE(Comparison, symbol=">=", folding=literals.GE):
    """`a >= b`."""

    __slots__ = ()


class Logical(Comparison):
    """`and`, `or`."""

    __slots__ = ()

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`a and b`, or `T.And(a, b)` if an operand is a literal."""
        decided = type(self.a) is IntImm or type(self.b) is IntImm
        return out.call(type(self).__name__, (self.a, self.b)) if decided else super().text(out)


class And(Logical, symbol="and", strength=pt.AND):
    """`a and b`."""

    __slots__ = ()


class Or(Logical, symbol="or", strength=pt.OR):
    """`a or b`."""

    __slots__ = ()


class Not(PrimExpr):
    """`not a`."""

    __slots__ = ("a",)
    a: PrimExpr
    operands = ("a",)

    def __new__(cls, a: PrimExpr) -> Not:
        key = (cls, a)
        unique = _TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.a, unique.dtype = a, BOOL
            _TABLE.add(key, unique)
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
        unique = _TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.value, unique.dtype, unique.size = value, dtype, value.size + 1
            _TABLE.add(key, unique)
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
        unique = _TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.condition, unique.true_value, unique.false_value = condition, true_value, false_value
            unique.dtype = true_value.dtype
            unique.size = condition.size + true_value.size + false_value.size + 1
            _TABLE.add(key, unique)
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
        unique = _TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.op, unique.args, unique.dtype, unique.keywords = op, args, dtype, keywords
            unique.size = 1 + sum([arg.size for arg in args])
            _TABLE.add(key, unique)
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
