"""Reads the heads of blocks in PrimFuncs, and constants of attributes."""

from __future__ import annotations

import ast
from copy import copy
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.codes import tir as tir_codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim, freeze
from relax_explorer.core.ir.dtype import HANDLE, INT64, DType
from relax_explorer.core.syntax.context import Context, LocalNames, Skip
from relax_explorer.core.syntax.parse_tir_buffer import BufferReader
from relax_explorer.core.syntax.parse_tir_expr import TirExprReader
from relax_explorer.core.syntax.python_tree import dotted, dtype_of_prefix, odd_float
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import ORIGIN, BufferLoad
from relax_explorer.core.tir.stmt import Buffer, BufferRegion, Range
from relax_explorer.core.tir.traverse import subexpressions

_AXES = {"S": "spatial", "R": "reduce", "O": "opaque"}


class BlockParts:
    """The properties of a block, from the statements at its head."""

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


def constant(node: ast.expr, expr: TirExprReader) -> Any:
    """A compile-time constant of an attribute. Anything else is kept as text."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return freeze(
            {str(constant(key, expr)): constant(value, expr) for key, value in pairs if key is not None}
        )
    if isinstance(node, ast.Constant) and (
        node.value is None or isinstance(node.value, (bool, int, float, str))
    ):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return tuple([constant(item, expr) for item in node.elts])
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.operand, ast.Constant)
        and isinstance(node.operand.value, (int, float))
    ):
        return -node.operand.value
    odd = odd_float(node)
    if odd is not None:
        return odd
    if isinstance(node, ast.Call) and dtype_of_prefix(dotted(node.func)) is not None:
        return expr.read(node)
    if isinstance(node, ast.Name) and isinstance(expr.names.get(node.id), Buffer):
        return expr.read(node)
    return Verbatim(ast.unparse(node))


class BlockReader:
    """Reads the statements at the head of a block, and keeps the names and blocks of the function."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.names: LocalNames[Any] = LocalNames()
        self.expr = TirExprReader(ctx, self.names, self._define)
        self.buffers = BufferReader(ctx, self.names, self.expr, self._define)
        self.blocks: list[BlockParts] = [BlockParts()]  # the root first
        self.domains: dict[p.PrimExpr, Range] = {}  # of the loop variables

    def _define(self, name: str, dtype: DType) -> p.PrimVar:
        var = p.PrimVar(name, dtype)
        self.names[name] = var
        return var

    def bad(self, node: ast.AST) -> Skip:
        """Report that `node` is not a statement, and return a Skip for the caller to raise."""
        text = f"{ast.unparse(node).splitlines()[0][:60]!r} is not a statement of a PrimFunc"
        return self.ctx.fail(tir_codes.TIR_STATEMENT, text, node, help=tir_codes.TIR_STATEMENT.why)

    def _need_block(self, call: ast.Call) -> None:
        if len(self.blocks) == 1:
            is_match = dotted(call.func) == "T.match_buffer"
            subject = "T.match_buffer of a buffer" if is_match else dotted(call.func)
            text = f"{subject} describes a block, but it is not inside one"
            raise self.ctx.fail(
                tir_codes.TIR_STATEMENT, text, call, help='write it under `with T.sblock("name"):`'
            )

    def _remap(self, targets: list[ast.expr], call: ast.Call) -> None:
        kinds = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""
        values = (
            call.args[1].elts
            if len(call.args) > 1 and isinstance(call.args[1], (ast.List, ast.Tuple))
            else []
        )
        if not isinstance(kinds, str) or not len(kinds) == len(values) == len(targets):
            raise self.ctx.fail(
                tir_codes.TIR_STATEMENT,
                "T.axis.remap takes one kind and one loop variable for each axis",
                call,
            )
        for target, letter, value in zip(targets, kinds, values, strict=True):
            loop = self.expr.index(value)
            domain = self._loop_domain(loop)
            self._add_axis(
                target.id if isinstance(target, ast.Name) else "v", _AXES.get(letter, "spatial"), domain, loop
            )

    def _loop_domain(self, loop: p.PrimExpr) -> Range:
        domain = self.domains.get(loop)
        return domain if domain is not None else Range(p.IntImm(0, loop.dtype), loop)

    def _axis(self, target: str, axis_kind: str, call: ast.Call) -> None:
        self._need_block(call)
        if axis_kind == "remap":
            self._remap([ast.Name(target)], call)
            return
        if len(call.args) != 2:
            raise self.ctx.fail(
                tir_codes.TIR_STATEMENT, f"T.axis.{axis_kind} takes a domain and a value", call
            )
        domain, value = call.args
        if isinstance(domain, (ast.Tuple, ast.List)) and len(domain.elts) == 2:
            stop, start = self.expr.align(self.expr.index(domain.elts[1]), self.expr.index(domain.elts[0]))
            axis_domain = Range(start, self.expr.extent(start, stop))
        else:
            extent = self.expr.index(domain)
            axis_domain = Range(p.IntImm(0, extent.dtype), extent)
        self._add_axis(target, axis_kind, axis_domain, self.expr.read(value))

    def _add_axis(self, name: str, kind: str, domain: Range, value: p.PrimExpr) -> None:
        parts = self.blocks[-1]
        parts.iter_vars.append(t.IterVar(self._define(name, domain.extent.dtype), domain, kind))
        parts.iter_values.append(value)

    def _reads(self, call: ast.Call) -> None:
        self._need_block(call)
        self.blocks[-1].reads = self._regions(call)

    def _writes(self, call: ast.Call) -> None:
        self._need_block(call)
        self.blocks[-1].writes = self._regions(call)

    def _regions(self, call: ast.Call) -> tuple[BufferRegion, ...]:
        items = (
            call.args[0].elts
            if len(call.args) == 1 and isinstance(call.args[0], (ast.List, ast.Tuple))
            else call.args
        )
        return tuple([self.expr.region(item) for item in items])

    def _where(self, call: ast.Call) -> None:
        self._need_block(call)
        if len(call.args) != 1:
            raise self.ctx.fail(codes.BAD_CALL, "T.where takes one condition", call)
        self.blocks[-1].predicate = self.expr.truth(call.args[0])

    def _block_attr(self, call: ast.Call) -> None:
        self._need_block(call)
        attrs = constant(call.args[0], self.expr) if call.args else EMPTY
        self.blocks[-1].annotations = attrs if isinstance(attrs, Attrs) else EMPTY


# -- parse tir assign ------------------------------------------------------------------------------------------------
# Reads assignments in PrimFuncs: stores, variables, scalars and buffers.


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
