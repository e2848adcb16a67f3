"""Prints statements of PrimFuncs as TVMScript text, line by line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.prim_text import quoted
from relax_explorer.core.syntax.printer_tir_block import BlockPrinter
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import ORIGIN, BufferLoad, pointer_type
from relax_explorer.core.tir.traverse import subexpressions


class StatementPrinter(BlockPrinter):
    """Prints statements."""

    def statement(self, node: t.Stmt, depth: int) -> None:
        """Print one statement, after declarations of its T.Let variables."""
        outer, self.node = self.node, node
        self.name_lets(node, depth)
        _STATEMENTS[type(node)](self, node, depth)
        self.node = outer

    def _inner(self, node: t.Stmt, depth: int) -> None:
        before, scope = len(self.lines), self.names.mark()
        self.statement(node, depth)
        if len(self.lines) == before:
            self.line(depth, "pass")
        self.names.release(scope)

    def _seq(self, node: t.SeqStmt, depth: int) -> None:
        for stmt, after in zip(node.stmts, (*node.stmts[1:], None), strict=False):
            first = None if self.dialect.old else _first_value(stmt, after)
            if first is not None:
                buffer = first.buffer
                self.line(
                    depth, f"{self.names(buffer)}: T.{buffer.dtype} = {self.text.write(first.value)}", first
                )
                self.begun.add(id(first))
            elif id(stmt) not in self.begun:
                self.statement(stmt, depth)

    def _for(self, node: t.For, depth: int) -> None:
        scope = self.names.mark()
        self._for_in_scope(node, depth)
        self.names.release(scope)

    def _for_in_scope(self, node: t.For, depth: int) -> None:
        chain = self._grid_chain(node)
        if len(chain) > 1:
            extents = ", ".join([self.text.write(loop.extent) for loop in chain])
            names = ", ".join([self.names(loop.var) for loop in chain])
            self.line(depth, f"for {names} in T.grid({extents}):")
            self._inner(chain[-1].body, depth + 1)
            return
        self.line(depth, f"for {self.names(node.var)} in {self._range(node)}:")
        self._inner(node.body, depth + 1)

    def _grid_chain(self, node: t.For) -> list[t.For]:
        chain: list[t.For] = []
        current: t.Stmt = node
        bound: set[p.PrimVar] = set()
        while type(current) is t.For and _is_plain(current) and not bound & set(p.free_vars(current.extent)):
            chain.append(current)
            bound.add(current.var)
            current = current.body
        return chain

    def _range(self, node: t.For) -> str:
        zero = isinstance(node.start, p.IntImm) and node.start.value == 0
        if zero:
            bounds = self.text.write(node.extent)
        else:
            both_known = isinstance(node.start, p.IntImm) and isinstance(node.extent, p.IntImm)
            stop: p.PrimExpr = p.Add(node.start, node.extent)
            if both_known:
                with contextlib.suppress(OverflowError):  # the end of the loop may overflow its dtype
                    stop = p.IntImm(node.start.value + node.extent.value, node.extent.dtype)  # type: ignore[attr-defined]  # both are literals
            bounds = f"{self.text.write(node.start)}, {self.text.write(stop)}"
        options = f", thread={quoted(node.thread)}" if node.thread is not None else ""
        options += f", annotations={self.constant(node.annotations)}" if node.annotations else ""
        options += f", step={self.text.write(node.step)}" if node.step is not None else ""
        if node.kind == "serial" and not options:
            return f"range({bounds})"
        return f"T.{node.kind}({bounds}{options})"

    def _while(self, node: t.While, depth: int) -> None:
        self.line(depth, f"while {self.text.write(node.condition)}:")
        self._inner(node.body, depth + 1)

    def _if(self, node: t.IfThenElse, depth: int) -> None:
        self.line(depth, f"if {self.text.write(node.condition)}:")
        self._inner(node.then_case, depth + 1)
        if node.else_case is not None:
            self.line(depth, "else:")
            self._inner(node.else_case, depth + 1)

    def _store(self, node: t.BufferStore, depth: int) -> None:
        whole = node.buffer.is_scalar and node.indices == ORIGIN
        indices = "" if whole else f"[{self.text.listed(node.indices) or '()'}]"
        self.line(depth, f"{self.names(node.buffer)}{indices} = {self.text.write(node.value)}")

    def _evaluate(self, node: t.Evaluate, depth: int) -> None:
        value = node.value
        if type(value) is p.PrimCall and value.op == "ret":
            self.line(depth, f"return {self.text.write(value.args[0])}")
        elif type(value) is p.PrimCall:
            self.line(depth, self.text.write(value))
        else:
            self.line(depth, f"T.evaluate({self.text.write(value)})")

    def _let(self, node: t.LetStmt, depth: int) -> None:
        annotation = str(pointer_type(node.value) or f"T.{node.var.dtype}")
        annotation = annotation if self.dialect.old else f"T.let[{annotation}]"
        value = self.text.write(node.value)
        self.line(depth, f"{self.names(node.var)}: {annotation} = {value}")

    def _attr(self, node: t.AttrStmt, depth: int) -> None:
        if node.key == "launch_thread":
            var, thread = node.subject
            head = f"T.launch_thread({self.text.write(thread)}, {self.text.write(node.value)}) as {self.names(var)}"
        elif node.subject is None:
            head = f"T.attr({{{quoted(node.key)}: {self.text.write(node.value)}}})"
        else:
            head = f"T.attr({self._subject(node.subject)}, {quoted(node.key)}, {self.text.write(node.value)})"
        self.line(depth, f"with {head}:")
        self._inner(node.body, depth + 1)

    def _subject(self, subject: Any) -> str:
        return self.text.write(subject) if isinstance(subject, p.PrimExpr) else str(subject)

    def _assert(self, node: t.AssertStmt, depth: int) -> None:
        message = quoted(node.message)
        if not self.dialect.old:
            message = f"({quoted(node.error)}, [{', '.join(map(quoted, node.parts))}])"
        self.line(depth, f"assert {self.text.write(node.condition)}, {message}")

    def _block(self, node: t.SBlock, depth: int) -> None:
        self.line(depth, f"with T.{self.block}({quoted(node.name)}):")
        inner = depth + 1
        before, scope = len(self.lines), self.names.mark()
        self._head(node, inner)
        if node.init is not None:
            self.line(inner, "with T.init():")
            self._inner(node.init, inner + 1)
        self.statement(node.body, inner)
        if len(self.lines) == before:
            self.line(inner, "pass")
        self.names.release(scope)


def _first_value(node: t.Stmt, after: t.Stmt | None) -> t.BufferStore | None:
    """The second of two statements, if the first allocates a scalar and the second stores its first value."""
    if type(node) is not t.AllocBuffer or not node.buffer.is_scalar or type(after) is not t.BufferStore:
        return None
    loads = [part for part in subexpressions(after.value) if isinstance(part, BufferLoad)]
    new = (
        after.buffer is node.buffer
        and after.indices == ORIGIN
        and all(load.buffer is not node.buffer for load in loads)
    )
    return after if new else None


def _is_plain(loop: t.For) -> bool:
    zero = isinstance(loop.start, p.IntImm) and loop.start.value == 0
    return loop.kind == "serial" and zero and not loop.annotations and loop.step is None


_STATEMENTS: dict[type, Callable[[StatementPrinter, Any, int], None]] = {
    t.SeqStmt: StatementPrinter._seq,
    t.For: StatementPrinter._for,
    t.While: StatementPrinter._while,
    t.IfThenElse: StatementPrinter._if,
    t.BufferStore: StatementPrinter._store,
    t.Evaluate: StatementPrinter._evaluate,
    t.LetStmt: StatementPrinter._let,
    t.AllocBuffer: StatementPrinter._alloc,
    t.AttrStmt: StatementPrinter._attr,
    t.AssertStmt: StatementPrinter._assert,
    t.SBlock: StatementPrinter._block,
}
