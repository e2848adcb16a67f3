"""Prints buffers, regions and constants of a PrimFunc as TVMScript text."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import Attrs, Verbatim
from relax_explorer.core.ir.dtype import INT32, INT64
from relax_explorer.core.ir.prim_text import Named, PrimText, quoted
from relax_explorer.core.ir.substitute import is_zero
from relax_explorer.core.syntax.dialects import Dialect
from relax_explorer.core.syntax.names import Names
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferPtr
from relax_explorer.core.tir.stmt import Buffer, BufferRegion


def shape_vars(fn: t.PrimFunc) -> list[p.PrimVar]:
    """Variables in shapes, strides and offsets of the parameters, in order, without scalar parameters."""
    occurring: dict[p.PrimVar, None] = {}
    for param in fn.params:
        if isinstance(param, Buffer):
            occurring.update(dict.fromkeys(variables(param)))
    scalars = {param for param in fn.params if isinstance(param, p.PrimVar)}
    return [var for var in occurring if var not in scalars]


def variables(buffer: Buffer) -> list[p.PrimVar]:
    """The variables in the shape, strides and offset of a buffer."""
    offset = () if buffer.elem_offset is None else (buffer.elem_offset,)
    return p.free_vars(*buffer.shape, *(buffer.strides or ()), *offset)


def buffers_in(value: object) -> list[Buffer]:
    """The buffers in a constant of an attribute."""
    if isinstance(value, BufferPtr):
        return [value.buffer]
    items = value.values() if isinstance(value, Attrs) else value if isinstance(value, tuple) else ()
    return [buffer for item in items for buffer in buffers_in(item)]


def end_of(start: p.PrimExpr, extent: p.PrimExpr) -> p.PrimExpr:
    """The end of a range, as a number if its start and extent are numbers."""
    if is_zero(start):
        return extent
    if isinstance(start, p.IntImm) and isinstance(extent, p.IntImm):
        with contextlib.suppress(OverflowError):  # the end may overflow its dtype
            return p.IntImm(start.value + extent.value, extent.dtype)
    return p.Add(start, extent)


def own_attrs(attrs: Attrs, symbol: str) -> Attrs:
    """The attributes of a function, without a symbol that its name implies."""
    return attrs.without("global_symbol") if attrs.get("global_symbol") == symbol else attrs


def _older_key(key: str) -> str:
    return key.replace("tirx.", "tir.", 1) if key.startswith("tirx.") else key


class BufferText:
    """Prints the buffers of a PrimFunc, and assigns names to its variables and buffers."""

    def __init__(
        self, fn: t.PrimFunc, dialect: Dialect, chosen: dict[p.PrimVar, str], taken: Iterable[str]
    ) -> None:
        self.fn, self.dialect, self.chosen = fn, dialect, chosen
        self.names = Names()
        for var, text in chosen.items():
            self.names.fix(var, text)
        fresh = Names((*taken, *chosen.values()))
        for var in shape_vars(fn):
            if var not in chosen:
                self.names.fix(var, fresh(var))
        self.text = PrimText(self._name, INT32)
        self.free: dict[p.PrimVar, None] = {}  # used but not bound: an ill-formed function is printed too
        self.introduced: set[p.PrimVar] = set()  # by an earlier parameter

    def _name(self, var: Named) -> str:
        if type(var) is p.PrimVar and not self.names.known(var):
            self.free[var] = None
        return self.names(var)

    def _buffer_type(self, buffer: Buffer) -> str:
        return f"T.Buffer({self._buffer_arguments(buffer, True)})"

    def _buffer_arguments(self, buffer: Buffer, quote: bool) -> str:
        dims = ", ".join([self._dim(dim, quote) for dim in buffer.shape])
        shape = f"({dims},)" if len(buffer.shape) == 1 else f"({dims})"
        parts = [shape, f'"{buffer.dtype}"', *self._buffer_options(buffer)]
        return ", ".join(parts)

    def _buffer_options(self, buffer: Buffer) -> list[str]:
        parts = []
        if buffer.data is not None:
            parts.append(f"data={self.text.write(buffer.data)}")
        if buffer.strides is not None:
            strides = ", ".join([self._stride(buffer, place) for place in range(len(buffer.strides))])
            parts.append(f"strides=({strides}{',' if len(buffer.strides) == 1 else ''})")
        if buffer.elem_offset is not None:
            parts.append(f"elem_offset={self.text.write(buffer.elem_offset)}")
        if buffer.scope not in ("", "global"):
            parts.append(f'scope="{buffer.scope}"')
        parts += [
            f"{key}={value}"
            for key in ("align", "offset_factor")
            if (value := getattr(buffer, key)) is not None
        ]
        return parts + [f"{key}={value}" for key, value in buffer.others]

    def _alloc_arguments(self, buffer: Buffer) -> str:
        dims = self.text.listed(buffer.shape)
        shape = f"({dims},)" if len(buffer.shape) == 1 else f"({dims})"
        dtype = [f'"{buffer.dtype}"'] if buffer.dtype.name != "float32" else []
        return ", ".join([shape, *dtype, *self._buffer_options(buffer)])

    def _stride(self, buffer: Buffer, place: int) -> str:
        stride = (buffer.strides or ())[place]
        text = self.text.write(stride)
        if isinstance(stride, p.PrimVar) and text == f"{self.names(buffer)}.strides[{place}]":
            return quoted(stride.name)
        return text

    def _dim(self, dim: p.PrimExpr, quote: bool) -> str:
        """A dimension. In a signature, expressions and the first occurrences of variables are quoted."""
        text = self.text.write(dim)
        if not quote:
            return text
        new = [var for var in p.free_vars(dim) if var not in self.chosen and var not in self.introduced]
        self.introduced.update(new)
        plain = isinstance(dim, (p.IntImm, p.PrimVar)) or dim.dtype is not INT64
        return text if plain and not new else quoted(text)

    def bounds(self, start: p.PrimExpr, extent: p.PrimExpr) -> str:
        """`stop`, or `start, stop`."""
        stop = self.text.write(end_of(start, extent))
        return stop if is_zero(start) else f"{self.text.write(start)}, {stop}"

    def _region(self, region: BufferRegion) -> str:
        parts = []
        for span, point in zip(region.ranges, region.points, strict=True):
            start = self.text.write(span.start)
            if point:
                parts.append(start)
                continue
            parts.append(f"{start}:{self.text.write(end_of(span.start, span.extent))}")
        source = ".source" if region.buffer.is_scalar else ""
        return f"{self.names(region.buffer)}{source}[{', '.join(parts) or '()'}]"

    def constant(self, value: object) -> str:
        """A compile-time constant of an attribute."""
        if isinstance(value, Attrs):
            rename = _older_key if self.dialect.old else str
            entries = [f"{quoted(rename(key))}: {self.constant(value[key])}" for key in sorted(value)]
            return f"{{{', '.join(entries)}}}"
        if isinstance(value, tuple):
            return f"[{', '.join([self.constant(item) for item in value])}]"
        if isinstance(value, Verbatim):
            return str(value)
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        return self.text.write(value) if isinstance(value, p.PrimExpr) else str(value)
