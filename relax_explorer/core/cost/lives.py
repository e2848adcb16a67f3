"""Finds the lives of the values and storages of a function: one walk over its bindings in the order of the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from relax_explorer.core.arith.polynomial import Polynomial, combine
from relax_explorer.core.check.call_graph import Callees
from relax_explorer.core.check.matching import call_dims
from relax_explorer.core.check.storage import NO_ACCESS, PLACES, SAME, STORAGES, VIEWS, spread, storage_size
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.function_work import ModuleWork
from relax_explorer.core.cost.kernel_work import kernel_work
from relax_explorer.core.cost.machine_lengths import MachineLengths
from relax_explorer.core.cost.memory_use import Life, MemoryUse, Span
from relax_explorer.core.cost.operator_work import INPLACE
from relax_explorer.core.cost.parameters import constants, weights
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import variables
from relax_explorer.core.ir.walk import sequences
from relax_explorer.core.ops import find


@dataclass(eq=False, slots=True)
class _Made:
    """A tensor or a storage while its life is not over."""

    name: str
    size: Polynomial | None
    first: int
    last: int
    storage: _Made | None = None
    is_storage: bool = False
    is_choice: bool = False
    gaps: list[Span] = field(default_factory=list)

    def life(self) -> Life:
        """The life, when all bindings were seen."""
        spans, first = [], self.first
        for start, end in sorted(self.gaps):
            if start <= self.last:
                spans.append((first, start - 1))
                first = end + 1
        if first <= self.last:
            spans.append((first, self.last))
        storage = self.storage.name if self.storage is not None else ""
        return Life(self.name, self.size, tuple(spans), storage, self.is_choice)


_KILLS = frozenset(name for name in NO_ACCESS if ".kill_" in name)
_UNCOUNTED = frozenset({"vm.builtin.alloc_shape_heap", "relax.null_value"})
"""Values of the machine itself: a few lengths, or nothing."""
Parts = tuple["_Made | Parts", ...]
"""What a value holds: tensors and storages; of a tuple, what each field holds."""


class MemoryUses:
    """The memory of the functions of a module. Each is found when it is asked for, once."""

    def __init__(self, works: ModuleWork) -> None:
        self.module, self.calls, self.order = works.module, works.calls, works.order
        self._known: dict[e.Function, MemoryUse] = {}
        self._open: set[e.Function] = set()

    def of(self, name: str) -> MemoryUse:
        """The memory of a Relax function of the module."""
        functions = self.module.relax_functions
        for callee in () if functions[name] in self._known else self.order.up_to(name):
            if functions[callee] not in self._known:
                self._known[functions[callee]] = _Walk(self, callee, callee).of(functions[callee])
        return self._known[functions[name]]

    def of_local(self, fn: e.Function, name: str, owner: str) -> MemoryUse | None:
        """The memory of a nested function; None while it is being looked at, for it calls itself."""
        if fn in self._open:
            return None
        if fn not in self._known:
            self._open.add(fn)
            self._known[fn] = _Walk(self, name, owner).of(fn)
            self._open.remove(fn)
        return self._known[fn]


class _Walk:
    """A walk over one function. `owner` is the global function that it is, or is nested in."""

    def __init__(self, uses: MemoryUses, name: str, owner: str) -> None:
        self.uses, self.name, self.owner = uses, name, owner
        self.callees, self.lengths = Callees(), MachineLengths(uses.module)
        self.bindings: list[e.Binding] = []
        self.made: list[_Made] = []
        self.parts: dict[e.Expr, Parts] = {}
        self.locals: dict[e.Expr, e.Function] = {}
        self.inside: list[tuple[int, Polynomial]] = []
        self.scratch: list[tuple[int, Polynomial]] = []
        self.unknown: dict[str, None] = {}

    def of(self, fn: e.Function) -> MemoryUse:
        """The memory of the function."""
        self._sequence(fn.body)
        self._used(self._parts(fn.body.body), len(self.bindings))
        names = weights(fn)
        sizes = [(param.name in names, self._known_size(param)) for param in fn.params]
        sizes += [(True, self._known_size(constant)) for constant in constants(fn)]
        lives = {made: made.life() for made in self.made}
        return MemoryUse(
            self.name,
            tuple(self.bindings),
            tuple([life for made, life in lives.items() if made.storage is None]),
            tuple([life for made, life in lives.items() if not made.is_storage]),
            tuple(self.inside),
            tuple(self.scratch),
            amounts.total([size for is_weight, size in sizes if not is_weight]),
            amounts.total([size for is_weight, size in sizes if is_weight]),
            tuple(self.unknown),
        )

    @property
    def step(self) -> int:
        """The number of the current binding."""
        return len(self.bindings)

    def _sequence(self, seq: e.SeqExpr) -> Parts:
        for block in seq.blocks:
            for binding in block.bindings:
                self._binding(binding)
        return self._parts(seq.body)

    def _binding(self, binding: e.Binding) -> None:
        self.bindings.append(binding)
        self.callees.note(binding)
        self.lengths.note(binding)
        value, var = binding.value, binding.var
        if type(value) is e.If:
            parts = self._if(value, var.name if var is not None else "_")
        elif type(value) is e.Function:
            parts = self._joined(variables(value))
            self.locals[var or value] = value
        elif type(value) is e.Call:
            parts = self._call(value, var.name if var is not None else "_", self.lengths.info(var or value))
        else:
            parts = self._parts(value)
            self._used(parts, self.step)
        if var is not None:
            self.parts[var] = parts

    def _if(self, value: e.If, name: str) -> Parts:
        """Two branches: what the first one leaves is not there while the second one runs."""
        self._used(self._parts(value.condition), self.step)
        then, other = sequences(value)
        count = len(self.made)
        left = self._sequence(then)
        self._used(left, self.step)
        made, start, middle = self.made[count:], self.step + 1, len(self.made)
        right = self._sequence(other)
        self._used(right, self.step)
        for item in made if start <= self.step else ():
            item.gaps.append((start, self.step))
        return self._chosen(name, left, right, ({*made}, {*self.made[middle:]}))

    def _chosen(self, name: str, left: Parts, right: Parts, inside: tuple[set[_Made], set[_Made]]) -> Parts:
        """What an If leaves: one of two values. If each branch makes its own, only the larger one is there afterwards."""
        if len(left) != len(right):
            return (left, right)
        found: list[_Made | Parts] = []
        for a, b in zip(left, right, strict=True):
            if isinstance(a, _Made) and isinstance(b, _Made):
                is_new = a in inside[0] and b in inside[1] and a.storage is b.storage is None
                found += [self._either(name, a, b)] if is_new else [(a, b)]
            elif isinstance(a, tuple) and isinstance(b, tuple):
                found.append(self._chosen(name, a, b, inside))
            else:
                found.append((a, b))
        return tuple(found)

    def _either(self, name: str, a: _Made, b: _Made) -> _Made:
        """The memory of a value that one of two branches made; it begins behind the If."""
        sizes = (a.size, b.size)
        larger = None if a.size is None or b.size is None else sizes[amounts.larger(a.size, b.size) > 0]
        made = _Made(name, larger, self.step + 1, self.step, is_choice=True)
        self.made.append(made)
        return made

    def _call(self, call: e.Call, name: str, info: s.StructInfo | None) -> Parts:
        """A call: its operands are needed, its result has memory of its own, or that of an operand."""
        called, args = spread(call, self.callees)
        if called in _KILLS or called in _UNCOUNTED:
            return ()
        for arg in call.args:
            self._used(self._parts(arg), self.step)
        if called in STORAGES:
            return (self._make(name, self._storage_size(called, args), is_storage=True),)
        if called in PLACES:
            return (self._make(name, amounts.info_bytes(info), storage=self._storage(args[0])),)
        if type(call.op) is e.OpRef and call.op.name == INPLACE:
            return self._overwritten(call, name, info)
        shared = self._shared(call, called, args)
        if shared is not None:
            return shared
        self._note_inside(call, info)
        return self._new(name, info)

    def _overwritten(self, call: e.Call, name: str, info: s.StructInfo | None) -> Parts:
        """The results of a kernel that overwrites arguments: these, and new tensors."""
        fields = self.callees.fields(call.args[1]) or ()
        results = info.fields if isinstance(info, s.TupleStructInfo) else (info,)
        places = call.attrs.get("inplace_indices", ())
        pairs = zip(results, places, strict=False)
        found = [
            self._parts(fields[place]) if 0 <= place < len(fields) else self._new(name, result)
            for result, place in pairs
        ]
        return tuple(found) if isinstance(info, s.TupleStructInfo) else found[0] if found else ()

    def _shared(self, call: e.Call, called: str, args: tuple[e.Expr, ...]) -> Parts | None:
        """The memory that a result shares with operands; None if it has its own."""
        if called in SAME or called in VIEWS:
            return self._joined(args[:1])
        op = find(called) if type(call.op) is e.OpRef and called == call.op.name else None
        if op is None or not op.shares or op.takes_sinfo:
            return None
        names = [parameter.name for parameter in op.operands]
        return self._joined([arg for key, arg in zip(names, call.args, strict=False) if key in op.shares])

    def _note_inside(self, call: e.Call, info: s.StructInfo | None) -> None:
        """What a callee needs beyond its result: that of a Relax function, and what a kernel allocates for itself."""
        kernel = self.uses.calls.kernel(call, self.callees)
        if kernel is not None:
            scratch = kernel_work(kernel).scratch
            if scratch:
                dims = self.uses.calls.dims(kernel, call, self.callees, self.lengths)
                self.scratch.append((self.step, amounts.with_lengths(scratch, dims)))
            return
        callee = self.callees.of(call.op)
        found, fn = self._of_callee(callee)
        if fn is None:
            return
        if found is None:
            self.unknown[f"memory of {self.name}, which calls itself"] = None
            return
        dims = call_dims(fn.params, call.args)
        most = amounts.with_lengths(found.peak({}).amount, dims)
        self.inside.append((self.step, combine(most, amounts.info_bytes(info) or {}, -1)))
        self.unknown.update(dict.fromkeys(found.unknown))

    def _of_callee(self, callee: e.Expr) -> tuple[MemoryUse | None, e.Function | None]:
        """The memory of a Relax function that is called, None in a recursion, and the function."""
        fn = self.locals.get(callee)
        if fn is not None:
            return self.uses.of_local(fn, getattr(callee, "name", ""), self.owner), fn
        fn = self.uses.module.relax_functions.get(callee.name) if type(callee) is e.GlobalVar else None
        if (
            fn is None
            or type(callee) is not e.GlobalVar
            or self.uses.order.is_recursion(self.owner, callee.name)
        ):
            return None, fn
        return self.uses.of(callee.name), fn

    # -- parts -------------------------------------------------------------------------------------------------------

    def _make(
        self, name: str, size: Polynomial | None, storage: _Made | None = None, is_storage: bool = False
    ) -> _Made:
        if size is None:
            self.unknown[f"bytes of {name}"] = None
        made = _Made(name, size, self.step, self.step, storage, is_storage)
        self.made.append(made)
        return made

    def _new(self, name: str, info: s.StructInfo | None) -> Parts:
        """New memory for a value, for each field of a tuple."""
        if isinstance(info, s.TupleStructInfo):
            return tuple([self._new(f"{name}[{n}]", field) for n, field in enumerate(info.fields)])
        if isinstance(info, s.TensorStructInfo):
            return (self._make(name, amounts.info_bytes(info)),)
        if info is s.OBJECT:
            self.unknown[f"bytes of {name}, an object"] = None
        return ()

    def _parts(self, value: e.Expr) -> Parts:
        """What an operand holds."""
        if isinstance(value, e.Var):
            return self.parts.get(value, ())
        if type(value) is e.Tuple:
            return tuple([self._parts(field) for field in value.fields])
        if type(value) is e.TupleGetItem:
            whole = self._parts(value.tuple)
            part = whole[value.index] if value.index < len(whole) else ()
            return (part,) if isinstance(part, _Made) else part
        return ()

    def _joined(self, values: Iterable[e.Expr]) -> Parts:
        """Everything that some values hold."""
        parts = tuple([part for value in values for part in _leaves(self._parts(value))])
        self._used(parts, self.step)
        return parts

    def _used(self, parts: Parts, step: int) -> None:
        for made in _leaves(parts):
            made.last = step
            if made.storage is not None:
                made.storage.last = step

    def _storage(self, value: e.Expr) -> _Made | None:
        return next((made for made in _leaves(self._parts(value)) if made.is_storage), None)

    def _storage_size(self, name: str, args: tuple[e.Expr, ...]) -> Polynomial | None:
        info = self.lengths.info(args[0])
        shape = args[0]
        if isinstance(info, s.ShapeStructInfo) and info.values is not None and type(shape) is not e.ShapeExpr:
            shape = e.ShapeExpr(info.values, info)
        size = storage_size(name, (shape, *args[1:]))
        return None if size is None else amounts.amount(size)

    def _known_size(self, value: e.Expr) -> Polynomial:
        size = amounts.info_bytes(value.struct_info)
        if size is None:
            self.unknown[f"bytes of {getattr(value, 'name', 'a constant')}"] = None
        return size or {}


def _leaves(parts: Parts) -> Iterator[_Made]:
    stack: list[_Made | Parts] = list(parts)
    while stack:
        part = stack.pop()
        if isinstance(part, _Made):
            yield part
        else:
            stack.extend(part)
