"""Statements of PrimFuncs, and PrimFunc itself: lowered code as data."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.expr import Expr
from relax_explorer.core.ir.node import node, owner_node
from relax_explorer.core.ir.prim import PrimExpr, PrimVar
from relax_explorer.core.ir.struct_info import StructInfo
from relax_explorer.core.shown import Shown
from relax_explorer.core.source import Span
from relax_explorer.core.tir.buffer import Buffer, BufferRegion, Range


class Stmt:
    """Any statement; each has `span`."""

    __slots__ = ()
    span: Span | None


@node
class BufferStore(Stmt):
    """`buffer[indices] = value`."""

    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    value: PrimExpr
    span: Span | None = None


@node
class Evaluate(Stmt):
    """An expression evaluated for its effect."""

    value: PrimExpr
    span: Span | None = None


@node
class LetStmt(Stmt):
    """`var: T.let[…] = value`; the scope of `var` is the rest of the sequence."""

    var: PrimVar
    value: PrimExpr
    span: Span | None = None


@node
class SeqStmt(Stmt):
    """Statements in order."""

    stmts: tuple[Stmt, ...]
    span: Span | None = None


@node
class For(Stmt):
    """A loop over `extent` values from `start`; `kind` is serial, parallel, vectorized, unroll or thread_binding."""

    var: PrimVar
    start: PrimExpr
    extent: PrimExpr
    body: Stmt
    kind: str = "serial"
    thread: str | None = None
    annotations: Attrs = EMPTY
    step: PrimExpr | None = None
    span: Span | None = None


@node
class While(Stmt):
    """A loop while `condition` holds."""

    condition: PrimExpr
    body: Stmt
    span: Span | None = None


@node
class IfThenElse(Stmt):
    """A conditional statement."""

    condition: PrimExpr
    then_case: Stmt
    else_case: Stmt | None = None
    span: Span | None = None


@node
class IterVar:
    """An axis of a block: `var` ranges over `domain`; `kind` is spatial, reduce, opaque or scan."""

    var: PrimVar
    domain: Range
    kind: str = "spatial"


@node
class MatchBufferRegion:
    """`buffer` as a view of a region of another buffer."""

    buffer: Buffer
    source: BufferRegion


@node
class SBlock(Stmt):
    """A block of schedulable TIR, with the values of its axes (`iter_values`) and its predicate.

    `reads` and `writes` are None if the text omits them.
    """

    name: str
    iter_vars: tuple[IterVar, ...]
    iter_values: tuple[PrimExpr, ...]
    body: Stmt
    predicate: PrimExpr | None = None
    reads: tuple[BufferRegion, ...] | None = None
    writes: tuple[BufferRegion, ...] | None = None
    init: Stmt | None = None
    alloc_buffers: tuple[Buffer, ...] = ()
    match_buffers: tuple[MatchBufferRegion, ...] = ()
    annotations: Attrs = EMPTY
    span: Span | None = None


@node
class AllocBuffer(Stmt):
    """A buffer allocated for the following statements; `how` is `T.alloc_buffer`, `T.alloc_local` or `T.decl_buffer`."""

    buffer: Buffer
    how: str = "alloc_buffer"
    annotations: Attrs = EMPTY
    span: Span | None = None


@node
class AttrStmt(Stmt):
    """`T.attr(subject, key, value)`, or a launched thread, around `body`. `subject` is None if the attribute has none."""

    subject: Any
    key: str
    value: PrimExpr
    body: Stmt
    span: Span | None = None


@node
class AssertStmt(Stmt):
    """A check at run time. If the condition is false, the run stops with a message and an error of kind `error`."""

    condition: PrimExpr
    parts: tuple[str, ...]
    error: str = "RuntimeError"
    span: Span | None = None

    @property
    def message(self) -> str:
        """The parts of the message, joined."""
        return "".join(self.parts)


@owner_node
class PrimFunc(Expr, Shown):
    """A function over buffers and scalars, in destination-passing style.

    `params` are buffers and scalar variables in order; `body` is a statement. If the function is schedulable (`s_tir`), `root`
    holds the allocations of the root block.
    """

    params: tuple[Buffer | PrimVar, ...]
    body: Stmt
    ret_type: StructInfo | None = None
    attrs: Attrs = EMPTY
    s_tir: bool = True
    struct_info: StructInfo | None = None
    span: Span | None = None

    @property
    def is_private(self) -> bool:
        """True if only functions of the module can call this one."""
        return "global_symbol" not in self.attrs
