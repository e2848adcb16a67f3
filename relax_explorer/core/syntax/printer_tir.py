"""Prints PrimFuncs as TVMScript text, line by line."""

from __future__ import annotations

from collections.abc import Iterable

from relax_explorer.core.ir import prim as p
from relax_explorer.core.syntax.dialects import Dialect
from relax_explorer.core.syntax.doc import Line
from relax_explorer.core.syntax.names import function_name
from relax_explorer.core.syntax.printer_tir_block import INDENT
from relax_explorer.core.syntax.printer_tir_buffer import buffers_in, shape_vars, variables
from relax_explorer.core.syntax.printer_tir_stmt import StatementPrinter
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.traverse import statements


def print_prim_func(
    fn: t.PrimFunc, name: str, dialect: Dialect, chosen: dict[p.PrimVar, str], taken: Iterable[str] = ()
) -> list[Line]:
    """The lines of a PrimFunc, starting with the decorator, each with its statement.

    `chosen` has the names of its shape variables declared by the module, `taken` all names declared by the module.
    """
    return _FunctionPrinter(fn, dialect, chosen, taken).print(function_name(name), name)


def _has_blocks(fn: t.PrimFunc) -> bool:
    return any(type(item) is t.SBlock for item in statements(fn.body))


class _FunctionPrinter(StatementPrinter):
    def print(self, name: str, symbol: str) -> list[Line]:
        """All lines."""
        fn = self.fn
        options = ["private=True"] if fn.is_private else []
        if fn.s_tir and not self.dialect.old:
            options.append("s_tir=True")
        self.line(0, f"@T.prim_func({', '.join(options)})" if options else "@T.prim_func", fn)
        late = self._match_buffers() if self.dialect.old else []
        undeclared = [] if late else [var for var in shape_vars(fn) if var not in self.chosen]
        params = ", ".join([self._parameter(param, bool(late)) for param in fn.params])
        ret = f" -> {fn.ret_type}" if fn.ret_type is not None else ""
        self.line(0, f"def {name}({params}){ret}:", fn)
        for var in undeclared:
            self.line(1, f"{self.names(var)} = T.{var.dtype}()")
        named = late and buffers_in(fn.attrs)  # their buffers must be declared first
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
        declared = [Line(f"{INDENT}{self.names(var)} = T.{var.dtype}()", var) for var in self.free]
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
        """The name of the pointer that a match_buffer turns into `buffer`."""
        key = ("handle", buffer)
        return self.names(key) if self.names.known(key) else self.names.assign(key, f"var_{buffer.name}")  # type: ignore[no-any-return]  # typed by the table it comes from

    def _symbolic(self, buffer: Buffer) -> bool:
        return bool(variables(buffer))

    def _match_buffers(self) -> list[str]:
        """In the older dialect, the lines for buffers with symbolic shapes: the variables, then one match_buffer for each."""
        texts = [f"{self.names(var)} = T.{var.dtype}()" for var in shape_vars(self.fn)]
        for param in self.fn.params:
            if isinstance(param, Buffer) and self._symbolic(param):
                handle = self._handle(param)
                texts.append(
                    f"{self.names(param)} = T.match_buffer({handle}, {self._buffer_arguments(param, False)})"
                )
        return texts

    def _attrs(self, symbol: str) -> None:
        attrs = (
            self.fn.attrs.without("global_symbol")
            if self.fn.attrs.get("global_symbol") == symbol
            else self.fn.attrs
        )
        if self.dialect.old and self.fn.s_tir and not _has_blocks(self.fn):
            attrs = attrs.having(
                s_tir=True
            )  # the older decorator has no option for it, and no block implies it
        if attrs:
            self.line(1, f"T.func_attr({self.constant(attrs)})")

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
