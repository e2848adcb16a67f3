"""Reads PrimFuncs: parameters, loops, blocks and stores.

The root block of a schedulable function is a node only when it says something: it allocates, or it was written out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import copy
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.codes import tir as tir_codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim
from relax_explorer.core.ir.dtype import HANDLE, INT64, DType
from relax_explorer.core.syntax.context import Context, Skip
from relax_explorer.core.syntax.parse_info import dotted, dtype_of_prefix
from relax_explorer.core.syntax.parse_tir_block import BlockParts, Scope, constant
from relax_explorer.core.syntax.parse_tir_buffer import BufferReader, declarations, scalars
from relax_explorer.core.syntax.parse_tir_expr import TirExprReader
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer, BufferRegion, Range
from relax_explorer.core.tir.prim_expr import ORIGIN, BufferLoad, BufferPtr
from relax_explorer.core.tir.traverse import subexpressions

LOOPS = {
    "serial": "serial",
    "parallel": "parallel",
    "vectorized": "vectorized",
    "unroll": "unroll",
    "thread_binding": "thread_binding",
}
_AXES = {"S": "spatial", "R": "reduce", "O": "opaque"}
_BLOCKS = frozenset({"T.sblock", "T.block"})
_BLOCK_ALLOCS = frozenset({"T.sblock_alloc_buffer"})
_ALLOCS = frozenset({"T.alloc_buffer", "T.alloc_local", "T.alloc_shared", "T.decl_buffer", "T.Buffer"})


def parse_prim_func(node: ast.FunctionDef, ctx: Context, private: bool, s_tir: bool, name: str) -> t.PrimFunc:
    """The PrimFunc that `node` says; problems go to the context's report, statement by statement."""
    return _FunctionReader(ctx, s_tir).read(node, "" if private else name)


class _FunctionReader:
    def __init__(self, ctx: Context, s_tir: bool) -> None:
        self.ctx, self.s_tir = ctx, s_tir
        self.names: dict[str, Any] = {}
        self.expr = TirExprReader(ctx, self.names, self._define)
        self.buffers = BufferReader(ctx, self.names, self.expr, self._define)
        self.attrs: dict[str, Any] = {}
        self.handles: dict[str, int] = {}
        self.params: list[Buffer | p.PrimVar] = []
        self.blocks: list[BlockParts] = [BlockParts()]  # the root first
        self.old = ctx.dialect.old
        self.has_blocks = False
        self.computed: set[p.PrimVar] = set()  # variables that statements give a value
        self.domains: dict[p.PrimExpr, Range] = {}  # of the loop variables

    def _define(self, name: str, dtype: DType) -> p.PrimVar:
        var = p.PrimVar(name, dtype)
        self.names[name] = var
        return var

    def read(self, node: ast.FunctionDef, symbol: str) -> t.PrimFunc:
        """The function; `symbol` is its global symbol, empty for a private one."""
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
        found = dtype_of_prefix(dotted(node.returns)) if node.returns is not None else None
        return None if found is None else s.PrimStructInfo(found)

    # -- parameters -----------------------------------------------------------------------------------------------

    def _parameter(self, argument: ast.arg) -> None:
        annotation = argument.annotation
        called = annotation.func if isinstance(annotation, ast.Call) else annotation
        name = dotted(called) if called is not None else ""
        if name == "T.Buffer" and isinstance(annotation, ast.Call):
            buffer = self.buffers.read(argument.arg, annotation)
            self.params.append(buffer)
            self.names[argument.arg] = buffer
            return
        found = dtype_of_prefix(name)
        if found is None:
            text = f"parameter {argument.arg!r} has no annotation that a PrimFunc knows"
            raise self.ctx.fail(tir_codes.TIR_PARAMETER, text, argument, help=tir_codes.TIR_PARAMETER.why)
        known = self.names.get(argument.arg)  # a dimension of an earlier buffer may have named it already
        var = known if isinstance(known, p.PrimVar) else self._define(argument.arg, found)
        if found is HANDLE and isinstance(annotation, ast.Call) and annotation.args:
            var.pointee = str(self.expr.pointer_type(annotation))
        self.handles[argument.arg] = len(self.params)
        self.params.append(var)

    # -- statements -----------------------------------------------------------------------------------------------

    def sequence(self, statements: list[ast.stmt], place: ast.AST) -> t.Stmt:
        """Statements as one; what an attribute or a launched thread opens reaches to the end."""
        made: list[t.Stmt] = []
        for number, node in enumerate(statements):
            try:
                if _opens_rest(node):
                    made.append(self._around_rest(node, statements[number + 1 :]))
                    break
                found = self.statement(node)
            except Skip:
                continue
            if type(found) is t.SeqStmt and isinstance(node, (ast.Assign, ast.AnnAssign)):
                made.extend(found.stmts)  # a scalar and its first value
            elif found is not None:
                made.append(found)
        made = [item for item in made if not self._is_forward(item)]
        if len(made) == 1:
            return made[0]
        return t.SeqStmt(tuple(made), self.ctx.span(place))

    def _is_forward(self, node: t.Stmt) -> bool:
        """Whether a statement only declares what is allocated further on."""
        return type(node) is t.AllocBuffer and node.how == "Buffer" and node.buffer in self.buffers.allocated

    def statement(self, node: ast.stmt) -> t.Stmt | None:
        """One statement; None when it only says something of its block or function."""
        reader = _STATEMENTS.get(type(node))
        if reader is None:
            text = f"{type(node).__name__} is no statement of a PrimFunc"
            raise self.ctx.fail(tir_codes.TIR_STATEMENT, text, node, help=tir_codes.TIR_STATEMENT.why)
        return reader(self, node)

    def _around_rest(self, node: Any, rest: list[ast.stmt]) -> t.Stmt:
        call = node.value
        if isinstance(node, ast.Assign):
            return self._launched(call, node.targets[0], rest, node)
        parts = self._attr_parts(call)
        return self._within(parts, self.sequence(rest, node), node)

    def _launched(
        self, call: ast.Call, target: ast.expr | None, body: list[ast.stmt], node: ast.stmt
    ) -> t.Stmt:
        """`body` with a thread launched around it, whose index is `target`."""
        if not isinstance(target, ast.Name) or len(call.args) != 2:
            raise self.bad(node)
        extent = self.expr.index(call.args[1])
        thread = self.expr.read(call.args[0])
        with Scope(self.names):
            var = self._define(target.id, extent.dtype)
            inner = self.sequence(body, node)
        return t.AttrStmt((var, thread), "launch_thread", extent, inner, self.ctx.span(node))

    def _within(self, parts: list[tuple[Any, str, p.PrimExpr]], body: t.Stmt, node: ast.AST) -> t.Stmt:
        for subject, key, value in reversed(parts):
            body = t.AttrStmt(subject, key, value, body, self.ctx.span(node))
        return body

    def _attr_parts(self, call: ast.Call) -> list[tuple[Any, str, p.PrimExpr]]:
        """What `T.attr(node, key, value)` says, or `T.attr({key: value, …})` of nothing in particular."""
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Dict) and len(call.args) == 1:
            pairs = list(zip(first.keys, first.values, strict=True))
            if pairs and all(isinstance(key, ast.Constant) for key, _ in pairs):
                return [(None, str(key.value), self.expr.read(value)) for key, value in pairs]  # type: ignore[union-attr]  # all are constants
        if first is None or len(call.args) != 3 or not isinstance(call.args[1], ast.Constant):
            text = "T.attr takes a node, a key and a value, or a dict"
            raise self.ctx.fail(tir_codes.TIR_STATEMENT, text, call)
        named = isinstance(first, (ast.Name, ast.Constant)) and not (
            isinstance(first, ast.Name) and first.id not in self.names
        )
        subject = self.expr.read(first) if named else Verbatim(ast.unparse(first))
        if isinstance(subject, BufferPtr):
            self.buffers.forward.discard(subject.buffer)  # what is allocated inside is another one
        return [(subject, str(call.args[1].value), self.expr.read(call.args[2]))]

    def bad(self, node: ast.AST) -> Skip:
        """What is raised for something that is no statement."""
        text = f"{ast.unparse(node).splitlines()[0][:60]!r} is no statement of a PrimFunc"
        return self.ctx.fail(tir_codes.TIR_STATEMENT, text, node, help=tir_codes.TIR_STATEMENT.why)

    def _for(self, node: ast.For) -> t.Stmt:
        call = node.iter
        name = dotted(call.func) if isinstance(call, ast.Call) else ""
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if not isinstance(call, ast.Call) or len(names) != len(targets):
            raise self.bad(node)
        if name == "T.grid":
            return self._grid(node, call, names)
        kind = "serial" if name == "range" else LOOPS.get(name.removeprefix("T."))
        if kind is None or len(names) != 1 or not 1 <= len(call.args) <= 3:
            raise self.bad(node)
        return self._loop(node, call, names[0], kind)

    def _grid(self, node: ast.For, call: ast.Call, names: list[str]) -> t.Stmt:
        extents = [extent for arg in call.args for extent in self.expr.extents(arg)]
        if len(extents) != len(names):
            raise self.ctx.fail(
                tir_codes.TIR_STATEMENT,
                f"T.grid has {len(extents)} extents for {len(names)} variables",
                node,
            )
        with Scope(self.names):
            loop_vars = [
                self._define(name, extent.dtype) for name, extent in zip(names, extents, strict=True)
            ]
            for var, extent in zip(loop_vars, extents, strict=True):
                self.domains[var] = Range(p.IntImm(0, extent.dtype), extent)
            body = self.sequence(node.body, node)
        for var, extent in zip(reversed(loop_vars), reversed(extents), strict=True):
            body = t.For(var, p.IntImm(0, extent.dtype), extent, body, span=self.ctx.span(node))
        return body

    def _loop(self, node: ast.For, call: ast.Call, name: str, kind: str) -> t.Stmt:
        bounds = [self.expr.index(arg) for arg in call.args]
        start, stop = bounds[:2] if len(bounds) > 1 else (p.IntImm(0, bounds[0].dtype), bounds[0])
        start, stop = self.expr.align(start, stop)
        options = self.expr.keywords(call)
        thread = options.get("thread")
        found = constant(options["annotations"], self.expr) if "annotations" in options else EMPTY
        step = (
            bounds[2] if len(bounds) == 3 else self.expr.index(options["step"]) if "step" in options else None
        )
        extent = self.expr.extent(start, stop)
        with Scope(self.names):
            var = self._define(name, stop.dtype)
            self.domains[var] = Range(start, extent)
            body = self.sequence(node.body, node)
        where = str(thread.value) if isinstance(thread, ast.Constant) else None
        return t.For(var, start, extent, body, kind, where, found, step, self.ctx.span(node))

    def _while(self, node: ast.While) -> t.Stmt:
        return t.While(self.expr.read(node.test), self._scoped(node.body, node), self.ctx.span(node))

    def _if(self, node: ast.If) -> t.Stmt:
        other = self._scoped(node.orelse, node) if node.orelse else None
        return t.IfThenElse(
            self.expr.read(node.test), self._scoped(node.body, node), other, self.ctx.span(node)
        )

    def _scoped(self, statements: list[ast.stmt], place: ast.AST) -> t.Stmt:
        with Scope(self.names):
            return self.sequence(statements, place)

    def _with(self, node: ast.With) -> t.Stmt | None:
        item = node.items[0]
        call = item.context_expr
        name = dotted(call.func) if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or len(node.items) != 1:
            raise self.bad(node)
        if name in _BLOCKS:
            return self._block(node, call)
        if name == "T.init":
            self._need_block(call)
            self.blocks[-1].init = self._scoped(node.body, node)
            return None
        if name == "T.attr":
            parts = self._attr_parts(call)
            return self._within(parts, self._scoped(node.body, node), node)
        if name == "T.launch_thread":
            return self._launched(call, item.optional_vars, node.body, node)
        raise self.bad(node)

    def _block(self, node: ast.With, call: ast.Call) -> t.Stmt:
        self.has_blocks = True
        name = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""
        parts = BlockParts()
        self.blocks.append(parts)
        try:
            body = self._scoped(node.body, node)
        finally:
            self.blocks.pop()
        return t.SBlock(
            str(name), tuple(parts.iter_vars), tuple(parts.iter_values), body, parts.predicate,
            self.buffers.regions(parts.reads), self.buffers.regions(parts.writes), parts.init,
            tuple(parts.allocs), tuple(parts.matches), parts.annotations, self.ctx.span(node),
        )  # fmt: skip

    # -- assignments ----------------------------------------------------------------------------------------------

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
        made = [self._assign(ast.copy_location(ast.Assign([item], value), node)) for item, value in pairs]
        flat = [
            part for item in made if item for part in (item.stmts if type(item) is t.SeqStmt else (item,))
        ]
        return t.SeqStmt(tuple(flat)) if flat else None

    def _plain(self, target: ast.expr, node: ast.Assign) -> t.Stmt:
        """`x = expression`: a scalar, assigned to again or new; a variable where it is a pointer, and in older texts."""
        if not isinstance(target, ast.Name):
            raise self.bad(node)
        view = self.buffers.view(target.id, node.value)
        if view is not None:
            return t.AllocBuffer(view, "decl_buffer", span=self.ctx.span(node))
        known = self.names.get(target.id)
        value = self.expr.read(node.value)
        if isinstance(known, Buffer) and known.is_scalar:
            return self._stored(known, ORIGIN, value, node)
        if self.old or value.dtype is HANDLE:
            return self._let(target.id, value.dtype, value, node)
        return self._scalar(target.id, value.dtype, value, node)

    def _let(self, name: str, dtype: DType, value: p.PrimExpr, node: ast.stmt) -> t.Stmt:
        var = self._define(name, dtype)
        self.computed.add(var)
        return t.LetStmt(var, value, self.ctx.span(node))

    def _scalar(self, name: str, dtype: DType, value: p.PrimExpr | None, node: ast.stmt) -> t.Stmt:
        """A new scalar, and what is assigned to it at once."""
        made = self.buffers.scalar(name, dtype, node)
        alloc = t.AllocBuffer(made, "local_scalar", span=self.ctx.span(node))
        if value is None:
            return alloc
        return t.SeqStmt((alloc, self._stored(made, ORIGIN, value, node)))

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
            made = self.buffers.scalar(target, self.expr.dtype(call.args[0]), node)
            return t.AllocBuffer(made, "local_scalar", span=self.ctx.span(node))
        elif dtype_of_prefix(name) is not None and not call.args:
            if not isinstance(self.names.get(target), p.PrimVar):
                self._define(target, dtype_of_prefix(name) or INT64)
        elif name == "T.env_thread":
            raise self.bad(node)
        else:
            return self._plain(ast.Name(target), node)
        return None

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
        for target, kind, value in zip(targets, kinds, values, strict=True):
            loop = self.expr.index(value)
            domain = self._loop_domain(loop)
            self._add_axis(
                target.id if isinstance(target, ast.Name) else "v", _AXES.get(kind, "spatial"), domain, loop
            )

    def _loop_domain(self, loop: p.PrimExpr) -> Range:
        found = self.domains.get(loop)
        return found if found is not None else Range(p.IntImm(0, loop.dtype), loop)

    def _axis(self, target: str, kind: str, call: ast.Call) -> None:
        self._need_block(call)
        if kind == "remap":
            self._remap([ast.Name(target)], call)
            return
        if len(call.args) != 2:
            raise self.ctx.fail(tir_codes.TIR_STATEMENT, f"T.axis.{kind} takes a domain and a value", call)
        domain, value = call.args
        if isinstance(domain, (ast.Tuple, ast.List)) and len(domain.elts) == 2:
            stop, start = self.expr.align(self.expr.index(domain.elts[1]), self.expr.index(domain.elts[0]))
            found = Range(start, self.expr.extent(start, stop))
        else:
            extent = self.expr.index(domain)
            found = Range(p.IntImm(0, extent.dtype), extent)
        self._add_axis(target, kind, found, self.expr.read(value))

    def _add_axis(self, name: str, kind: str, domain: Range, value: p.PrimExpr) -> None:
        parts = self.blocks[-1]
        parts.iter_vars.append(t.IterVar(self._define(name, domain.extent.dtype), domain, kind))
        parts.iter_values.append(value)

    def _match_buffer(self, target: str, call: ast.Call) -> None:
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Name) and first.id in self.handles:
            buffer = self.buffers.read(target, call, 1)
            loads = any(isinstance(part, BufferLoad) for part in subexpressions(*buffer.shape))
            if loads or not self.computed.isdisjoint(p.free_vars(*buffer.shape)):
                text = f"the shape of parameter {first.id!r} depends on what the body computes"
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
        self.blocks[-1].matches.append(t.MatchBufferRegion(buffer, region))

    def _store(self, target: ast.Subscript, value: ast.expr, node: ast.stmt) -> t.Stmt:
        buffer, indices = self.expr.access(target)
        return self._stored(buffer, indices, self.expr.read(value), node)

    def _stored(
        self, buffer: Buffer, indices: tuple[p.PrimExpr, ...], value: p.PrimExpr, node: ast.stmt
    ) -> t.Stmt:
        fits = isinstance(value, p.IntImm) or (isinstance(value, p.FloatImm) and buffer.dtype.is_float)
        if fits and value.dtype is not buffer.dtype and not buffer.dtype.is_bool:
            value = self.expr.literal(value.value, buffer.dtype, node.value)  # type: ignore[attr-defined]  # as just seen
        return t.BufferStore(buffer, indices, value, self.ctx.span(node))

    def _aug_assign(self, node: ast.AugAssign) -> t.Stmt:
        target = node.target
        if not isinstance(target, (ast.Subscript, ast.Name)):
            raise self.bad(node)
        load = copy(target)
        load.ctx = ast.Load()
        assign = ast.Assign([target], ast.copy_location(ast.BinOp(load, node.op, node.value), node))
        found = self._assign(ast.copy_location(assign, node))
        if not isinstance(found, t.BufferStore):
            raise self.bad(node)
        return found

    def _ann_assign(self, node: ast.AnnAssign) -> t.Stmt | None:
        """`v: T.let[T.float32] = value`, a variable; `v: T.float32 = value`, a scalar; `v: T.float32[4]`, a buffer."""
        if not isinstance(node.target, ast.Name):
            raise self.bad(node)
        name, annotation = node.target.id, node.annotation
        vector = self.buffers.vector(name, annotation) if node.value is None else None
        if vector is not None:
            return t.AllocBuffer(vector, "alloc_local", span=self.ctx.span(node))
        is_let = isinstance(annotation, ast.Subscript) or dotted(annotation) == "T.let"
        inner = annotation.slice if isinstance(annotation, ast.Subscript) else annotation
        found = dtype_of_prefix(dotted(inner.func if isinstance(inner, ast.Call) else inner))
        value = None if node.value is None else self.expr.read(node.value)
        if found is not None and isinstance(value, p.IntImm) and value.dtype is not found and node.value:
            value = self.expr.literal(value.value, found, node.value)
        if not is_let and not self.old and found is not None and found is not HANDLE:
            return self._scalar(name, found, value, node)
        if value is None:
            self._define(name, found or INT64)
            return None
        return self._let(name, found or value.dtype, value, node)

    # -- the rest -------------------------------------------------------------------------------------------------

    def _expression(self, node: ast.Expr) -> t.Stmt | None:
        call = node.value
        if isinstance(call, ast.Constant):
            return None  # a docstring
        if not isinstance(call, ast.Call):
            raise self.bad(node)
        name = dotted(call.func)
        handler = _HEADS.get(name)
        if handler is not None:
            handler(self, call)
            return None
        if name == "T.evaluate" and len(call.args) == 1:
            return t.Evaluate(self.expr.read(call.args[0]), self.ctx.span(node))
        return t.Evaluate(self.expr.read(call), self.ctx.span(node))

    def _func_attr(self, call: ast.Call) -> None:
        found = constant(call.args[0], self.expr) if call.args else None
        if not isinstance(found, Attrs):
            raise self.ctx.fail(codes.BAD_CALL, "T.func_attr takes a dict", call)
        self.attrs.update(
            {
                key.replace("tir.", "tirx.", 1) if key.startswith("tir.") else key: value
                for key, value in found.items()
            }
        )

    def _need_block(self, call: ast.Call) -> None:
        if len(self.blocks) == 1:
            text = f"{dotted(call.func)} says something of a block, and stands in none"
            raise self.ctx.fail(
                tir_codes.TIR_STATEMENT, text, call, help='write it under `with T.sblock("name"):`'
            )

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
        found = constant(call.args[0], self.expr) if call.args else EMPTY
        self.blocks[-1].annotations = found if isinstance(found, Attrs) else EMPTY

    def _assert(self, node: ast.Assert) -> t.Stmt:
        """`assert condition, message`, or with `(kind, [parts of the message])`, as TVM prints it."""
        error, said = "RuntimeError", node.msg
        if isinstance(said, ast.Tuple) and len(said.elts) == 2 and isinstance(said.elts[0], ast.Constant):
            error, said = str(said.elts[0].value), said.elts[1]
        parts = said.elts if isinstance(said, (ast.List, ast.Tuple)) else [] if said is None else [said]
        texts = [str(part.value) if isinstance(part, ast.Constant) else ast.unparse(part) for part in parts]
        return t.AssertStmt(self.expr.truth(node.test), tuple(texts), error, self.ctx.span(node))

    def _return(self, node: ast.Return) -> t.Stmt | None:
        if node.value is None:
            return None
        value = self.expr.read(node.value)
        return t.Evaluate(p.PrimCall("ret", (value,), value.dtype), self.ctx.span(node))

    def _pass(self, node: ast.Pass) -> None:
        """Nothing to read."""


def _opens_rest(node: ast.stmt) -> bool:
    """Whether what comes after a statement is inside of it: `T.attr(…)` and `x = T.launch_thread(…)` without `with`."""
    call = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
    wanted = "T.attr" if isinstance(node, ast.Expr) else "T.launch_thread"
    return isinstance(call, ast.Call) and dotted(call.func) == wanted


_STATEMENTS: dict[type, Callable[[_FunctionReader, Any], t.Stmt | None]] = {
    ast.For: _FunctionReader._for,
    ast.While: _FunctionReader._while,
    ast.If: _FunctionReader._if,
    ast.With: _FunctionReader._with,
    ast.Assign: _FunctionReader._assign,
    ast.AugAssign: _FunctionReader._aug_assign,
    ast.AnnAssign: _FunctionReader._ann_assign,
    ast.Expr: _FunctionReader._expression,
    ast.Assert: _FunctionReader._assert,
    ast.Return: _FunctionReader._return,
    ast.Pass: _FunctionReader._pass,
}
_HEADS: dict[str, Callable[[_FunctionReader, ast.Call], None]] = {
    "T.func_attr": _FunctionReader._func_attr,
    "T.reads": _FunctionReader._reads,
    "T.writes": _FunctionReader._writes,
    "T.where": _FunctionReader._where,
    "T.sblock_attr": _FunctionReader._block_attr,
    "T.block_attr": _FunctionReader._block_attr,
}
