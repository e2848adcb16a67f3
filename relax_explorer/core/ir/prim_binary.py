"""Scalar operations on two operands: arithmetic, comparisons, `and` and `or`."""

from __future__ import annotations

from typing import ClassVar, Self

from relax_explorer.core.ir import literals
from relax_explorer.core.ir import prim_text as pt
from relax_explorer.core.ir.dtype import BOOL, DType
from relax_explorer.core.ir.prim_atoms import BY_SYMBOL, TABLE, FloatImm, IntImm, PrimExpr


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
        if symbol:
            BY_SYMBOL[symbol] = cls

    def __new__(cls, a: PrimExpr, b: PrimExpr) -> Self:
        key = (cls, a, b)
        entry = TABLE.get(key)
        cached: Self | None = None if entry is None else entry()
        if cached is not None:
            return cached
        new = object.__new__(cls)
        new.a, new.b, new.size = a, b, a.size + b.size + 1
        new.dtype = BOOL if cls.compares else a.dtype
        unique: Self = TABLE.add(key, new)
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
