"""Prints PrimFuncs as TVMScript text, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.prim_text import quoted
from relax_explorer.core.ir.substitute import is_zero
from relax_explorer.core.syntax.dialects import Dialect
from relax_explorer.core.syntax.doc import Line
from relax_explorer.core.syntax.names import function_name
from relax_explorer.core.syntax.printer_tir_buffer import (
    BufferText,
    buffers_in,
    own_attrs,
    shape_vars,
    variables,
)
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import ORIGIN, BufferLoad, Let, pointer_type
from relax_explorer.core.tir.stmt import Buffer
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions

# -- printer tir block -----------------------------------------------------------------------------------------------
# Prints blocks of PrimFuncs as TVMScript text: axes, regions, allocations and views.


INDENT = "    "
_AXIS_KINDS = {"spatial": "S", "reduce": "R", "opaque": "O"}


class BlockPrinter(BufferText):
    """Prints the head of a block, line by line."""

    def __init__(
        self, fn: t.PrimFunc, dialect: Dialect, chosen: dict[p.PrimVar, str], taken: Iterable[str]
    ) -> None:
        super().__init__(fn, dialect, chosen, taken)
        # Already printed before their place: first values of scalars, and declarations at the head of a block.
        self.begun: set[int] = set()
        self.lets = _lets(fn.body)
        self.lines: list[Line] = []
        self.node: object = None  # the statement that is being printed
        self.block = "block" if dialect.old else "sblock"

    def line(self, depth: int, text: str, node: object = None) -> None:
        """Append a line for `node`, or for the current statement."""
        self.lines.append(Line(INDENT * depth + text, self.node if node is None else node))

    def name_lets(self, node: t.Stmt, depth: int) -> None:
        """Declare the variables of T.Let in a statement."""
        for var in self.lets.get(id(node), ()):
            self.line(depth, f"{self.names(var)} = T.{var.dtype}()")

    def _head(self, node: t.SBlock, depth: int) -> None:
        """Print the head of a block, without its init and body."""
        self._axes(node, depth)
        mentioned = _mentioned(node)
        # A region refers to a buffer allocated by the block.
        first = any(buffer in mentioned for buffer in node.alloc_buffers)
        if first:
            self._allocations(node, depth)
        self._declared_inside(node.body, mentioned, depth)
        self._declare([buffer for buffer in mentioned if buffer not in node.alloc_buffers], depth)
        if node.predicate is not None:
            self.line(depth, f"T.where({self.text.write(node.predicate)})")
        for word, regions in (("reads", node.reads), ("writes", node.writes)):
            if regions is not None:
                self.line(depth, f"T.{word}({', '.join([self._region(region) for region in regions])})")
        if node.annotations:
            self.line(depth, f"T.{self.block}_attr({self.constant(node.annotations)})")
        if not first:
            self._allocations(node, depth)
        for match in node.match_buffers:
            self._view(match, depth)

    def _view(self, match: t.MatchBufferRegion, depth: int) -> None:
        self._name_strides(match.buffer)
        source, arguments = self._region(match.source), self._alloc_arguments(match.buffer)
        self.line(depth, f"{self.names(match.buffer)} = T.match_buffer({source}, {arguments})", match)

    def _name_strides(self, buffer: Buffer) -> None:
        """Write the stride variables of a view as `A.strides[0]`."""
        for place, stride in enumerate(buffer.strides or ()):
            if type(stride) is p.PrimVar and not self.names.known(stride):
                self.names.fix(stride, f"{self.names(buffer)}.strides[{place}]")

    def _declared_inside(self, body: t.Stmt, mentioned: list[Buffer], depth: int) -> None:
        """Print declarations from the body of a block early, if the head refers to their buffers."""
        for stmt in body.stmts if type(body) is t.SeqStmt else ():
            if type(stmt) is t.AllocBuffer and stmt.how == "Buffer" and stmt.buffer in mentioned:
                self.name_lets(stmt, depth)
                self._alloc(stmt, depth)
                self.begun.add(id(stmt))

    def _declare(self, mentioned: list[Buffer], depth: int) -> None:
        """Declare buffers that a region refers to before the body allocates them."""
        for buffer in mentioned:
            if not self.names.known(buffer) and buffer not in self.fn.params:
                self.line(
                    depth, f"{self.names(buffer)} = T.Buffer({self._buffer_arguments(buffer, False)})", buffer
                )

    def _alloc(self, node: t.AllocBuffer, depth: int) -> None:
        if node.how == "local_scalar":
            name, dtype = self.names(node.buffer), node.buffer.dtype
            text = f'{name} = T.local_scalar("{dtype}")' if self.dialect.old else f"{name}: T.{dtype}"
            self.line(depth, text, node)
            return
        buffer = node.buffer
        if buffer.scope and buffer.scope == t.SCOPES.get(f"T.{node.how}"):
            buffer = replace(buffer, scope="")
        self.line(depth, f"{self.names(node.buffer)} = T.{node.how}({self._alloc_arguments(buffer)})", node)

    def _allocations(self, node: t.SBlock, depth: int) -> None:
        word = "alloc_buffer" if self.dialect.old else "sblock_alloc_buffer"
        for buffer in node.alloc_buffers:
            self.line(depth, f"{self.names(buffer)} = T.{word}({self._alloc_arguments(buffer)})", buffer)

    def _axes(self, node: t.SBlock, depth: int) -> None:
        pairs = zip(node.iter_vars, node.iter_values, strict=True)
        for whole, group in groupby(pairs, lambda pair: self._is_whole_loop(*pair)):
            run = list(group)
            if whole and len(run) > 1:
                kinds = "".join([_AXIS_KINDS[axis.kind] for axis, _ in run])
                names = ", ".join([self.names(axis.var) for axis, _ in run])
                values = self.text.listed(tuple([value for _, value in run]))
                self.line(depth, f'{names} = T.axis.remap("{kinds}", [{values}])')
                continue
            for axis, value in run:
                domain, text = self._domain(axis), self.text.write(value)
                self.line(depth, f"{self.names(axis.var)} = T.axis.{axis.kind}({domain}, {text})", axis)

    def _is_whole_loop(self, axis: t.IterVar, value: p.PrimExpr) -> bool:
        """True if an axis has the same domain as a loop around the block. `T.axis.remap` covers several such axes."""
        loop = self.loops.get(value) if isinstance(value, p.PrimVar) and axis.kind in _AXIS_KINDS else None
        return loop is not None and loop.extent is axis.domain.extent and loop.start is axis.domain.start

    @cached_property
    def loops(self) -> dict[p.PrimVar, t.For]:
        """The loops of the function, by variable."""
        return {loop.var: loop for loop in statements(self.fn.body) if type(loop) is t.For}

    def _domain(self, axis: t.IterVar) -> str:
        bounds = self.bounds(axis.domain.start, axis.domain.extent)
        return bounds if is_zero(axis.domain.start) else f"({bounds})"


def _lets(body: t.Stmt) -> dict[int, list[p.PrimVar]]:
    """The variables of T.Let, by statement."""
    lets: dict[int, list[p.PrimVar]] = {}
    for node in statements(body):
        for part in subexpressions(*expressions(node)):
            if isinstance(part, Let):
                lets.setdefault(id(node), []).append(part.var)
    return lets


def _mentioned(node: t.SBlock) -> list[Buffer]:
    """The buffers in the regions and annotations of a block."""
    buffers: dict[Buffer, None] = {}
    for region in (*(node.reads or ()), *(node.writes or ())):
        buffers[region.buffer] = None
        for span in region.ranges:
            for part in subexpressions(span.start, span.extent):
                if isinstance(part, BufferLoad):
                    buffers[part.buffer] = None
    buffers.update(dict.fromkeys(buffers_in(node.annotations)))
    return list(buffers)


# -- printer tir stmt ------------------------------------------------------------------------------------------------
# Prints statements of PrimFuncs as TVMScript text, line by line.


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
        bounds = self.bounds(node.start, node.extent)
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

    def _subject(self, subject: object) -> str:
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
    return loop.kind == "serial" and is_zero(loop.start) and not loop.annotations and loop.step is None


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


# -- printer tir -----------------------------------------------------------------------------------------------------


def print_prim_func(
    fn: t.PrimFunc, name: str, dialect: Dialect, chosen: dict[p.PrimVar, str], taken: Iterable[str] = ()
) -> list[Line]:
    """The lines of a PrimFunc, starting with the decorator, each with its statement.

    `chosen` has the names of its shape variables declared by the module, `taken` all names declared by the module.
    """
    return _FunctionPrinter(fn, dialect, chosen, taken).print(function_name(name), name)


def _has_blocks(fn: t.PrimFunc) -> bool:
    return any(type(item) is t.SBlock for item in statements(fn.body))


class _FunctionPrinter(StatementPrinter):
    def print(self, name: str, symbol: str) -> list[Line]:
        """All lines."""
        fn = self.fn
        options = ["private=True"] if fn.is_private else []
        if fn.s_tir and not self.dialect.old:
            options.append("s_tir=True")
        self.line(0, f"@T.prim_func({', '.join(options)})" if options else "@T.prim_func", fn)
        late = self._match_buffers() if self.dialect.old else []
        undeclared = [] if late else [var for var in shape_vars(fn) if var not in self.chosen]
        params = ", ".join([self._parameter(param, bool(late)) for param in fn.params])
        ret = f" -> {fn.ret_type}" if fn.ret_type is not None else ""
        self.line(0, f"def {name}({params}){ret}:", fn)
        for var in undeclared:
            self.line(1, f"{self.names(var)} = T.{var.dtype}()")
        named = late and buffers_in(fn.attrs)  # their buffers must be declared first
        if not named:
            self._attrs(symbol)
        for text in late:
            self.line(1, text)
        if named:
            self._attrs(symbol)
        before = len(self.lines)
        self.free.clear()
        self._root()
        if len(self.lines) == before:
            self.line(1, "pass")
        declared = [Line(f"{INDENT}{self.names(var)} = T.{var.dtype}()", var) for var in self.free]
        self.lines[before:before] = declared
        return self.lines

    def _parameter(self, param: Buffer | p.PrimVar, handle: bool) -> str:
        if isinstance(param, p.PrimVar):
            self.introduced.add(param)
            return f"{self.names(param)}: {param.pointee or f'T.{param.dtype}'}"
        if handle and variables(param):
            return f"{self._handle(param)}: T.handle"
        return f"{self.names(param)}: {self._buffer_type(param)}"

    def _handle(self, buffer: Buffer) -> str:
        """The name of the pointer that a match_buffer turns into `buffer`."""
        key = ("handle", buffer)
        return self.names(key) if self.names.known(key) else self.names.assign(key, f"var_{buffer.name}")

    def _match_buffers(self) -> list[str]:
        """In the older dialect, the lines for buffers with symbolic shapes: the variables, then one match_buffer for each."""
        texts = [f"{self.names(var)} = T.{var.dtype}()" for var in shape_vars(self.fn)]
        for param in self.fn.params:
            if isinstance(param, Buffer) and variables(param):
                handle = self._handle(param)
                texts.append(
                    f"{self.names(param)} = T.match_buffer({handle}, {self._buffer_arguments(param, False)})"
                )
        return texts

    def _attrs(self, symbol: str) -> None:
        attrs = own_attrs(self.fn.attrs, symbol)
        if self.dialect.old and self.fn.s_tir and not _has_blocks(self.fn):
            attrs = attrs.having(
                s_tir=True
            )  # the older decorator has no option for it, and no block implies it
        if attrs:
            self.line(1, f"T.func_attr({self.constant(attrs)})")

    def _root(self) -> None:
        body = self.fn.body
        if not self.fn.s_tir:
            self.statement(body, 1)
            return
        root = body if type(body) is t.SBlock and not body.iter_vars and body.name == "root" else None
        inner = root.body if root is not None else body
        explicit = type(inner) is t.SBlock and not inner.iter_vars
        stated = () if root is None else (root.reads, root.writes, root.init, root.annotations or None)
        if explicit or any(part is not None for part in stated):
            self.statement(root if root is not None else body, 1)
            return
        if root is not None or _has_blocks(self.fn):
            self.line(1, f'# with T.{self.block}("root"):')
        if root is not None:
            self._allocations(root, 1)
        self.statement(inner, 1)
