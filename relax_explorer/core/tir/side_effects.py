"""Side effects of PrimFuncs: writes to buffers of the caller, and calls with unknown effects."""

from __future__ import annotations

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.buffer import Buffer
from relax_explorer.core.tir.traverse import expressions, statements, subexpressions

# Intrinsics that only compute or read, as TVM registers them (TCallEffectKind, tirx/op/builtin.cc).
_FREE = frozenset(
    {
        "acos", "acosh", "address_of", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
        "bitwise_not", "bitwise_or", "bitwise_xor", "Broadcast", "call_pure_extern", "ceil", "clz",
        "copysign", "cos", "cosh", "erf", "exp", "exp10", "exp2", "expm1", "fabs", "abs", "floor", "fma",
        "fmod", "hypot", "if_then_else", "isfinite", "isinf", "isnan", "isnullptr", "ldexp", "likely",
        "log", "log10", "log1p", "log2", "nearbyint", "nextafter", "popcount", "pow", "power",
        "q_multiply_shift", "reinterpret", "ret", "round", "rsqrt", "shift_left", "shift_right", "sigmoid",
        "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "truncmod", "truncdiv", "tvm_struct_get", "Div",
        "Mod",
    }
)  # fmt: skip


def has_effect(fn: t.PrimFunc) -> bool:
    """True if a call of `fn` may have an effect beyond its result: a store outside its own buffers, or an impure call."""
    allocated: set[Buffer] = set()
    for node in statements(fn.body):
        if type(node) is t.SBlock:
            allocated.update(node.alloc_buffers)
        elif type(node) is t.AllocBuffer and node.buffer.data is None:  # a view may show memory of others
            allocated.add(node.buffer)
        elif type(node) is t.BufferStore and node.buffer not in allocated:
            return True
        for expr in subexpressions(*expressions(node)):
            if type(expr) is p.PrimCall and is_impure(expr):
                return True
    return False


def overwritten(fn: t.PrimFunc) -> frozenset[int]:
    """The numbers of the parameters into whose memory a call of `fn` may store.

    These are all parameters if a store goes into memory that a view or a call may share with any of them.
    """
    return _OVERWRITTEN.of(fn, _overwritten)


_OVERWRITTEN: PerNode[frozenset[int]] = PerNode()


def _overwritten(fn: t.PrimFunc) -> frozenset[int]:
    every = frozenset(range(len(fn.params)))
    places: dict[Buffer, int] = {
        b: n for n, b in enumerate(fn.params) if isinstance(b, Buffer) and b.data is None
    }
    if len(places) < sum(isinstance(param, Buffer) for param in fn.params):
        return every  # two parameters may name one pointer
    allocated, stored = set[Buffer](), set[int]()
    for node in statements(fn.body):
        if type(node) is t.SBlock:
            allocated.update(node.alloc_buffers)
        elif type(node) is t.AllocBuffer and node.buffer.data is None:
            allocated.add(node.buffer)
        elif type(node) is t.BufferStore and node.buffer not in allocated:
            if node.buffer not in places:  # a view, or a part
                return every
            stored.add(places[node.buffer])
        if any(type(x) is p.PrimCall and is_impure(x) for x in subexpressions(*expressions(node))):
            return every
    return frozenset(stored)


def is_impure(call: p.PrimCall) -> bool:
    """True if an intrinsic may do more than compute or read."""
    return call.op not in _FREE
