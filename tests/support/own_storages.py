"""TVM's plans of memory with storages that end with the scope that allocates them, which is what we promise instead.

A plan is changed in one respect at a time, and stays as it is in all others: storages of nested functions, of branches, and of
values that a nested function captures.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ir.facts import free_variables, variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, map_blocks, map_sequences, sequences
from relax_explorer.core.program.module import IRModule

_STORAGE, _TENSOR = e.op_ref("relax.memory.alloc_storage"), e.op_ref("relax.memory.alloc_tensor")
_ALONE = e.op_ref("relax.builtin.alloc_tensor")


@dataclass(eq=False)
class _Storage:
    """A storage of the new plan, with the one that it takes the place of, and its tensors."""

    var: e.Var
    tensors: list[e.Var] = field(default_factory=list)


def with_own_storages(module: IRModule, of: str) -> IRModule:
    """The module whose nested functions (`nested`) or branches (`branches`) use no storage that is allocated elsewhere.

    A nested function uses none of the function around it, and what a branch allocates is used in it only: another use allocates a
    storage that is as large as its tensors. With `captured`, tensors that nested functions capture are in no storage.
    """
    functions = dict(module.functions)
    for name, fn in module.relax_functions.items():
        functions[name] = _Plan(fn, of).changed()
    same = all(functions[name] is fn for name, fn in module.functions.items())
    return module if same else module.having(functions)


class _Plan:
    """The plan of one function, whose storages are allocated right before the first tensor that is in them."""

    def __init__(self, fn: e.Function, of: str) -> None:
        self.fn, self.of = fn, of
        made = [b for b in bindings(fn) if type(b.value) is e.Call]
        values: dict[Any, Any] = {b.var: b.value for b in made}
        self.calls = {var: call for var, call in values.items() if call.op is _STORAGE}
        self.tensors = {var: call for var, call in values.items() if call.op is _TENSOR}
        self.alone = _captured(fn) & self.tensors.keys() if of == "captured" else set[e.Var]()
        self.storages: dict[Any, _Storage] = {}  # of tensors

    def changed(self) -> e.Function:
        """The function; the same object if nothing is to be changed."""
        self._visit(self.fn.body, {})
        old = {storage.var for storage in self.storages.values()}
        if not self.alone and len(old) == len({*self.storages.values()}):
            return self.fn
        emitted: dict[_Storage, e.Var] = {}
        body = self._emitted(self.fn.body, emitted)
        return replace(self.fn, body=body)

    def _visit(self, seq: e.SeqExpr, visible: dict[e.Var, _Storage]) -> None:
        """Give each tensor its storage among those `visible`."""
        for binding in [binding for block in seq.blocks for binding in block.bindings]:
            tensor: Any = binding.var
            value: Any = binding.value
            if type(value) is e.Function:
                self._visit(value.body, {} if self.of == "nested" else visible)
            elif type(value) is e.If:
                for branch in sequences(value):
                    self._visit(branch, dict(visible) if self.of == "branches" else visible)
            elif tensor in self.tensors and tensor not in self.alone:
                var = self.tensors[tensor].args[0]
                storage = visible.setdefault(var, _Storage(var))
                storage.tensors.append(tensor)
                self.storages[tensor] = storage

    def _emitted(self, seq: e.SeqExpr, emitted: dict[_Storage, e.Var]) -> e.SeqExpr:
        return map_blocks(seq, partial(self._binding, emitted))

    def _binding(
        self, emitted: dict[_Storage, e.Var], binding: e.Binding
    ) -> e.Binding | tuple[e.Binding, ...]:
        if binding.var in self.calls:
            return ()
        if binding.var in self.alone:
            return replace(binding, value=self._alone(self.tensors[binding.var]))
        if binding.var not in self.tensors:
            return map_sequences(binding, lambda seq: self._emitted(seq, emitted))
        storage, call, front = self.storages[binding.var], self.tensors[binding.var], list[e.Binding]()
        if storage not in emitted:
            var = emitted[storage] = e.Var("storage", s.OBJECT)
            front = [e.VarBinding(var, self._storage(storage))]
        return (*front, replace(binding, value=replace(call, args=(emitted[storage], *call.args[1:]))))

    def _storage(self, storage: _Storage) -> e.Call:
        """The call that allocates a storage: TVM's, as large as its tensors if it has some of them only."""
        call: e.Call = self.calls[storage.var]
        of_old = [tensor for tensor, value in self.tensors.items() if value.args[0] is storage.var]
        sizes = [_size(self.tensors[tensor]) for tensor in storage.tensors]
        if len(of_old) == len(storage.tensors) or None in sizes:
            return call
        size = max(size for size in sizes if size is not None)
        shape = e.ShapeExpr((p.IntImm(size, INT64),), None)
        return replace(call, args=(shape, *call.args[1:-1], self.tensors[storage.tensors[0]].args[3]))

    def _alone(self, call: Any) -> e.Call:
        """A tensor in no storage."""
        storage = self.calls[call.args[0]]
        return e.Call(
            _ALONE,
            (call.args[2], call.args[3], call.args[4], storage.args[2]),
            sinfo_args=(call.struct_info,),
        )


def _size(call: Any) -> int | None:
    """How many bytes a tensor has; None if its lengths are not numbers."""
    lengths, dtype = call.args[2].values, call.args[3].value
    return (
        prod(n.value for n in lengths) * ((dtype.bits * dtype.lanes + 7) // 8)
        if all(type(n) is p.IntImm for n in lengths)
        else None
    )


def _captured(fn: e.Function) -> set[e.Var]:
    """The variables that nested functions capture, and those whose values they may hold."""
    held: dict[e.Var | None, set[e.Var]] = {}
    captured: set[e.Var] = set()
    for binding in bindings(fn):
        if type(binding.value) is e.Function:
            captured.update(free_variables(binding.value))
        elif type(binding.value) in (e.Tuple, e.TupleGetItem, e.Var):
            held[binding.var] = {*variables(binding.value)}
    found, todo = set[e.Var](), list(captured)
    while todo:
        var = todo.pop()
        if var not in found:
            found.add(var)
            todo += held.get(var, ())
    return found
