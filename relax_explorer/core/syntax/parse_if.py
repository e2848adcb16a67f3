"""Reads Ifs of Relax functions, and finds the names that a statement binds."""

from __future__ import annotations

import ast
from typing import Protocol

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.syntax import python_tree
from relax_explorer.core.syntax.context import Blocks, Context, Scope, Skip
from relax_explorer.core.syntax.reader import Reader


class StatementReader(Protocol):
    """The interface of the statement reader for Ifs."""

    ctx: Context
    names: Scope
    output_names: frozenset[str] | None

    @property
    def expr(self) -> Reader:
        """The reader of expressions."""

    def statement(self, node: ast.stmt, blocks: Blocks) -> None:
        """Read one statement."""

    def unread(self, node: ast.AST) -> e.Call:
        """A placeholder for an unreadable expression."""

    def new_var(self, name: str, info: s.StructInfo | None, node: ast.AST) -> e.Var:
        """A new variable for the current block."""


def read_if(reader: StatementReader, node: ast.If, blocks: Blocks) -> None:
    """Read an If. Both branches must end with a binding of the same name."""
    try:
        condition = reader.expr.value(node.test)
    except Skip:
        condition = reader.unread(node.test)
    name = _branch_target(reader, node)
    true_branch, annotation = _branch(reader, node.body, name, "_then")
    false_branch, false_annotation = _branch(reader, node.orelse, name, "_else")
    common = annotation if annotation is false_annotation else None
    var = reader.new_var(name, common, node)
    value = e.If(condition, true_branch, false_branch, None, reader.ctx.span(node))
    blocks.bindings.append(e.VarBinding(var, value, common, reader.ctx.span(node)))
    reader.names[name] = var


def _branch_target(reader: StatementReader, node: ast.If) -> str:
    names = []
    for branch, place in ((node.body, "first"), (node.orelse, "second")):
        if not branch:
            raise reader.ctx.fail(codes.BAD_BRANCH, "the if has no else", node, help=codes.BAD_BRANCH.fix)
        last = branch[-1]
        name = _branch_target(reader, last) if isinstance(last, ast.If) else (targets(last) or [""])[-1]
        if not name:
            raise reader.ctx.fail(
                codes.BAD_BRANCH,
                f"the {place} branch does not end in a binding",
                last,
                help=codes.BAD_BRANCH.fix,
            )
        names.append(name)
    if names[0] != names[1]:
        raise reader.ctx.fail(
            codes.BAD_BRANCH,
            f"one branch ends by binding {names[0]!r}, the other {names[1]!r}",
            node,
            help=codes.BAD_BRANCH.fix,
        )
    return names[0]


def _branch(
    reader: StatementReader, statements: list[ast.stmt], name: str, suffix: str
) -> tuple[e.SeqExpr, s.StructInfo | None]:
    blocks, known = Blocks(), len(reader.ctx.report.items)
    # The checker reports an If in a dataflow block. Its branches are read as ordinary blocks.
    outputs, reader.output_names = reader.output_names, None
    try:
        with reader.names.block():
            for statement in statements:
                reader.statement(statement, blocks)
    finally:
        reader.output_names = outputs
    last = blocks.bindings[-1] if blocks.bindings else None
    if last is None or last.var is None or last.var.name != name:
        if len(reader.ctx.report.items) == known:  # a name of the module or of a shape variable
            text = f"{name!r} is no value at the end of this branch"
            reader.ctx.say(codes.BAD_BRANCH, text, statements[-1], help=codes.BAD_BRANCH.fix)
        return e.SeqExpr(blocks.close(), e.Tuple(())), None
    blocks.bindings.pop()
    span = last.span
    # A tuple is a leaf, too. The normalizer binds its fields in the branch.
    if isinstance(last, e.VarBinding) and (type(last.value) in e.LEAVES or type(last.value) is e.Tuple):
        return e.SeqExpr(blocks.close(), last.value, None, span), last.annotation
    var = e.Var(name + suffix, last.var.struct_info, last.var.span)
    renamed: e.Binding
    if isinstance(last, e.VarBinding):
        renamed = e.VarBinding(var, last.value, last.annotation, span)
    else:
        renamed = replace(last, var=var)
    blocks.bindings.append(renamed)
    return e.SeqExpr(blocks.close(), var, None, span), last.annotation


def targets(node: ast.stmt) -> list[str]:
    """Names that a statement binds. An If binds the last name of its branches."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, python_tree.Run):
        return node.targets()
    while isinstance(node, ast.If) and node.body:
        node = node.body[-1]
    bound: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        bound = node.targets
    elif isinstance(node, ast.AnnAssign):
        bound = [node.target]
    names = []
    for target in bound:
        items = target.elts if isinstance(target, ast.Tuple) else [target]
        names += [item.id for item in items if isinstance(item, ast.Name)]
    return names
