"""PrimFuncs as TVMScript text, line by line."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import prim_text
from relax_explorer.core.ir.attrs import Attrs, Verbatim
from relax_explorer.core.ir.dtype import HANDLE, INT32, INT64
from relax_explorer.core.ir.prim_text import ATOM, PrimText, quoted
from relax_explorer.core.syntax.dialects import Dialect
from relax_explorer.core.syntax.names import Names, function_name
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer, BufferRegion
from relax_explorer.core.tir.prim_expr import ORIGIN, BufferLoad, BufferPtr, Let, PointerType, pointer_type
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions

INDENT = "    "
_AXIS_KINDS = {"spatial": "S", "reduce": "R", "opaque": "O"}


def shape_vars(fn: t.PrimFunc) -> list[p.PrimVar]:
    """Variables that the places of the parameters in memory mention, in order, scalar parameters left out."""
    found: dict[p.PrimVar, None] = {}
    for param in fn.params:
        if isinstance(param, Buffer):
            found.update(dict.fromkeys(_variables(param)))
    scalars = {param for param in fn.params if isinstance(param, p.PrimVar)}
    return [var for var in found if var not in scalars]


def _variables(buffer: Buffer) -> list[p.PrimVar]:
    offset = () if buffer.elem_offset is None else (buffer.elem_offset,)
    return p.free_vars(*buffer.shape, *(buffer.strides or ()), *offset)


def print_prim_func(
    fn: t.PrimFunc, name: str, dialect: Dialect, chosen: dict[p.PrimVar, str], taken: Iterable[str] = ()
) -> list[str]:
    """The lines of a PrimFunc, the decorator first.

    `chosen` are the names of its shape variables that the module declares, `taken` all names that the module declares.
    """
    return _Printer(fn, dialect, chosen, taken).print(function_name(name), name)


def _has_blocks(fn: t.PrimFunc) -> bool:
    return any(type(item) is t.SBlock for item in statements(fn.body))


def _older_key(key: str) -> str:
    return key.replace("tirx.", "tir.", 1) if key.startswith("tirx.") else key


class _Printer:
    def __init__(
        self, fn: t.PrimFunc, dialect: Dialect, chosen: dict[p.PrimVar, str], taken: Iterable[str]
    ) -> None:
        self.fn, self.dialect, self.chosen = fn, dialect, chosen
        self.names: Any = Names()
        for var, text in chosen.items():
            self.names.fix(var, text)
        own = Names((*taken, *chosen.values()))
        for var in shape_vars(fn):
            if var not in chosen:
                self.names.fix(var, own(var))
        self.text = PrimText(self._name, INT32)
        self.free: dict[
            p.PrimVar, None
        ] = {}  # used, but bound nowhere: an ill-formed function, which is printed all the same
        self.introduced: set[p.PrimVar] = set()  # by a parameter already
        self.begun: set[int] = (
            set()
        )  # written before their place: first values with the scalar, declarations at the head of a block
        self.lets = _lets(fn.body)
        self.lines: list[str] = []
        self.block = "block" if dialect.old else "sblock"

    def _name(self, var: p.PrimVar) -> str:
        if not self.names.known(var) and type(var) is p.PrimVar:
            self.free[var] = None
        return self.names(var)  # type: ignore[no-any-return]  # typed by the table it comes from

    def line(self, depth: int, text: str) -> None:
        """Append a line."""
        self.lines.append(INDENT * depth + text)

    # -- the function ---------------------------------------------------------------------------------------------

    def print(self, name: str, symbol: str) -> list[str]:
        """All lines."""
        fn = self.fn
        options = ["private=True"] if fn.is_private else []
        if fn.s_tir and not self.dialect.old:
            options.append("s_tir=True")
        self.line(0, f"@T.prim_func({', '.join(options)})" if options else "@T.prim_func")
        late = self._match_buffers() if self.dialect.old else []
        own = [] if late else [var for var in shape_vars(fn) if var not in self.chosen]
        params = ", ".join([self._parameter(param, bool(late)) for param in fn.params])
        ret = f" -> {fn.ret_type}" if fn.ret_type is not None else ""
        self.line(0, f"def {name}({params}){ret}:")
        for var in own:
            self.line(1, f"{self.names(var)} = T.{var.dtype}()")
        named = late and _in_constant(fn.attrs)  # what they name comes first
        if not named:
            self._attrs(symbol)
        for text in late:
            self.line(1, text)
        if named:
            self._attrs(symbol)
        before = len(self.lines)
        self.free.clear()
        self._root()
        if len(self.lines) == before:
            self.line(1, "pass")
        declared = [f"{INDENT}{self.names(var)} = T.{var.dtype}()" for var in self.free]
        self.lines[before:before] = declared
        return self.lines

    def _parameter(self, param: Buffer | p.PrimVar, handle: bool) -> str:
        if isinstance(param, p.PrimVar):
            self.introduced.add(param)
            return f"{self.names(param)}: {param.pointee or f'T.{param.dtype}'}"
        if handle and self._symbolic(param):
            return f"{self._handle(param)}: T.handle"
        return f"{self.names(param)}: {self._buffer_type(param)}"

    def _handle(self, buffer: Buffer) -> str:
        """The name of the pointer that a match_buffer gives its shape."""
        key = ("handle", buffer)
        return self.names(key) if self.names.known(key) else self.names.assign(key, f"var_{buffer.name}")  # type: ignore[no-any-return]  # typed by the table it comes from

    def _symbolic(self, buffer: Buffer) -> bool:
        return bool(_variables(buffer))

    def _match_buffers(self) -> list[str]:
        """What the older surface writes for buffers with symbolic shapes: the variables, then a match_buffer for each."""
        texts = [f"{self.names(var)} = T.{var.dtype}()" for var in shape_vars(self.fn)]
        for param in self.fn.params:
            if isinstance(param, Buffer) and self._symbolic(param):
                handle = self._handle(param)
                texts.append(
                    f"{self.names(param)} = T.match_buffer({handle}, {self._buffer_arguments(param, False)})"
                )
        return texts

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

    def _stride(self, buffer: Buffer, place: int) -> str:
        stride = (buffer.strides or ())[place]
        text = self.text.write(stride)
        own = isinstance(stride, p.PrimVar) and text == f"{self.names(buffer)}.strides[{place}]"
        return quoted(stride.name) if own else text  # type: ignore[attr-defined]  # a variable

    def _dim(self, dim: p.PrimExpr, quote: bool) -> str:
        """A dimension; in a signature an expression is quoted, and so is whatever names a variable for the first time."""
        text = self.text.write(dim)
        if not quote:
            return text
        new = [var for var in p.free_vars(dim) if var not in self.chosen and var not in self.introduced]
        self.introduced.update(new)
        plain = isinstance(dim, (p.IntImm, p.PrimVar)) or dim.dtype is not INT64
        return text if plain and not new else quoted(text)

    def _attrs(self, symbol: str) -> None:
        attrs = (
            self.fn.attrs.without("global_symbol")
            if self.fn.attrs.get("global_symbol") == symbol
            else self.fn.attrs
        )
        if self.dialect.old and self.fn.s_tir and not _has_blocks(self.fn):
            attrs = attrs.having(s_tir=True)  # the older decorator has no word for it, and no block shows it
        if attrs:
            self.line(1, f"T.func_attr({self.constant(attrs)})")

    def constant(self, value: Any) -> str:
        """A compile-time constant of an attribute."""
        if isinstance(value, Attrs):
            rename = _older_key if self.dialect.old else str
            return (
                "{"
                + ", ".join([f"{quoted(rename(key))}: {self.constant(value[key])}" for key in sorted(value)])
                + "}"
            )
        if isinstance(value, tuple):
            return f"[{', '.join([self.constant(item) for item in value])}]"
        if isinstance(value, Verbatim):
            return str(value)
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        return self.text.write(value) if isinstance(value, p.PrimExpr) else str(value)

    def _root(self) -> None:
        body = self.fn.body
        if not self.fn.s_tir:
            self.statement(body, 1)
            return
        root = body if type(body) is t.SBlock and not body.iter_vars and body.name == "root" else None
        inner = root.body if root is not None else body
        explicit = type(inner) is t.SBlock and not inner.iter_vars
        if explicit or (
            root is not None
            and (
                root.reads is not None or root.writes is not None or root.init is not None or root.annotations
            )
        ):
            self.statement(root if root is not None else body, 1)
            return
        if root is not None or _has_blocks(self.fn):
            self.line(1, f'# with T.{self.block}("root"):')
        if root is not None:
            self._allocations(root, 1)
        self.statement(inner, 1)

    # -- statements -----------------------------------------------------------------------------------------------

    def statement(self, node: t.Stmt, depth: int) -> None:
        """One statement, after the names that expressions in it give to their parts (T.Let)."""
        for var in self.lets.get(id(node), ()):
            self.line(depth, f"{self.names(var)} = T.{var.dtype}()")
        _STATEMENTS[type(node)](self, node, depth)

    def _inner(self, node: t.Stmt, depth: int) -> None:
        before, scope = len(self.lines), self.names.mark()
        self.statement(node, depth)
        if len(self.lines) == before:
            self.line(depth, "pass")
        self.names.release(scope)

    def _seq(self, node: t.SeqStmt, depth: int) -> None:
        for item, after in zip(node.stmts, (*node.stmts[1:], None), strict=False):
            first = None if self.dialect.old else _first_value(item, after)
            if first is not None:
                made = first.buffer
                self.line(depth, f"{self.names(made)}: T.{made.dtype} = {self.text.write(first.value)}")
                self.begun.add(id(first))
            elif id(item) not in self.begun:
                self.statement(item, depth)

    def _for(self, node: t.For, depth: int) -> None:
        scope = self.names.mark()
        self._for_in_scope(node, depth)
        self.names.release(scope)

    def _for_in_scope(self, node: t.For, depth: int) -> None:
        chain = self._grid_chain(node)
        if len(chain) > 1:
            extents = ", ".join([self.text.write(loop.extent) for loop in chain])
            names = ", ".join([self.names(loop.var) for loop in chain])
            self.line(depth, f"for {names} in T.grid({extents}):")
            self._inner(chain[-1].body, depth + 1)
            return
        self.line(depth, f"for {self.names(node.var)} in {self._range(node)}:")
        self._inner(node.body, depth + 1)

    def _grid_chain(self, node: t.For) -> list[t.For]:
        chain: list[t.For] = []
        current: t.Stmt = node
        bound: set[p.PrimVar] = set()
        while type(current) is t.For and _is_plain(current) and not bound & set(p.free_vars(current.extent)):
            chain.append(current)
            bound.add(current.var)
            current = current.body
        return chain

    def _range(self, node: t.For) -> str:
        zero = isinstance(node.start, p.IntImm) and node.start.value == 0
        if zero:
            bounds = self.text.write(node.extent)
        else:
            both_known = isinstance(node.start, p.IntImm) and isinstance(node.extent, p.IntImm)
            stop: p.PrimExpr = p.Add(node.start, node.extent)
            if both_known:
                with contextlib.suppress(OverflowError):  # a loop past the last number of its dtype
                    stop = p.IntImm(node.start.value + node.extent.value, node.extent.dtype)  # type: ignore[attr-defined]  # both are literals
            bounds = f"{self.text.write(node.start)}, {self.text.write(stop)}"
        options = f", thread={quoted(node.thread)}" if node.thread is not None else ""
        options += f", annotations={self.constant(node.annotations)}" if node.annotations else ""
        options += f", step={self.text.write(node.step)}" if node.step is not None else ""
        if node.kind == "serial" and not options:
            return f"range({bounds})"
        return f"T.{node.kind}({bounds}{options})"

    def _while(self, node: t.While, depth: int) -> None:
        self.line(depth, f"while {self.text.write(node.condition)}:")
        self._inner(node.body, depth + 1)

    def _if(self, node: t.IfThenElse, depth: int) -> None:
        self.line(depth, f"if {self.text.write(node.condition)}:")
        self._inner(node.then_case, depth + 1)
        if node.else_case is not None:
            self.line(depth, "else:")
            self._inner(node.else_case, depth + 1)

    def _store(self, node: t.BufferStore, depth: int) -> None:
        whole = node.buffer.is_scalar and node.indices == ORIGIN
        indices = "" if whole else f"[{self.text.listed(node.indices) or '()'}]"
        self.line(depth, f"{self.names(node.buffer)}{indices} = {self.text.write(node.value)}")

    def _evaluate(self, node: t.Evaluate, depth: int) -> None:
        value = node.value
        if type(value) is p.PrimCall and value.op == "ret":
            self.line(depth, f"return {self.text.write(value.args[0])}")
        elif type(value) is p.PrimCall:
            self.line(depth, self.text.write(value))
        else:
            self.line(depth, f"T.evaluate({self.text.write(value)})")

    def _let(self, node: t.LetStmt, depth: int) -> None:
        kind = str(pointer_type(node.value) or f"T.{node.var.dtype}")
        kind = kind if self.dialect.old else f"T.let[{kind}]"
        value = self.text.write(node.value)
        self.line(depth, f"{self.names(node.var)}: {kind} = {value}")

    def _alloc(self, node: t.AllocBuffer, depth: int) -> None:
        if node.how == "local_scalar":
            name, dtype = self.names(node.buffer), node.buffer.dtype
            self.line(
                depth, f'{name} = T.local_scalar("{dtype}")' if self.dialect.old else f"{name}: T.{dtype}"
            )
            return
        self.line(depth, f"{self.names(node.buffer)} = T.{node.how}({self._alloc_arguments(node.buffer)})")

    def _attr(self, node: t.AttrStmt, depth: int) -> None:
        if node.key == "launch_thread":
            var, thread = node.subject
            head = f"T.launch_thread({self.text.write(thread)}, {self.text.write(node.value)}) as {self.names(var)}"
        elif node.subject is None:
            head = f"T.attr({{{quoted(node.key)}: {self.text.write(node.value)}}})"
        else:
            head = f"T.attr({self._subject(node.subject)}, {quoted(node.key)}, {self.text.write(node.value)})"
        self.line(depth, f"with {head}:")
        self._inner(node.body, depth + 1)

    def _subject(self, subject: Any) -> str:
        return self.text.write(subject) if isinstance(subject, p.PrimExpr) else str(subject)

    def _assert(self, node: t.AssertStmt, depth: int) -> None:
        message = quoted(node.message)
        if not self.dialect.old:
            message = f"({quoted(node.error)}, [{', '.join(map(quoted, node.parts))}])"
        self.line(depth, f"assert {self.text.write(node.condition)}, {message}")

    # -- blocks ---------------------------------------------------------------------------------------------------

    def _block(self, node: t.SBlock, depth: int) -> None:
        self.line(depth, f"with T.{self.block}({quoted(node.name)}):")
        inner = depth + 1
        before, scope = len(self.lines), self.names.mark()
        self._axes(node, inner)
        mentioned = _mentioned(node)
        first = any(
            buffer in mentioned for buffer in node.alloc_buffers
        )  # a region mentions what the block allocates
        if first:
            self._allocations(node, inner)
        self._declared_inside(node.body, mentioned, inner)
        self._declare([buffer for buffer in mentioned if buffer not in node.alloc_buffers], inner)
        if node.predicate is not None:
            self.line(inner, f"T.where({self.text.write(node.predicate)})")
        for word, regions in (("reads", node.reads), ("writes", node.writes)):
            if regions is not None:
                self.line(inner, f"T.{word}({', '.join([self._region(region) for region in regions])})")
        if node.annotations:
            self.line(inner, f"T.{self.block}_attr({self.constant(node.annotations)})")
        if not first:
            self._allocations(node, inner)
        for match in node.match_buffers:
            self._name_strides(match.buffer)
            arguments = self._alloc_arguments(match.buffer)
            self.line(
                inner,
                f"{self.names(match.buffer)} = T.match_buffer({self._region(match.source)}, {arguments})",
            )
        if node.init is not None:
            self.line(inner, "with T.init():")
            self._inner(node.init, inner + 1)
        self.statement(node.body, inner)
        if len(self.lines) == before:
            self.line(inner, "pass")
        self.names.release(scope)

    def _name_strides(self, buffer: Buffer) -> None:
        """Strides that a view introduces are spoken of as its own."""
        for place, stride in enumerate(buffer.strides or ()):
            if type(stride) is p.PrimVar and not self.names.known(stride):
                self.names.fix(stride, f"{self.names(buffer)}.strides[{place}]")

    def _declared_inside(self, body: t.Stmt, mentioned: list[Buffer], depth: int) -> None:
        """Declarations among the statements of a block, of buffers that its head mentions."""
        for item in body.stmts if type(body) is t.SeqStmt else ():
            if type(item) is t.AllocBuffer and item.how == "Buffer" and item.buffer in mentioned:
                self.statement(item, depth)
                self.begun.add(id(item))

    def _declare(self, mentioned: list[Buffer], depth: int) -> None:
        """Buffers that the body allocates, which a region mentions before."""
        for buffer in mentioned:
            if not self.names.known(buffer) and buffer not in self.fn.params:
                self.line(depth, f"{self.names(buffer)} = T.Buffer({self._buffer_arguments(buffer, False)})")

    def _axes(self, node: t.SBlock, depth: int) -> None:
        pairs = zip(node.iter_vars, node.iter_values, strict=True)
        for whole, group in groupby(pairs, lambda pair: self._is_whole_loop(*pair)):
            run = list(group)
            if whole and len(run) > 1:
                kinds = "".join([_AXIS_KINDS[axis.kind] for axis, _ in run])
                names = ", ".join([self.names(axis.var) for axis, _ in run])
                values = self.text.listed(tuple([value for _, value in run]))
                self.line(depth, f'{names} = T.axis.remap("{kinds}", [{values}])')
                continue
            for axis, value in run:
                domain, text = self._domain(axis), self.text.write(value)
                self.line(depth, f"{self.names(axis.var)} = T.axis.{axis.kind}({domain}, {text})")

    def _is_whole_loop(self, axis: t.IterVar, value: p.PrimExpr) -> bool:
        """Whether an axis goes as a loop around its block does, which `T.axis.remap` says of several axes at once."""
        loop = self.loops.get(value) if isinstance(value, p.PrimVar) and axis.kind in _AXIS_KINDS else None
        return loop is not None and loop.extent is axis.domain.extent and loop.start is axis.domain.start

    @property
    def loops(self) -> dict[p.PrimVar, t.For]:
        """The loops of the function by variable."""
        if not hasattr(self, "_loops"):
            self._loops = {loop.var: loop for loop in _loops(self.fn.body)}
        return self._loops

    def _domain(self, axis: t.IterVar) -> str:
        start, extent = axis.domain.start, axis.domain.extent
        if isinstance(start, p.IntImm) and start.value == 0:
            return self.text.write(extent)
        stop: p.PrimExpr = p.Add(start, extent)
        if isinstance(start, p.IntImm) and isinstance(extent, p.IntImm):
            stop = p.IntImm(start.value + extent.value, extent.dtype)
        return f"({self.text.write(start)}, {self.text.write(stop)})"

    def _region(self, region: BufferRegion) -> str:
        parts = []
        for span, point in zip(region.ranges, region.points, strict=True):
            start = self.text.write(span.start)
            if point:
                parts.append(start)
                continue
            zero = isinstance(span.start, p.IntImm) and span.start.value == 0
            stop: p.PrimExpr = span.extent if zero else p.Add(span.start, span.extent)
            if isinstance(span.start, p.IntImm) and isinstance(span.extent, p.IntImm):
                stop = p.IntImm(span.start.value + span.extent.value, span.extent.dtype)
            parts.append(f"{start}:{self.text.write(stop)}")
        source = ".source" if region.buffer.is_scalar else ""
        return f"{self.names(region.buffer)}{source}[{', '.join(parts) or '()'}]"

    def _allocations(self, node: t.SBlock, depth: int) -> None:
        word = "alloc_buffer" if self.dialect.old else "sblock_alloc_buffer"
        for buffer in node.alloc_buffers:
            self.line(depth, f"{self.names(buffer)} = T.{word}({self._alloc_arguments(buffer)})")

    def _alloc_arguments(self, buffer: Buffer) -> str:
        dims = self.text.listed(buffer.shape)
        shape = f"({dims},)" if len(buffer.shape) == 1 else f"({dims})"
        dtype = [f'"{buffer.dtype}"'] if buffer.dtype.name != "float32" else []
        return ", ".join([shape, *dtype, *self._buffer_options(buffer)])


def _lets(body: t.Stmt) -> dict[int, list[p.PrimVar]]:
    """The variables of T.Let in each statement that has any."""
    found: dict[int, list[p.PrimVar]] = {}
    for node in statements(body):
        for part in subexpressions(*expressions(node)):
            if isinstance(part, Let):
                found.setdefault(id(node), []).append(part.var)
    return found


def _mentioned(node: t.SBlock) -> list[Buffer]:
    """The buffers in the regions of a block, and in what is said of it besides."""
    found: dict[Buffer, None] = {}
    for region in (*(node.reads or ()), *(node.writes or ())):
        found[region.buffer] = None
        for span in region.ranges:
            for part in subexpressions(span.start, span.extent):
                if isinstance(part, BufferLoad):
                    found[part.buffer] = None
    found.update(dict.fromkeys(_in_constant(node.annotations)))
    return list(found)


def _in_constant(value: Any) -> list[Buffer]:
    """The buffers in a constant of an attribute."""
    if isinstance(value, BufferPtr):
        return [value.buffer]
    items = value.values() if isinstance(value, Attrs) else value if isinstance(value, tuple) else ()
    return [buffer for item in items for buffer in _in_constant(item)]


def _first_value(node: t.Stmt, after: t.Stmt | None) -> t.BufferStore | None:
    """The second of two statements when it gives the scalar that the first allocates its first value."""
    if type(node) is not t.AllocBuffer or not node.buffer.is_scalar or type(after) is not t.BufferStore:
        return None
    loads = [part for part in subexpressions(after.value) if isinstance(part, BufferLoad)]
    new = (
        after.buffer is node.buffer
        and after.indices == ORIGIN
        and all(load.buffer is not node.buffer for load in loads)
    )
    return after if new else None


def _is_plain(loop: t.For) -> bool:
    zero = isinstance(loop.start, p.IntImm) and loop.start.value == 0
    return loop.kind == "serial" and zero and not loop.annotations and loop.step is None


def _loops(node: t.Stmt) -> list[t.For]:
    return [item for item in statements(node) if type(item) is t.For]


_STATEMENTS: dict[type, Callable[[_Printer, Any, int], None]] = {
    t.SeqStmt: _Printer._seq,
    t.For: _Printer._for,
    t.While: _Printer._while,
    t.IfThenElse: _Printer._if,
    t.BufferStore: _Printer._store,
    t.Evaluate: _Printer._evaluate,
    t.LetStmt: _Printer._let,
    t.AllocBuffer: _Printer._alloc,
    t.AttrStmt: _Printer._attr,
    t.AssertStmt: _Printer._assert,
    t.SBlock: _Printer._block,
}


def _pointer(out: PrimText, expr: BufferPtr) -> tuple[str, int]:
    name = out.name(expr.buffer)  # type: ignore[arg-type]  # Names takes anything with a name
    return (name if expr.how == "buffer" else f"{name}.{expr.how}"), ATOM


def _pointer_type(out: PrimText, expr: PointerType) -> tuple[str, int]:
    return f"{expr}{'()' if expr.element is HANDLE else ''}.ty", ATOM


def _let(out: PrimText, expr: Let) -> tuple[str, int]:
    return f"T.Let({out.write(expr.body)}, where={{{out.name(expr.var)}: {out.write(expr.value)}}})", ATOM


_OPERATORS = {
    "shift_left": ("<<", 8),
    "shift_right": (">>", 8),
    "bitwise_and": ("&", 7),
    "bitwise_xor": ("^", 6),
    "bitwise_or": ("|", 5),
}


def _call(out: PrimText, expr: p.PrimCall) -> tuple[str, int]:
    if expr.op in _OPERATORS and len(expr.args) == 2:
        symbol, strength = _OPERATORS[expr.op]
        return (
            f"{out.operand(expr.args[0], strength)} {symbol} {out.operand(expr.args[1], strength + 1)}",
            strength,
        )
    return _plain_call(out, expr)


_plain_call = prim_text.WRITERS[p.PrimCall]
prim_text.WRITERS.update({BufferPtr: _pointer, PointerType: _pointer_type, Let: _let, p.PrimCall: _call})
