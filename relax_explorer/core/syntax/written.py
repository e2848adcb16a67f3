"""Names and small literals in the source text."""

from __future__ import annotations

import ast
import re

from relax_explorer.core.ir.dtype import DType, dtype


def dotted(node: ast.AST) -> str:
    """`a.b.c` as text. Empty for anything else."""
    if type(node) is ast.Attribute and type(node.value) is ast.Name:
        return f"{node.value.id}.{node.attr}"
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def dtype_of_prefix(name: str) -> DType | None:
    """The dtype in `T.int64`. None for other names."""
    if not name.startswith("T."):
        return None
    try:
        return dtype(name[2:])
    except ValueError:
        return None


def odd_float(node: ast.expr) -> float | None:
    """The value of `float("inf")`, `float("-inf")` or `float("nan")`, which have no literals. None for anything else."""
    if not isinstance(node, ast.Call) or dotted(node.func) != "float" or len(node.args) != 1 or node.keywords:
        return None
    value = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
    return float(value) if value in ("inf", "-inf", "nan") else None


def verbatim(node: ast.expr) -> str:
    """The source text of an expression. The range of a device mesh is written such that TVM reads it back."""
    return re.sub(r"\b[RT]\.Range\(", "I.Range(", ast.unparse(node))
