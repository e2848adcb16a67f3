"""Reads assignments in PrimFuncs: stores, variables, scalars and buffers."""

from __future__ import annotations

import ast
from copy import copy

from relax_explorer.core.codes import tir as tir_codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import HANDLE, INT64, DType
from relax_explorer.core.syntax.context import Context
from relax_explorer.core.syntax.parse_tir_block import BlockReader
from relax_explorer.core.syntax.written import dotted, dtype_of_prefix
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.prim_expr import ORIGIN, BufferLoad
from relax_explorer.core.tir.traverse import subexpressions

_BLOCK_ALLOCS = frozenset({"T.sblock_alloc_buffer"})
_ALLOCS = frozenset({"T.alloc_buffer", "T.alloc_local", "T.alloc_shared", "T.decl_buffer", "T.Buffer"})


class AssignmentReader(BlockReader):
    """Reads assignments and declarations."""

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.params: list[Buffer | p.PrimVar] = []
        self.handles: dict[str, int] = {}
        self.old = ctx.dialect.old
        self.computed: set[p.PrimVar] = set()  # variables assigned by statements

    def _assign(self, node: ast.Assign) -> t.Stmt | None:
        target = node.targets[0]
        if len(node.targets) != 1:
            raise self.bad(node)
        if isinstance(target, ast.Subscript):
            return self._store(target, node.value, node)
        call = node.value if isinstance(node.value, ast.Call) else None
        name = dotted(call.func) if call is not None else ""
        if isinstance(target, ast.Tuple) and call is not None and name == "T.axis.remap":
            self._need_block(call)
            self._remap(target.elts, call)
            return None
        if isinstance(target, ast.Tuple):
            return self._several(target, node)
        if not isinstance(target, ast.Name) or call is None:
            return self._plain(target, node)
        return self._named_call(target.id, name, call, node)

    def _several(self, target: ast.Tuple, node: ast.Assign) -> t.Stmt | None:
        values = node.value.elts if isinstance(node.value, ast.Tuple) else []
        if len(values) != len(target.elts):
            raise self.bad(node)
        pairs = zip(target.elts, values, strict=True)
        results = [
            self._assign(ast.copy_location(ast.Assign([result], value), node)) for result, value in pairs
        ]
        flat = [
            part
            for result in results
            if result
            for part in (result.stmts if type(result) is t.SeqStmt else (result,))
        ]
        return t.SeqStmt(tuple(flat)) if flat else None

    def _plain(self, target: ast.expr, node: ast.Assign) -> t.Stmt:
        """`x = expression`: a store to a scalar, or a new one. For a pointer, and in the older dialect, a new variable."""
        if not isinstance(target, ast.Name):
            raise self.bad(node)
        view = self.buffers.view(target.id, node.value)
        if view is not None:
            return t.AllocBuffer(view, "decl_buffer", span=self.ctx.span(node))
        bound = self.names.get(target.id)
        value = self.expr.read(node.value)
        if isinstance(bound, Buffer) and bound.is_scalar:
            return self._stored(bound, ORIGIN, value, node)
        if self.old or value.dtype is HANDLE:
            return self._let(target.id, value.dtype, value, node)
        return self._scalar(target.id, value.dtype, value, node)

    def _let(self, name: str, dtype: DType, value: p.PrimExpr, node: ast.stmt) -> t.Stmt:
        var = self._define(name, dtype)
        self.computed.add(var)
        return t.LetStmt(var, value, self.ctx.span(node))

    def _scalar(self, name: str, dtype: DType, value: p.PrimExpr | None, node: ast.stmt) -> t.Stmt:
        """A new scalar, with its first value if there is one."""
        buffer = self.buffers.scalar(name, dtype, node)
        alloc = t.AllocBuffer(buffer, "local_scalar", span=self.ctx.span(node))
        if value is None:
            return alloc
        return t.SeqStmt((alloc, self._stored(buffer, ORIGIN, value, node)))

    def _named_call(self, target: str, name: str, call: ast.Call, node: ast.Assign) -> t.Stmt | None:
        if name.startswith("T.axis."):
            self._axis(target, name.removeprefix("T.axis."), call)
        elif name == "T.match_buffer":
            self._match_buffer(target, call)
        elif name in _BLOCK_ALLOCS or (name == "T.alloc_buffer" and self.old):
            self.blocks[-1].allocs.append(self.buffers.allocate(target, self.buffers.read(target, call)))
        elif name in _ALLOCS:
            buffer = self.buffers.allocate(target, self.buffers.read(target, call))
            if name == "T.Buffer":
                buffer = self.buffers.announce(target, buffer)
            return t.AllocBuffer(buffer, name.removeprefix("T."), span=self.ctx.span(node))
        elif name == "T.local_scalar" and len(call.args) == 1:
            scalar = self.buffers.scalar(target, self.expr.dtype(call.args[0]), node)
            return t.AllocBuffer(scalar, "local_scalar", span=self.ctx.span(node))
        elif dtype_of_prefix(name) is not None and not call.args:
            if not isinstance(self.names.get(target), p.PrimVar):
                self._define(target, dtype_of_prefix(name) or INT64)
        elif name == "T.env_thread":
            raise self.bad(node)
        else:
            return self._plain(ast.Name(target), node)
        return None

    def _match_buffer(self, target: str, call: ast.Call) -> None:
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Name) and first.id in self.handles:
            buffer = self.buffers.read(target, call, 1)
            loads = any(isinstance(part, BufferLoad) for part in subexpressions(*buffer.shape))
            if loads or not self.computed.isdisjoint(p.free_vars(*buffer.shape)):
                text = f"the shape of parameter {first.id!r} depends on values computed in the body"
                raise self.ctx.fail(
                    tir_codes.TIR_PARAMETER, text, call, help="declare its variables: n = T.int64()"
                )
            if isinstance(self.params[self.handles[first.id]], Buffer):
                text = f"parameter {first.id!r} is a buffer already"
                raise self.ctx.fail(tir_codes.TIR_PARAMETER, text, call, help="match it once")
            self.params[self.handles[first.id]] = buffer
            self.names[target] = buffer
            return
        if first is None:
            raise self.bad(call)
        region = self.expr.region(first)
        buffer = self.buffers.read(target, call, 1, is_view=True)
        self.names[target] = buffer
        self._need_block(call)
        self.blocks[-1].matches.append(t.MatchBufferRegion(buffer, region))

    def _store(self, target: ast.Subscript, value: ast.expr, node: ast.stmt) -> t.Stmt:
        buffer, indices = self.expr.access(target)
        return self._stored(buffer, indices, self.expr.read(value), node)

    def _stored(
        self, buffer: Buffer, indices: tuple[p.PrimExpr, ...], value: p.PrimExpr, node: ast.stmt
    ) -> t.Stmt:
        fits = isinstance(value, p.IntImm) or (isinstance(value, p.FloatImm) and buffer.dtype.is_float)
        if fits and value.dtype is not buffer.dtype and not buffer.dtype.is_bool:
            value = self.expr.literal(value.value, buffer.dtype, node.value)  # type: ignore[attr-defined]  # a literal, since `fits`
        return t.BufferStore(buffer, indices, value, self.ctx.span(node))

    def _aug_assign(self, node: ast.AugAssign) -> t.Stmt:
        target = node.target
        if not isinstance(target, (ast.Subscript, ast.Name)):
            raise self.bad(node)
        load = copy(target)
        load.ctx = ast.Load()
        assign = ast.Assign([target], ast.copy_location(ast.BinOp(load, node.op, node.value), node))
        store = self._assign(ast.copy_location(assign, node))
        if not isinstance(store, t.BufferStore):
            raise self.bad(node)
        return store

    def _ann_assign(self, node: ast.AnnAssign) -> t.Stmt | None:
        """A variable `v: T.let[T.float32] = value`, a scalar `v: T.float32 = value`, or a buffer `v: T.float32[4]`."""
        if not isinstance(node.target, ast.Name):
            raise self.bad(node)
        name, annotation = node.target.id, node.annotation
        vector = self.buffers.vector(name, annotation) if node.value is None else None
        if vector is not None:
            return t.AllocBuffer(vector, "alloc_local", span=self.ctx.span(node))
        is_let = isinstance(annotation, ast.Subscript) or dotted(annotation) == "T.let"
        inner = annotation.slice if isinstance(annotation, ast.Subscript) else annotation
        element = dtype_of_prefix(dotted(inner.func if isinstance(inner, ast.Call) else inner))
        value = None if node.value is None else self.expr.read(node.value)
        if element is not None and isinstance(value, p.IntImm) and value.dtype is not element and node.value:
            value = self.expr.literal(value.value, element, node.value)
        if not is_let and not self.old and element is not None and element is not HANDLE:
            return self._scalar(name, element, value, node)
        if value is None:
            self._define(name, element or INT64)
            return None
        return self._let(name, element or value.dtype, value, node)
