"""Walking and rewriting statements: unchanged means the same object."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.node import replace
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer, BufferRegion, Range
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr


def children(node: t.Stmt) -> tuple[t.Stmt, ...]:
    """The statements directly inside a statement, in order; a block's init comes first."""
    if type(node) is t.SeqStmt:
        return node.stmts
    if type(node) is t.SBlock:
        return (node.body,) if node.init is None else (node.init, node.body)
    if type(node) is t.IfThenElse:
        return (node.then_case,) if node.else_case is None else (node.then_case, node.else_case)
    body = getattr(node, "body", None)
    return (body,) if body is not None else ()


def statements(node: t.Stmt) -> Iterator[t.Stmt]:
    """Every statement, outer before inner."""
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(reversed(children(item)))


def expressions(node: t.Stmt) -> tuple[p.PrimExpr, ...]:
    """The expressions directly inside a statement, those of its regions left out."""
    getter = _EXPRESSIONS.get(type(node))
    return getter(node) if getter is not None else ()


_EXPRESSIONS: dict[type, Callable[[Any], tuple[p.PrimExpr, ...]]] = {
    t.BufferStore: lambda x: (*x.indices, x.value),
    t.Evaluate: lambda x: (x.value,),
    t.LetStmt: lambda x: (x.value,),
    t.For: lambda x: (x.start, x.extent),
    t.While: lambda x: (x.condition,),
    t.IfThenElse: lambda x: (x.condition,),
    t.AttrStmt: lambda x: (x.value,),
    t.AssertStmt: lambda x: (x.condition,),
    t.AllocBuffer: lambda x: () if x.buffer.data is None else (x.buffer.data,),
    t.SBlock: lambda x: (*x.iter_values, *([x.predicate] if x.predicate is not None else [])),
}


def subexpressions(*exprs: p.PrimExpr) -> Iterator[p.PrimExpr]:
    """Every expression in `exprs`, outer before inner."""
    stack = list(reversed(exprs))
    while stack:
        item = stack.pop()
        yield item
        stack.extend(reversed(item.children()))


def buffers(fn: t.PrimFunc) -> list[Buffer]:
    """Every buffer of a function in order of first mention, the parameters first."""
    found: dict[Buffer, None] = {param: None for param in fn.params if isinstance(param, Buffer)}
    for node in statements(fn.body):
        if type(node) is t.SBlock:
            found.update(dict.fromkeys(node.alloc_buffers))
        if isinstance(node, (t.BufferStore, t.AllocBuffer)):
            found[node.buffer] = None
        for expr in subexpressions(*expressions(node)):
            if isinstance(expr, (BufferLoad, BufferPtr)):
                found[expr.buffer] = None
    return list(found)


def memory(node: t.Stmt) -> dict[Buffer, Buffer | None]:
    """What buffers declared inside a statement are views of: another buffer, or None, which is memory that a handle describes."""
    pointers: dict[p.PrimExpr, p.PrimExpr] = {}
    found: dict[Buffer, Buffer | None] = {}
    for item in statements(node):
        if type(item) is t.LetStmt:
            pointers[item.var] = pointers.get(item.value, item.value)
        elif type(item) is t.AllocBuffer and item.buffer.data is not None:
            pointer = pointers.get(item.buffer.data, item.buffer.data)
            source = pointer.buffer if isinstance(pointer, BufferPtr) else None
            found[item.buffer] = found.get(source, source) if source is not None else None
    return found


class Substitution:
    """Replaces variables by expressions and buffers by buffers."""

    def __init__(
        self, variables: dict[p.PrimVar, p.PrimExpr], of_buffers: dict[Buffer, Buffer] | None = None
    ) -> None:
        self.variables, self.buffers = variables, of_buffers or {}

    def expr(self, expr: p.PrimExpr) -> p.PrimExpr:
        """An expression; recursion over nesting depth."""
        if type(expr) is p.PrimVar:
            return self.variables.get(expr, expr)
        old = expr.children()
        new = tuple([self.expr(child) for child in old])
        if isinstance(expr, BufferLoad):
            return BufferLoad(self.buffers.get(expr.buffer, expr.buffer), new)
        if isinstance(expr, BufferPtr):
            return BufferPtr(self.buffers.get(expr.buffer, expr.buffer), expr.how)
        return expr if all(a is b for a, b in zip(old, new, strict=True)) else expr.with_children(new)

    def region(self, region: BufferRegion) -> BufferRegion:
        """A region."""
        ranges = tuple([Range(self.expr(r.start), self.expr(r.extent)) for r in region.ranges])
        return BufferRegion(self.buffers.get(region.buffer, region.buffer), ranges, region.points)

    def stmt(self, node: t.Stmt) -> t.Stmt:
        """A statement with all inside it."""
        rule = _REWRITES.get(type(node))
        return node if rule is None else rule(self, node)

    def _regions(self, regions: tuple[BufferRegion, ...] | None) -> tuple[BufferRegion, ...] | None:
        return None if regions is None else tuple([self.region(region) for region in regions])

    def _block(self, node: t.SBlock) -> t.Stmt:
        axes = tuple(
            [
                t.IterVar(a.var, Range(self.expr(a.domain.start), self.expr(a.domain.extent)), a.kind)
                for a in node.iter_vars
            ]
        )
        return replace(
            node,
            iter_vars=axes,
            iter_values=tuple([self.expr(value) for value in node.iter_values]),
            body=self.stmt(node.body),
            predicate=None if node.predicate is None else self.expr(node.predicate),
            reads=self._regions(node.reads),
            writes=self._regions(node.writes),
            init=None if node.init is None else self.stmt(node.init),
            alloc_buffers=tuple([self.buffers.get(b, b) for b in node.alloc_buffers]),
        )


_REWRITES: dict[type, Callable[[Substitution, Any], t.Stmt]] = {
    t.SeqStmt: lambda q, x: replace(x, stmts=tuple([q.stmt(item) for item in x.stmts])),
    t.For: lambda q, x: replace(x, start=q.expr(x.start), extent=q.expr(x.extent), body=q.stmt(x.body)),
    t.While: lambda q, x: replace(x, condition=q.expr(x.condition), body=q.stmt(x.body)),
    t.IfThenElse: lambda q, x: replace(
        x,
        condition=q.expr(x.condition),
        then_case=q.stmt(x.then_case),
        else_case=None if x.else_case is None else q.stmt(x.else_case),
    ),
    t.BufferStore: lambda q, x: replace(
        x,
        buffer=q.buffers.get(x.buffer, x.buffer),
        indices=tuple([q.expr(i) for i in x.indices]),
        value=q.expr(x.value),
    ),
    t.Evaluate: lambda q, x: replace(x, value=q.expr(x.value)),
    t.LetStmt: lambda q, x: replace(x, value=q.expr(x.value)),
    t.AttrStmt: lambda q, x: replace(x, value=q.expr(x.value), body=q.stmt(x.body)),
    t.AssertStmt: lambda q, x: replace(x, condition=q.expr(x.condition)),
    t.SBlock: Substitution._block,
}
