"""Blocks without `T.match_buffer`: a view of a region becomes the buffer behind it, and an operation on tiles becomes loops.

Schedules for tensor cores put both into blocks, long before a GPU's code is made of them. What a view shows and what such an
operation computes is known, so these kernels run here like any other.
"""

from __future__ import annotations

from typing import TypeAlias

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.node import replace
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.mutator import Mutator
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr
from relax_explorer.core.tir.stmt import Buffer, BufferRegion
from relax_explorer.core.tir.tile_operations import Tile, tile_operation
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions

_Views: TypeAlias = "dict[Buffer, BufferRegion]"


def without_views(fn: t.PrimFunc) -> t.PrimFunc:
    """A PrimFunc whose blocks name no views, as far as their uses are understood. The same object if there are none."""
    return _WITHOUT.of(fn, _rewritten) or fn


_WITHOUT: PerNode[t.PrimFunc | None] = PerNode()


def _rewritten(fn: t.PrimFunc) -> t.PrimFunc | None:
    if not any(type(node) is t.SBlock and node.match_buffers for node in statements(fn.body)):
        return None
    return _Unmatched({}).function(fn)


class _Unmatched(Mutator):
    """Rewrites what is inside of blocks. `views` has the region that each view shows."""

    def __init__(self, views: _Views) -> None:
        super().__init__()
        self.views, self._lanes = views, 0

    def stmt(self, node: t.Stmt) -> t.Stmt:
        """Rewrite a statement; a block loses the views of which nothing is left but loads, stores and operations on tiles."""
        is_lane = type(node) is t.For and node.thread == "threadIdx.x"
        self._lanes += is_lane
        changed = self._stmt(node)
        self._lanes -= is_lane
        return changed

    def _stmt(self, node: t.Stmt) -> t.Stmt:
        if type(node) is t.SBlock and node.match_buffers:
            return self._block(node)
        if type(node) is t.Evaluate and self._lanes == 0:  # all lanes of a warp make one operation together
            return tile_operation(node, self._tile) or super().stmt(node)
        if type(node) is t.BufferStore and node.buffer in self.views:
            buffer, indices = self._behind(node.buffer, tuple([self.expr(index) for index in node.indices]))
            return t.BufferStore(buffer, indices, self.expr(node.value), node.span)
        return super().stmt(node)

    def _block(self, node: t.SBlock) -> t.Stmt:
        regions = {match.buffer: self._region(match.source) for match in node.match_buffers}
        if not all([_is_plain(view, region) for view, region in regions.items()]):
            return node
        before = self.views
        self.views = {**before, **regions}
        changed = super().stmt(replace(node, match_buffers=()))
        self.views = before
        return node if _mentions(changed, regions) else changed

    def expr(self, expr: p.PrimExpr) -> p.PrimExpr:
        """Rewrite an expression; an element of a view is one of the buffer behind it."""
        if type(expr) is BufferLoad and expr.buffer in self.views:
            return BufferLoad(*self._behind(expr.buffer, tuple([self.expr(index) for index in expr.indices])))
        return super().expr(expr)

    def _behind(self, view: Buffer, indices: tuple[p.PrimExpr, ...]) -> tuple[Buffer, tuple[p.PrimExpr, ...]]:
        region = self.views[view]
        starts = [item.start for item in region.ranges]
        leading = len(starts) - len(indices)
        moved = [
            p.Add(start, index if index.dtype is start.dtype else p.Cast(start.dtype, index))
            for start, index in zip(starts[leading:], indices, strict=True)
        ]
        return region.buffer, (*starts[:leading], *moved)

    def _region(self, region: BufferRegion) -> BufferRegion:
        """A region of a view as one of the buffer behind it."""
        if region.buffer not in self.views:
            return region
        buffer, starts = self._behind(region.buffer, tuple([item.start for item in region.ranges]))
        leading = len(starts) - len(region.ranges)
        extents: list[p.PrimExpr] = [p.IntImm(1, start.dtype) for start in starts[:leading]]
        extents += [item.extent for item in region.ranges]
        ranges = tuple([t.Range(start, extent) for start, extent in zip(starts, extents, strict=True)])
        return BufferRegion(buffer, ranges, (False,) * len(ranges))

    def _tile(self, view: Buffer) -> Tile | None:
        """A view of a matrix of known lengths, as an operation on tiles takes it."""
        region = self.views.get(view)
        if region is None or len(view.shape) != 2:
            return None
        rows, columns = view.shape
        if not (isinstance(rows, p.IntImm) and isinstance(columns, p.IntImm)):
            return None
        return Tile(
            rows.value, columns.value, view.dtype, lambda row, column: self._behind(view, (row, column))
        )


def _is_plain(view: Buffer, region: BufferRegion) -> bool:
    """True for a view that shows a region as it is: lengths of 1 may be left out in front."""
    extents = [item.extent for item in region.ranges]
    leading = len(extents) - len(view.shape)
    return (
        leading >= 0
        and view.dtype is region.buffer.dtype
        and all([isinstance(extent, p.IntImm) and extent.value == 1 for extent in extents[:leading]])
        and all([_is_equal(a, b) for a, b in zip(extents[leading:], view.shape, strict=True)])
    )


def _is_equal(a: p.PrimExpr, b: p.PrimExpr) -> bool:
    return a is b or (isinstance(a, p.IntImm) and isinstance(b, p.IntImm) and a.value == b.value)


def _mentions(node: t.Stmt, views: _Views) -> bool:
    """True if a statement still uses a view, or a variable that only the view binds."""
    bound = {var for view in views for var in p.free_vars(*view.strides or (), *_offset(view))}
    for part in statements(node):
        for expr in subexpressions(*expressions(part)):
            if expr in bound or (isinstance(expr, (BufferLoad, BufferPtr)) and expr.buffer in views):
                return True
    return False


def _offset(view: Buffer) -> tuple[p.PrimExpr, ...]:
    return () if view.elem_offset is None else (view.elem_offset,)
