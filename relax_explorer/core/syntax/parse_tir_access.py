"""Reads accesses to buffers in PrimFuncs: elements, vectors, regions, pointers."""

from __future__ import annotations

import ast

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.codes import tir as tir_codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import (
    HANDLE,
    MOST_LANES,
)
from relax_explorer.core.syntax.parse_tir_operand import OperandReader
from relax_explorer.core.syntax.written import dotted
from relax_explorer.core.tir.buffer import Buffer, BufferRegion, Range
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr, PointerType, Ramp


class AccessReader(OperandReader):
    """Reads subscripts and attributes of buffers."""

    def _subscript(self, node: ast.Subscript) -> p.PrimExpr:
        length = self._length(node)
        if length is not None:
            return length
        buffer, indices = self.access(node)
        return BufferLoad(buffer, indices)

    def _length(self, node: ast.Subscript) -> p.PrimExpr | None:
        """`A.shape[0]` or `A.strides[0]`: a length or stride of the buffer. None for anything else."""
        attribute = node.value
        if not isinstance(attribute, ast.Attribute) or attribute.attr not in ("shape", "strides"):
            return None
        buffer, place = self.buffer(attribute.value), node.slice
        values = buffer.shape if attribute.attr == "shape" else buffer.strides or ()
        number = place.value if isinstance(place, ast.Constant) else None
        if not isinstance(number, int) or not 0 <= number < len(values):
            raise self.bad(node)
        return values[number]

    def extents(self, node: ast.expr) -> tuple[p.PrimExpr, ...]:
        """The extents in an argument of T.grid: a single one, or the shape of a buffer, `*A.shape`."""
        if not isinstance(node, ast.Starred):
            return (self.index(node),)
        attribute = node.value
        if not isinstance(attribute, ast.Attribute) or attribute.attr != "shape":
            raise self.bad(node)
        return self.buffer(attribute.value).shape

    def access(self, node: ast.Subscript) -> tuple[Buffer, tuple[p.PrimExpr, ...]]:
        """The buffer and the indices of `A[i, j]`. `A[()]` has no indices."""
        buffer = self.buffer(node.value)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = tuple([self._item(item) for item in items])
        if len(indices) != len(buffer.shape):
            text = f"{buffer.name} has {len(buffer.shape)} dimensions, {len(indices)} indices are given"
            raise self.ctx.fail(
                tir_codes.TIR_EXPRESSION, text, node, help="give one index for each dimension"
            )
        return buffer, indices

    def _item(self, node: ast.expr) -> p.PrimExpr:
        if not isinstance(node, ast.Slice):
            return self.index(node)
        start = self.index(node.lower or ast.Constant(0))
        stop = self.index(node.upper) if node.upper else None
        step = self.index(node.step) if node.step else p.IntImm(1, start.dtype)
        lanes = None if stop is None else p.Sub(*self.align(stop, start))
        width = literal_value(lanes) if lanes is not None else None
        stride = literal_value(step)
        if width is None or not stride:
            raise self.ctx.fail(
                tir_codes.TIR_EXPRESSION, "the number of elements of a vector index must be known", node
            )
        return self._vector(start, step, width // stride, node)

    def buffer(self, node: ast.expr) -> Buffer:
        """The buffer called by its name. The buffer of a scalar is its `source`."""
        if isinstance(node, ast.Attribute) and node.attr == "source":
            node = node.value
        buffer = self.names.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(buffer, Buffer):
            return buffer
        text = ast.unparse(node)[:40]
        raise self.ctx.fail(
            codes.UNDEFINED,
            f"{text!r} is not a buffer",
            node,
            "no buffer of this name",
            help=codes.UNDEFINED.fix,
        )

    def region(self, node: ast.expr) -> BufferRegion:
        """The region `A[i, j:k]` in T.reads and T.writes. The name of the buffer alone is the whole buffer."""
        if isinstance(node, ast.Name):
            buffer = self.buffer(node)
            full = tuple([Range(p.IntImm(0, dim.dtype), dim) for dim in buffer.shape])
            return BufferRegion(buffer, full, (False,) * len(full))
        if not isinstance(node, ast.Subscript):
            raise self.bad(node)
        buffer = self.buffer(node.value)
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        ranges, points = [], []
        for index in items:
            if isinstance(index, ast.Slice) and index.lower is not None and index.upper is not None:
                start, stop = self.align(self.index(index.lower), self.index(index.upper))
                ranges.append(Range(start, self.extent(start, stop)))
                points.append(False)
            else:
                start = self.index(index)
                ranges.append(Range(start, p.IntImm(1, start.dtype)))
                points.append(True)
        return BufferRegion(buffer, tuple(ranges), tuple(points))

    def extent(self, start: p.PrimExpr, stop: p.PrimExpr) -> p.PrimExpr:
        """`stop - start`, folded in simple cases."""
        if isinstance(start, p.IntImm) and isinstance(stop, p.IntImm):
            return p.IntImm(stop.value - start.value, stop.dtype)
        if isinstance(start, p.IntImm) and start.value == 0:
            return stop
        if isinstance(stop, p.Add) and stop.a is start:
            return stop.b
        return p.Sub(stop, start)

    def _attribute(self, node: ast.Attribute) -> p.PrimExpr:
        if isinstance(node.value, ast.Name):
            buffer = self.names.get(node.value.id)
            if isinstance(buffer, Buffer) and node.attr == "elem_offset" and buffer.elem_offset is not None:
                return buffer.elem_offset
            if isinstance(buffer, Buffer):
                return BufferPtr(buffer, node.attr)
        if node.attr == "ty" and isinstance(node.value, ast.Call) and dotted(node.value.func) == "T.handle":
            return self.pointer_type(node.value)
        raise self.bad(node)

    def pointer_type(self, node: ast.Call) -> PointerType:
        """The pointer type `T.handle("int64", "global")`. `T.handle()` has no pointee type."""
        if not node.args:
            return PointerType(HANDLE)
        scope = node.args[1] if len(node.args) > 1 else ast.Constant("global")
        if len(node.args) > 2 or not isinstance(scope, ast.Constant):
            raise self.bad(node)
        return PointerType(self.dtype(node.args[0]), str(scope.value))

    def _vector(self, base: p.PrimExpr, stride: p.PrimExpr, lanes: int, node: ast.expr) -> p.PrimExpr:
        if not 1 <= lanes <= MOST_LANES or base.dtype.lanes != 1:
            raise self.bad(node)
        return Ramp(base, stride, lanes)


def literal_value(expr: p.PrimExpr | None) -> int | None:
    """The value of an expression, or None if it depends on a variable."""
    from relax_explorer.core.arith.simplify import constant, polynomial

    return None if expr is None else constant(polynomial(expr))
