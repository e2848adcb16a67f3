"""The class of an operation: matmul-like, element-wise, reduction, layout, call, memory or effect.

Tables, graphs and the terminal colour operations by it. The class follows from the operator's declaration.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

from relax_explorer.core import ops
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ops.kit.decl import Fusion, Op


class OpClass(StrEnum):
    """A class; the value is its mark in a legend without colours."""

    MATMUL = "MM"
    ELEMENTWISE = "EW"
    REDUCE = "RD"
    SHAPE = "SH"
    CALL = "ƒ"
    MEMORY = "ME"
    EFFECT = "!!"
    OTHER = ""

    @property
    def doc(self) -> str:
        """What the class holds, in a few words."""
        return _DOCS[self]


_DOCS = {
    OpClass.MATMUL: "matmul, convolution, attention",
    OpClass.ELEMENTWISE: "element-wise, activation",
    OpClass.REDUCE: "reduction, normalization, softmax, pooling",
    OpClass.SHAPE: "reshape, transpose, split, index",
    OpClass.CALL: "call of a function, a kernel or a closure",
    OpClass.MEMORY: "allocation, its end, shape heap",
    OpClass.EFFECT: "effect, packed function, assertion",
    OpClass.OTHER: "other operators",
}
_BY_FUSION = {
    Fusion.ELEMENTWISE: OpClass.ELEMENTWISE,
    Fusion.BROADCAST: OpClass.ELEMENTWISE,
    Fusion.INJECTIVE: OpClass.SHAPE,
    Fusion.TUPLE: OpClass.SHAPE,
    Fusion.REDUCE: OpClass.REDUCE,
    Fusion.OUT_ELEMENTWISE: OpClass.REDUCE,
}
_MATMULS = ("matmul", "einsum", "conv", "attention")
_CALLS = ("call_tir", "call_dps", "invoke_", "make_closure")
_EFFECTS = ("call_packed", "call_pure_packed", "call_inplace_packed", "call_py_func", "call_builtin_with_ctx")
_MEMORY = ("memory.", "vm.alloc", "vm.kill", "builtin.alloc")


def op_class(expr: e.Expr) -> OpClass:
    """The class of a bound expression."""
    kind = type(expr)
    if kind in (e.TupleGetItem, e.Tuple, e.ShapeExpr):
        return OpClass.SHAPE
    if kind is not e.Call:
        return OpClass.OTHER
    assert type(expr) is e.Call  # for the type checker
    if type(expr.op) is e.OpRef:
        return of_operator(expr.op.name)
    if type(expr.op) is e.ExternFunc:
        return of_packed(expr.op.name)
    return OpClass.CALL


def of_packed(name: str) -> OpClass:
    """The class of a packed function: the builtins of the virtual machine that hold memory, or an effect."""
    is_memory = name.startswith("vm.builtin.") and any(
        word in name for word in ("alloc", "shape", "storage", "null_value", "kill")
    )
    return OpClass.MEMORY if is_memory else OpClass.EFFECT


@lru_cache(maxsize=1024)
def of_operator(name: str) -> OpClass:
    """The class of the operator with this full name."""
    short = name.removeprefix("relax.")
    if short.startswith(_EFFECTS):
        return OpClass.EFFECT
    if short.startswith(_CALLS) or short.startswith(("dist.call_tir", "vm.call_tir")):
        return OpClass.CALL
    if short.startswith(_MEMORY):
        return OpClass.MEMORY
    declared = ops.find(name)
    return OpClass.OTHER if declared is None else _declared(short, declared)


def _declared(short: str, op: type[Op]) -> OpClass:
    if not op.pure or op.writes:
        return OpClass.EFFECT
    if op.fusion is Fusion.OUT_ELEMENTWISE and any(word in short for word in _MATMULS):
        return OpClass.MATMUL
    return _BY_FUSION.get(op.fusion, OpClass.OTHER)
