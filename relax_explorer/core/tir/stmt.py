"""Statements of PrimFuncs, and PrimFunc itself: lowered code as data."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import Any

from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.expr import Expr
from relax_explorer.core.ir.node import node, owner_node
from relax_explorer.core.ir.prim import AnyDim, PrimExpr, PrimVar
from relax_explorer.core.ir.struct_info import StructInfo
from relax_explorer.core.shown import Shown
from relax_explorer.core.source import Span

# -- buffer ----------------------------------------------------------------------------------------------------------
# Buffers: the arrays that PrimFuncs read and write.


@node
class Buffer:
    """An array of `dtype` with `shape` (in elements). Like a variable, it is compared by identity.

    `data` is the pointer to its memory, if the text names one. The other fields are TVM's; None means TVM's default.
    `others` holds further arguments of TVM (`layout`, `axis_separators`, …) as written; they have no meaning here.
    `is_scalar` marks a buffer of one element that is used by its name alone (`b: T.int32 = 0`).
    """

    name: str
    shape: tuple[PrimExpr, ...]
    dtype: DType
    scope: str = ""
    data: PrimExpr | None = None
    strides: tuple[PrimExpr, ...] | None = None
    elem_offset: PrimExpr | None = None
    align: int | None = None
    offset_factor: int | None = None
    others: tuple[tuple[str, str], ...] = ()
    is_scalar: bool = False
    span: Span | None = None


@node
class Range:
    """The `extent` values from `start` on, along an axis or a buffer dimension."""

    start: PrimExpr
    extent: PrimExpr


@node
class BufferRegion:
    """A box of a buffer. `points` marks the dimensions written as a point (`A[i]`) instead of a slice (`A[i:j]`)."""

    buffer: Buffer
    ranges: tuple[Range, ...]
    points: tuple[bool, ...]


# -- stmt ------------------------------------------------------------------------------------------------------------


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


SCOPES = {"T.alloc_shared": "shared", "T.alloc_local": "local"}
"""The memory of a buffer, by what allocates it."""


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


# -- fields ----------------------------------------------------------------------------------------------------------
# The fields of TIR nodes that hold other nodes. They are read from the declarations, so a new field can't be
# forgotten.


PARTS = (Range, BufferRegion, IterVar, MatchBufferRegion)
"""Nodes other than statements, expressions and buffers."""
_HELD = re.compile(
    r"\b(Any|Attrs|PrimExpr|PrimVar|Stmt|Buffer|BufferRegion|Range|IterVar|MatchBufferRegion)\b"
)


_ATOMS = (PrimVar, AnyDim)  # never rebuilt
_HOLDING: dict[type, tuple[str, ...]] = {}
_PARAMETERS: dict[type, tuple[str, ...]] = {}
_BESIDES: dict[type, tuple[str, ...]] = {}


def holding(cls: type) -> tuple[str, ...]:
    """The fields of a statement, buffer, function or part of these that may hold nodes, in order of declaration."""
    names = _HOLDING.get(cls)
    if names is None:
        names = tuple([field.name for field in fields(cls) if _HELD.search(str(field.type))])
        _HOLDING[cls] = names
    return names


def parameters(cls: type[PrimExpr]) -> tuple[str, ...]:
    """The constructor arguments of an expression class; each is also an attribute."""
    names = _PARAMETERS.get(cls)
    if names is None:
        names = _PARAMETERS[cls] = tuple(inspect.signature(cls.__new__).parameters)[1:]
    return names


def besides_operands(cls: type[PrimExpr]) -> tuple[str, ...]:
    """The arguments of an expression that may hold nodes but are not operands (see `children`)."""
    names = _BESIDES.get(cls)
    if names is None:
        declared = inspect.signature(cls.__new__).parameters
        operands = cls.operands or ("args", "indices")
        selected = [name for name in declared if _HELD.search(str(declared[name].annotation))]
        names = _BESIDES[cls] = (
            () if cls in _ATOMS else tuple([name for name in selected if name not in operands])
        )
    return names


def is_node(value: object) -> bool:
    """Whether a value is a node of a PrimFunc."""
    return isinstance(value, (PrimExpr, Stmt, PrimFunc, Buffer, *PARTS))


def parts(node: object) -> list[Any]:
    """The nodes directly inside a node, in order of declaration, including nodes in tuples and attributes."""
    if isinstance(node, PrimExpr):
        values = [getattr(node, name) for name in besides_operands(type(node))]
        return [*_nodes(values), *node.children()]
    return _nodes([getattr(node, name) for name in holding(type(node))])


def _nodes(values: list[Any]) -> list[Any]:
    nodes: list[Any] = []
    stack = values[::-1]
    while stack:
        value = stack.pop()
        if is_node(value):
            nodes.append(value)
        elif isinstance(value, tuple):
            stack.extend(reversed(value))
        elif isinstance(value, Attrs):
            stack.extend(reversed(list(value.values())))
    return nodes
