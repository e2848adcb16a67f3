"""Planned memory: no write may destroy the elements of another tensor in the same storage that are read later.

Each function is followed once, in the order of a run, with the tensors that each variable shows: copies, casts, reshapes, views, tuples,
their fields, and results of branches and of functions show those of their operands. A kernel writes the parameters that it stores into.
What a packed function gets without elements it fills, as the results that lowering allocates for it; everything else it reads.

What is reported happens in each run that takes the named branches, unless one of the two tensors is empty, or a kernel with branches skips its
store. What is not reported is proved only as far as bytes are known: two tensors at symbolic offsets are compared by arithmetic,
and no overlap is assumed where that tells nothing. The same holds of views at unknown offsets, results of unknown functions, objects that may be
one storage under two names, and what a nested function captures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from relax_explorer.core.check import storage as calls
from relax_explorer.core.check.call_graph import Callees, call_graph, components, is_recursive
from relax_explorer.core.check.same_memory import accesses_alike
from relax_explorer.core.check.storage import (
    ALWAYS,
    NOWHERE,
    Fields,
    Held,
    Loss,
    Storage,
    Tensor,
    Value,
    Views,
    When,
    choice,
    excluded,
    field_of,
    held,
    overlap,
    pairs,
    parameter,
    shown,
)
from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.diagnostics import Diagnostic, Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dataflow import Analysis, solve
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.walk import contents, sequences
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.program.new_bindings import NewBindings
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import accesses

# -- memory walk -----------------------------------------------------------------------------------------------------
# Follows one function of a planned module in the order of a run: what each binding writes, reads and shows.


_LOSSES = 8  # of one tensor, depending on branches
_WRITES = 64  # writes of a function into storages of its caller
_DEEP = 50  # tuples in tuples that are written in one expression


@dataclass(slots=True)
class Summary:
    """What a call of a function does with the memory of its parameters."""

    params: tuple[Value, ...]
    result: Value = None
    reads: dict[Tensor, None] = field(default_factory=dict)  # parameters
    writes: dict[Tensor, None] = field(default_factory=dict)  # parameters
    placed: dict[Tensor, e.Binding] = field(
        default_factory=dict
    )  # tensors in storages of the caller, with a write
    later: dict[tuple[Tensor, Tensor], tuple[e.Binding, object]] = field(default_factory=dict)
    """A tensor in a storage of the caller and a parameter that is read after the write to it, with both places."""

    def key(self) -> tuple[int, ...]:
        """Equal for summaries that say the same, as they grow."""
        shown = sum(1 for _ in held(self.result))
        return len(self.reads), len(self.writes), len(self.placed), len(self.later), shown


class _Order(NamedTuple):
    """The numbers of the parameters that a kernel reads, of those into which it stores, and of those that it only reads."""

    read: list[int]
    stored: list[int]
    only_read: list[int]


def _order(fn: PrimFunc) -> _Order | None:
    known = accesses(fn)
    if known is None:
        return None
    return _Order(sorted(known.read), sorted(known.stored), sorted(known.read - known.stored))


_ORDERS: PerNode[_Order | None] = PerNode()


class MemoryWalk:
    """The walk through one function. `summaries` has those of the functions that it calls, as far as they are known."""

    def __init__(self, module: IRModule, fn: e.Function, summaries: dict[str, Summary]) -> None:
        self._module, self._summaries = module, summaries
        self._values: dict[e.Var, Value] = {}
        self._when = ALWAYS
        self._found: dict[Loss, None] = {}
        self._lost = 0  # losses so far, also of what is not read again
        self._heap = calls.Lengths()
        self._callees = Callees()
        params = tuple([parameter(param.name, param.struct_info) for param in fn.params])
        self._values.update(zip(fn.params, params, strict=True))
        self._own = Summary(params)
        self._given = {item for param in params for item, _ in pairs(param, None)}
        solve(Analysis(self._transfer, self._enter, self._join), fn.body, ALWAYS)
        self._when = ALWAYS
        self._own.result = self._value(fn.body.body)
        self._given = set()  # the caller itself sees what is done with parameters that come back
        self._read(self._own.result, fn.body.body)

    def summary(self) -> Summary:
        """What a call of the function does with its parameters."""
        return self._own

    def losses(self) -> list[Loss]:
        """The writes that destroyed something that was read afterwards."""
        return list(self._found)

    def _transfer(self, when: When, binding: e.Binding) -> When:
        """Follow a binding in runs that take some branches. That of an If is followed by `_join`."""
        value, self._when = binding.value, when
        if type(value) is e.Call:
            self._bind(binding, self._call(value, binding))
        elif type(value) is not e.If:
            self._callees.note(binding)
            self._bind(binding, self._value(value))
        return when

    def _enter(self, when: When, binding: e.Binding) -> Iterator[tuple[e.SeqExpr, When]]:
        """The branches of an If that a run may come to."""
        if type(binding.value) is e.If:
            self._when, key = when, _key(binding)
            self._read(self._value(binding.value.condition), binding)
            for side, branch in zip((True, False), sequences(binding.value), strict=True):
                if (key, not side) not in when:
                    yield branch, when | {(key, side)}

    def _join(self, when: When, binding: e.Binding, ends: list[When]) -> When:
        if type(binding.value) is e.If:
            results = [self._value(branch.body) for branch in sequences(binding.value)]
            self._bind(binding, choice(_key(binding), *results))
        return when

    def _bind(self, binding: e.Binding, value: Value) -> None:
        if binding.var is None or binding.var.struct_info is s.VOID:
            return
        if value is None and isinstance(binding.var.struct_info, (s.TupleStructInfo, s.ObjectStructInfo)):
            value = Storage(binding.var.name)
        self._values[binding.var] = value

    def _value(self, expr: e.Expr, depth: int = 0) -> Value:
        """The memory of an operand."""
        if isinstance(expr, e.Var):
            return self._values.get(expr)
        if type(expr) is e.Tuple and depth < _DEEP:
            return Fields(tuple([self._value(item, depth + 1) for item in expr.fields]))
        if type(expr) is e.TupleGetItem and depth < _DEEP:
            return field_of(self._value(expr.tuple, depth + 1), expr.index)
        return None

    def _call(self, call: e.Call, binding: e.Binding) -> Value:
        if type(call.op) is e.GlobalVar:
            fn = self._module.functions.get(call.op.name)
            if type(fn) is PrimFunc:  # most often
                return self._kernel(fn, [self._value(arg) for arg in call.args], binding)
            return self._called(call, call.args, binding)
        name, args = calls.spread(call, self._callees)
        if name in calls.NO_ACCESS:
            self._heap.note(name, args, binding)
            return None
        rule = _RULES.get(name) if args else None
        return self._called(call, args, binding) if rule is None else rule(self, name, args, binding)

    def _called(self, call: e.Call, args: tuple[e.Expr, ...], binding: e.Binding) -> Value:
        """Follow a call of an operator, a kernel, a function of the module, or of unknown code."""
        callee, values = calls.callee(call, self._callees), [self._value(arg) for arg in args]
        fn = self._module.functions.get(callee.name) if isinstance(callee, e.GlobalVar) else None
        if type(fn) is PrimFunc and not calls.is_wrapped(call):
            return self._kernel(fn, values, binding)
        if isinstance(callee, e.GlobalVar) and type(fn) is e.Function:
            return self._function(callee.name, values, binding)
        if calls.is_wrapped(call):  # its results are new
            for value in values:
                self._read(value, binding)
            return self._in_place(call, values, binding)
        if type(callee) is e.OpRef:
            for value in values:
                self._read(value, binding)
            return None
        self._packed(values, binding)
        return None

    def _in_place(self, call: e.Call, values: list[Value], binding: e.Binding) -> Value:
        """The result of a call that overwrites some of its arguments."""
        places = call.attrs.get("inplace_indices") or ()
        whole = values[0] if len(values) == 1 and isinstance(values[0], Fields) else None
        args = list(whole.values) if isinstance(whole, Fields) else values
        results = [args[place] if 0 <= place < len(args) else None for place in places]
        for value in results:
            self._write(value, binding)
        return results[0] if len(results) == 1 else Fields(tuple(results)) if results else None

    def _storage(self, name: str, args: tuple[e.Expr, ...], binding: e.Binding) -> Value:
        """A new storage."""
        size = calls.storage_size(name, args)
        return Storage(binding.var.name if binding.var is not None else name, size)

    def _place(self, name: str, args: tuple[e.Expr, ...], binding: e.Binding) -> Value:
        """A tensor at an offset in a storage."""
        at, storage = calls.PLACES[name], self._value(args[0])
        name = binding.var.name if binding.var is not None else "a tensor"
        if not isinstance(storage, Storage) or len(args) <= max(at):
            return shown(Tensor(name))
        return shown(calls.placed(name, storage, args, at, self._heap))

    def _item(self, name: str, args: tuple[e.Expr, ...], binding: e.Binding) -> Value:
        """A field of a tuple."""
        index = calls.number(args[1]) if len(args) == 2 else None
        return None if index is None else field_of(self._value(args[0]), index)

    def _part(self, name: str, args: tuple[e.Expr, ...], binding: e.Binding) -> Value:
        """A view of a tensor, at an offset from its start."""
        whole = self._value(args[0])
        if not isinstance(whole, Views):
            return None
        return Views(tuple([self._viewed(item, args) for item in whole.held]))

    def _viewed(self, item: Held, args: tuple[e.Expr, ...]) -> Held:
        base = item.tensor.bytes if item.part is None else item.part
        inner = calls.part(args, self._heap)
        if base is None or base == NOWHERE or inner is None:
            return item._replace(part=NOWHERE)
        low = base[0] + inner[0]
        return item._replace(part=(low, low + inner[1] - inner[0]))

    def _kernel(self, fn: PrimFunc, values: list[Value], binding: e.Binding) -> Value:
        order = _ORDERS.of(fn, _order)
        if order is None or len(values) != len(fn.params):
            self._packed(values, binding)
            return None
        for place in order.read:
            self._read(values[place], binding)
        lost = self._lost
        for place in order.stored:
            self._write(values[place], binding)
        if self._lost > lost or self._own.placed:  # the call reads while it writes
            for place in order.only_read:
                self._read(values[place], binding)
        return None

    def _packed(self, values: list[Value], binding: e.Binding) -> None:
        """A call of unknown code: it fills what has no elements, and reads the rest.

        If it returns nothing, what it gets last is its result, and may be filled again.
        """
        items = [item for value in values for item in held(value)]
        is_statement = binding.var is None or binding.var.struct_info == s.VOID
        filled = [item for item in items if item.tensor.written is None and item.tensor.storage is not None]
        if items and not filled and is_statement and items[-1].tensor.losses:
            filled = items[-1:]
        read = [item for item in items if item not in filled]
        self._read(Views(tuple(read)), binding)
        self._write(Views(tuple(filled)), binding)
        self._read(Views(tuple(read)), binding)

    def _read(self, value: Value, place: object) -> None:
        """Note that the elements of a value are read."""
        if value is None:
            return
        given = self._given
        for item in value.held if type(value) is Views else held(value):
            tensor = item.tensor
            tensor.last_read = place
            if tensor in given:
                self._read_given(tensor, place)
            for loss in tensor.losses:
                if self._is_lost(loss, item):
                    loss.last_read = place
                    self._found[loss] = None

    def _is_lost(self, loss: Loss, item: Held) -> bool:
        """True if a value shows bytes that were lost."""
        when = item.when | self._when
        if excluded(when, loss.when) or any(repair <= when for repair in loss.repairs):
            return False
        if item.part is None:
            return True
        lost = loss.part
        return lost is not None and max(lost[0], item.part[0]) < min(lost[1], item.part[1])

    def _read_given(self, tensor: Tensor, place: object) -> None:
        if tensor in self._own.writes:
            return
        self._own.reads[tensor] = None
        for other, write in self._own.placed.items():
            if not excluded(other.when, self._when):
                self._own.later[other, tensor] = write, place

    def _write(self, value: Value, binding: e.Binding) -> None:
        """Note that the elements of a value are written."""
        if value is None:
            return
        for item in value.held if type(value) is Views else held(value):
            if item.part == NOWHERE:
                continue
            when = self._when | item.when if item.when else self._when
            if item.tensor in self._given:
                self._own.writes[item.tensor] = None
            if item.tensor.storage is not None:
                self._destroy(item, when, binding)
            _renew(item, when, binding)

    def _destroy(self, item: Held, when: When, binding: e.Binding) -> None:
        tensor = item.tensor
        assert tensor.storage is not None  # the caller checked this
        if tensor.storage in self._given and len(self._own.placed) < _WRITES:
            self._own.placed.setdefault(tensor, binding)
        for other in tensor.storage.overwritten(tensor, item.part, when):
            if other is tensor or other.written is None or excluded(other.when, when):
                continue
            lost = tensor.bytes if item.part is None else item.part
            if len(other.losses) < _LOSSES:
                other.losses.append(Loss(other, other.written, tensor, binding, when, lost))
                self._lost += 1

    def _function(self, name: str, values: list[Value], binding: e.Binding) -> Value:
        """A call of a function of the module."""
        known = self._summaries.get(name)
        if known is None or len(values) != len(
            known.params
        ):  # of a recursive group, looked at for the first time
            return None
        given = dict(
            pair for own, value in zip(known.params, values, strict=True) for pair in pairs(own, value)
        )
        moved = {tensor: _moved(tensor, given) for tensor in known.placed}
        for own in known.reads:
            self._read(given.get(own), binding)
        for (own, param), (write, read) in known.later.items():
            self._clash(moved[own], given.get(param), write, read)
        for own in known.placed:
            self._write(shown(moved[own]), binding)
        for own in known.writes:
            self._write(given.get(own), binding)
        return _translated(known.result, given, moved)

    def _clash(self, tensor: Tensor, value: Value, write: e.Binding, read: object) -> None:
        """Report a callee that writes into a storage, and reads an argument in these bytes afterwards."""
        for item in held(value):
            other = item.tensor
            if other in self._given and tensor.storage in self._given:
                self._own.later.setdefault((tensor, other), (write, read))
            elif other.storage is tensor.storage and tensor.storage is not None and other.written is not None:
                self._found.update(self._clashing(tensor, item, write, read))

    def _clashing(self, tensor: Tensor, item: Held, write: e.Binding, read: object) -> dict[Loss, None]:
        other = item.tensor
        hit = item.part is None and overlap(tensor, other) and not excluded(item.when, self._when)
        if not hit or other.written is None:
            return {}
        return {Loss(other, other.written, tensor, write, self._when, tensor.bytes, [], read): None}


_Rule = Callable[[MemoryWalk, str, tuple[e.Expr, ...], e.Binding], Value]
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(calls.PLACES, MemoryWalk._place),
    **dict.fromkeys(calls.STORAGES, MemoryWalk._storage),
    **dict.fromkeys(calls.SAME, lambda walk, name, args, binding: walk._value(args[0])),
    **dict.fromkeys(calls.VIEWS, MemoryWalk._part),
    "vm.builtin.make_tuple": lambda walk, name, args, binding: Fields(tuple(map(walk._value, args))),
    "vm.builtin.tuple_getitem": MemoryWalk._item,
}
"""What the calls of operators and packed functions with operands show of memory. The first operand tells of most."""


def _key(binding: e.Binding) -> object:
    """Equal for the bindings of Ifs that take the same branch."""
    condition = binding.value.condition if type(binding.value) is e.If else None
    return condition if isinstance(condition, e.Var) else binding


def _renew(item: Held, when: When, binding: e.Binding) -> None:
    """Note that a tensor has elements again."""
    tensor = item.tensor
    tensor.when = when if tensor.written is None else tensor.when & when
    tensor.written = binding
    if item.part is None and tensor.losses:
        tensor.losses = [loss for loss in tensor.losses if not when <= loss.when]
        for loss in tensor.losses:
            loss.repairs.append(when)


def _moved(tensor: Tensor, given: dict[Any, Value]) -> Tensor:
    """A tensor in a storage of the caller, as the caller sees it: lengths of the callee say nothing there."""
    storage = given.get(tensor.storage)
    own = storage if isinstance(storage, Storage) else None
    known = [size if isinstance(size, p.IntImm) else None for size in (tensor.offset, tensor.size)]
    return Tensor(tensor.name, own, known[0], known[1], tensor.bytes or NOWHERE)


def _translated(result: Value, given: dict[Any, Value], moved: dict[Tensor, Tensor]) -> Value:
    """The result of a callee, in terms of the caller."""
    if isinstance(result, Fields):
        return Fields(tuple([_translated(item, given, moved) for item in result.values]))
    if isinstance(result, Storage):
        return given[result] if result in given else Storage(result.name, result.size)
    if not isinstance(result, Views):
        return None
    return Views(tuple(_all_shown([item.tensor for item in result.held], given, moved)))


def _all_shown(
    tensors: Iterable[Tensor], given: dict[Any, Value], moved: dict[Tensor, Tensor]
) -> Iterator[Held]:
    for tensor in tensors:
        if tensor in moved:
            yield Held(moved[tensor])
        else:
            yield from held(given.get(tensor))


# -- memory hazards --------------------------------------------------------------------------------------------------


_PLACED = frozenset(map(e.op_ref, ("relax.memory.alloc_tensor", "relax.vm.alloc_tensor")))
_ROUNDS = 8  # of a group of recursive functions: each one learns what its callees do with parameters


def violations(module: IRModule, new: NewBindings | None = None) -> Iterator[Diagnostic]:
    """Every write of a planned module that destroys elements which are read later; `new` is as in `well_formed.violations`."""
    functions = module.relax_functions
    if not any(_is_planned(fn) for fn in functions.values()):
        return
    if new is not None and accesses_alike(module, new.before):
        return
    summaries: dict[str, Summary] = {}
    graph = call_graph(module)
    found: dict[str, list[Loss]] = {}
    for group in components(graph):
        for _ in range(_ROUNDS if is_recursive(group, graph) else 1):
            before = [summaries[name].key() if name in summaries else None for name in group]
            for name in group:
                walk = MemoryWalk(module, functions[name], summaries)
                summaries[name], found[name] = walk.summary(), walk.losses()
            if [summaries[name].key() for name in group] == before:
                break
    for name in functions:
        yield from map(_problem, found[name])


def _is_planned(fn: e.Function) -> bool:
    """True if a function places a tensor in a storage, or may do so by a packed function."""
    found = contents(fn)
    return found.calls_packed or not found.operators.isdisjoint(_PLACED)


def _problem(loss: Loss) -> Diagnostic:
    victim, by, storage = loss.victim, loss.by, loss.by.storage
    where = "a storage" if storage is None else storage.name
    text = f"the write to {by.name!r} destroys {victim.name!r}, which is read later; both are in {where!r}"
    both = f"{victim.name} and {by.name} are" if by.last_read is loss.last_read else f"{victim.name} is"
    labels = [
        Label(loss.place, f"{by.name} is written here: {by.extent()} of {where}", True),
        Label(loss.written, f"{victim.name} was written here: {victim.extent()} of {where}"),
        Label(loss.last_read, f"{both} last read here"),
    ]
    if by.last_read is not None and by.last_read is not loss.last_read:
        labels.append(Label(by.last_read, f"{by.name} is last read here"))
    size = "" if storage is None or storage.size is None else f", of {storage.size} bytes"
    plan = f"the plan: {where}{size}, holds {victim.name} at {victim.extent()} and {by.name} at {by.extent()}"
    return Diagnostic(codes.SHARED_MEMORY, text, tuple(labels), (plan,), help=codes.SHARED_MEMORY.fix)
