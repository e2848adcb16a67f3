"""Operations of tensor cores on tiles of matrices, as loops: what CUDA's `nvcuda::wmma` and Metal's `simdgroup_matrix` compute.

A fragment holds a matrix in registers of a warp, in an order that only the hardware knows. Here it is the region of its buffer,
with rows and columns as the operation names them: a tile that is loaded column by column is transposed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr
from relax_explorer.core.tir.stmt import Buffer

_Place: TypeAlias = "Callable[[p.PrimExpr, p.PrimExpr], tuple[Buffer, tuple[p.PrimExpr, ...]]]"


@dataclass(frozen=True)
class Tile:
    """A matrix of `rows` × `columns` elements; `place` is where an element of it stands."""

    rows: int
    columns: int
    dtype: DType
    place: _Place

    def load(self, row: p.PrimExpr, column: p.PrimExpr) -> p.PrimExpr:
        """An element."""
        return BufferLoad(*self.place(row, column))


_Tiles: TypeAlias = "Callable[[Buffer], Tile | None]"
_Value: TypeAlias = "Callable[[p.PrimExpr, p.PrimExpr], p.PrimExpr]"
_Loops: TypeAlias = "Callable[[t.Evaluate, tuple[p.PrimExpr, ...], _Tiles], t.Stmt | None]"


def tile_operation(node: t.Evaluate, tiles: _Tiles) -> t.Stmt | None:
    """The loops for a call of an operation on tiles. None for another call, and for tiles of other forms than the call says."""
    call = node.value
    loops = _OPERATIONS.get(call.op) if isinstance(call, p.PrimCall) else None
    return None if loops is None else loops(node, call.children(), tiles)


def _fill(node: t.Evaluate, args: tuple[p.PrimExpr, ...], tiles: _Tiles) -> t.Stmt | None:
    """`tvm_fill_fragment(C, m, n, k, index, value)`."""
    return _filled(node, _tile(args[0], tiles), args[5])


def _make_filled(node: t.Evaluate, args: tuple[p.PrimExpr, ...], tiles: _Tiles) -> t.Stmt | None:
    """`metal.make_filled_simdgroup_matrix(C, index, value, columns, rows)`."""
    return _filled(node, _tile(args[0], tiles), args[2])


def _filled(node: t.Evaluate, tile: Tile | None, value: p.PrimExpr) -> t.Stmt | None:
    if tile is None:
        return None
    return _over(node, tile, lambda row, column: _converted(value, tile.dtype))


def _load(node: t.Evaluate, args: tuple[p.PrimExpr, ...], tiles: _Tiles) -> t.Stmt | None:
    """`tvm_load_matrix_sync(C, m, n, k, index, A, stride, layout)`."""
    return _copied(node, _tile(args[0], tiles), _pointed(args[5], tiles), _is_by_columns(args[7]))


def _store(node: t.Evaluate, args: tuple[p.PrimExpr, ...], tiles: _Tiles) -> t.Stmt | None:
    """`tvm_store_matrix_sync(A, m, n, k, index, C, stride, layout)`."""
    return _copied(node, _pointed(args[5], tiles), _tile(args[0], tiles), _is_by_columns(args[7]))


def _simdgroup_load(node: t.Evaluate, args: tuple[p.PrimExpr, ...], tiles: _Tiles) -> t.Stmt | None:
    """`metal.simdgroup_load(C, index, A, stride, columns, rows, transpose)`."""
    return _copied(node, _tile(args[0], tiles), _pointed(args[2], tiles), _is_true(args[6]))


def _simdgroup_store(node: t.Evaluate, args: tuple[p.PrimExpr, ...], tiles: _Tiles) -> t.Stmt | None:
    """`metal.simdgroup_store(A, index, C, stride, columns, rows, transpose)`."""
    return _copied(node, _pointed(args[2], tiles), _tile(args[0], tiles), _is_true(args[6]))


def _copied(node: t.Evaluate, to: Tile | None, of: Tile | None, is_transposed: bool | None) -> t.Stmt | None:
    if to is None or of is None or is_transposed is None:
        return None
    lengths = (of.columns, of.rows) if is_transposed else (of.rows, of.columns)
    if lengths != (to.rows, to.columns):
        return None

    def element(row: p.PrimExpr, column: p.PrimExpr) -> p.PrimExpr:
        return _converted(of.load(*((column, row) if is_transposed else (row, column))), to.dtype)

    return _over(node, to, element)


def _multiply(node: t.Evaluate, args: tuple[p.PrimExpr, ...], tiles: _Tiles) -> t.Stmt | None:
    """`tvm_mma_sync(D, …, A, …, B, …, C, …)` and `metal.simdgroup_multiply_accumulate` alike: D = A B + C, where D is C.

    Products are added in the order of their columns, each sum rounded to the dtype of D. Hardware may round less often.
    """
    to, a, b, added = [_tile(args[place], tiles) for place in (0, 2, 4, 6)]
    if to is None or a is None or b is None or added is None or args[0] is not args[6]:
        return None
    if (a.rows, b.columns, a.columns) != (to.rows, to.columns, b.rows):
        return None
    inner = p.PrimVar("inner", INT64)

    def sum_of(row: p.PrimExpr, column: p.PrimExpr) -> p.PrimExpr:
        product = p.Mul(_converted(a.load(row, inner), to.dtype), _converted(b.load(inner, column), to.dtype))
        return p.Add(to.load(row, column), product)

    return _over(node, to, sum_of, (inner, a.columns))


_OPERATIONS: dict[str, _Loops] = {
    "tvm_fill_fragment": _fill,
    "tvm_load_matrix_sync": _load,
    "tvm_mma_sync": _multiply,
    "tvm_store_matrix_sync": _store,
    "metal.make_filled_simdgroup_matrix": _make_filled,
    "metal.simdgroup_load": _simdgroup_load,
    "metal.simdgroup_multiply_accumulate": _multiply,
    "metal.simdgroup_store": _simdgroup_store,
}


def _over(node: t.Evaluate, tile: Tile, value: _Value, *inside: tuple[p.PrimVar, int]) -> t.Stmt:
    """Loops over the elements of a tile that store their values, with other loops `inside` of them."""
    row, column = p.PrimVar("row", INT64), p.PrimVar("column", INT64)
    body: t.Stmt = t.BufferStore(*tile.place(row, column), value(row, column), node.span)
    for var, extent in (*inside, (column, tile.columns), (row, tile.rows)):
        body = t.For(var, p.IntImm(0, INT64), p.IntImm(extent, INT64), body, span=node.span)
    return body


def _tile(data: p.PrimExpr, tiles: _Tiles) -> Tile | None:
    return tiles(data.buffer) if isinstance(data, BufferPtr) and data.how == "data" else None


def _pointed(pointer: p.PrimExpr, tiles: _Tiles) -> Tile | None:
    """The tile at `T.tvm_access_ptr(type, data, offset, extent, mask)`."""
    is_access = isinstance(pointer, p.PrimCall) and pointer.op == "tvm_access_ptr"
    return _tile(pointer.children()[1], tiles) if is_access else None


def _is_by_columns(layout: p.PrimExpr) -> bool | None:
    known = {"row_major": False, "col_major": True}
    return known.get(layout.value) if isinstance(layout, p.PrimString) else None


def _is_true(flag: p.PrimExpr) -> bool | None:
    return bool(flag.value) if isinstance(flag, p.IntImm) else None


def _converted(value: p.PrimExpr, dtype: DType) -> p.PrimExpr:
    return value if value.dtype is dtype else p.Cast(dtype, value)
