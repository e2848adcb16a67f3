"""Reads the signature of a PrimFunc, and the whole function.

The root block of a schedulable function becomes a node only if it has allocations or is written explicitly.
"""

from __future__ import annotations

import ast

from relax_explorer.core.codes import tir as tir_codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.dtype import HANDLE
from relax_explorer.core.syntax.context import Context, Skip
from relax_explorer.core.syntax.parse_tir_buffer import declarations, scalars
from relax_explorer.core.syntax.parse_tir_stmt import StatementReader
from relax_explorer.core.syntax.written import dotted, dtype_of_prefix
from relax_explorer.core.tir import stmt as t


def parse_prim_func(node: ast.FunctionDef, ctx: Context, private: bool, s_tir: bool, name: str) -> t.PrimFunc:
    """The PrimFunc defined by `node`. Problems are reported per statement in the context's report."""
    return _FunctionReader(ctx, s_tir).read(node, "" if private else name)


class _FunctionReader(StatementReader):
    def __init__(self, ctx: Context, s_tir: bool) -> None:
        super().__init__(ctx)
        self.s_tir = s_tir

    def read(self, node: ast.FunctionDef, symbol: str) -> t.PrimFunc:
        """The function. `symbol` is its global symbol, empty for a private function."""
        self.buffers.declared = {**scalars(node), **dict(declarations(node.body))}
        for argument in node.args.args:
            try:
                self._parameter(argument)
            except Skip:
                self.params.append(self._define(argument.arg, HANDLE))
        body = self.sequence(node.body, node)
        root = self.blocks[0]
        if root.allocs or root.annotations:
            body = t.SBlock(
                "root", (), (), body, alloc_buffers=tuple(root.allocs), annotations=root.annotations
            )
        if symbol:
            self.attrs.setdefault("global_symbol", symbol)
        s_tir = bool(self.attrs.pop("s_tir", False)) or self.s_tir or self.has_blocks or bool(root.allocs)
        attrs = Attrs(sorted(self.attrs.items())) if self.attrs else EMPTY
        ret = self._return_type(node)
        return t.PrimFunc(tuple(self.params), body, ret, attrs, s_tir, None, self.ctx.span(node))

    def _return_type(self, node: ast.FunctionDef) -> s.StructInfo | None:
        element = dtype_of_prefix(dotted(node.returns)) if node.returns is not None else None
        return None if element is None else s.PrimStructInfo(element)

    def _parameter(self, argument: ast.arg) -> None:
        annotation = argument.annotation
        called = annotation.func if isinstance(annotation, ast.Call) else annotation
        name = dotted(called) if called is not None else ""
        if name == "T.Buffer" and isinstance(annotation, ast.Call):
            buffer = self.buffers.read(argument.arg, annotation)
            self.params.append(buffer)
            self.names[argument.arg] = buffer
            return
        element = dtype_of_prefix(name)
        if element is None:
            text = f"parameter {argument.arg!r} has no annotation that is valid in a PrimFunc"
            raise self.ctx.fail(tir_codes.TIR_PARAMETER, text, argument, help=tir_codes.TIR_PARAMETER.why)
        earlier = self.names.get(argument.arg)  # the shape of an earlier buffer may have defined it
        var = earlier if isinstance(earlier, p.PrimVar) else self._define(argument.arg, element)
        if element is HANDLE and isinstance(annotation, ast.Call) and annotation.args:
            var.pointee = str(self.expr.pointer_type(annotation))
        self.handles[argument.arg] = len(self.params)
        self.params.append(var)
