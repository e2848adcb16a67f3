"""What is gathered while a block of a PrimFunc is read, and the names that end with it."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import EMPTY
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer, BufferRegion


class BlockParts:
    """What the statements at the head of a block say of it."""

    def __init__(self) -> None:
        self.iter_vars: list[t.IterVar] = []
        self.iter_values: list[p.PrimExpr] = []
        self.reads: tuple[BufferRegion, ...] | None = None
        self.writes: tuple[BufferRegion, ...] | None = None
        self.predicate: p.PrimExpr | None = None
        self.init: t.Stmt | None = None
        self.allocs: list[Buffer] = []
        self.matches: list[t.MatchBufferRegion] = []
        self.annotations = EMPTY


class Scope:
    """Names bound inside are gone afterwards."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names

    def __enter__(self) -> None:
        self.saved = dict(self.names)

    def __exit__(self, *_: object) -> None:
        self.names.clear()
        self.names.update(self.saved)
