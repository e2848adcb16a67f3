"""Walking statements and expressions of PrimFuncs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import NamedTuple

from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import EMPTY
from relax_explorer.core.ir.dtype import HANDLE
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, BufferPtr
from relax_explorer.core.tir.stmt import Buffer, BufferRegion, PrimFunc, holding, parts

# Fields that describe a statement; running the statement does not evaluate them.
_UNEVALUATED = frozenset({"reads", "writes", "annotations", "attrs", "subject", "var"})
_STATEMENTS: dict[type, tuple[str, ...]] = {}
_EVALUATED: dict[type, tuple[str, ...]] = {}


def children(node: t.Stmt) -> tuple[t.Stmt, ...]:
    """The statements directly inside a statement, in order. A block's init comes first."""
    if type(node) is t.SeqStmt:
        return node.stmts
    values = [getattr(node, name) for name in _fields(type(node))[0]]
    return tuple([item for item in values if item is not None])


def _fields(stmt_class: type[t.Stmt]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields of a statement that hold statements, and the fields that hold evaluated expressions."""
    names = _STATEMENTS.get(stmt_class)
    if names is None:
        hints = {field.name: str(field.type) for field in fields(stmt_class)}  # type: ignore[arg-type]  # statements are dataclasses
        names = tuple(
            sorted([name for name in hints if "Stmt" in hints[name]], key=lambda name: name != "init")
        )
        _STATEMENTS[stmt_class] = names
        # The target buffer is declared, and its shape evaluated, elsewhere.
        left_out = {*names, *_UNEVALUATED, *(("buffer",) if stmt_class is t.BufferStore else ())}
        _EVALUATED[stmt_class] = tuple([name for name in holding(stmt_class) if name not in left_out])
    return names, _EVALUATED[stmt_class]


def statements(node: t.Stmt) -> Iterator[t.Stmt]:
    """Every statement, outer before inner."""
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        inner = children(item)
        if inner:
            stack.extend(reversed(inner))


def expressions(node: t.Stmt) -> list[p.PrimExpr]:
    """The expressions directly inside a statement, including buffers that it declares, but not its regions."""
    exprs: list[p.PrimExpr] = []
    for name in _fields(type(node))[1]:
        value = getattr(node, name)
        if isinstance(value, p.PrimExpr):
            exprs.append(value)
        elif value:
            for item in value if type(value) is tuple else (value,):
                exprs += [item] if isinstance(item, p.PrimExpr) else _of_part(item)
    return exprs


def _of_part(node: object) -> list[p.PrimExpr]:
    """The expressions of an axis, of a declared buffer, or of a view, but not of the buffer behind the view."""
    if isinstance(node, t.IterVar):
        return _of_part(node.domain)
    if isinstance(node, BufferRegion):
        return [item for part in node.ranges for item in _of_part(part)]
    exprs: list[p.PrimExpr] = []
    for part in parts(node):
        exprs += [part] if isinstance(part, p.PrimExpr) else _of_part(part)
    return exprs


def subexpressions(*exprs: p.PrimExpr) -> Iterator[p.PrimExpr]:
    """Every expression in `exprs`, outer before inner."""
    stack = list(reversed(exprs))
    while stack:
        item = stack.pop()
        yield item
        inner = item.children()
        if inner:
            stack.extend(reversed(inner))


def memory(node: t.Stmt) -> dict[Buffer, Buffer | None]:
    """The views declared inside a statement, each with the buffer behind it; None if a handle describes the memory."""
    pointers: dict[p.PrimExpr, p.PrimExpr] = {}
    sources: dict[Buffer, Buffer | None] = {}
    for stmt in statements(node):
        if type(stmt) is t.LetStmt:
            pointers[stmt.var] = pointers.get(stmt.value, stmt.value)
        elif type(stmt) is t.AllocBuffer and stmt.buffer.data is not None:
            pointer = pointers.get(stmt.buffer.data, stmt.buffer.data)
            source = pointer.buffer if isinstance(pointer, BufferPtr) else None
            sources[stmt.buffer] = sources.get(source, source) if source is not None else None
    return sources


# -- scopes ----------------------------------------------------------------------------------------------------------
# The variables and buffers that the statements of a PrimFunc see.


_NAMES: PerNode[frozenset[str]] = PerNode()
Names = tuple[Buffer | p.PrimVar, ...]
"""Outermost first."""


def scopes(fn: t.PrimFunc) -> dict[t.Stmt | None, Names]:
    """The variables and buffers around each store and each call, outermost first; those of the whole PrimFunc for None."""
    dims = [dim for param in fn.params if isinstance(param, Buffer) for dim in param.shape]
    outer = tuple(dict.fromkeys([*fn.params, *[dim for dim in dims if isinstance(dim, p.PrimVar)]]))
    found: dict[t.Stmt | None, Names] = {None: outer}
    stack: list[tuple[t.Stmt, Names]] = [(fn.body, outer)]
    while stack:
        node, around = stack.pop()
        if isinstance(node, (t.BufferStore, t.Evaluate)):
            found.setdefault(node, around)
        elif isinstance(node, t.SeqStmt):
            for statement in node.stmts:
                stack.append((statement, around))
                around += _declared(statement) if isinstance(statement, (t.LetStmt, t.AllocBuffer)) else ()
        else:
            inner = around + _declared(node)
            stack += [(child, inner) for child in reversed(_bodies(node))]
    return found


def named(scope: Names) -> dict[str, Buffer | p.PrimVar]:
    """The variables and buffers of a scope by name. Of several with one name, later ones get a number, as in printed text."""
    found: dict[str, Buffer | p.PrimVar] = {}
    for item in scope:
        name, number = item.name, 0
        while name in found:
            number += 1
            name = f"{item.name}_{number}"
        found[name] = item
    return found


def names_of(fn: t.PrimFunc) -> frozenset[str]:
    """The names of all variables and buffers of a PrimFunc."""
    return _NAMES.of(fn, lambda fn: frozenset([name for own in scopes(fn).values() for name in named(own)]))


def used_too_early(block: t.SBlock) -> Buffer | p.PrimVar | None:
    """A variable or buffer that the head of a block uses and its body declares, if any. The head is evaluated first.

    Annotations are not evaluated: they may mention what the body declares.
    """
    top = block.body.stmts if isinstance(block.body, t.SeqStmt) else (block.body,)
    declared = {
        item for node in top if isinstance(node, (t.LetStmt, t.AllocBuffer)) for item in _declared(node)
    }
    if not declared:
        return None
    stack = parts(replace(block, body=t.SeqStmt(()), annotations=EMPTY))
    while stack:
        node = stack.pop()
        if isinstance(node, (Buffer, p.PrimVar)) and node in declared:
            return node
        stack += parts(node)
    return None


def _declared(node: t.Stmt) -> Names:
    """The variables and buffers that a statement declares."""
    if isinstance(node, t.For):
        return (node.var,)
    if isinstance(node, t.LetStmt):
        return (node.var,)
    if isinstance(node, t.AllocBuffer):
        return (node.buffer,)
    if isinstance(node, t.SBlock):
        return (*[axis.var for axis in node.iter_vars], *node.alloc_buffers)
    return ()


def _bodies(node: t.Stmt) -> list[t.Stmt]:
    """The statements directly inside a statement."""
    if isinstance(node, t.SBlock):
        return [node.body] if node.init is None else [node.init, node.body]
    if isinstance(node, t.IfThenElse):
        return [node.then_case] if node.else_case is None else [node.then_case, node.else_case]
    return [node.body] if isinstance(node, (t.For, t.While, t.AttrStmt)) else []


# -- side effects ----------------------------------------------------------------------------------------------------
# Side effects of PrimFuncs: writes to buffers of the caller, and calls with unknown effects.


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


# -- accesses --------------------------------------------------------------------------------------------------------
# Which parameters of a PrimFunc a call reads, and into which ones it stores.


class Accesses(NamedTuple):
    """The numbers of the parameters whose old elements a call reads, and of those into which it stores."""

    read: frozenset[int]
    stored: frozenset[int]


def accesses(fn: t.PrimFunc) -> Accesses | None:
    """The accesses of a PrimFunc. None if a view, a pointer or a call may reach memory that the parameters do not name.

    A parameter that is stored into before it is loaded, in the order of the text, is not read: what a reduction loads is its own.
    """
    return _ACCESSES.of(fn, _accesses)


_ACCESSES: PerNode[Accesses | None] = PerNode()


def _accesses(fn: t.PrimFunc) -> Accesses | None:
    places = {param: number for number, param in enumerate(fn.params) if isinstance(param, Buffer)}
    stored, read, written = overwritten(fn), set[int](), set[int]()
    for node in statements(fn.body):
        if type(node) is t.SBlock and node.match_buffers:
            return None
        for expr in subexpressions(*expressions(node)):
            place = places.get(expr.buffer, -1) if type(expr) is BufferLoad else -1
            if place >= 0 and place not in written:
                read.add(place)
        if type(node) is t.BufferStore and node.buffer in places:
            written.add(places[node.buffer])
    return Accesses(frozenset(read), stored) if written == stored else None


# -- signature -------------------------------------------------------------------------------------------------------
# The signature of a PrimFunc as StructInfo.


def prim_func_info(fn: PrimFunc) -> s.FuncStructInfo:
    """The signature of a PrimFunc. Buffers become tensors. Without a return type, the call fills its output buffers."""
    return _INFOS.of(fn, _prim_func_info)


_INFOS: PerNode[s.FuncStructInfo] = PerNode()


def _prim_func_info(fn: PrimFunc) -> s.FuncStructInfo:
    dims = [dim for param in fn.params if isinstance(param, Buffer) for dim in param.shape]
    lengths = frozenset(p.free_vars(*dims))
    params = tuple([_param_info(param, lengths) for param in fn.params])
    returns = (
        fn.ret_type is not None and fn.ret_type is not s.VOID
    )  # without a return type, the call fills buffers
    return s.FuncStructInfo(params, fn.ret_type or s.VOID, returns and not has_effect(fn))


def _param_info(param: Buffer | p.PrimVar, lengths: frozenset[p.PrimVar]) -> s.StructInfo:
    if isinstance(param, Buffer):
        dims = tuple([p.as_dim(dim) if dim.dtype.is_int else dim for dim in param.shape])
        return s.TensorStructInfo(dims, param.dtype)
    if param.dtype is HANDLE:
        return s.OBJECT  # a pointer to a tensor of unknown dtype and shape
    return s.PrimStructInfo(
        param.dtype, param if param in lengths else None
    )  # the name matters only in lengths
