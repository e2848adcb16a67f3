"""Walking statements and expressions of PrimFuncs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from relax_explorer.core.ir import prim as p
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer, BufferRegion
from relax_explorer.core.tir.fields import holding, parts
from relax_explorer.core.tir.prim_expr import BufferPtr

# Fields that describe a statement; running the statement does not evaluate them.
_UNEVALUATED = frozenset({"reads", "writes", "annotations", "attrs", "subject", "var"})
_STATEMENTS: dict[type, tuple[str, ...]] = {}
_EVALUATED: dict[type, tuple[str, ...]] = {}


def children(node: t.Stmt) -> tuple[t.Stmt, ...]:
    """The statements directly inside a statement, in order. A block's init comes first."""
    if type(node) is t.SeqStmt:
        return node.stmts
    values = [getattr(node, name) for name in _fields(type(node))[0]]
    return tuple([item for item in values if item is not None])


def _fields(stmt_class: type[t.Stmt]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of a statement that hold statements, and the fields that hold evaluated expressions."""
    names = _STATEMENTS.get(stmt_class)
    if names is None:
        hints = {field.name: str(field.type) for field in fields(stmt_class)}  # type: ignore[arg-type]  # statements are dataclasses
        names = tuple(
            sorted([name for name in hints if "Stmt" in hints[name]], key=lambda name: name != "init")
        )
        _STATEMENTS[stmt_class] = names
        # The target buffer is declared, and its shape evaluated, elsewhere.
        left_out = {*names, *_UNEVALUATED, *(("buffer",) if stmt_class is t.BufferStore else ())}
        _EVALUATED[stmt_class] = tuple([name for name in holding(stmt_class) if name not in left_out])
    return names, _EVALUATED[stmt_class]


def statements(node: t.Stmt) -> Iterator[t.Stmt]:
    """Every statement, outer before inner."""
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        inner = children(item)
        if inner:
            stack.extend(reversed(inner))


def expressions(node: t.Stmt) -> list[p.PrimExpr]:
    """The expressions directly inside a statement, including buffers that it declares, but not its regions."""
    exprs: list[p.PrimExpr] = []
    for name in _fields(type(node))[1]:
        value = getattr(node, name)
        if isinstance(value, p.PrimExpr):
            exprs.append(value)
        elif value:
            for item in value if type(value) is tuple else (value,):
                exprs += [item] if isinstance(item, p.PrimExpr) else _of_part(item)
    return exprs


def _of_part(node: object) -> list[p.PrimExpr]:
    """The expressions of an axis, of a declared buffer, or of a view, but not of the buffer behind the view."""
    if isinstance(node, t.IterVar):
        return _of_part(node.domain)
    if isinstance(node, BufferRegion):
        return [item for part in node.ranges for item in _of_part(part)]
    exprs: list[p.PrimExpr] = []
    for part in parts(node):
        exprs += [part] if isinstance(part, p.PrimExpr) else _of_part(part)
    return exprs


def subexpressions(*exprs: p.PrimExpr) -> Iterator[p.PrimExpr]:
    """Every expression in `exprs`, outer before inner."""
    stack = list(reversed(exprs))
    while stack:
        item = stack.pop()
        yield item
        inner = item.children()
        if inner:
            stack.extend(reversed(inner))


def memory(node: t.Stmt) -> dict[Buffer, Buffer | None]:
    """The views declared inside a statement, each with the buffer behind it; None if a handle describes the memory."""
    pointers: dict[p.PrimExpr, p.PrimExpr] = {}
    sources: dict[Buffer, Buffer | None] = {}
    for stmt in statements(node):
        if type(stmt) is t.LetStmt:
            pointers[stmt.var] = pointers.get(stmt.value, stmt.value)
        elif type(stmt) is t.AllocBuffer and stmt.buffer.data is not None:
            pointer = pointers.get(stmt.buffer.data, stmt.buffer.data)
            source = pointer.buffer if isinstance(pointer, BufferPtr) else None
            sources[stmt.buffer] = sources.get(source, source) if source is not None else None
    return sources
