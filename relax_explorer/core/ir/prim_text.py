"""Scalar expressions as TVMScript text, with as few parentheses as Python's grammar needs.

Each node class writes itself (`text`); what they share is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Protocol

from relax_explorer.core.ir.dtype import INT64, DType


class Named(Protocol):
    """A variable or a buffer."""

    @property
    def name(self) -> str:
        """Its hint."""


class Written(Protocol):
    """A node that writes itself: its text, and how strongly Python binds the outermost operator of it."""

    def text(self, out: PrimText) -> tuple[str, int]:
        """The text and its strength."""


Name = Callable[[Named], str]
# Python's binding strengths; a right operand of equal strength needs parentheses, for all of these associate to the left.
OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, ATOM = (
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 20,
)  # fmt: skip


class PrimText:
    """Writes expressions; `bare_int` is the integer dtype whose literals need no `T.` around them."""

    def __init__(self, name: Name | None = None, bare_int: DType = INT64) -> None:
        self.name = name or (lambda var: var.name)
        self.bare_int = bare_int

    def write(self, expr: Written) -> str:
        """`expr` as text."""
        return expr.text(self)[0]

    def operand(self, expr: Written, strength: int) -> str:
        """`expr` in a place that binds with `strength`."""
        text, own = expr.text(self)
        return text if own >= strength else f"({text})"

    def listed(self, exprs: Iterable[Written]) -> str:
        """Expressions with commas between them."""
        return ", ".join([expr.text(self)[0] for expr in exprs])

    def call(self, name: str, exprs: Iterable[Written]) -> tuple[str, int]:
        """`T.name(…)` over operands."""
        return f"T.{name}({self.listed(exprs)})", ATOM


# TVM reads no larger number as the argument of a dtype, be it a float64.
_MOST = 3.4028234663852886e38


def float_literal(value: float, dtype: DType) -> str:
    """A float with its dtype."""
    if math.isfinite(value) and abs(value) > _MOST:
        return f'T.FloatImm("{dtype}", {float_text(value)})'
    return f"T.{dtype}({float_text(value)})"


def float_text(value: float) -> str:
    """A float as TVM writes it (17 significant digits, which read back bit for bit); infinities and NaN in quotes."""
    if math.isnan(value):
        return '"nan"'
    if math.isinf(value):
        return '"inf"' if value > 0 else '"-inf"'
    text = f"{value:.17g}"
    return text if any(c in text for c in ".en") else text + ".0"


def quoted(text: str) -> str:
    """A string literal in double quotes that Python reads back; control characters are escaped."""
    body = repr(text)[1:-1]
    if repr(text)[0] == "'":
        body = body.replace("\\'", "'").replace('"', '\\"')
    return f'"{body}"'


PLAIN = PrimText()


def prim_text(expr: Written, name: Name | None = None, bare_int: DType = INT64) -> str:
    """One scalar expression as text; `bare_int` is int64 in Relax, int32 in PrimFuncs."""
    return PrimText(name, bare_int).write(expr)
