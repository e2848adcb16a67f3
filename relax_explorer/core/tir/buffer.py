"""Buffers: the arrays that PrimFuncs read and write."""

from __future__ import annotations

from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.node import node
from relax_explorer.core.ir.prim import PrimExpr
from relax_explorer.core.source import Span


@node
class Buffer:
    """An array of `dtype` with `shape` (in elements); like a variable it is its identity.

    `data` is the pointer to its memory when the text names one; the remaining fields are TVM's, None when they have their default.
    `others` are further arguments of TVM's (`layout`, `axis_separators`, …) that mean nothing here, as they are written.
    `is_scalar` is of a buffer of one element that the text calls by its name alone (`b: T.int32 = 0`).
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
    """`extent` values from `start`: an interval of an axis or of a buffer dimension."""

    start: PrimExpr
    extent: PrimExpr


@node
class BufferRegion:
    """A box of a buffer; `points` says which dimensions were written as a point (`A[i]`) rather than a slice (`A[i:j]`)."""

    buffer: Buffer
    ranges: tuple[Range, ...]
    points: tuple[bool, ...]
