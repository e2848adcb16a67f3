"""Derived columns of a function: numbered bindings, definitions and uses.

Facts are built on demand and cached as long as the function object lives, or until `forget`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain, count
from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.pauses import with_pauses
from relax_explorer.core.ir.walk import bindings, info_holders, operands, sequences

_FACTS: PerNode[Facts] = PerNode()


class Facts:
    """Columns indexed by binding number, in text order. The result of the function is a reader too: number `len(bindings)`."""

    def __init__(self, fn: e.Function) -> None:
        self.bindings: list[e.Binding] = list(bindings(fn))
        self.number: dict[e.Binding, int] = dict(zip(self.bindings, count(), strict=False))
        self.defs: dict[e.Var, int] = {b.var: i for i, b in enumerate(self.bindings) if b.var is not None}
        self.params: tuple[e.Var, ...] = fn.params
        self.operands: list[list[e.Var]] = [reads(binding) for binding in with_pauses(self.bindings)]
        self._result = variables(fn.body.body)

    @cached_property
    def uses(self) -> dict[e.Var, list[int]]:
        """The numbers of the readers of each variable. Many passes ask for operands only."""
        uses: dict[e.Var, list[int]] = {}
        for i, (binding, read) in enumerate(zip(self.bindings, self.operands, strict=True)):
            if type(binding.value) is e.Function:  # a nested function reads its own result
                read = list(dict.fromkeys((*read, *variables(binding.value.body.body))))
            for var in read:
                uses.setdefault(var, []).append(i)
        for var in self._result:
            uses.setdefault(var, []).append(len(self.bindings))
        return uses

    def users(self, var: e.Var) -> list[int]:
        """Numbers of the bindings that read `var`."""
        return self.uses.get(var, [])


def reads(binding: e.Binding) -> list[e.Var]:
    """Variables that a binding reads: in its value, and as shapes in its StructInfo, annotation and StructInfo arguments."""
    in_value = variables(binding.value)
    if _has_plain_infos(binding):
        return in_value
    in_info = _holders(binding)
    return list(dict.fromkeys((*in_value, *in_info))) if in_info else in_value


def add_read(binding: e.Binding, read: set[e.Expr]) -> None:
    """Add the variables that a binding reads to a set, and perhaps other leaves. This makes no list, as `reads` does."""
    value = binding.value
    if type(value) is e.Call and type(value.op) is e.OpRef and _has_plain_infos(binding):
        args = value.args
        if len(args) == 2 and type(args[1]) is e.Tuple:
            args = (args[0], *args[1].fields)  # of a kernel
        if e.LEAVES.issuperset(map(type, args)):  # most often
            read.update(args)
            return
    read.update(reads(binding))


def _has_plain_infos(binding: e.Binding) -> bool:
    """True if a binding has one StructInfo, which names no variable: mostly that of a tensor with a written shape."""
    var, annotation = binding.var, binding.annotation
    info = None if var is None else var.struct_info
    if info is None or not (_is_plain(info) or not info_holders(info)):
        return False
    if type(binding) is not e.VarBinding or not (annotation is None or annotation is info):
        return False
    value = binding.value
    return type(value) is not e.Call or not value.sinfo_args or value.sinfo_args == (info,)


def _holders(binding: e.Binding) -> list[e.Var]:
    """The variables that hold shapes in the StructInfos of a binding."""
    return [var for info in _infos(binding) for var in info_holders(info)]


def _infos(binding: e.Binding) -> list[s.StructInfo]:
    """The StructInfos of a binding that may name variables."""
    var, value = binding.var, binding.value
    infos = [] if var is None else [var.struct_info]
    if binding.annotation is not None:
        infos.append(binding.annotation)
    if type(binding) is e.MatchCast:
        infos.append(binding.struct_info)
    elif type(value) is e.Call and value.sinfo_args:
        infos.extend(value.sinfo_args)
    return [info for info in infos if info is not None and not _is_plain(info)]


def _is_plain(info: s.StructInfo) -> bool:
    return type(info) is s.TensorStructInfo and type(info.shape) is tuple  # most are


def variables(expr: e.Expr) -> list[e.Var]:
    """Variables that the value of a binding reads, in order, each once: operands, and results of branches."""
    if type(expr) is e.Call and type(expr.op) in _NAMELESS:
        args: tuple[Any, ...] = expr.args
        if len(args) == 2 and type(args[0]) is e.GlobalVar and type(args[1]) is e.Tuple:
            args = args[1].fields  # of a kernel
        if _VARIABLES.issuperset(map(type, args)):  # most often
            return list(dict.fromkeys(args)) if len(args) > 1 else list(args)
    read: dict[e.Var, None] = {}
    stack = [expr]
    while stack:
        node = stack.pop()
        if type(node) is e.Var or type(node) is e.DataflowVar:
            read[node] = None
            continue
        if type(node) is e.Call and type(node.op) in _NAMELESS:
            stack.extend([arg for arg in node.args[::-1] if type(arg) not in _NAMELESS])
            continue
        if type(node) is e.If:
            stack.extend([seq.body for seq in sequences(node)])
        elif type(node) is e.Function:
            read.update(dict.fromkeys(free_variables(node)))
        stack.extend(operands(node)[::-1])
    return list(read)


_VARIABLES = frozenset({e.Var, e.DataflowVar})
# Operands that read no variable.
_NAMELESS = e.LEAVES - {e.Var, e.DataflowVar}


def free_variables(fn: e.Function) -> list[e.Var]:
    """Variables that a function captures from its scope, in the order in which a run would read them."""
    if id(fn) not in _FREE:
        nested = [b.value for b in bindings(fn) if type(b.value) is e.Function]
        for each in (*reversed(nested), fn):  # functions inside of others come first
            _FREE.of(each, _free_variables)
    return list(_FREE[id(fn)])


_FREE: PerNode[tuple[e.Var, ...]] = PerNode()


def _free_variables(fn: e.Function) -> tuple[e.Var, ...]:
    """The captured variables of a function, where those of nested functions are known."""
    bound = set(fn.params)
    read: dict[e.Var, None] = dict.fromkeys(signature_holders(fn))
    stack = [_parts(fn.body)]
    while stack:
        for part in stack[-1]:
            if isinstance(part, e.Expr):  # the result of a sequence
                read.update(dict.fromkeys(variables(part)))
                continue
            value = part.value
            if part.var is not None:
                bound.add(part.var)
            if type(value) is e.If:
                read.update(dict.fromkeys(variables(value.condition)))
                read.update(dict.fromkeys(_holders(part)))
            else:
                read.update(dict.fromkeys(_FREE[id(value)] if type(value) is e.Function else reads(part)))
                continue
            stack.append(chain.from_iterable(map(_parts, sequences(value))))
            break
        else:
            stack.pop()
    return tuple([var for var in read if var not in bound])


def _parts(seq: e.SeqExpr) -> Iterator[e.Binding | e.Expr]:
    """The bindings of a sequence, and its result."""
    for block in seq.blocks:
        yield from block.bindings
    yield seq.body


def signature_holders(fn: e.Function) -> list[e.Var]:
    """Variables that hold the shapes which a call of `fn` compares with."""
    infos = (*[param.struct_info for param in fn.params], fn.ret_struct_info)
    return [var for info in infos if info is not None for var in info_holders(info)]


def facts(fn: e.Function) -> Facts:
    """The facts of `fn`, built once."""
    return _FACTS.of(fn, Facts)


def has_facts(fn: e.Function) -> bool:
    """True if the facts of `fn` were built, and not dropped."""
    return id(fn) in _FACTS


def forget(fn: e.Function) -> None:
    """Drop the facts of a function that is no longer worked on: they take as much memory as its bindings."""
    _FACTS.drop(fn)
