"""Reads the signature of a PrimFunc, and the whole function.

The root block of a schedulable function becomes a node only if it has allocations or is written explicitly.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.codes import tir as tir_codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim
from relax_explorer.core.ir.dtype import HANDLE
from relax_explorer.core.ir.expr import StringImm
from relax_explorer.core.syntax.context import Context, Skip
from relax_explorer.core.syntax.parse_tir_block import (
    AssignmentReader,
    BlockParts,
    constant,
    declarations,
    scalars,
)
from relax_explorer.core.syntax.python_tree import dotted, dtype_of_prefix, elements
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferPtr
from relax_explorer.core.tir.stmt import Range
from relax_explorer.core.tir.traverse import used_too_early

# -- parse tir stmt --------------------------------------------------------------------------------------------------
# Reads statements of PrimFuncs: loops, branches, blocks, attributes, expressions.


_LOOPS = frozenset({"serial", "parallel", "vectorized", "unroll", "thread_binding"})
_BLOCKS = frozenset({"T.sblock", "T.block"})
MOST_AXES = 100
"""Python's parser accepts as many levels of indentation; a grid has many loops in one."""


class StatementReader(AssignmentReader):
    """Reads statements."""

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.attrs: dict[str, Any] = {}
        self.has_blocks = False
        self.axes = 0  # the loops of grids around

    def sequence(self, statements: list[ast.stmt], place: ast.AST) -> t.Stmt:
        """A list of statements as one statement. The scope of an attribute or a launched thread extends to the end of the list."""
        stmts: list[t.Stmt] = []
        for number, node in enumerate(statements):
            try:
                if _opens_rest(node):
                    stmts.append(self._around_rest(node, statements[number + 1 :]))
                    break
                stmt = self.statement(node)
            except Skip:
                continue
            if type(stmt) is t.SeqStmt and isinstance(node, (ast.Assign, ast.AnnAssign)):
                stmts.extend(stmt.stmts)  # a scalar with its first value
            elif stmt is not None:
                stmts.append(stmt)
        stmts = [stmt_ for stmt_ in stmts if not self._is_forward(stmt_)]
        if len(stmts) == 1:
            return stmts[0]
        return t.SeqStmt(tuple(stmts), self.ctx.span(place))

    def _is_forward(self, node: t.Stmt) -> bool:
        """True if a statement only declares a buffer that is allocated later."""
        return type(node) is t.AllocBuffer and node.how == "Buffer" and node.buffer in self.buffers.allocated

    def statement(self, node: ast.stmt) -> t.Stmt | None:
        """One statement. None if it only describes its block or function."""
        reader = _STATEMENTS.get(type(node))
        if reader is None:
            text = f"{type(node).__name__} is not a statement of a PrimFunc"
            raise self.ctx.fail(tir_codes.TIR_STATEMENT, text, node, help=tir_codes.TIR_STATEMENT.why)
        return reader(self, node)

    def _around_rest(self, node: Any, following: list[ast.stmt]) -> t.Stmt:
        call = node.value
        if isinstance(node, ast.Assign):
            return self._launched(call, node.targets[0], following, node)
        parts = self._attr_parts(call)
        return self._within(parts, self.sequence(following, node), node)

    def _launched(
        self, call: ast.Call, target: ast.expr | None, body: list[ast.stmt], node: ast.stmt
    ) -> t.Stmt:
        """`body` inside a launched thread with index `target`."""
        if not isinstance(target, ast.Name) or len(call.args) != 2:
            raise self.bad(node)
        extent = self.expr.index(call.args[1])
        thread = self.expr.read(call.args[0])
        with self.names.block():
            var = self._define(target.id, extent.dtype)
            inner = self.sequence(body, node)
        return t.AttrStmt((var, thread), "launch_thread", extent, inner, self.ctx.span(node))

    def _within(self, parts: list[tuple[Any, str, p.PrimExpr]], body: t.Stmt, node: ast.AST) -> t.Stmt:
        for subject, key, value in reversed(parts):
            body = t.AttrStmt(subject, key, value, body, self.ctx.span(node))
        return body

    def _attr_parts(self, call: ast.Call) -> list[tuple[Any, str, p.PrimExpr]]:
        """The subject, key and value of `T.attr(node, key, value)`. `T.attr({key: value, …})` has no subject."""
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Dict) and len(call.args) == 1:
            keys = [str(key.value) for key in first.keys if isinstance(key, ast.Constant)]
            if keys and len(keys) == len(first.keys):
                values = zip(keys, first.values, strict=True)
                return [(None, key, self.expr.read(value)) for key, value in values]
        if first is None or len(call.args) != 3 or not isinstance(call.args[1], ast.Constant):
            text = "T.attr takes a node, a key and a value, or a dict"
            raise self.ctx.fail(tir_codes.TIR_STATEMENT, text, call)
        named = isinstance(first, (ast.Name, ast.Constant)) and not (
            isinstance(first, ast.Name) and first.id not in self.names
        )
        subject = self.expr.read(first) if named else Verbatim(ast.unparse(first))
        if isinstance(subject, BufferPtr):
            self.buffers.forward.discard(subject.buffer)  # an allocation inside makes another buffer
        return [(subject, str(call.args[1].value), self.expr.read(call.args[2]))]

    # -- loops and branches ---------------------------------------------------------------------------------------

    def _for(self, node: ast.For) -> t.Stmt:
        call = node.iter
        name = dotted(call.func) if isinstance(call, ast.Call) else ""
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if not isinstance(call, ast.Call) or len(names) != len(targets):
            raise self.bad(node)
        if name == "T.grid":
            return self._grid(node, call, names)
        loop_kind = "serial" if name == "range" else name.removeprefix("T.")
        if loop_kind not in _LOOPS or len(names) != 1 or not 1 <= len(call.args) <= 3:
            raise self.bad(node)
        return self._loop(node, call, names[0], loop_kind)

    def _grid(self, node: ast.For, call: ast.Call, names: list[str]) -> t.Stmt:
        extents = [extent for arg in call.args for extent in self.expr.extents(arg)]
        if len(extents) != len(names):
            raise self.ctx.fail(
                tir_codes.TIR_STATEMENT,
                f"T.grid has {len(extents)} extents for {len(names)} variables",
                node,
            )
        if self.axes + len(names) > MOST_AXES:
            text = (
                f"{self.axes + len(names)} loops of T.grid are inside each other, at most {MOST_AXES} can be"
            )
            raise self.ctx.fail(codes.TOO_DEEP, text, node, help="write fewer loops over longer ranges")
        with self.names.block():
            loop_vars = [
                self._define(name, extent.dtype) for name, extent in zip(names, extents, strict=True)
            ]
            for var, extent in zip(loop_vars, extents, strict=True):
                self.domains[var] = Range(p.IntImm(0, extent.dtype), extent)
            self.axes += len(names)
            body = self.sequence(node.body, node)
            self.axes -= len(names)
        for var, extent in zip(reversed(loop_vars), reversed(extents), strict=True):
            body = t.For(var, p.IntImm(0, extent.dtype), extent, body, span=self.ctx.span(node))
        return body

    def _loop(self, node: ast.For, call: ast.Call, name: str, loop_kind: str) -> t.Stmt:
        bounds = [self.expr.index(arg) for arg in call.args]
        start, stop = bounds[:2] if len(bounds) > 1 else (p.IntImm(0, bounds[0].dtype), bounds[0])
        start, stop = self.expr.align(start, stop)
        options = self.expr.keywords(call)
        thread = options.get("thread")
        loop_attrs = constant(options["annotations"], self.expr) if "annotations" in options else EMPTY
        step = (
            bounds[2] if len(bounds) == 3 else self.expr.index(options["step"]) if "step" in options else None
        )
        extent = self.expr.extent(start, stop)
        with self.names.block():
            var = self._define(name, stop.dtype)
            self.domains[var] = Range(start, extent)
            body = self.sequence(node.body, node)
        thread_name = str(thread.value) if isinstance(thread, ast.Constant) else None
        return t.For(var, start, extent, body, loop_kind, thread_name, loop_attrs, step, self.ctx.span(node))

    def _while(self, node: ast.While) -> t.Stmt:
        return t.While(self.expr.read(node.test), self._scoped(node.body, node), self.ctx.span(node))

    def _if(self, node: ast.If) -> t.Stmt:
        other = self._scoped(node.orelse, node) if node.orelse else None
        return t.IfThenElse(
            self.expr.read(node.test), self._scoped(node.body, node), other, self.ctx.span(node)
        )

    def _scoped(self, statements: list[ast.stmt], place: ast.AST) -> t.Stmt:
        with self.names.block():
            return self.sequence(statements, place)

    def _with(self, node: ast.With) -> t.Stmt | None:
        with_item = node.items[0]
        call = with_item.context_expr
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
            return self._launched(call, with_item.optional_vars, node.body, node)
        raise self.bad(node)

    def _block(self, node: ast.With, call: ast.Call) -> t.Stmt:
        self.has_blocks = True
        if dotted(call.func) == "T.block":
            self.ctx.refuse(codes.UNDEFINED, "TVM 0.27 has no T.block", call, help="write T.sblock")
        first = call.args[0] if call.args else ast.Constant("")
        if not isinstance(first, ast.Constant):
            text = "the name of a block is a text in quotes"
            raise self.ctx.fail(tir_codes.TIR_STATEMENT, text, call, help='write T.sblock("name")')
        name = first.value
        parts = BlockParts()
        self.blocks.append(parts)
        try:
            body = self._scoped(node.body, node)
        finally:
            self.blocks.pop()
        block = t.SBlock(
            str(name), tuple(parts.iter_vars), tuple(parts.iter_values), body, parts.predicate,
            self.buffers.regions(parts.reads), self.buffers.regions(parts.writes), parts.init,
            tuple(parts.allocs), tuple(parts.matches), parts.annotations, self.ctx.span(node),
        )  # fmt: skip
        early = used_too_early(block)
        if early is not None:
            text = f"the head of this block uses {early.name!r}, which only its body declares"
            help = "A block's axes, regions and T.init come before its body: declare the variable before the block."
            raise self.ctx.fail(tir_codes.TIR_STATEMENT, text, node, help=help)
        return block

    # -- others ---------------------------------------------------------------------------------------------------

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
        attrs = constant(call.args[0], self.expr) if call.args else None
        if not isinstance(attrs, Attrs):
            raise self.ctx.fail(codes.BAD_CALL, "T.func_attr takes a dict", call)
        self.attrs.update(
            {
                key.replace("tir.", "tirx.", 1) if key.startswith("tir.") else key: value
                for key, value in attrs.items()
            }
        )

    def _assert(self, node: ast.Assert) -> t.Stmt:
        """`assert condition, message`, or TVM's form `assert condition, (kind, [parts of the message])`."""
        error, message = "RuntimeError", node.msg
        if (
            isinstance(message, ast.Tuple)
            and len(message.elts) == 2
            and isinstance(message.elts[0], ast.Constant)
        ):
            error, message = str(message.elts[0].value), message.elts[1]
        parts = [] if message is None else elements(message)
        texts = [self._message_part(part) for part in parts]
        return t.AssertStmt(self.expr.truth(node.test), tuple(texts), error, self.ctx.span(node))

    def _message_part(self, node: ast.expr) -> str:
        """A part of a message. TVM moves a string with line breaks to the metadata block."""
        if isinstance(node, ast.Constant):
            return str(node.value)
        entry = self.ctx.metadata_entry(node)
        return entry.value if isinstance(entry, StringImm) else ast.unparse(node)

    def _return(self, node: ast.Return) -> t.Stmt | None:
        if node.value is None:
            return None
        value = self.expr.read(node.value)
        return t.Evaluate(p.PrimCall("ret", (value,), value.dtype), self.ctx.span(node))

    def _pass(self, node: ast.Pass) -> None:
        """Nothing to read."""


def _opens_rest(node: ast.stmt) -> bool:
    """True if the following statements are inside this one: `T.attr(…)` or `x = T.launch_thread(…)` without `with`."""
    call = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
    opener = "T.attr" if isinstance(node, ast.Expr) else "T.launch_thread"
    return isinstance(call, ast.Call) and dotted(call.func) == opener


_STATEMENTS: dict[type, Callable[[StatementReader, Any], t.Stmt | None]] = {
    ast.For: StatementReader._for,
    ast.While: StatementReader._while,
    ast.If: StatementReader._if,
    ast.With: StatementReader._with,
    ast.Assign: StatementReader._assign,
    ast.AugAssign: StatementReader._aug_assign,
    ast.AnnAssign: StatementReader._ann_assign,
    ast.Expr: StatementReader._expression,
    ast.Assert: StatementReader._assert,
    ast.Return: StatementReader._return,
    ast.Pass: StatementReader._pass,
}
_HEADS: dict[str, Callable[[StatementReader, ast.Call], None]] = {
    "T.func_attr": StatementReader._func_attr,
    "T.reads": StatementReader._reads,
    "T.writes": StatementReader._writes,
    "T.where": StatementReader._where,
    "T.sblock_attr": StatementReader._block_attr,
    "T.block_attr": StatementReader._block_attr,
}


# -- parse tir -------------------------------------------------------------------------------------------------------


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
