"""What is gathered while a block of a PrimFunc is read, the names that end with it, and constants of its attributes."""

from __future__ import annotations

import ast
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import EMPTY, Verbatim, freeze
from relax_explorer.core.syntax.parse_info import dotted, dtype_of_prefix, odd_float
from relax_explorer.core.syntax.parse_tir_expr import TirExprReader
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer, BufferRegion


class BlockParts:
    """What the statements at the head of a block say of it."""

    def __init__(self) -> None:
        self.iter_vars: list[t.IterVar] = []
        self.iter_values: list[p.PrimExpr] = []
        self.reads: tuple[BufferRegion, ...] | None = None
        self.writes: tuple[BufferRegion, ...] | None = None
        self.predicate: p.PrimExpr | None = None
        self.init: t.Stmt | None = None
        self.allocs: list[Buffer] = []
        self.matches: list[t.MatchBufferRegion] = []
        self.annotations = EMPTY


class Scope:
    """Names bound inside are gone afterwards."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names

    def __enter__(self) -> None:
        self.saved = dict(self.names)

    def __exit__(self, *_: object) -> None:
        self.names.clear()
        self.names.update(self.saved)


def constant(node: ast.expr, expr: TirExprReader) -> Any:
    """A compile-time constant of an attribute; what is none is kept as it is written."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return freeze(
            {str(constant(key, expr)): constant(value, expr) for key, value in pairs if key is not None}
        )
    if isinstance(node, ast.Constant) and (
        node.value is None or isinstance(node.value, (bool, int, float, str))
    ):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return tuple([constant(item, expr) for item in node.elts])
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.operand, ast.Constant)
        and isinstance(node.operand.value, (int, float))
    ):
        return -node.operand.value
    odd = odd_float(node)
    if odd is not None:
        return odd
    if isinstance(node, ast.Call) and dtype_of_prefix(dotted(node.func)) is not None:
        return expr.read(node)
    if isinstance(node, ast.Name) and isinstance(expr.names.get(node.id), Buffer):
        return expr.read(node)
    return Verbatim(ast.unparse(node))
