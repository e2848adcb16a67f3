"""Whether two modules access planned memory alike: the same bindings in the same order, apart from those that access none.

The walk of `memory_hazards.py` then meets the same tensors in the same order, and finds what it found before. Passes that end lives, drop
copies, lower allocations or give a result memory of its own leave it so.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from relax_explorer.core.check.storage import NO_ACCESS, PLACES, SAME, STORAGES
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import contents, sequences
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc

_SILENT = NO_ACCESS - {"vm.builtin.make_shape"}  # which tells the lengths of tensors that are placed later
_SILENT_OPERATORS = frozenset([e.op_ref(name) for name in _SILENT if name.startswith("relax.")])
_KINDS = {
    name: kind for kind, names in (("place", PLACES), ("storage", STORAGES), ("same", SAME)) for name in names
}
"""Calls of one kind show the same memory if they have the same operands, before and after their operator is lowered."""


def accesses_alike(module: IRModule, before: IRModule) -> bool:
    """True if two modules have the same functions and kernels, and these access the same memory in the same order."""
    old = before.functions
    return module.functions.keys() == old.keys() and all(
        [fn is old[name] or _is_alike(fn, old[name]) for name, fn in module.functions.items()]
    )


def _is_alike(fn: object, old: object) -> bool:
    if isinstance(fn, PrimFunc) and isinstance(old, PrimFunc):
        return fn.body is old.body and fn.params == old.params
    if not isinstance(fn, e.Function) or not isinstance(old, e.Function) or fn.params != old.params:
        return False
    return fn.body is old.body or _Comparison(not contents(fn).calls_packed).is_alike(fn.body, old.body)


@dataclass(slots=True)
class _Accesses:
    """The bindings of a function that access memory or tell which memory others access, sequence by sequence, and what others show."""

    shown: dict[e.Expr, e.Expr | None] = field(default_factory=dict)
    """The variable that each copy shows, and None for what calls give that access nothing."""

    def of(self, seq: e.SeqExpr) -> list[e.Binding]:
        """Those of a sequence. Copies and calls that access nothing are noted."""
        found: list[e.Binding] = []
        for block in seq.blocks:
            for binding in block.bindings:
                value, var = binding.value, binding.var
                if _is_silent(value):
                    if var is not None and var.struct_info is not s.VOID:
                        self.shown[var] = None
                elif var is not None and isinstance(value, e.Var) and _is_copy(binding):
                    self.shown[var] = self.now(value)
                else:
                    found.append(binding)
        return found

    def now(self, operand: e.Expr) -> e.Expr:
        """The variable that an operand is a copy of, or the operand."""
        return self.shown.get(operand) or operand


class _Comparison:
    """The comparison of a function with the one before. With `may_place`, a tensor may get a storage of its own:
    what packed functions do with an operand depends on whether it has one.
    """

    def __init__(self, may_place: bool) -> None:
        self._new, self._old = _Accesses(), _Accesses()
        self._may_place = may_place

    def is_alike(self, seq: e.SeqExpr, old: e.SeqExpr) -> bool:
        """True if two sequences access the same memory. Branches may nest deeper than Python's stack."""
        stack, results = [(seq, old)], [(seq.body, old.body)]
        while stack:
            new, was = stack.pop()
            here, there = self._new.of(new), self._old.of(was)
            if self._may_place and len(here) > len(there):
                here = self._without_own_storages(here, there)
            if len(here) != len(there):
                return False
            for a, b in zip(here, there, strict=True):
                if a is not b and not (a.var is b.var and self._shows_alike(a, b)):
                    return False
                if a is not b and type(a.value) is e.If:
                    inner = list(zip(sequences(a.value), sequences(b.value), strict=True))
                    stack += inner
                    results += [(branch.body, other.body) for branch, other in inner]
        return self._copies_alike() and all([self._is_same(new, was) for new, was in results])

    def _copies_alike(self) -> bool:
        """True if what is a copy in both functions, or shows nothing in both, is so in the same way."""
        old = self._old.shown
        return all([target is old.get(var, target) for var, target in self._new.shown.items()])

    def _without_own_storages(self, here: list[e.Binding], there: list[e.Binding]) -> list[e.Binding]:
        """The bindings without those that give a tensor a storage of its own, where none was shown before."""
        known = {binding.var for binding in there} | self._old.shown.keys()
        own = {
            b.var
            for b in here
            if type(b) is e.VarBinding and b.var not in known and _kind(b.value) == "storage"
        }
        unused, rest = set(own), list[e.Binding]()
        for binding in here:
            storage = _placed_in(binding)
            if storage in unused and type(binding) is e.VarBinding:
                unused.discard(storage)
                self._new.shown[binding.var] = None
            elif binding.var not in own:
                rest.append(binding)
        return rest

    def _shows_alike(self, a: e.Binding, b: e.Binding) -> bool:
        """True if bindings of one variable show the same memory, apart from what the branches of an If do."""
        new, old = a.value, b.value
        if type(a) is not e.VarBinding or type(b) is not e.VarBinding:
            return False
        if type(new) is e.If and type(old) is e.If:
            return new.condition is old.condition
        if type(new) is not e.Call or type(old) is not e.Call:
            return False
        kind = _kind(new)
        if kind is None or kind != _kind(old):
            if new.op is not old.op or new.attrs != old.attrs or new.sinfo_args != old.sinfo_args:
                return False
        elif kind == "storage":
            return True  # a new storage is one, whatever its size
        return len(new.args) == len(old.args) and all(map(self._is_same, new.args, old.args))

    def _is_same(self, new: e.Expr, old: e.Expr) -> bool:
        """True if two operands show the same, where what both functions have is a copy of the same in both."""
        if new is old or self._new.now(new) is self._old.now(old):
            return True
        if type(new) is not e.Tuple or type(old) is not e.Tuple or len(new.fields) != len(old.fields):
            return False
        return all(map(self._is_same, new.fields, old.fields))


def _is_silent(value: e.Expr) -> bool:
    if type(value) is not e.Call:
        return False
    op = value.op
    return op in _SILENT_OPERATORS or (type(op) is e.ExternFunc and op.name in _SILENT)


def _is_copy(binding: e.Binding) -> bool:
    """True for a variable that shows what another one shows. One of an unknown object may be a storage of its own."""
    return type(binding) is e.VarBinding and binding.var.struct_info is binding.value.struct_info


def _placed_in(binding: e.Binding) -> e.Expr | None:
    """The storage in which a binding places a tensor."""
    value = binding.value
    return value.args[0] if type(value) is e.Call and value.args and _kind(value) == "place" else None


def _kind(value: e.Expr) -> str | None:
    op = value.op if type(value) is e.Call else None
    return _KINDS.get(op.name) if isinstance(op, (e.OpRef, e.ExternFunc)) else None
