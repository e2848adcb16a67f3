"""A plan for the memory of tensors: which allocations of a block may use one storage.

An allocation lives from its binding to its last use in the same block. Its memory is planned only if everything that may use it is
known: kernels and operators of the same block. Results, branches and unknown functions may keep it longer. A branch uses storages
that are free around it. Its own ones end with it, for only it allocates them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import reduce

from relax_explorer.core.arith.bounds import bounds
from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.check.cache_effects import only_reads
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType
from relax_explorer.core.ir.facts import facts, reads, variables
from relax_explorer.core.ir.fold import substitute
from relax_explorer.core.ir.walk import sequences
from relax_explorer.core.ops import find
from relax_explorer.core.phases.machine_calls import is_allocation
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc

DYNAMIC_RESULTS = "relax.memory_plan_dynamic_func_output"
"""The attribute of a function that asks for storages of results of symbolic lengths, too."""
MATCH_RANGE = 16  # a storage is reused for a tensor at most so many times larger or smaller
_ALIASES = ("relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset", "vm.builtin.reshape")


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


def plan(fn: e.Function, module: IRModule, as_tvm: bool) -> Plan:
    """Plan the memory of all allocations in a function whose lives are known, or that TVM takes for known."""
    lives = _Lives(fn, module, as_tvm)
    if not lives.tensors:
        return Plan()
    result = Plan()
    largest = _upper_bounds(fn)
    for block in lives.blocks:
        _Pool(lives, result, largest).plan(block)
    if fn.attrs.get(DYNAMIC_RESULTS):
        _plan_dynamic(lives, result, largest)
    return result


def _plan_dynamic(lives: _Lives, result: Plan, largest: dict[p.PrimVar, p.PrimExpr]) -> None:
    """Give each other tensor of symbolic lengths a storage of its own, so that its memory is as large as any run needs."""
    for tensors in lives.tensors.values():
        for binding in [tensor.binding for tensor in tensors if tensor.binding not in result.storages]:
            assert isinstance(binding.value, e.Call)  # an allocation
            shape = binding.value.args[0]
            if isinstance(shape, e.ShapeExpr) and not all(type(dim) is p.IntImm for dim in shape.values):
                lengths, dtype, place = _operands(binding.value.args)
                most = [_at_most(dim, largest) for dim in lengths]
                size = reduce(_times, [*most, p.IntImm(_width(dtype), INT64)])
                result.storages[binding] = Storage(size, dtype, place)


def _times(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    return p.IntImm(a.value * b.value, INT64) if type(a) is p.IntImm and type(b) is p.IntImm else a * b


class _Lives:
    """The tensors that each variable may use, found by a walk over all blocks."""

    def __init__(self, fn: e.Function, module: IRModule, as_tvm: bool) -> None:
        self.module, self.fn, self.as_tvm = module, fn, as_tvm
        self.tensors: dict[e.Expr, tuple[_Tensor, ...]] = {}  # by variables
        self.used: dict[e.Binding, list[_Tensor]] = {}  # by each call, as often as it is an operand
        self.fields: dict[e.Var, tuple[e.Expr, ...]] = {}  # those of tuples
        self.blocks: list[e.BindingBlock] = []  # without those of branches
        self._sequence(fn.body, False)

    def _sequence(self, seq: e.SeqExpr, is_branch: bool) -> None:
        for block in seq.blocks:
            if not is_branch:
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
                self._sequence(seq, type(value) is e.If)
            return
        self._note_fields(binding)
        if self.tensors:  # not in a module whose memory is planned already
            self._read(binding, block)

    def _read(self, binding: e.Binding, block: e.BindingBlock) -> None:
        """Note the tensors that a binding reads. For a field of a known tuple, those of the field."""
        value = binding.value
        field, read = self._field(value), reads(binding)
        found = tuple(dict.fromkeys(self._of(read if field is None else variables(field))))
        if not found:  # nor is anything used
            return
        for tensor in found if type(value) is e.Call else ():  # others read no element
            if tensor.block is not block:
                tensor.is_planned = False
        if binding.var is not None and self.keeps(binding):
            self.tensors[binding.var] = found
        elif field is None and not self._is_known(binding):
            self._discard(read)
        if type(value) is e.Call:
            used = self.used[binding] = [tensor for arg in value.args for tensor in self._of_operand(arg)]
            for tensor in used:
                tensor.uses += 1

    def _note_fields(self, binding: e.Binding) -> None:
        if type(binding.value) is e.Tuple and binding.var is not None:
            self.fields[binding.var] = binding.value.fields

    def _field(self, item: e.Expr) -> e.Expr | None:
        """The field that is taken of a known tuple. A field that is not there is reported by inference."""
        if not isinstance(item, e.TupleGetItem):
            return None
        fields = self.fields.get(item.tuple, ()) if isinstance(item.tuple, e.Var) else ()
        return fields[item.index] if 0 <= item.index < len(fields) else None

    def _of_operand(self, arg: e.Expr) -> Iterable[_Tensor]:
        return self.tensors.get(arg, ()) if type(arg) in e.LEAVES else self._of(variables(arg))

    def keeps(self, binding: e.Binding) -> bool:
        """True if the variable of a binding stands for its operands: copies, tuples, fields, casts and views."""
        value = binding.value
        if type(binding) is e.MatchCast or type(value) is not e.Call:
            return True
        return isinstance(value.op, e.OpRef | e.ExternFunc) and value.op.name in _ALIASES

    def _is_known(self, binding: e.Binding) -> bool:
        """True for a call that uses its operands only while it runs."""
        call = binding.value
        op = call.op if type(call) is e.Call else None
        if type(op) is e.GlobalVar:
            return isinstance(self.module.functions.get(op.name), PrimFunc)
        if type(call) is e.Call and type(op) is e.ExternFunc:  # its result may use the memory of an operand
            return (
                self.as_tvm
                or only_reads(call)
                or binding.var is None
                or not facts(self.fn).users(binding.var)
            )
        declared = find(op.name) if type(op) is e.OpRef and not self.as_tvm else None
        return declared is not None and not declared.shares and not declared.writes

    def _discard(self, read: list[e.Var]) -> None:
        for tensor in self._of(read):
            tensor.is_planned = False

    def _of(self, read: list[e.Var]) -> Iterator[_Tensor]:
        for var in read:
            yield from self.tensors.get(var, ())


class _Pool:
    """The storages that are free at the current binding, by dtype, device and scope."""

    def __init__(self, lives: _Lives, result: Plan, largest: dict[p.PrimVar, p.PrimExpr]) -> None:
        self.lives, self.result, self.largest = lives, result, largest
        self.free: dict[object, list[tuple[int, int, Storage]]] = {}  # those of known size, sorted by it
        self.symbolic: dict[object, dict[object, list[Storage]]] = {}  # by the value of the size
        self.sizes: dict[tuple[tuple[p.PrimExpr, ...], DType], p.PrimExpr] = {}  # by lengths and dtype
        self.values: dict[
            p.PrimExpr, object
        ] = {}  # equal for sizes that are equal in every run, as far as their canonical forms tell
        self.left: dict[_Tensor, int] = {}
        self.released = 0
        self.made = set[Storage]()  # by the branch that is planned

    def plan(self, block: e.BindingBlock) -> None:
        """Give each planned allocation of a block a storage."""
        for binding in block.bindings:
            tensors = self.lives.tensors.get(binding.var, ()) if binding.var is not None else ()
            if is_allocation(binding.value) and tensors and tensors[0].is_planned:
                self.result.storages[binding] = self._request(binding.value)
                self.left[tensors[0]] = tensors[0].uses
            elif type(binding.value) is e.If:
                for branch in sequences(binding.value):
                    self._branch(branch)
            else:
                self._use(binding)

    def _branch(self, seq: e.SeqExpr) -> None:
        """Plan a branch with the free storages, to which its own ones do not belong behind it."""
        around, self.made = self.made, set()
        for block in seq.blocks:
            self.plan(block)
        for key in {_key(storage.dtype, storage.place) for storage in self.made}:
            self.free[key] = [item for item in self.free.get(key, []) if item[2] not in self.made]
            for storages in self.symbolic.get(key, {}).values():
                storages[:] = [storage for storage in storages if storage not in self.made]
        self.made = around

    def _use(self, binding: e.Binding) -> None:
        for tensor in self.lives.used.get(binding, ()) if self.left else ():
            if tensor in self.left:
                self.left[tensor] -= 1
                if self.left[tensor] == 0:
                    del self.left[tensor]
                    self._release(self.result.storages[tensor.binding])

    def _request(self, call: e.Call) -> Storage:
        new = self._storage(call.args)
        size, key = new.size, _key(new.dtype, new.place)
        if isinstance(size, p.IntImm):
            found = self._of_size(size.value, self.free.get(key, []))
            if found is not None:
                storage, known = found
                storage.size = p.IntImm(max(size.value, known), INT64)
                return storage
        elif fitting := self.symbolic.get(key, {}).get(self.values[size]):
            return fitting.pop(0)
        self.made.add(new)
        return new

    def _storage(self, args: tuple[e.Expr, ...]) -> Storage:
        """A new storage for an allocation with these operands. The sizes of equal shapes are found once."""
        values, dtype, place = _operands(args)
        size = self.sizes.get((values, dtype))
        if size is None:
            size = self.sizes[values, dtype] = _bytes(values, dtype, self.largest)
            self.values[size] = frozenset(CANONICAL.polynomial(size).items())
        return Storage(size, dtype, place)

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
            self.symbolic.setdefault(key, {}).setdefault(self.values[storage.size], []).append(storage)


def _operands(
    args: tuple[e.Expr, ...],
) -> tuple[tuple[p.PrimExpr, ...], DType, tuple[e.Expr, e.Expr]]:
    """The lengths, the dtype, and the place (device and scope) of an allocation with these operands."""
    lengths, dtype, device, scope = args
    assert isinstance(lengths, e.ShapeExpr)  # inference refuses other operands
    assert isinstance(dtype, e.DataTypeImm)
    return lengths.values, dtype.value, (device, scope)


def _key(dtype: DType, place: tuple[e.Expr, e.Expr]) -> object:
    device, scope = place
    return dtype, getattr(device, "value", device), getattr(scope, "value", scope)


def _bytes(lengths: tuple[p.PrimExpr, ...], dtype: DType, largest: dict[p.PrimVar, p.PrimExpr]) -> p.PrimExpr:
    """The size of a tensor in bytes at most, the number in front of the symbolic lengths."""
    factor = _width(dtype)
    rest: list[p.PrimExpr] = []
    for length in lengths:
        known = _at_most(length, largest)
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
    return product if factor == 1 else number * product


def _width(dtype: DType) -> int:
    return (dtype.bits * dtype.lanes + 7) // 8


def _at_most(length: p.PrimExpr, largest: dict[p.PrimVar, p.PrimExpr]) -> p.PrimExpr:
    """A length, or a number that it never exceeds, or a length that is no smaller and has fewer variables."""
    if isinstance(length, p.IntImm) or (isinstance(length, p.PrimVar) and length not in largest):
        return length
    limited = substitute(length, {var: p.Min(var, most) for var, most in largest.items()})
    most = bounds(limited)[1]
    if isinstance(length, p.FloorMod) and isinstance(length.b, p.IntImm) and length.b.value > 0:
        most = length.b.value - 1
    if most is not None:
        return p.IntImm(max(most, 0), INT64)
    if not largest:
        return length
    rises = all(
        factor >= 0 and all(isinstance(atom, p.PrimVar) for atom in atoms)
        for atoms, factor in CANONICAL.polynomial(length).items()
    )
    return substitute(length, largest) if rises else length


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
