"""Spans of the operands of a call. They are not stored with nodes; the text is parsed again when a problem is reported."""

from __future__ import annotations

import ast

from relax_explorer.core.source import Source, Span
from relax_explorer.core.syntax.python_tree import expression_tree


def operand_spans(span: Span | None) -> list[Span]:
    """The spans of the operands of the call (or `a + b`) in `span`, in order. Empty if the text can't be parsed."""
    if span is None:
        return []
    text = "(" + span.text + "\n)"
    try:
        tree = expression_tree(text)
    except ValueError:
        return []
    inside = Source(text)
    return [_moved(node, inside, span) for node in _operands(tree)]


def _operands(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.Call):
        return list(tree.args)
    if isinstance(tree, ast.BinOp):
        return [tree.left, tree.right]
    if isinstance(tree, ast.Compare):
        return [tree.left, *tree.comparators]
    return [tree.operand] if isinstance(tree, ast.UnaryOp) else []


def _moved(node: ast.expr, inside: Source, span: Span) -> Span:
    """The span in the whole text of a node in the part that was parsed again, whose first line starts at the span's column."""

    def column(line: int, byte_column: int) -> int:
        inner = inside.column(line, byte_column)
        return inner + span.column - 1 if line == 1 else inner

    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset + 1
    return Span(
        span.source,
        span.line + node.lineno - 1,
        column(node.lineno, node.col_offset),
        span.line + end_line - 1,
        column(end_line, end_column),
    )
