"""Prints blocks of PrimFuncs as TVMScript text: axes, regions, allocations and views."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from relax_explorer.core.ir import prim as p
from relax_explorer.core.syntax.dialects import Dialect
from relax_explorer.core.syntax.doc import Line
from relax_explorer.core.syntax.printer_tir_buffer import BufferText, buffers_in
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.prim_expr import BufferLoad, Let
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions

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
        self.line(
            depth, f"{self.names(node.buffer)} = T.{node.how}({self._alloc_arguments(node.buffer)})", node
        )

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

    @property
    def loops(self) -> dict[p.PrimVar, t.For]:
        """The loops of the function, by variable."""
        if not hasattr(self, "_loops"):
            self._loops = {loop.var: loop for loop in _loops(self.fn.body)}
        return self._loops

    def _domain(self, axis: t.IterVar) -> str:
        start, extent = axis.domain.start, axis.domain.extent
        if isinstance(start, p.IntImm) and start.value == 0:
            return self.text.write(extent)
        stop: p.PrimExpr = p.Add(start, extent)
        if isinstance(start, p.IntImm) and isinstance(extent, p.IntImm):
            stop = p.IntImm(start.value + extent.value, extent.dtype)
        return f"({self.text.write(start)}, {self.text.write(stop)})"


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


def _loops(node: t.Stmt) -> list[t.For]:
    return [item for item in statements(node) if type(item) is t.For]
