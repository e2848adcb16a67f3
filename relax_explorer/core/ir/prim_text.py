"""Writes scalar expressions as TVMScript text, with as few parentheses as Python's grammar allows.

Each node class has its own method `text`. This module has the shared parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from relax_explorer.core.ir.dtype import INT64, DType


class Named(Protocol):
    """A variable or a buffer."""

    @property
    def name(self) -> str:
        """Its hint."""


class Written(Protocol):
    """A node with a text form."""

    def text(self, out: PrimText) -> tuple[str, int]:
        """The text, and the binding strength of its outermost operator in Python."""


Name = Callable[[Named], str]
# Python's binding strengths. All operators are left-associative, so a right operand of equal strength needs parentheses.
OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, ATOM = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20,
)  # fmt: skip


class PrimText:
    """Writes expressions. Integer literals of dtype `bare_int`, int64 in Relax and int32 in PrimFuncs, are written without `T.`."""

    def __init__(self, name: Name | None = None, bare_int: DType = INT64) -> None:
        self.name = name if name is not None else (lambda var: var.name)
        self.bare_int = bare_int

    def write(self, expr: Written) -> str:
        """`expr` as text."""
        return expr.text(self)[0]

    def operand(self, expr: Written, strength: int) -> str:
        """`expr` as an operand: in parentheses if it binds weaker than `strength`."""
        text, binding_strength = expr.text(self)
        return text if binding_strength >= strength else f"({text})"

    def listed(self, exprs: Iterable[Written]) -> str:
        """Expressions separated by commas."""
        return ", ".join([expr.text(self)[0] for expr in exprs])

    def call(self, name: str, exprs: Iterable[Written]) -> tuple[str, int]:
        """`T.name(…)` with operands."""
        return f"T.{name}({self.listed(exprs)})", ATOM


# The largest number that TVM reads as the argument of a dtype, even of float64.
_MOST = 3.4028234663852886e38


def float_literal(value: float, dtype: DType) -> str:
    """A float with its dtype."""
    if math.isfinite(value) and abs(value) > _MOST:
        return f'T.FloatImm("{dtype}", {float_text(value)})'
    return f"T.{dtype}({float_text(value)})"


def float_text(value: float) -> str:
    """A float as TVM writes it: 17 significant digits, which are exact. Infinities and NaN are in quotes."""
    if math.isnan(value):
        return '"nan"'
    if math.isinf(value):
        return '"inf"' if value > 0 else '"-inf"'
    text = f"{value:.17g}"
    return text if any(c in text for c in ".en") else text + ".0"


def quoted(text: str) -> str:
    """A Python string literal in double quotes. Control characters are escaped."""
    body = repr(text)[1:-1]
    if repr(text)[0] == "'":
        body = body.replace("\\'", "'").replace('"', '\\"')
    return f'"{body}"'


PLAIN = PrimText()


def prim_text(expr: Written) -> str:
    """One scalar expression as text."""
    return PLAIN.write(expr)


def tuple_text(parts: Sequence[object]) -> str:
    """Parts in parentheses, as Python writes a tuple: `(n, 64)`, `(n,)`, `()`."""
    return f"({', '.join(map(str, parts))}{',' if len(parts) == 1 else ''})"
