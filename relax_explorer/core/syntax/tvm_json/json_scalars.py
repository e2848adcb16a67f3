"""Scalar expressions of TVM's JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY, Attrs
from relax_explorer.core.ir.dtype import HANDLE, INT32, MOST_LANES, DType
from relax_explorer.core.syntax.tvm_json.json_graph import Damaged
from relax_explorer.core.syntax.tvm_json.json_nodes import Node
from relax_explorer.core.tir.buffer import Buffer, BufferRegion, Range
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr, Let, PointerType, Ramp

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
        raise Damaged(
            f"the operands of {node.decoded.graph.described(node.number)} are {a.dtype} and {b.dtype}"
        )
    return a, b


def _binary(node: Node) -> p.PrimExpr:
    return _BINARY[node.kind](*_pair(node))


def _shift(node: Node) -> p.PrimExpr:
    a, b = _pair(node)
    return p.PrimCall(_SHIFTS[node.kind], (a, b), a.dtype)


def _not(node: Node) -> p.PrimExpr:
    return p.Not(node.condition("a"))


def _bitwise_not(node: Node) -> p.PrimExpr:
    return p.PrimCall("bitwise_not", (node.prim("a"),), node.dtype())


def _cast(node: Node) -> p.PrimExpr:
    return p.Cast(node.dtype(), node.prim("value"))


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


def _ramp(node: Node) -> p.PrimExpr:
    return Ramp(node.prim("base"), node.prim("stride"), _lanes(node))


def _broadcast(node: Node) -> p.PrimExpr:
    return p.PrimCall("Broadcast", (node.prim("value"), p.IntImm(_lanes(node), INT32)), node.dtype())


def _let(node: Node) -> p.PrimExpr:
    return Let(node.of("var", p.PrimVar), node.prim("value"), node.prim("body"))


def _load(node: Node) -> p.PrimExpr:
    buffer, indices = node.of("source", Buffer), node.integers("indices")
    return BufferLoad(buffer, _checked(node, buffer, indices))


def _checked(node: Node, buffer: Buffer, indices: tuple[_Index, ...]) -> tuple[_Index, ...]:
    if len(indices) != len(buffer.shape):
        raise Damaged(
            f"{node.decoded.graph.described(node.number)} has {len(indices)} indices, but {buffer.name!r} has {len(buffer.shape)} dimensions"
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


def _range(node: Node) -> Range:
    return Range(node.prim("min"), node.prim("extent"))


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


READERS: dict[str, Callable[[Node], Any]] = {
    "ir.IntImm": _integer,
    "ir.FloatImm": _float,
    "ir.StringImm": lambda node: p.PrimString(node.of("value", str)),
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_SHIFTS, _shift),
    "prim.Not": _not,
    "prim.BitwiseNot": _bitwise_not,
    "prim.Cast": _cast,
    "prim.Select": _select,
    "prim.Ramp": _ramp,
    "prim.Broadcast": _broadcast,
    "prim.Let": _let,
    "ir.TensorLoad": _load,
    "ir.TensorRegion": _region,
    "ir.Range": _range,
}
