"""The shape heap of a function: a slot for each symbolic length, and PrimFuncs that compute lengths from others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.fold import substitute
from relax_explorer.core.ir.walk import bindings, operands, sequences
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad
from relax_explorer.core.tir.stmt import Buffer


class ShapeHeap:
    """The slots of a function, in the order in which the lengths occur, and those that hold a value so far."""

    def __init__(self, fn: e.Function) -> None:
        self.slots: dict[p.PrimExpr, int] = {}
        for length in _lengths(fn):
            for part in () if type(length) is p.IntImm else (length, *p.free_vars(length)):
                self.slots.setdefault(part, len(self.slots))
        self.known: set[p.PrimExpr] = set()  # those with a value at the current place
        self._missing: dict[p.PrimExpr, int] = {}  # how many variables of an expression have no value yet
        self._users: dict[p.PrimVar, list[p.PrimExpr]] = {}
        for length in self.slots:
            if type(length) is not p.PrimVar:
                variables = set(p.free_vars(length))
                self._missing[length] = len(variables)
                for var in variables:
                    self._users.setdefault(var, []).append(length)

    @property
    def size(self) -> int:
        """The number of slots."""
        return len(self.slots)

    def define(self, variables: Iterable[p.PrimVar]) -> list[p.PrimExpr]:
        """Note that variables have got their values. Returns the expressions that can be computed now, in the order of slots."""
        ready = []
        for var in variables:
            for user in self._users.get(var, ()):
                self._missing[user] -= 1
                if self._missing[user] == 0:
                    ready.append(user)
        self.known.update(ready)
        return sorted(ready, key=self.slots.__getitem__)

    def saved(self) -> tuple[set[p.PrimExpr], dict[p.PrimExpr, int]]:
        """What is known now, for `restore` after a branch."""
        return set(self.known), dict(self._missing)

    def restore(self, saved: tuple[set[p.PrimExpr], dict[p.PrimExpr, int]]) -> None:
        """Return to what was known before a branch."""
        self.known, self._missing = set(saved[0]), dict(saved[1])

    def function(self, lengths: list[p.PrimExpr]) -> t.PrimFunc:
        """A PrimFunc that computes lengths and writes them into their slots."""
        heap = Buffer("H", (p.IntImm(self.size, INT64),), INT64)
        loads: dict[p.PrimVar, p.PrimExpr] = {
            var: BufferLoad(heap, (p.IntImm(slot, INT64),))
            for var, slot in self.slots.items()
            if type(var) is p.PrimVar
        }
        stores = [
            t.BufferStore(heap, (p.IntImm(self.slots[length], INT64),), substitute(length, loads))
            for length in lengths
        ]
        body = stores[0] if len(stores) == 1 else t.SeqStmt(tuple(stores))
        return t.PrimFunc((heap,), body, attrs=Attrs({"tirx.is_host_func": True}))


def _lengths(fn: e.Function) -> Iterator[p.PrimExpr]:
    """The lengths that a function checks, binds or computes: parameters first, then bindings, then results."""
    for param in fn.params:
        yield from checked_lengths(param.struct_info)
    for binding in bindings(fn):
        if type(binding) is e.MatchCast:
            yield from _used(binding.value)
            yield from checked_lengths(binding.struct_info)
        elif type(binding.value) is not e.Call or not NO_LENGTHS.issuperset(map(type, binding.value.args)):
            yield from _used(binding.value)
            for branch in sequences(binding.value):
                yield from _used(branch.body)
    yield from _used(fn.body.body)
    yield from checked_lengths(fn.ret_struct_info)


NO_LENGTHS = frozenset({e.Var, e.DataflowVar, e.ExternFunc, e.StringImm, e.DataTypeImm})  # of a call


def _used(value: e.Expr) -> Iterator[p.PrimExpr]:
    todo = [value]
    while todo:
        item = todo.pop()
        if type(item) is e.ShapeExpr:
            yield from item.values
        elif type(item) is e.PrimValue and item.value.dtype is INT64 and not item.value.is_literal:
            yield item.value
        elif type(item) is not e.If and type(item) is not e.Function:
            todo.extend(operands(item)[::-1])


def checked_lengths(info: s.StructInfo | None) -> Iterator[p.PrimExpr]:
    """The lengths that a value of this StructInfo is compared with at run time."""
    if isinstance(info, s.TensorStructInfo):
        yield from info.dims or ()
    elif isinstance(info, s.ShapeStructInfo):
        yield from info.values or ()
    elif isinstance(info, s.PrimStructInfo) and info.value is not None and info.dtype is INT64:
        yield info.value
    elif isinstance(info, s.TupleStructInfo):
        for field in info.fields:
            yield from checked_lengths(field)
