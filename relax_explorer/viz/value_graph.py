"""A lowered function as its values: each value is a binding of the call that writes it, and its readers read that binding.

From CallTIRRewrite on a kernel writes into memory that an allocation made before, and readers name the allocation, or a copy or a reshape of it.
Here they read what the kernel wrote last. Allocations, copies, tuples and reshapes are part of that binding. Ends of lives, storages and the
traffic of the shape heap are left out, or are bindings as well. The result is for drawing: it is no program that could run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from relax_explorer.core.check import storage as calls
from relax_explorer.core.check.cache_effects import changed
from relax_explorer.core.check.call_graph import Callees
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import free_variables
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.substitute import substitute_vars
from relax_explorer.core.ir.walk import bindings, contents, map_operands, operands
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.syntax.names import Names
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import accesses
from relax_explorer.viz.heap_lengths import HeapLengths

_ALLOCATIONS = {**{name: at.shape for name, at in calls.PLACES.items()}, "relax.builtin.alloc_tensor": 0}
"""What makes memory for a tensor, each with the number of the operand that is its shape."""
_MEMORY = {*_ALLOCATIONS, *calls.STORAGES, *calls.BOOKKEEPING}
_OPERATORS = frozenset([e.op_ref(name) for name in _MEMORY if name.startswith("relax.")])
_SHOWING = calls.SAME | calls.VIEWS
_STORING = frozenset(["vm.builtin.match_shape", "vm.builtin.match_prim_value"])  # into the heap
VIEW = e.op_ref("relax.reshape")
"""What shows the memory of an operand in another form, as a part of its reader."""
_DEEPEST = 8  # tuples in tuples that are looked through


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a lowered function.

    `origins` has the bindings of the lowered function that one of `fn`, or a parameter, stands for: the call that computes first. `places` has the
    storage of a value, with a sign if another value lay there before. `storages` has the bytes of each.
    `hidden` counts the bindings that are left out.
    """

    fn: e.Function
    origins: Mapping[object, Sequence[e.Binding]] = field(default_factory=dict)
    places: Mapping[object, str] = field(default_factory=dict)
    hidden: int = 0
    storages: Mapping[str, p.PrimExpr | None] = field(default_factory=dict)

    def sources(self, binding: e.Binding) -> tuple[e.Binding, ...]:
        """The bindings that a binding of `fn` stands for."""
        return tuple(self.origins.get(binding, (binding,)))


def values(module: IRModule, fn: e.Function, shows_memory: bool = False) -> Values:
    """The values of a function; the function itself if it handles no memory. `shows_memory` leaves nothing out."""
    return _Raising(module, fn, shows_memory).values() if handles_memory(fn) else Values(fn)


def handles_memory(fn: e.Function) -> bool:
    """True if a function allocates memory, ends its life, or keeps lengths on a heap."""
    held, callees = contents(fn), Callees()
    if not _OPERATORS.isdisjoint(held.operators):
        return True
    return held.calls_packed and any(
        type(binding.value) is e.Call and calls.spread(binding.value, callees)[0] in _MEMORY
        for binding in bindings(fn)
    )


class _Raising:
    """One walk over a function. `now` is what each memory holds at a place: the value that was written last."""

    def __init__(self, module: IRModule, fn: e.Function, shows_memory: bool) -> None:
        self.module, self.fn, self.shows_memory = module, fn, shows_memory
        self.callees, self.heap = Callees(), HeapLengths(module)
        self.names = Names()  # as the text has them
        for param in fn.params:
            self.names(param)
        self.copies: dict[
            e.Expr, tuple[int, e.Var]
        ] = {}  # of an allocation, or a tuple of it and as many more
        for binding in bindings(fn):
            self._name(binding)
        self.aliases: dict[e.Var, e.Expr] = {}  # what a variable shows, in terms of memory
        self.now: dict[e.Var, e.Expr] = {}
        self.log: list[tuple[e.Var, e.Expr | None]] = []  # what `now` had before, for branches
        self.memory: dict[e.Var, tuple[e.Binding, list[e.Binding]]] = {}  # with the block of its allocation
        self.infos: dict[e.Var, s.StructInfo | None] = {}
        self.storages: dict[e.Expr, str] = {}
        self.sizes: dict[str, p.PrimExpr | None] = {}  # of storages, in bytes
        self.used: set[str] = set()  # storages in which a value lay
        self.lies: dict[e.Var, str] = {}  # the storage of each allocation
        self.places: dict[object, str] = {}
        self.origins: dict[object, list[e.Binding]] = {}
        self.made: dict[e.Expr, e.Binding] = {}  # the new binding of each new variable
        self.out: list[e.Binding] = []
        self.hidden = 0

    def values(self) -> Values:
        """The values."""
        body = self._sequence(self.fn.body)
        sizes = {name: self.sizes.get(name) for name in self.storages.values()}
        return Values(replace(self.fn, body=body), self.origins, self.places, self.hidden, sizes)

    def _name(self, binding: e.Binding) -> None:
        var, value = binding.var, binding.value
        if var is None:
            return
        self.names(var)
        parts = value.fields if type(value) is e.Tuple else (value,)
        if parts and isinstance(parts[0], e.Var):
            self.copies.setdefault(parts[0], (len(parts), var))

    # -- sequences ------------------------------------------------------------------------------------------------

    def _sequence(self, seq: e.SeqExpr) -> e.SeqExpr:
        around = self.out
        drawn: list[tuple[e.BindingBlock, list[e.Binding]]] = []
        for block in seq.blocks:
            self.out = []
            drawn.append((block, self.out))
            for binding in block.bindings:
                self._binding(binding)
        body = self._read(seq.body)
        self.out = around
        blocks = tuple([replace(block, bindings=tuple(found)) for block, found in drawn])
        return replace(seq, blocks=blocks, body=body)

    def _binding(self, binding: e.Binding) -> None:
        value = binding.value
        if type(value) is e.If:
            self._branches(binding, value)
        elif type(value) is e.Function:
            self.callees.note(binding)
            self._keep(binding, self._captured(value))
        elif type(value) is e.Call:
            self._call(binding, value)
        else:
            self.callees.note(binding)
            shown = self._shown(value) if type(binding) is e.VarBinding else None
            if shown is not None:
                self._alias(binding, shown)
            elif type(value) is e.TupleGetItem and not self.shows_memory:
                self._leave_out(binding)  # until something reads it: many are there to be checked only
            else:
                self._keep(binding, self._read(value))

    def _branches(self, binding: e.Binding, value: e.If) -> None:
        """Follow both branches from the same memory. Behind them a memory holds what either wrote."""
        condition, mark = self._read(value.condition), len(self.log)
        branches: list[e.Expr] = []
        ends: list[dict[e.Var, e.Expr]] = []
        for branch in (value.true_branch, value.false_branch):
            branches.append(self._sequence(branch) if isinstance(branch, e.SeqExpr) else self._read(branch))
            ends.append({var: self.now[var] for var, _ in self.log[mark:]})
            while len(self.log) > mark:
                var, before = self.log.pop()
                if before is None:
                    del self.now[var]
                else:
                    self.now[var] = before
        for var in dict.fromkeys([*ends[0], *ends[1]]):
            either = dict.fromkeys([end.get(var, self.now.get(var)) for end in ends])
            found = tuple([item for item in either if item is not None])
            self._write(var, found[0] if len(found) == 1 else e.Tuple(found, found[0].struct_info))
        new = replace(value, condition=condition, true_branch=branches[0], false_branch=branches[1])
        self._keep(binding, new)

    def _captured(self, fn: e.Function) -> e.Function:
        """A nested function that captures values instead of memory."""
        found = {var: self._read(var) for var in free_variables(fn)}
        leaves = {var: leaf for var, leaf in found.items() if isinstance(leaf, e.Var) and leaf is not var}
        return substitute_vars(fn, dict[e.Var, e.Expr](leaves)) if leaves else fn

    # -- reading --------------------------------------------------------------------------------------------------

    def _read(self, expr: e.Expr) -> e.Expr:
        """An operand in terms of the values that are there now."""
        if isinstance(expr, e.Var):
            alias = self.aliases.get(expr)
            if alias is not None:
                return self._read(alias)
            if expr not in self.now and expr in self.memory and not self.shows_memory:
                self._show(expr)  # nobody wrote it: its memory itself is read
            return self.now.get(expr, expr)
        return _field_of(map_operands(expr, self._read))

    def _show(self, var: e.Var) -> None:
        """Draw a binding that was left out, since something reads it."""
        binding, block = self.memory.pop(var)
        self.hidden -= 1
        around, self.out = self.out, block
        self._keep(binding, self._read(binding.value))
        self.out = around

    def _keep(self, binding: e.Binding, value: e.Expr, *others: e.Binding) -> e.Binding:
        new = e.with_value(binding, value)
        self._emit(new, binding, *others)
        return new

    def _emit(self, new: e.Binding, *stands_for: e.Binding) -> None:
        self.out.append(new)
        self.origins[new] = list(stands_for)
        if new.var is not None:
            self.made[new.var] = new

    # -- aliases --------------------------------------------------------------------------------------------------

    def _shown(self, value: e.Expr) -> e.Expr | None:
        """What a copy, a tuple or a field of a known tuple shows, in terms of memory; None if it is a value of its own."""
        if isinstance(value, e.Var):
            return self.aliases.get(value, value)
        if type(value) is e.Tuple:
            whole = e.Tuple(tuple([self._shown(item) or item for item in value.fields]), value.struct_info)
            return whole if _depth(whole) <= _DEEPEST else None
        if type(value) is e.TupleGetItem:
            found = _field_of(replace(value, tuple=self._shown(value.tuple) or value.tuple))
            return None if type(found) is e.TupleGetItem else found
        return None

    def _alias(self, binding: e.Binding, shown: e.Expr) -> None:
        assert binding.var is not None  # only match_casts have none
        self.aliases[binding.var] = shown
        base = _base(shown)
        holder = self.now.get(base, base) if base is not None else None
        holder = None if holder is None else _base(holder)
        if holder is not None:
            self.origins.setdefault(self.made.get(holder, holder), []).append(binding)

    def _view(self, binding: e.Binding, args: tuple[e.Expr, ...]) -> None:
        """A call that shows the memory of its first operand in another form."""
        shown = self._shown(args[0])
        base = None if shown is None else _base(shown)
        if base is None or binding.var is None:
            self._keep(binding, self._read(binding.value))
            return
        dims = self.heap.lengths(args[1]) if len(args) > 1 else None
        self._alias(binding, e.Call(VIEW, (base,), struct_info=_sized(binding.var.struct_info, dims)))

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, binding: e.Binding, call: e.Call) -> None:
        name, args = calls.spread(call, self.callees)
        if name in _ALLOCATIONS and binding.var is not None:
            self._allocation(binding, binding.var, name, args)
        elif name in _MEMORY or self._is_of_heap(args):
            self._bookkeeping(binding, name, args)
        elif name in _SHOWING and args:
            self._view(binding, args)
        else:
            written = () if calls.is_wrapped(call) else self._written(binding, call, args)
            if written:
                self._writes(binding, call, args, written)
            else:
                self._keep(binding, self._read(call))

    def _allocation(self, binding: e.Binding, var: e.Var, name: str, args: tuple[e.Expr, ...]) -> None:
        at = _ALLOCATIONS[name]
        dims = self.heap.lengths(args[at]) if len(args) > at else None
        self.infos[var] = _sized(var.struct_info, dims)
        if at and isinstance(args[0], e.Var):
            storage = self.storages.setdefault(args[0], f"s{len(self.storages)}")
            self.lies[var] = f"{storage} ↻" if storage in self.used else storage
            self.used.add(storage)
        self._leave_out(binding)

    def _bookkeeping(self, binding: e.Binding, name: str, args: tuple[e.Expr, ...]) -> None:
        self.heap.note(binding, name)
        var, known = binding.var, self.heap.made(binding, name, args)
        if name in calls.STORAGES and var is not None:
            storage = self.storages.setdefault(var, f"s{len(self.storages)}")
            self.sizes[storage] = self._storage_size(name, args)
        at = 0 if name not in _MEMORY else 1 if name in _STORING and len(args) > 1 else -1
        if self.shows_memory and at >= 0 and args[at] is self.heap.var and type(binding.value) is e.Call:
            self._writes(binding, binding.value, args, [at])
        elif known is not None and var is not None and not self.shows_memory:
            self.aliases[var] = known
            self.hidden += 1
        else:
            self._leave_out(binding)

    def _storage_size(self, name: str, args: tuple[e.Expr, ...]) -> p.PrimExpr | None:
        dims = self.heap.lengths(args[0]) if args else None
        return None if dims is None else calls.storage_size(name, (e.ShapeExpr(dims), *args[1:]))

    def _leave_out(self, binding: e.Binding) -> None:
        var = binding.var
        if var is not None and var.struct_info is not s.VOID:
            self.memory[var] = binding, self.out
        if self.shows_memory:
            self._keep(binding, self._read(binding.value))
        else:
            self.hidden += 1

    def _is_of_heap(self, args: tuple[e.Expr, ...]) -> bool:
        """True for the arguments of a PrimFunc that computes lengths on the heap."""
        return bool(args) and all([arg is self.heap.var for arg in args])

    def _written(self, binding: e.Binding, call: e.Call, args: tuple[e.Expr, ...]) -> list[int]:
        """The numbers of the arguments that a call writes: those that a kernel stores into; unknown code fills memory without elements."""
        fn = self._kernel(call)
        known = accesses(fn) if fn is not None and len(fn.params) == len(args) else None
        if known is not None:
            stored = [number for number in sorted(known.stored) if isinstance(args[number], e.Var)]
            return [number for number in stored if self._memory_of(args[number]) is not None]
        bases = [self._memory_of(arg) for arg in args]
        empty = [number for number, base in enumerate(bases) if base in self.infos and base not in self.now]
        if binding.var is None or binding.var.struct_info == s.VOID:
            tensors = [arg for arg in changed(call) if isinstance(arg.struct_info, s.TensorStructInfo)]
            empty += [number for number, arg in enumerate(args) if arg in tensors and number not in empty]
        return empty

    def _kernel(self, call: e.Call) -> PrimFunc | None:
        callee = calls.callee(call, self.callees)
        fn = self.module.functions.get(callee.name) if isinstance(callee, e.GlobalVar) else None
        return fn if isinstance(fn, PrimFunc) else None

    def _memory_of(self, arg: e.Expr) -> e.Var | None:
        shown = self._shown(arg)
        return None if shown is None else _base(shown)

    def _writes(
        self, binding: e.Binding, call: e.Call, args: tuple[e.Expr, ...], written: Iterable[int]
    ) -> None:
        """Bind what a call writes, which is a tuple if it writes several values."""
        outputs = {number: base for number in written if (base := self._memory_of(args[number])) is not None}
        read = [arg for number, arg in enumerate(args) if self._is_read(call, number, outputs.get(number))]
        bases = list(dict.fromkeys(outputs.values()))
        infos = [self.infos.get(base, base.struct_info) for base in bases]
        info = infos[0] if len(infos) == 1 else s.TupleStructInfo(tuple([item or s.OBJECT for item in infos]))
        var = e.Var(self._name_of(binding, bases), info)
        inputs = tuple(map(self._read, read))
        value = e.Call(calls.callee(call, self.callees), inputs, call.attrs, (), info, call.span)
        new = e.VarBinding(var, value, None, binding.span)
        left_out = [self.memory[base][0] for base in bases if base in self.memory and base not in self.now]
        self._emit(new, binding, *([] if self.shows_memory else left_out))
        self.hidden -= 0 if self.shows_memory else len(left_out)
        self.places[new] = "  ".join([self.lies[base] for base in bases if base in self.lies])
        for number, base in enumerate(bases):
            self._write(base, var if len(bases) == 1 else e.TupleGetItem(var, number, infos[number]))

    def _is_read(self, call: e.Call, number: int, base: e.Var | None) -> bool:
        """True if an argument is drawn as read: all but memory that is only written."""
        if base is None:
            return True
        if base not in self.now and base in self.memory:
            return self.shows_memory
        fn = self._kernel(call)
        known = None if fn is None else accesses(fn)
        return known is None or number in known.read or self.shows_memory

    def _name_of(self, binding: e.Binding, bases: list[e.Var]) -> str:
        """The name of a value: that under which the program goes on with it, else that of its memory."""
        first = bases[0]
        count, copy = self.copies.get(first, (1, first))
        named = copy if count == len(bases) else first
        if first in self.now or (self.shows_memory and named is first):
            return self.names.assign(binding, first.name)
        return self.names[named]

    def _write(self, base: e.Var, value: e.Expr) -> None:
        self.log.append((base, self.now.get(base)))
        self.now[base] = value


def _sized(info: s.StructInfo | None, dims: tuple[p.PrimExpr, ...] | None) -> s.StructInfo | None:
    """The StructInfo of a tensor with these lengths, if it does not tell its own."""
    if dims is None or not isinstance(info, s.TensorStructInfo) or info.dims is not None:
        return info
    return s.TensorStructInfo(dims, info.dtype, vdevice=info.vdevice)


def _base(shown: e.Expr) -> e.Var | None:
    """The variable whose memory an operand shows; None for tuples and numbers."""
    while not isinstance(shown, e.Var):
        if type(shown) is e.Call and shown.args:
            shown = shown.args[0]
        elif type(shown) is e.TupleGetItem:
            shown = shown.tuple
        else:
            return None
    return shown


def _field_of(expr: e.Expr) -> e.Expr:
    """The field itself, if it is taken of a tuple that is written out."""
    if (
        type(expr) is e.TupleGetItem
        and type(expr.tuple) is e.Tuple
        and 0 <= expr.index < len(expr.tuple.fields)
    ):
        return expr.tuple.fields[expr.index]
    return expr


def _depth(expr: e.Expr, depth: int = 0) -> int:
    if type(expr) is not e.Tuple or depth > _DEEPEST:
        return depth
    return max([_depth(item, depth + 1) for item in expr.fields], default=depth + 1)


def is_copy(binding: object) -> bool:
    """True for a binding that shows values which others made: a copy, a tuple, a field or a reshape."""
    value = binding.value if isinstance(binding, e.VarBinding) else None
    if type(value) is e.Call and isinstance(value.op, e.OpRef | e.ExternFunc):
        return value.op.name in _SHOWING
    return isinstance(value, e.Var | e.Tuple | e.TupleGetItem)


Seen = tuple[e.Var, "s.StructInfo | None"]


def seen(read: Iterable[e.Expr]) -> dict[Seen, tuple[int, ...]]:
    """The variables in operands, each with the StructInfo as which it is seen: that of the field or of the reshape of it.

    Each has the numbers of the fields that are read, none if all are.
    """
    found: dict[Seen, tuple[int, ...]] = {}
    stack: list[tuple[e.Expr, s.StructInfo | None, tuple[int, ...]]] = [(expr, None, ()) for expr in read]
    stack.reverse()
    while stack:
        item, info, part = stack.pop()
        if isinstance(item, e.Var):
            key = item, info or item.struct_info
            before = found.get(key)
            found[key] = part if before is None else before + part if before and part else ()
        elif type(item) is e.TupleGetItem:
            stack.append((item.tuple, info or item.struct_info, (item.index,)))
        else:
            within = (info or item.struct_info) if type(item) is e.Call else None
            stack += [(operand, within, ()) for operand in reversed(operands(item))]
    return found
