"""Scalar expressions that occur only inside PrimFuncs."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.ir import prim_text as pt
from relax_explorer.core.ir.dtype import HANDLE, INT32, DType
from relax_explorer.core.ir.interned import InternTable
from relax_explorer.core.ir.prim import IntImm, PrimCall, PrimExpr, PrimVar
from relax_explorer.core.tir.stmt import Buffer

_TABLE: InternTable[tuple[Any, ...], Any] = InternTable()


class BufferLoad(PrimExpr):
    """`buffer[indices]`; the indices may be Ramps."""

    __slots__ = ("buffer", "indices")
    buffer: Buffer
    indices: tuple[PrimExpr, ...]

    def __new__(cls, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> BufferLoad:
        key = (cls, buffer, indices)
        unique = _TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.buffer, unique.indices = buffer, indices
            lanes = indices[-1].dtype.lanes if indices else 1
            unique.dtype = buffer.dtype if lanes == 1 else buffer.dtype.with_lanes(lanes)
            _TABLE.add(key, unique)
        return unique

    def children(self) -> tuple[PrimExpr, ...]:
        """The indices."""
        return self.indices

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """A load from the same buffer at other indices."""
        return BufferLoad(self.buffer, children)

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`buffer[indices]`; for a scalar buffer the name alone."""
        if self.buffer.is_scalar and self.indices == ORIGIN:
            return out.name(self.buffer), pt.ATOM
        return f"{out.name(self.buffer)}[{out.listed(self.indices) or '()'}]", pt.ATOM


class BufferPtr(PrimExpr):
    """`buffer.data`, or the buffer itself as an argument: `how` is `data`, `buffer` or another attribute name.

    `elem_offset` is the number of elements before it.
    """

    __slots__ = ("buffer", "how")
    buffer: Buffer
    how: str

    def __new__(cls, buffer: Buffer, how: str = "data") -> BufferPtr:
        key = (cls, buffer, how)
        unique = _TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.buffer, unique.how, unique.dtype = buffer, how, HANDLE
            if how == "elem_offset":
                unique.dtype = buffer.shape[0].dtype if buffer.shape else INT32
            _TABLE.add(key, unique)
        return unique

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """The pointer itself; it has no operands."""
        return self

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`buffer.data`, or the name of the buffer."""
        name = out.name(self.buffer)
        return (name if self.how == "buffer" else f"{name}.{self.how}"), pt.ATOM


class PointerType(PrimExpr):
    """`T.handle("int64", "global").ty`: the type of pointers to elements of a dtype, as an argument of an intrinsic.

    For an untyped pointer the element dtype is handle.
    """

    __slots__ = ("element", "scope")
    element: DType
    scope: str

    def __new__(cls, element: DType, scope: str = "global") -> PointerType:
        key = (cls, element, scope)
        unique = _TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.element, unique.scope, unique.dtype = element, scope, HANDLE
            _TABLE.add(key, unique)
        return unique

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """The type itself; it has no operands."""
        return self

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`T.handle("int64", "global").ty`."""
        return f"{self}{'()' if self.element is HANDLE else ''}.ty", pt.ATOM

    def __str__(self) -> str:
        return "T.handle" if self.element is HANDLE else f'T.handle("{self.element}", "{self.scope}")'


def pointer_type(value: PrimExpr) -> PointerType | None:
    """The type of a pointer. An intrinsic that reads a pointer names the type last; a buffer's pointer points to its elements."""
    if isinstance(value, BufferPtr) and value.how == "data":
        return PointerType(value.buffer.dtype, value.buffer.scope or "global")
    last = value.args[-1] if isinstance(value, PrimCall) and value.args else None
    return last if isinstance(last, PointerType) else None


class Ramp(PrimExpr):
    """The vector `base, base + stride, …` of `lanes` elements."""

    __slots__ = ("base", "lanes", "stride")
    base: PrimExpr
    stride: PrimExpr
    lanes: int
    operands = ("base", "stride")

    def __new__(cls, base: PrimExpr, stride: PrimExpr, lanes: int) -> Ramp:
        key = (cls, base, stride, lanes)
        unique = _TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.base, unique.stride, unique.lanes = base, stride, lanes
            unique.dtype = base.dtype.with_lanes(lanes)
            _TABLE.add(key, unique)
        return unique

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """A ramp of as many lanes over other operands."""
        return Ramp(children[0], children[1], self.lanes)

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`T.Ramp(base, stride, lanes)`."""
        return f"T.Ramp({out.write(self.base)}, {out.write(self.stride)}, {self.lanes})", pt.ATOM


class Let(PrimExpr):
    """`body`, in which `var` is bound to `value`."""

    __slots__ = ("body", "value", "var")
    var: PrimVar
    value: PrimExpr
    body: PrimExpr
    operands = ("value", "body")

    def __new__(cls, var: PrimVar, value: PrimExpr, body: PrimExpr) -> Let:
        key = (cls, var, value, body)
        unique = _TABLE.find(key)
        if unique is None:
            unique = object.__new__(cls)
            unique.var, unique.value, unique.body, unique.dtype = var, value, body, body.dtype
            _TABLE.add(key, unique)
        return unique

    def with_children(self, children: tuple[PrimExpr, ...]) -> PrimExpr:
        """A Let of the same variable with another value and body."""
        return Let(self.var, children[0], children[1])

    def text(self, out: pt.PrimText) -> tuple[str, int]:
        """`T.Let(body, where={var: value})`."""
        value = f"{out.name(self.var)}: {out.write(self.value)}"
        return f"T.Let({out.write(self.body)}, where={{{value}}})", pt.ATOM


# The index of a scalar buffer's element; the text shows the name alone.
ORIGIN = (IntImm(0, INT32),)
