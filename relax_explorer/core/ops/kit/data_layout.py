"""Layouts: the order of the axes of a tensor. An axis may be split into tiles.

NCHW4c has channels in tiles of four: C counts the tiles, c the channels within one. A length that is no multiple of the tile
is rounded up, and the padding is 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import Site
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.te import Te, Tensor, where

_AXIS = re.compile(r"([A-Z])|([1-9]\d*)([a-z])")


@cache
def axes_of(layout: str) -> tuple[tuple[str, int], ...] | None:
    """The capital letter and the tile of each axis of the tensor; tile 0 marks an untiled axis. None if it is no layout."""
    parsed: list[tuple[str, int]] = []
    place = 0
    while place < len(layout):
        match = _AXIS.match(layout, place)
        if match is None:
            return None
        parsed.append((match[1], 0) if match[1] else (match[3].upper(), int(match[2])))
        place = match.end()
    letters = [(letter, tile > 0) for letter, tile in parsed]
    untiled = {letter for letter, tile in parsed if not tile}
    known = len(set(letters)) == len(letters) and untiled == {letter for letter, _ in parsed}
    return tuple(parsed) if known else None


def need_layout(at: Site, axes: str, **layouts: str) -> None:
    """Refuse layouts that are not a permutation of `axes`, tiles aside."""
    for name, layout in layouts.items():
        layout_axes = axes_of(layout)
        if layout_axes is None or sorted(letter for letter, tile in layout_axes if not tile) != sorted(axes):
            text = f"{name} is {layout!r}, an order of the axes {axes} is needed, perhaps with tiles such as 4{axes[1].lower()}"
            raise at.fail(codes.BAD_ATTRIBUTE, text)


def need_layout_rank(at: Site, layout: str, x: s.TensorStructInfo, name: str) -> None:
    """Refuse a tensor whose rank or tile lengths do not fit the layout."""
    axes = axes_of(layout) or ()
    rules.need_rank(at, x, len(axes), name)
    for (letter, tile), dim in zip(axes, x.dims or (), strict=False):
        if tile and at.equal(dim, p.IntImm(tile)) is Answer.NO:
            text = f"{name} has tiles of {dim}, {layout} says {tile}{letter.lower()}"
            raise at.fail(codes.DIMS_DIFFER, text, **{name: f"this is {x}"})


def rank_of(layout: str) -> int:
    """The number of axes of a tensor in this layout."""
    return len(axes_of(layout) or ())


def is_plain(layout: str) -> bool:
    """Whether a layout has no tiles."""
    return len(layout) == rank_of(layout)


def by_axis(layout: str, values: Sequence[Any]) -> dict[str, Any]:
    """The entry of each axis, by its letter; the layout has no tiles."""
    return dict(zip(layout, values, strict=True))


def ordered(layout: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """The entries in the order of a layout without tiles."""
    return tuple([values[axis] for axis in layout])


def lengths_of(layout: str, dims: Sequence[p.PrimExpr]) -> dict[str, p.PrimExpr]:
    """The length of each axis, by its letter, with tiles merged."""
    products: dict[str, p.PrimExpr] = {}
    for (letter, tile), dim in zip(axes_of(layout) or (), dims, strict=True):
        factor = p.IntImm(tile) if tile else dim
        products[letter] = simplify(p.Mul(products[letter], factor)) if letter in products else factor
    return products


def dims_of(layout: str, lengths: Mapping[str, p.PrimExpr]) -> tuple[p.PrimExpr, ...]:
    """The dimensions of a tensor in this layout, from the lengths of whole axes."""
    axes = axes_of(layout) or ()
    tiles = {letter: tile for letter, tile in axes if tile}
    return tuple(
        [p.IntImm(tile) if tile else _tiles(lengths[letter], tiles.get(letter, 1)) for letter, tile in axes]
    )


def _tiles(length: p.PrimExpr, tile: int) -> p.PrimExpr:
    if tile == 1:
        return length
    return simplify(p.FloorDiv(simplify(p.Add(length, p.IntImm(tile - 1))), p.IntImm(tile)))


def plain_stage(te: Te, x: Tensor, layout: str, axes: str) -> tuple[Tensor, str]:
    """A tensor without tiles, and its layout. A tiled tensor is transposed to the order of `axes`; others are unchanged."""
    if is_plain(layout):
        return x, layout

    def element(*i: p.PrimExpr) -> p.PrimExpr:
        return x[_within(layout, by_axis(axes, i))]

    return te.compute("T_layout_trans", ordered(axes, lengths_of(layout, x.shape)), element), axes


def tiled_stage(te: Te, x: Tensor, axes: str, layout: str) -> Tensor:
    """`x`, whose axes are in the order of `axes`, converted to `layout`; `x` itself if the layout is the same."""
    if axes == layout:
        return x
    lengths, tiles = by_axis(axes, x.shape), {a: tile for a, tile in axes_of(layout) or () if tile}

    def element(*i: p.PrimExpr) -> p.PrimExpr:
        parts: dict[str, p.PrimExpr] = {}
        inner: dict[str, p.PrimExpr] = {}
        for (letter, tile), index in zip(axes_of(layout) or (), i, strict=True):
            (inner if tile else parts)[letter] = index
        for letter, index in inner.items():
            parts[letter] = p.Add(p.Mul(parts[letter], p.IntImm(tiles[letter])), index)
        value = x[ordered(axes, parts)]
        for letter in tiles:
            length = lengths[letter]
            if not (isinstance(length, p.IntImm) and length.value % tiles[letter] == 0):
                value = where(p.LT(parts[letter], length), value, p.as_prim(0, x.dtype))
        return value

    return te.compute("T_layout_trans", dims_of(layout, lengths), element)


def _within(layout: str, place: Mapping[str, p.PrimExpr]) -> list[p.PrimExpr]:
    """The indices of an element in this layout, from its indices in whole axes."""
    axes = axes_of(layout) or ()
    tiles = {letter: p.IntImm(tile) for letter, tile in axes if tile}
    indices: list[p.PrimExpr] = []
    for letter, tile in axes:
        whole = place[letter]
        if letter in tiles:
            indices.append(p.FloorMod(whole, tiles[letter]) if tile else p.FloorDiv(whole, tiles[letter]))
        else:
            indices.append(whole)
    return indices


def plain(x: Array, layout: str, axes: str) -> Array:
    """An array with its axes in the order of `axes` and its tiles merged."""
    layout_axes = axes_of(layout) or ()
    order = [
        n
        for axis in axes
        for tiles in (False, True)
        for n, (a, t) in enumerate(layout_axes)
        if a == axis and bool(t) == tiles
    ]
    turned = np.transpose(x, order)
    lengths = dict.fromkeys(axes, 1)
    for n in order:
        lengths[layout_axes[n][0]] *= x.shape[n]
    return turned.reshape([lengths[axis] for axis in axes])


def tiled(x: Array, axes: str, layout: str) -> Array:
    """`x`, whose axes are in the order of `axes`, converted to `layout`; zeros pad the last tiles."""
    layout_axes = axes_of(layout) or ()
    tiles = {letter: tile for letter, tile in layout_axes if tile}
    ends = [(0, -length % tiles.get(axis, 1)) for axis, length in zip(axes, x.shape, strict=True)]
    filled = np.pad(x, ends) if any(map(any, ends)) else x
    split, names = [], []
    for axis, length in zip(axes, filled.shape, strict=True):
        tile = tiles.get(axis)
        split += [length // tile, tile] if tile else [length]
        names += [(axis, 0), (axis, tile)] if tile else [(axis, 0)]
    return np.ascontiguousarray(
        np.transpose(filled.reshape(split), [names.index(item) for item in layout_axes])
    )
