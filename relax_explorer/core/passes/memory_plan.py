"""A plan for the memory of tensors: which allocations of a block may use one storage.

An allocation lives from its binding to its last use in the same block. Its memory is planned only if everything that may use it is
known: kernels and operators of the same block. Results, branches and unknown functions may keep it longer.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.facts import facts, reads, variables
from relax_explorer.core.ir.fold import substitute
from relax_explorer.core.ir.walk import sequences
from relax_explorer.core.ops import find
from relax_explorer.core.passes.machine_calls import is_allocation
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc

MATCH_RANGE = 16  # a storage is reused for a tensor at most so many times larger or smaller
_ALIASES = ("relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset")


@dataclass(eq=False, slots=True)
class Storage:
    """Memory that several tensors use one after the other; `size` in bytes is that of the largest."""

    size: p.PrimExpr
    dtype: DType
    place: tuple[e.Expr, e.Expr]  # device and scope


@dataclass(eq=False, slots=True)
class _Tensor:
    """An allocated tensor: the block that allocates it, and the number of uses in this block."""

    binding: e.Binding
    block: e.BindingBlock
    uses: int = 0
    is_planned: bool = True


@dataclass(slots=True)
class Plan:
    """The storage of each planned allocation, by its binding."""

    storages: dict[e.Binding, Storage] = field(default_factory=dict)


def plan(fn: e.Function, module: IRModule) -> Plan:
    """Plan the memory of all allocations in a function whose lives are known."""
    lives = _Lives(fn, module)
    if not lives.tensors:
        return Plan()
    result = Plan()
    bounds = _upper_bounds(fn)
    for block in lives.blocks:
        _Block(lives, result, bounds).run(block)
    return result


class _Lives:
    """The tensors that each variable may use, found by a walk over all blocks."""

    def __init__(self, fn: e.Function, module: IRModule) -> None:
        self.module, self.fn = module, fn
        self.tensors: dict[e.Var, tuple[_Tensor, ...]] = {}
        self.fields: dict[e.Var, tuple[e.Expr, ...]] = {}  # those of tuples
        self.blocks: list[e.BindingBlock] = []
        self._sequence(fn.body)

    def _sequence(self, seq: e.SeqExpr) -> None:
        for block in seq.blocks:
            self.blocks.append(block)
            for binding in block.bindings:
                self._binding(binding, block)
        self._discard(variables(seq.body))

    def _binding(self, binding: e.Binding, block: e.BindingBlock) -> None:
        value = binding.value
        if is_allocation(value) and binding.var is not None:
            self.tensors[binding.var] = (_Tensor(binding, block),)
            return
        inner = sequences(value)
        if inner:
            self._discard(variables(value))
            for seq in inner:
                self._sequence(seq)
            return
        if not self.tensors:  # as in a module whose memory is planned already
            self._note_fields(binding)
            return
        found = self._found(binding)
        for tensor in found:
            if tensor.block is not block:
                tensor.is_planned = False
        if found and binding.var is not None and self.keeps(binding):
            self.tensors[binding.var] = found
        elif type(value) is not e.Call or not self._is_known(binding, value):
            self._discard(reads(binding))
        for tensor in self.used(value):
            tensor.uses += 1

    def _found(self, binding: e.Binding) -> tuple[_Tensor, ...]:
        """The tensors that a binding reads. For a field of a known tuple, those of the field."""
        value = binding.value
        self._note_fields(binding)
        field = self._field(value) if type(value) is e.TupleGetItem else None
        read = reads(binding) if field is None else variables(field)
        return tuple(dict.fromkeys(self._of(read)))

    def _note_fields(self, binding: e.Binding) -> None:
        if type(binding.value) is e.Tuple and binding.var is not None:
            self.fields[binding.var] = binding.value.fields

    def _field(self, item: e.TupleGetItem) -> e.Expr | None:
        """The field of a known tuple. A field that is not there is reported by inference."""
        fields = self.fields.get(item.tuple, ()) if isinstance(item.tuple, e.Var) else ()
        return fields[item.index] if 0 <= item.index < len(fields) else None

    def used(self, value: e.Expr) -> Iterator[_Tensor]:
        """The tensors that a call uses, each as often as it is an operand."""
        if type(value) is e.Call:
            for arg in value.args:
                yield from self._of(variables(arg))

    def keeps(self, binding: e.Binding) -> bool:
        """True if the variable of a binding stands for its operands: copies, tuples, fields, casts and views."""
        value = binding.value
        if type(binding) is e.MatchCast or type(value) is not e.Call:
            return True
        return type(value.op) is e.OpRef and value.op.name in _ALIASES

    def _is_known(self, binding: e.Binding, call: e.Call) -> bool:
        """True if a call uses its operands only while it runs."""
        op = call.op
        if type(op) is e.GlobalVar:
            return isinstance(self.module.functions.get(op.name), PrimFunc)
        if type(op) is e.ExternFunc:  # its result may use the memory of an operand
            return binding.var is None or not facts(self.fn).users(binding.var)
        declared = find(op.name) if type(op) is e.OpRef else None
        return declared is not None and not declared.shares and not declared.writes

    def _discard(self, read: list[e.Var]) -> None:
        for tensor in self._of(read):
            tensor.is_planned = False

    def _of(self, read: list[e.Var]) -> Iterator[_Tensor]:
        for var in read:
            yield from self.tensors.get(var, ())


class _Block:
    """Plans one block: storages that are free at the current binding, by dtype, device and scope."""

    def __init__(self, lives: _Lives, result: Plan, bounds: dict[p.PrimVar, p.PrimExpr]) -> None:
        self.lives, self.result, self.bounds = lives, result, bounds
        self.free: dict[object, list[tuple[int, int, Storage]]] = {}  # those of known size, sorted by it
        self.symbolic: dict[object, list[Storage]] = {}
        self.left: dict[_Tensor, int] = {}
        self.released = 0

    def run(self, block: e.BindingBlock) -> None:
        """Give each planned allocation of a block a storage."""
        for binding in block.bindings:
            tensors = self.lives.tensors.get(binding.var, ()) if binding.var is not None else ()
            if is_allocation(binding.value) and tensors and tensors[0].is_planned:
                self.result.storages[binding] = self._request(binding.value)
                self.left[tensors[0]] = tensors[0].uses
                continue
            for tensor in self.lives.used(binding.value):
                if tensor in self.left:
                    self.left[tensor] -= 1
                    if self.left[tensor] == 0:
                        del self.left[tensor]
                        self._release(self.result.storages[tensor.binding])

    def _request(self, call: e.Call) -> Storage:
        lengths, dtype, device, scope = call.args
        assert isinstance(lengths, e.ShapeExpr)  # inference refuses other operands
        assert isinstance(dtype, e.DataTypeImm)
        size = _bytes(lengths.values, dtype.value, self.bounds)
        key = _key(dtype.value, (device, scope))
        if isinstance(size, p.IntImm):
            found = self._of_size(size.value, self.free.get(key, []))
            if found is not None:
                storage, known = found
                storage.size = p.IntImm(max(size.value, known), INT64)
                return storage
        else:
            for number, storage in enumerate(self.symbolic.get(key, ())):
                if storage.size is size:
                    return self.symbolic[key].pop(number)
        return Storage(size, dtype.value, (device, scope))

    def _of_size(self, size: int, free: list[tuple[int, int, Storage]]) -> tuple[Storage, int] | None:
        """The smallest free storage that is large enough, else the largest one, with its size; neither far from `size`."""
        place = bisect_left(free, (size, -1))
        if place == len(free) or free[place][0] > size * MATCH_RANGE:
            place -= 1
        if place < 0 or free[place][0] < size // MATCH_RANGE:
            return None
        known, _, storage = free.pop(place)
        return storage, known

    def _release(self, storage: Storage) -> None:
        key = _key(storage.dtype, storage.place)
        if isinstance(storage.size, p.IntImm):
            self.released += 1  # of equal sizes, the one that was released first comes first
            insort(self.free.setdefault(key, []), (storage.size.value, self.released, storage))
        else:
            self.symbolic.setdefault(key, []).append(storage)


def _key(dtype: DType, place: tuple[e.Expr, e.Expr]) -> object:
    device, scope = place
    return dtype, getattr(device, "value", device), getattr(scope, "value", scope)


def _bytes(lengths: tuple[p.PrimExpr, ...], dtype: DType, bounds: dict[p.PrimVar, p.PrimExpr]) -> p.PrimExpr:
    """The size of a tensor in bytes, the number in front of the symbolic lengths."""
    factor = (dtype.bits * dtype.lanes + 7) // 8
    rest: list[p.PrimExpr] = []
    for length in lengths:
        known = simplify(substitute(length, bounds)) if bounds else length
        if isinstance(known, p.IntImm):
            factor *= known.value
        else:
            rest.append(known)
    number = p.IntImm(factor, INT64)
    if not rest or factor == 0:
        return number
    product = rest[0]
    for length in rest[1:]:
        product = product * length
    return simplify(product * number) if _has_sum(product) else number * product


def _has_sum(expr: p.PrimExpr) -> bool:
    todo = [expr]
    while todo:
        item = todo.pop()
        if type(item) not in (p.Mul, p.PrimVar, p.IntImm):
            return True
        todo.extend(getattr(item, name) for name in item.operands)
    return False


def _upper_bounds(fn: e.Function) -> dict[p.PrimVar, p.PrimExpr]:
    """The largest values of shape variables, from the attribute `tir_var_upper_bound`."""
    stated = fn.attrs.get("tir_var_upper_bound")
    if not stated:
        return {}
    found: dict[p.PrimVar, p.PrimExpr] = {}
    for param in fn.params:
        for var in p.free_vars(*_dims(param.struct_info)):
            if var.name in stated:
                found[var] = p.IntImm(int(stated[var.name]), INT64)
    return found


def _dims(info: s.StructInfo | None) -> tuple[p.PrimExpr, ...]:
    if isinstance(info, s.TensorStructInfo):
        return info.dims or ()
    if isinstance(info, s.ShapeStructInfo):
        return info.values or ()
    if isinstance(info, s.TupleStructInfo):
        return tuple([dim for field_ in info.fields for dim in _dims(field_)])
    return ()
