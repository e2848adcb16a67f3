"""Writes StructInfo as TVMScript text.

Each class has its own method `text`. This module has the shared parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from relax_explorer.core.ir.prim import AnyDim, IntImm, PrimExpr, PrimVar
from relax_explorer.core.ir.prim_text import PrimText, quoted


class Written(Protocol):
    """StructInfo, with a text form of its own and one inside other StructInfo."""

    def text(self, out: StructInfoText) -> str:
        """The text in the dialect of `out`."""

    def part_text(self, out: StructInfoText) -> str:
        """The text inside other StructInfo."""


def _own_name(var: object) -> str:
    return str(getattr(var, "name", var))


class StructInfoText:
    """Writes StructInfo in one dialect.

    `object_name` is `R.Any` or `R.Object`. With `old`, scalars are written `R.Prim("int64")`. In signatures, TVM quotes
    compound dimensions (`quote`), and the older dialect quotes all symbolic ones (`quote_all`). With `for_tvm`, a scalar
    inside other StructInfo is written `R.Prim("int64")`: TVM prints `T.int64` there but can't read it.
    """

    def __init__(
        self,
        prim: PrimText | None = None,
        var_name: Callable[[object], str] | None = None,
        object_name: str = "R.Any",
        old: bool = False,
        quote: bool = False,
        quote_all: bool = False,
        for_tvm: bool = False,
    ) -> None:
        self.prim = prim or PrimText()
        self.var_name = var_name if var_name is not None else _own_name
        self.object_name, self.old, self.quote, self.quote_all = object_name, old, quote, quote_all
        self.for_tvm = for_tvm

    def write(self, info: Written) -> str:
        """`info` as text."""
        return info.text(self)

    def part(self, info: Written) -> str:
        """`info` as text inside other StructInfo."""
        return info.part_text(self)

    def dim(self, expr: PrimExpr) -> str:
        """One dimension."""
        text = self.prim.write(expr)
        if type(expr) is IntImm or type(expr) is AnyDim or (type(expr) is PrimVar and not self.quote_all):
            return text
        return quoted(text) if self.quote or self.quote_all else text

    def dims(self, values: tuple[PrimExpr, ...]) -> str:
        """Dimensions in parentheses, as a Python tuple."""
        inner = ", ".join([self.dim(value) for value in values])
        return f"({inner},)" if len(values) == 1 else f"({inner})"


PLAIN = StructInfoText()
