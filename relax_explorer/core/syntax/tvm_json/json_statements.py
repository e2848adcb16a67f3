"""Statements of PrimFuncs in TVM's JSON, and PrimFuncs themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs, Verbatim
from relax_explorer.core.ir.dtype import HANDLE, INT32, MOST_LANES, DType
from relax_explorer.core.ir.node import replace
from relax_explorer.core.syntax.tvm_json.json_nodes import Damaged, Node
from relax_explorer.core.syntax.tvm_json.json_types import constant
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr, Let, PointerType, Ramp
from relax_explorer.core.tir.stmt import Buffer, BufferRegion, Range
from relax_explorer.core.tir.traverse import statements

# -- json scalars ----------------------------------------------------------------------------------------------------
# Scalar expressions of TVM's JSON.


_Index = TypeVar("_Index")
DTYPE_FIRST = frozenset(
    (
        "call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin", "dp4a", "get_active_lane_mask", "masked_load",
        "mma_fill", "mma_store", "reinterpret", "s_tir.cp_async_raw", "type_annotation", "vectorcombine", "vectorhigh", "vectorlow",
    )
)  # fmt: skip
DTYPE_LAST = frozenset({"tvm_struct_get"})
_NAMES = {
    "tvm_call_packed": "call_packed",
    "tvm_call_cpacked": "call_cpacked",
    "tvm_call_packed_lowered": "call_packed_lowered",
    "tvm_call_cpacked_lowered": "call_cpacked_lowered",
}
_SHIFTS = {
    "prim.LShift": "shift_left", "prim.RShift": "shift_right", "prim.BitwiseAnd": "bitwise_and", "prim.BitwiseOr": "bitwise_or",
    "prim.BitwiseXor": "bitwise_xor",
}  # fmt: skip
_BINARY: dict[str, type[p.Binary]] = {
    f"prim.{kind.__name__}": kind
    for kind in (p.Add, p.Sub, p.Mul, p.Div, p.Mod, p.FloorDiv, p.FloorMod, p.Min, p.Max, p.EQ, p.NE, p.LT, p.LE, p.GT, p.GE, p.And, p.Or)
}  # fmt: skip


def _integer(node: Node) -> p.PrimExpr:
    value = node.plain("value", int) if node.has_plain("value") else node.of("value", int)
    return p.IntImm(value, node.dtype())


def _float(node: Node) -> p.PrimExpr:
    value = node.fields.get("value")
    if value in ("Infinity", "-Infinity", "NaN", "inf", "-inf", "nan"):
        return p.FloatImm(float(value), node.dtype())
    return p.FloatImm(node.plain("value", float), node.dtype())


def _pair(node: Node) -> tuple[p.PrimExpr, p.PrimExpr]:
    a, b = node.prim("a"), node.prim("b")
    if a.dtype is not b.dtype and HANDLE not in (a.dtype, b.dtype):
        raise Damaged(f"the operands of {node.described} are {a.dtype} and {b.dtype}")
    return a, b


def _shift(node: Node) -> p.PrimExpr:
    a, b = _pair(node)
    return p.PrimCall(_SHIFTS[node.kind], (a, b), a.dtype)


def _select(node: Node) -> p.PrimExpr:
    condition, a, b = node.condition("condition"), node.prim("true_value"), node.prim("false_value")
    if a.dtype is not b.dtype:
        raise node.wrong("false_value", f"of {a.dtype}, as the other branch", b)
    return p.Select(condition, a, b)


def _lanes(node: Node) -> int:
    lanes = node.prim("lanes")
    if not isinstance(lanes, p.IntImm) or not 1 <= lanes.value <= MOST_LANES:
        raise node.wrong("lanes", f"a number up to {MOST_LANES}", lanes)
    return lanes.value


def _broadcast(node: Node) -> p.PrimExpr:
    return p.PrimCall("Broadcast", (node.prim("value"), p.IntImm(_lanes(node), INT32)), node.dtype())


def _load(node: Node) -> p.PrimExpr:
    buffer, indices = node.of("source", Buffer), node.integers("indices")
    return BufferLoad(buffer, _checked(node, buffer, indices))


def _checked(node: Node, buffer: Buffer, indices: tuple[_Index, ...]) -> tuple[_Index, ...]:
    if len(indices) != len(buffer.shape):
        raise Damaged(
            f"{node.described} has {len(indices)} indices, but {buffer.name!r} has {len(buffer.shape)} dimensions"
        )
    return indices


def _region(node: Node) -> BufferRegion:
    buffer = node.of("source", Buffer)
    ranges: tuple[Range, ...] = _checked(node, buffer, node.several("region", Range))
    points = tuple([isinstance(part.extent, p.IntImm) and part.extent.value == 1 for part in ranges])
    shown = [
        Range(part.start, p.IntImm(1, part.start.dtype)) if point else part
        for part, point in zip(ranges, points, strict=True)
    ]
    return BufferRegion(buffer, tuple(shown), points)


def prim_call(node: Node, name: str) -> p.PrimExpr:
    """A call of an operator of PrimFuncs, in the form that a text has."""
    args = node.prims("args")
    if name == "buffer_data" and len(args) == 1 and isinstance(args[0], BufferPtr):
        return BufferPtr(args[0].buffer, "data")
    result, written = _result(node)
    name = _NAMES.get(name, name)
    if name in DTYPE_FIRST:
        args = (written, *args)
    elif name in DTYPE_LAST:
        args = (*args, written)
    attrs = node.optional("attrs", Attrs) or EMPTY
    return p.PrimCall(name, args, result, tuple(attrs.items()))


def _result(node: Node) -> tuple[DType, p.PrimExpr]:
    """The dtype of a call, and how a text names it among the arguments."""
    info = node.value("ty")
    if isinstance(info, PointerType):
        return HANDLE, info
    if isinstance(info, s.PrimStructInfo):
        return info.dtype, p.PrimString(info.dtype.name)
    return INT32, p.PrimString("void")


def module_call(node: Node, callee: e.GlobalVar) -> p.PrimExpr:
    """A call of a function of the module in a PrimFunc."""
    return p.PrimCall(f"{p.OF_MODULE}{callee.name}", node.prims("args"), _result(node)[0])


SCALAR_READERS: dict[str, Callable[[Node], Any]] = {
    "ir.IntImm": _integer,
    "ir.FloatImm": _float,
    "ir.StringImm": lambda node: p.PrimString(node.of("value", str)),
    **dict.fromkeys(_BINARY, lambda node: _BINARY[node.kind](*_pair(node))),
    **dict.fromkeys(_SHIFTS, _shift),
    "prim.Not": lambda node: p.Not(node.condition("a")),
    "prim.BitwiseNot": lambda node: p.PrimCall("bitwise_not", (node.prim("a"),), node.dtype()),
    "prim.Cast": lambda node: p.Cast(node.dtype(), node.prim("value")),
    "prim.Select": _select,
    "prim.Ramp": lambda node: Ramp(node.prim("base"), node.prim("stride"), _lanes(node)),
    "prim.Broadcast": _broadcast,
    "prim.Let": lambda node: Let(node.of("var", p.PrimVar), node.prim("value"), node.prim("body")),
    "ir.TensorLoad": _load,
    "ir.TensorRegion": _region,
    "ir.Range": lambda node: Range(node.prim("min"), node.prim("extent")),
}


# -- json statements -------------------------------------------------------------------------------------------------


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
        raise Damaged(f"{node.described} has {len(indices)} indices")
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
    block, values = node.of("block", Block).block, node.prims("iter_values")
    predicate = node.condition("predicate")
    if len(values) != len(block.iter_vars):
        raise Damaged(f"{node.described} has {len(values)} values for {len(block.iter_vars)} axes")
    always = isinstance(predicate, p.IntImm) and predicate.value == 1
    return replace(block, iter_values=values, predicate=None if always else predicate)


def _attr(node: Node) -> t.Stmt:
    subject, key = node.value("node"), node.of("attr_key", str)
    value, body = node.prim("value"), node.of("body", t.Stmt)
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


def _prim_func(node: Node) -> t.PrimFunc:
    params = node.of("params", tuple)
    for param in params:
        if not isinstance(param, (Buffer, p.PrimVar)):
            raise node.wrong("params", "a list of buffers and scalars", param)
    attrs, body = node.optional("attrs", Attrs) or EMPTY, node.of("body", t.Stmt)
    ret = node.optional("ret_type", s.StructInfo)
    s_tir = bool(attrs.get("s_tir")) or any(type(stmt) is t.SBlock for stmt in statements(body))
    returned = None if ret is s.VOID else ret
    return t.PrimFunc(params, _without_root(body), returned, attrs.without("s_tir"), s_tir)


def _without_root(body: t.Stmt) -> t.Stmt:
    """The body of a schedulable function without its root block, which a text leaves out unless it says something."""
    is_root = type(body) is t.SBlock and body.name == "root" and not body.iter_vars
    if not is_root or not isinstance(body, t.SBlock):
        return body
    if body.reads or body.writes or body.annotations or body.init is not None or body.match_buffers:
        return body
    if type(body.body) is t.SBlock and not body.body.iter_vars:
        return body
    if not body.alloc_buffers:
        return body.body
    return t.SBlock("root", (), (), body.body, alloc_buffers=body.alloc_buffers)


READERS: dict[str, Callable[[Node], Any]] = {
    "tirx.SeqStmt": _sequence,
    "tirx.BufferStore": _store,
    "tirx.For": _for,
    "tirx.IterVar": _iter_var,
    "s_tir.SBlock": _block,
    "s_tir.SBlockRealize": _realize,
    "s_tir.MatchBufferRegion": lambda node: t.MatchBufferRegion(
        node.of("buffer", Buffer), node.of("source", BufferRegion)
    ),
    "tirx.AllocBuffer": lambda node: t.AllocBuffer(node.of("buffer", Buffer), "alloc_buffer"),
    "tirx.DeclBuffer": lambda node: t.AllocBuffer(node.of("buffer", Buffer), "decl_buffer"),
    "tirx.AttrStmt": _attr,
    "tirx.AssertStmt": _assert,
    "tirx.Return": _return,
    "tirx.IfThenElse": lambda node: t.IfThenElse(
        node.condition("condition"), node.of("then_case", t.Stmt), node.optional("else_case", t.Stmt)
    ),
    "tirx.While": lambda node: t.While(node.condition("condition"), node.of("body", t.Stmt)),
    "tirx.Bind": lambda node: t.LetStmt(node.of("var", p.PrimVar), node.prim("value")),
    "tirx.Evaluate": lambda node: t.Evaluate(node.prim("value")),
    "tirx.Break": lambda node: t.Evaluate(p.PrimCall("break_loop", (), INT32)),
    "tirx.Continue": lambda node: t.Evaluate(p.PrimCall("continue_loop", (), INT32)),
    "tirx.PrimFunc": _prim_func,
}
