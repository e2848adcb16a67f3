"""Puts the values of names outside of a program in the places that mention them."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from relax_explorer.core.syntax.excerpt import Literal
from relax_explorer.core.syntax.python_tree import python_tree


def with_values(tree: ast.Module, values: Mapping[str, Literal]) -> ast.Module:
    """A tree in which literals replace names. A name that a function binds itself keeps its meaning there."""
    return tree if not values else _Replacement(values).visit(tree)


class _Replacement(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, Literal]) -> None:
        self.values = dict(values)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Parameters, variables and nested functions hide a value in the body. Annotations are read outside of it."""
        outer = self.values
        node.args = self.visit(node.args)
        node.returns = None if node.returns is None else self.visit(node.returns)
        node.decorator_list = [self.visit(item) for item in node.decorator_list]
        own = {item.arg for item in ast.walk(node) if isinstance(item, ast.arg)}
        own |= {
            item.id
            for item in ast.walk(node)
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        }
        own |= {item.name for item in ast.walk(node) if isinstance(item, ast.FunctionDef)}
        self.values = {name: value for name, value in outer.items() if name not in own}
        node.body = [self.visit(item) for item in node.body]
        self.values = outer
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name becomes its value."""
        if not isinstance(node.ctx, ast.Load) or node.id not in self.values:
            return node
        literal = python_tree(repr(self.values[node.id]), "eval").body
        for part in ast.walk(literal):
            ast.copy_location(part, node)
        return literal
