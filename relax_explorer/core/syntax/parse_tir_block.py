"""Reads the heads of blocks in PrimFuncs, and constants of attributes."""

from __future__ import annotations

import ast
from typing import Any

from relax_explorer.core.codes import syntax as codes
from relax_explorer.core.codes import tir as tir_codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim, freeze
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.syntax.context import Context, Skip
from relax_explorer.core.syntax.local_names import LocalNames
from relax_explorer.core.syntax.parse_tir_buffer import BufferReader
from relax_explorer.core.syntax.parse_tir_expr import TirExprReader
from relax_explorer.core.syntax.written import dotted, dtype_of_prefix, odd_float
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer, BufferRegion, Range

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
