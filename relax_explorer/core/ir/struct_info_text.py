"""StructInfo as TVMScript text.

Each class writes itself (`text`); what they share is here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from relax_explorer.core.ir.prim import IntImm, PrimExpr, PrimVar
from relax_explorer.core.ir.prim_text import PrimText, quoted


class Written(Protocol):
    """StructInfo: it writes itself, and is written so inside of another one."""

    def text(self, out: StructInfoText) -> str:
        """The text in the dialect of `out`."""

    def part_text(self, out: StructInfoText) -> str:
        """The text inside of another StructInfo."""


class StructInfoText:
    """Writes StructInfo in one dialect.

    `object_name` is `R.Any` or `R.Object`; with `old` scalars print `R.Prim("int64")`. In signatures TVM quotes compound
    dimensions (`quote`), and the older dialect every symbolic one (`quote_all`). With `for_tvm` a scalar inside of another
    StructInfo is `R.Prim("int64")`, for TVM prints but can't read `T.int64` there.
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
        self.var_name = var_name or (lambda var: str(getattr(var, "name", var)))
        self.object_name, self.old, self.quote, self.quote_all = object_name, old, quote, quote_all
        self.for_tvm = for_tvm

    def write(self, info: Written) -> str:
        """`info` as text."""
        return info.text(self)

    def part(self, info: Written) -> str:
        """StructInfo inside of another one."""
        return info.part_text(self)

    def dim(self, expr: PrimExpr) -> str:
        """One dimension."""
        text = self.prim.write(expr)
        if type(expr) is IntImm or (type(expr) is PrimVar and not self.quote_all):
            return text
        return quoted(text) if self.quote or self.quote_all else text

    def dims(self, values: tuple[PrimExpr, ...]) -> str:
        """Dimensions in parentheses, as a Python tuple."""
        inner = ", ".join([self.dim(value) for value in values])
        return f"({inner},)" if len(values) == 1 else f"({inner})"


PLAIN = StructInfoText()
