"""Which parameters of a PrimFunc a call reads, and into which ones it stores."""

from __future__ import annotations

from typing import NamedTuple

from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.side_effects import overwritten
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions


class Accesses(NamedTuple):
    """The numbers of the parameters whose old elements a call reads, and of those into which it stores."""

    read: frozenset[int]
    stored: frozenset[int]


def accesses(fn: t.PrimFunc) -> Accesses | None:
    """The accesses of a PrimFunc. None if a view, a pointer or a call may reach memory that the parameters do not name.

    A parameter that is stored into before it is loaded, in the order of the text, is not read: what a reduction loads is its own.
    """
    return _ACCESSES.of(fn, _accesses)


_ACCESSES: PerNode[Accesses | None] = PerNode()


def _accesses(fn: t.PrimFunc) -> Accesses | None:
    places = {param: number for number, param in enumerate(fn.params) if isinstance(param, Buffer)}
    stored, read, written = overwritten(fn), set[int](), set[int]()
    for node in statements(fn.body):
        if type(node) is t.SBlock and node.match_buffers:
            return None
        for expr in subexpressions(*expressions(node)):
            place = places.get(expr.buffer, -1) if type(expr) is BufferLoad else -1
            if place >= 0 and place not in written:
                read.add(place)
        if type(node) is t.BufferStore and node.buffer in places:
            written.add(places[node.buffer])
    return Accesses(frozenset(read), stored) if written == stored else None
