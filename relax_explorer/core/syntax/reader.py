"""The interface of the expression reader for the functions that read calls and attributes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Protocol, TypeAlias

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ops.kit.decl import Op
from relax_explorer.core.syntax.context import Context, Named, Skip
from relax_explorer.core.syntax.parse_info import InfoReader

Read: TypeAlias = "Named | float | str | tuple[Read, ...] | None"
"""What an expression may be: a Relax expression, a scalar expression, a Python constant, or a tuple of these."""


class Reader(Protocol):
    """Reads expressions in one function. `names` is the scope."""

    ctx: Context
    info: InfoReader
    attrs_seen: dict[tuple[type[Op], str], Attrs]

    @property
    def names(self) -> Mapping[str, Named]:
        """The names in scope, with their values."""

    def read(self, node: ast.expr) -> Read:
        """`node` as a Relax expression, a scalar expression, or a Python constant."""

    def value(self, node: ast.expr) -> e.Expr:
        """`node` as a Relax expression. Python numbers become scalars."""

    def as_expr(self, raw: object, node: ast.expr) -> e.Expr:
        """A result of `read` as a Relax expression."""

    def literal(self, raw: float, node: ast.expr, dtype: DType | None = None) -> p.PrimExpr:
        """A number as a literal of `dtype`, or of a default dtype."""

    def is_scalar(self, value: Read) -> bool:
        """True if a value is a scalar."""

    def no_expression(self, node: ast.expr, help: str = "") -> Skip:
        """Report that `node` is not an expression, and return a Skip for the caller to raise."""
