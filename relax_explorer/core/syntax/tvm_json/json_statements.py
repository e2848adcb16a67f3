"""Statements of PrimFuncs in TVM's JSON, and PrimFuncs themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim
from relax_explorer.core.ir.dtype import INT32
from relax_explorer.core.ir.node import replace
from relax_explorer.core.syntax.tvm_json.json_constants import constant
from relax_explorer.core.syntax.tvm_json.json_graph import Damaged
from relax_explorer.core.syntax.tvm_json.json_nodes import Node
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer, BufferRegion, Range
from relax_explorer.core.tir.prim_expr import BufferPtr
from relax_explorer.core.tir.traverse import statements

_KINDS = ("serial", "parallel", "vectorized", "unroll", "thread_binding")
_AXES = {0: "spatial", 1: "thread_index", 2: "reduce", 3: "scan", 4: "opaque"}


def _attrs(node: Node, name: str) -> Attrs:
    entries = constant(node.value(name), INT32)
    if entries is None or not entries:
        return EMPTY
    if not isinstance(entries, Attrs):
        raise node.wrong(name, "a map", entries)
    return entries


def _sequence(node: Node) -> t.Stmt:
    flat: list[t.Stmt] = []
    for stmt in node.several("seq", t.Stmt):
        flat.extend(stmt.stmts if type(stmt) is t.SeqStmt else (stmt,))
    return flat[0] if len(flat) == 1 else t.SeqStmt(tuple(flat))


def _store(node: Node) -> t.Stmt:
    buffer, indices = node.of("buffer", Buffer), node.integers("indices")
    if len(indices) != len(buffer.shape):
        raise Damaged(f"{node.decoded.graph.described(node.number)} has {len(indices)} indices")
    return t.BufferStore(buffer, indices, node.prim("value"))


def _for(node: Node) -> t.Stmt:
    kind = node.plain("kind", int)
    if not 0 <= kind < len(_KINDS):
        raise node.wrong("kind", "a kind of loop", kind)
    thread = node.optional("thread_binding", IterVar)
    step = None if node.fields.get("step") is None or node.value("step") is None else node.prim("step")
    return t.For(
        node.of("loop_var", p.PrimVar), node.prim("min"), node.prim("extent"), node.of("body", t.Stmt), _KINDS[kind],
        None if thread is None else thread.thread, _attrs(node, "annotations"), step,
    )  # fmt: skip


class Block:
    """A block without the values of its axes, which is no statement yet."""

    def __init__(self, block: t.SBlock) -> None:
        self.block = block


class IterVar:
    """An axis of a block, or a launched thread."""

    def __init__(self, var: p.PrimVar, domain: Range | None, kind: str, thread: str) -> None:
        self.var, self.domain, self.kind, self.thread = var, domain, kind, thread


def _iter_var(node: Node) -> IterVar:
    kind = _AXES.get(node.plain("iter_type", int))
    return IterVar(
        node.of("var", p.PrimVar), node.optional("dom", Range), kind or "opaque", node.of("thread_tag", str)
    )


def _block(node: Node) -> Block:
    axes = []
    for axis in node.several("iter_vars", IterVar):
        if axis.domain is None:
            raise node.wrong("iter_vars", "a list of axes with domains", axis)
        axes.append(t.IterVar(axis.var, axis.domain, axis.kind))
    block = t.SBlock(
        node.of("name_hint", str), tuple(axes), (), node.of("body", t.Stmt), None, node.several("reads", BufferRegion),
        node.several("writes", BufferRegion), node.optional("init", t.Stmt), node.several("alloc_buffers", Buffer),
        node.several("match_buffers", t.MatchBufferRegion), _attrs(node, "annotations"),
    )  # fmt: skip
    return Block(block)


def _realize(node: Node) -> t.Stmt:
    """A block with the values of its axes."""
    block, values, predicate = (
        node.of("block", Block).block,
        node.prims("iter_values"),
        node.condition("predicate"),
    )
    if len(values) != len(block.iter_vars):
        raise Damaged(
            f"{node.decoded.graph.described(node.number)} has {len(values)} values for {len(block.iter_vars)} axes"
        )
    always = isinstance(predicate, p.IntImm) and predicate.value == 1
    return replace(block, iter_values=values, predicate=None if always else predicate)


def _match(node: Node) -> t.MatchBufferRegion:
    return t.MatchBufferRegion(node.of("buffer", Buffer), node.of("source", BufferRegion))


def _alloc(node: Node) -> t.Stmt:
    return t.AllocBuffer(node.of("buffer", Buffer), "alloc_buffer")


def _declare(node: Node) -> t.Stmt:
    return t.AllocBuffer(node.of("buffer", Buffer), "decl_buffer")


def _attr(node: Node) -> t.Stmt:
    subject, key, value, body = (
        node.value("node"),
        node.of("attr_key", str),
        node.prim("value"),
        node.of("body", t.Stmt),
    )
    if isinstance(subject, IterVar) and key in ("thread_extent", "virtual_thread"):
        return t.AttrStmt((subject.var, p.PrimString(subject.thread)), "launch_thread", value, body)
    if isinstance(subject, Buffer):
        subject = BufferPtr(subject, "buffer")
    elif isinstance(subject, str):
        subject = p.PrimString(subject)
    elif isinstance(subject, int):
        subject = p.IntImm(subject, INT32)
    elif subject is not None and not isinstance(subject, p.PrimExpr):
        subject = constant(subject, INT32)
        subject = subject if isinstance(subject, Verbatim) else Verbatim(str(subject))
    return t.AttrStmt(subject, key, value, body)


def _assert(node: Node) -> t.Stmt:
    parts = [part.value for part in node.several("message_parts", p.PrimString)]
    return t.AssertStmt(node.condition("condition"), tuple(parts), node.of("error_kind", p.PrimString).value)


def _return(node: Node) -> t.Stmt:
    value = node.prim("value")
    return t.Evaluate(p.PrimCall("ret", (value,), value.dtype))


def _if(node: Node) -> t.Stmt:
    return t.IfThenElse(
        node.condition("condition"), node.of("then_case", t.Stmt), node.optional("else_case", t.Stmt)
    )


def _while(node: Node) -> t.Stmt:
    return t.While(node.condition("condition"), node.of("body", t.Stmt))


def _bind(node: Node) -> t.Stmt:
    return t.LetStmt(node.of("var", p.PrimVar), node.prim("value"))


def _prim_func(node: Node) -> t.PrimFunc:
    params = node.of("params", tuple)
    for param in params:
        if not isinstance(param, (Buffer, p.PrimVar)):
            raise node.wrong("params", "a list of buffers and scalars", param)
    attrs, body = node.optional("attrs", Attrs) or EMPTY, node.of("body", t.Stmt)
    ret = node.optional("ret_type", s.StructInfo)
    s_tir = bool(attrs.get("s_tir")) or any(type(stmt) is t.SBlock for stmt in statements(body))
    return t.PrimFunc(
        params,
        _without_root(body),
        None if ret is None or ret is s.VOID else ret,
        attrs.without("s_tir"),
        s_tir,
    )


def _without_root(body: t.Stmt) -> t.Stmt:
    """The body of a schedulable function without its root block, which a text leaves out unless it says something."""
    is_root = type(body) is t.SBlock and body.name == "root" and not body.iter_vars
    if not is_root or not isinstance(body, t.SBlock):
        return body
    if body.reads or body.writes or body.annotations or body.init is not None or body.match_buffers:
        return body
    if type(body.body) is t.SBlock and not body.body.iter_vars:
        return body
    return (
        t.SBlock("root", (), (), body.body, alloc_buffers=body.alloc_buffers)
        if body.alloc_buffers
        else body.body
    )


READERS: dict[str, Callable[[Node], Any]] = {
    "tirx.SeqStmt": _sequence,
    "tirx.BufferStore": _store,
    "tirx.For": _for,
    "tirx.IterVar": _iter_var,
    "s_tir.SBlock": _block,
    "s_tir.SBlockRealize": _realize,
    "s_tir.MatchBufferRegion": _match,
    "tirx.AllocBuffer": _alloc,
    "tirx.DeclBuffer": _declare,
    "tirx.AttrStmt": _attr,
    "tirx.AssertStmt": _assert,
    "tirx.Return": _return,
    "tirx.IfThenElse": _if,
    "tirx.While": _while,
    "tirx.Bind": _bind,
    "tirx.Evaluate": lambda node: t.Evaluate(node.prim("value")),
    "tirx.Break": lambda node: t.Evaluate(p.PrimCall("break_loop", (), INT32)),
    "tirx.Continue": lambda node: t.Evaluate(p.PrimCall("continue_loop", (), INT32)),
    "tirx.PrimFunc": _prim_func,
}
