"""A store of a PrimFunc, as it ran."""

from __future__ import annotations

from dataclasses import dataclass

from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad


@dataclass(frozen=True, slots=True)
class Store:
    """A store, when it ran: its PrimFunc and statement, the loop variables, the element and the elements it was made
    of, each with its place."""

    function: t.PrimFunc
    statement: t.BufferStore
    loops: tuple[tuple[str, int], ...]
    index: tuple[int, ...]
    value: float
    loads: tuple[tuple[BufferLoad, tuple[int, ...], float], ...]
