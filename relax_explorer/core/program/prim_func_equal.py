"""Structural equality and hash of PrimFuncs. Variables and buffers correspond by place; their names do not matter."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ir.node import field_names
from relax_explorer.core.ir.struct_info import StructInfo
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr, PointerType, Ramp
from relax_explorer.core.tir.stmt import Buffer, BufferRegion, Range

# Fields that are not part of the structure.
_SKIPPED = frozenset({"span", "struct_info", "name", "points"})


def prim_func_equal(a: t.PrimFunc, b: t.PrimFunc) -> bool:
    """True if two PrimFuncs have the same structure."""
    return a is b or tokens(a) == tokens(b)


def prim_func_hash(fn: t.PrimFunc) -> int:
    """A 64-bit hash, the same for structurally equal PrimFuncs in every process."""
    text = "\x1f".join(tokens(fn)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


def tokens(fn: t.PrimFunc) -> list[str]:
    """The structure of a PrimFunc as a flat list. The lists of two PrimFuncs are equal if their structures are."""
    return _Tokens().of(fn)


class _Tokens:
    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.out: list[str] = []

    def of(self, fn: t.PrimFunc) -> list[str]:
        self.feed(fn)
        return self.out

    def number(self, value: object) -> bool:
        """Add the number of a variable or buffer. True if it is new."""
        new = value not in self.numbers
        self.out.append(f"#{self.numbers.setdefault(value, len(self.numbers))}")
        return new

    def feed(self, value: object) -> None:
        """Add any value."""
        if isinstance(value, p.PrimExpr):
            self._expr(value)
        elif isinstance(
            value, (t.Stmt, t.PrimFunc, Range, BufferRegion, t.IterVar, t.MatchBufferRegion, Buffer)
        ):
            self._node(value)
        elif isinstance(value, tuple):
            self.out.append(f"({len(value)}")
            for field in value:
                self.feed(field)
        elif isinstance(value, Attrs):
            self.feed(tuple([(key, value[key]) for key in sorted(value)]))
        elif isinstance(value, float):
            self.out.append(value.hex())
        elif value is None or isinstance(value, (bool, int, str, DType, StructInfo)):
            self.out.append(f"{type(value).__name__}:{value}")
        else:
            raise TypeError(f"no structure for {type(value).__name__}")

    def _node(self, value: object) -> None:
        self.out.append(type(value).__name__)
        if isinstance(value, Buffer) and not self.number(value):
            return
        for name in field_names(value):
            if name not in _SKIPPED:
                self.feed(getattr(value, name))

    def _expr(self, value: p.PrimExpr) -> None:
        """Add a scalar expression, without recursion."""
        stack = [value]
        while stack:
            part = stack.pop()
            self._expr_head(part)
            stack.extend(reversed(part.children()))

    def _expr_head(self, value: p.PrimExpr) -> None:
        if type(value) is p.PrimVar:
            if self.number(value):
                self.out.append(value.pointee or value.dtype.name)
            return
        self.out.append(f"{type(value).__name__}:{value.dtype}")
        if isinstance(value, (p.IntImm, p.FloatImm, p.PrimString)):
            self.feed(value.value)
        elif isinstance(value, p.PrimCall):
            self.feed((value.op, value.keywords))
        elif isinstance(value, (BufferLoad, BufferPtr)):
            self._node(value.buffer)
            self.out.append(getattr(value, "how", ""))
        elif isinstance(value, PointerType):
            self.feed((value.element, value.scope))
        elif isinstance(value, Ramp):
            self.out.append(str(value.lanes))
