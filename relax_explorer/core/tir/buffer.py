"""Buffers: the arrays that PrimFuncs read and write."""

from __future__ import annotations

from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.node import node
from relax_explorer.core.ir.prim import PrimExpr
from relax_explorer.core.source import Span


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
