"""StructInfo of the result of a pass: derived again where something that it follows from is another.

A pass may change operands, parameters, annotations and callees, and need not tell: the old and the new functions are compared, by
what was recorded. StructInfo that a pass writes itself is trusted here; the property NORMALIZED refuses what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from relax_explorer.core.check.call_graph import default_derive, mentioned
from relax_explorer.core.check.infer import EXTERN, Inferrer
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.purity import forced, is_impure, is_pure, stated
from relax_explorer.core.check.wildcards import allowed
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import CHECKS
from relax_explorer.core.ir.walk import (
    WITH_BLOCKS,
    bindings,
    casts_in,
    contents,
    info_holders,
    merged_blocks,
    operands,
    sequences,
)
from relax_explorer.core.passes.record import Record
from relax_explorer.core.program.module import IRModule, Member
from relax_explorer.core.program.new_bindings import identities
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.core.tir.traverse import prim_func_info


class Again(NamedTuple):
    """The result of a pass with all StructInfo, and the problems of inference.

    `is_derived` is asked only if the result is checked: whether it is in normal form if the module before was.
    """

    module: IRModule
    report: Report
    is_derived: Callable[[], bool]


def derived_again(module: IRModule, before: IRModule, record: Record, rule: str) -> Again:
    """Derive what no longer follows in the result of a pass. The record then refers to the new bindings."""
    comparison = _Comparison(module, before, record)
    if not comparison.is_stale():
        return Again(
            module,
            Report(),
            lambda: not CHECKS and (comparison.is_derived() or _derives_alike(module, before)),
        )
    new, report = normalize_with(module, after=before)
    renewed = dict(_renewed(module, new))
    if renewed:
        record.renew(renewed, rule)
    return Again(new, report, lambda: not CHECKS)  # tests look again whether normalizing changes nothing now


def _renewed(module: IRModule, new: IRModule) -> Iterator[tuple[e.Binding, e.Binding]]:
    """The bindings that changed when StructInfo was derived again, which adds and drops none."""
    for name, fn in module.relax_functions.items():
        again = new[name]
        if fn is not again and isinstance(again, e.Function):
            old, derived = [*bindings(fn)], [*bindings(again)]
            if len(old) == len(derived):
                yield from [(a, b) for a, b in zip(old, derived, strict=True) if a is not b]


class _Comparison:
    """Compares a new module with the one before. What a binding came from is known from the record."""

    def __init__(self, module: IRModule, before: IRModule, record: Record) -> None:
        self.module, self.before, self.record = module, before, record
        # False if the pass wrote StructInfo that only inference could confirm.
        self.is_proved = bool(record.entries) and module.attrs is before.attrs
        self.is_proved = self.is_proved and before.functions.keys() <= module.functions.keys()
        self.unproved: list[e.Call] = []  # the new calls of which that is so
        self.has_resigned = True  # until it is known whether a function has another signature

    def is_derived(self) -> bool:
        """True if nothing is stale, and inference gives the new calls the StructInfo that they have."""
        if not self.is_proved:
            return False
        inferrer = Inferrer(Report(), self._signatures.get)
        inferrer.places = self.module.global_infos
        return all([self._is_current(call) and inferrer.confirms(call) for call in self.unproved])

    def _is_current(self, call: e.Call) -> bool:
        """True if a call names functions of the module only, with the signatures that they have."""
        known = self._signatures
        return all(
            [
                part.struct_info is known.get(part.name, False)
                for part in (call.op, *call.args)
                if type(part) is e.GlobalVar
            ]
        )

    @cached_property
    def _signatures(self) -> dict[str, s.StructInfo | None]:
        return {name: _signature(fn) for name, fn in self.module.functions.items()}

    @cached_property
    def origins(self) -> Mapping[e.Binding, tuple[e.Binding, ...]]:
        """The bindings that each binding came from."""
        found: dict[e.Binding, tuple[e.Binding, ...]] = {}
        for change in self.record.rewrites():
            for new in change.after:
                found[new] = (*found.get(new, ()), *change.before)
        return found

    def is_stale(self) -> bool:
        """True if StructInfo of the new module may no longer follow."""
        new, old = self.module, self.before
        functions = [(fn, old.functions.get(name)) for name, fn in new.relax_functions.items()]
        changed = [(fn, was) for fn, was in functions if fn is not was]
        if new.global_infos is not old.global_infos or (changed and allowed(new.attrs)):
            return True  # tensors lie on the first device by default; and each call has wildcards of its own
        if any(_may_be_purer(fn) for fn, _ in changed) or _keeps_results(self.record):
            return True
        resigned = self._resigned()
        self.has_resigned = bool(resigned)
        if resigned and any(_refers(fn, was, resigned) for fn, was in functions):
            return True
        return any(self._function(fn, was if type(was) is e.Function else None) for fn, was in changed)

    def _resigned(self) -> dict[str, s.StructInfo | None]:
        """The functions with another signature than before. None stands for those that are gone."""
        new, old = self.module.functions, self.before.functions
        found = dict.fromkeys(old.keys() - new.keys())
        for name, fn in new.items():
            was = old.get(name)
            if was is not None and was is not fn and _signature(was) is not _signature(fn):
                found[name] = _signature(fn)
        return found

    def _function(self, fn: e.Function, old: e.Function | None) -> bool:
        info, body = fn.struct_info, fn.body
        if not isinstance(info, s.FuncStructInfo) or info.ret is not fn.ret_struct_info:
            return True
        if info.params != tuple([param.struct_info for param in fn.params]):
            return True
        is_pure = info.pure and stated(fn) is None and not forced(fn)
        self.is_proved = self.is_proved and len(merged_blocks(body.blocks)) == len(body.blocks)
        if old is None:
            self.is_proved = (
                self.is_proved and info.ret is body.struct_info and e.MatchCast not in contents(fn).bindings
            )
            return self._sequence(body, frozenset(), is_pure)
        was = old.struct_info
        if not isinstance(was, s.FuncStructInfo) or was.params != info.params or was.ret is not info.ret:
            return True
        self.is_proved = self.is_proved and info.pure is was.pure
        if body is old.body:
            return False
        if body.struct_info is not old.body.struct_info or not _casts_alike(fn, old):
            return True
        return self._sequence(body, identities(old), is_pure)

    def _sequence(self, seq: e.SeqExpr, known: frozenset[int], is_pure: bool) -> bool:
        """True for a sequence with new bindings whose StructInfo may not follow, or with an effect where the function `is_pure`."""
        if seq.struct_info is None or seq.struct_info is not seq.body.struct_info or _is_stale(seq.body):
            return True
        callees = set[e.Expr]()
        rare = [b for block in seq.blocks for b in self._rare(block, known, callees)]
        if (is_pure and any(map(_may_be_impure, callees))) or any(
            [self._binding(binding) for binding in rare]
        ):
            return True
        self.is_proved = self.is_proved and all(map(_is_copy, rare))
        inner = [b.value for b in rare if type(b.value) is e.If]
        return any(self._sequence(branch, known, is_pure) for value in inner for branch in sequences(value))

    def _rare(self, block: e.BindingBlock, known: frozenset[int], callees: set[e.Expr]) -> list[e.Binding]:
        """The new bindings of a block but for plain calls of what is added to `callees`."""
        rare: list[e.Binding] = []
        flat = _FLAT.issuperset
        for binding in block.bindings:
            if id(binding) in known:
                continue
            value, var, said = binding.value, binding.var, binding.annotation
            if type(value) is not e.Call:
                rare.append(binding)
                continue
            info = value.struct_info
            is_plain = var is not None and var.struct_info is info and (said is None or said is info)
            if is_plain and value.settled is not None and not self.has_resigned:
                continue
            callees.add(value.op)
            if not is_plain or info is None or not flat(map(type, value.args)):
                rare.append(binding)
            elif self.is_proved and not (_states_result(value) and info is default_derive(value)):
                self.unproved.append(value)
        return rare

    def _binding(self, binding: e.Binding) -> bool:
        """True if the StructInfo of a variable may not follow from its value, or that of the value not from its operands."""
        value, var, said = binding.value, binding.var, binding.annotation
        info = value.struct_info
        is_plain = var is not None and var.struct_info is info and (said is None or said is info)
        if info is None or not (is_plain or self._may_say_other(binding)):
            return True
        if type(value) is e.Call:
            return not _FLAT.issuperset(map(type, value.args))
        if type(value) is not e.If and type(value) is not e.Function:
            return _is_stale(value)
        olds = [old.value for old in self.origins.get(binding, ())]
        if type(value) is e.Function:
            return len(olds) != 1 or not isinstance(olds[0], e.Function) or self._function(value, olds[0])
        results = [seq.body.struct_info for seq in sequences(value)]
        return not any(
            old.struct_info is info and results == [seq.body.struct_info for seq in sequences(old)]
            for old in olds
        )

    def _may_say_other(self, binding: e.Binding) -> bool:
        """True for a match_cast, and for a variable that differs from its value as it did before."""
        var, info = binding.var, binding.value.struct_info
        if type(binding) is e.MatchCast:
            return var is None or var.struct_info is (binding.annotation or binding.struct_info)
        if info is None or info_holders(info):
            return False
        return any(
            old.var is not None
            and binding.annotation is old.annotation
            and var is not None
            and (var.struct_info, info) == (old.var.struct_info, old.value.struct_info)
            for old in self.origins.get(binding, ())
        )


def _may_be_impure(callee: e.Expr) -> bool:
    """True if a call of this may have an effect. Of packed functions, only calls tell."""
    return type(callee) is e.ExternFunc or is_impure(e.Call(callee, ()), undeclared=False, by_spec=True)


def _refers(fn: e.Function, was: Member | None, resigned: Mapping[str, s.StructInfo | None]) -> bool:
    """True if what a function kept refers to one of these by another signature than it has."""
    if resigned.keys().isdisjoint(mentioned(fn)):
        return False
    kept = set(map(id, bindings(was))) if type(was) is e.Function and was is not fn else None
    stack: list[e.Expr] = [fn.body.body]
    for binding in bindings(fn):
        value = binding.value
        if kept is None or id(binding) in kept or type(value) is not e.Call:
            stack += (value.op, *value.args) if type(value) is e.Call else (value,)
            stack += [seq.body for seq in sequences(value)]
    while stack:
        part = stack.pop()
        if type(part) is e.GlobalVar:
            is_gone = part.name in resigned and resigned[part.name] is None
            if is_gone or (part.name in resigned and part.struct_info is not resigned[part.name]):
                return True
        elif type(part) in (e.Tuple, e.TupleGetItem, e.Call):
            stack += operands(part)
    return False


def _is_copy(binding: e.Binding) -> bool:
    """True for a copy, a tuple or a field, if no variable holds its shape."""
    value = binding.value
    is_plain = type(value) in _FLAT or type(value) is e.TupleGetItem
    is_unsaid = binding.annotation is None or binding.annotation is value.struct_info
    return is_plain and is_unsaid and not info_holders(value.struct_info or s.OBJECT)


def _casts_alike(fn: e.Function, old: e.Function) -> bool:
    """True if two functions have equal match_casts, which may bind lengths."""
    return [cast.struct_info for cast in casts_in(fn)] == [cast.struct_info for cast in casts_in(old)]


def _is_stale(value: e.Expr) -> bool:
    """True for a tuple or a field with other StructInfo than follows from its operands, and for a value that is no operand."""
    if type(value) is e.Tuple:
        fields = tuple([field.struct_info or s.OBJECT for field in value.fields])
        return value.struct_info != s.TupleStructInfo(fields)
    if type(value) is e.TupleGetItem:
        whole = value.tuple.struct_info
        if type(whole) is not s.TupleStructInfo or value.index >= len(whole.fields):
            return True
        return whole.fields[value.index] is not value.struct_info
    return type(value) not in e.LEAVES


def _keeps_results(record: Record) -> bool:
    """True if a call has its operator and its StructInfo from the call before, but other operands."""
    for before, after in record.pairs():
        old, new = before.value, after.value
        if new is old or type(new) is not e.Call or new.settled is not None or type(old) is not e.Call:
            continue
        if new.struct_info is not old.struct_info or (new.op is old.op and new.args == old.args):
            continue
        if new.op is not old.op and e.OpRef in (type(new.op), type(old.op)):
            continue
        if new.sinfo_args != old.sinfo_args or new.attrs != old.attrs:
            continue
        if type(new.op) is not e.OpRef and new.op.struct_info is not old.op.struct_info:
            return True
        if _differ(new.args, old.args):
            return True
    return False


def _differ(new: tuple[e.Expr, ...], old: tuple[e.Expr, ...]) -> bool:
    """True if inference sees other operands: others by their kinds, their StructInfo or their fields."""
    for a, b in zip(new, old, strict=False):
        if a is b:
            continue
        if a.struct_info is not b.struct_info or _KINDS.get(type(a), a) is not _KINDS.get(type(b), b):
            return True
        if type(a) is e.Tuple and type(b) is e.Tuple and _differ(a.fields, b.fields):
            return True
    return len(new) != len(old)


def _states_result(call: e.Call) -> bool:
    """True if the result of a call is what it states itself."""
    return call.op in _STATED or (type(call.op) is e.ExternFunc and call.op.struct_info is EXTERN)


_STATED = frozenset(
    map(e.op_ref, ("relax.make_closure", "relax.invoke_closure", "relax.invoke_pure_closure"))
)
_FLAT = e.LEAVES | {e.Tuple}  # operands in normal form
_KINDS: dict[type, type] = {
    **dict.fromkeys((e.Var, e.DataflowVar, e.Constant), e.Var),
    **{kind: kind for kind in (e.Tuple, e.GlobalVar, e.ExternFunc, e.ShapeExpr, e.PrimValue)},
}


def _signature(fn: Member) -> s.StructInfo | None:
    return prim_func_info(fn) if isinstance(fn, PrimFunc) else fn.struct_info


def _may_be_purer(fn: e.Function) -> bool:
    """True for an impure function without a declared purity."""
    return isinstance(fn.struct_info, s.FuncStructInfo) and not fn.struct_info.pure and stated(fn) is None


def _derives_alike(module: IRModule, before: IRModule) -> bool:
    """True if only bindings were dropped and attributes of functions changed, and none of which other StructInfo depends."""
    may_drop = not allowed(module.attrs)  # a wildcard is written anew each time
    return (
        module.attrs is before.attrs
        and module.global_infos is before.global_infos
        and module.functions.keys() == before.functions.keys()
        and all(_is_like(fn, before.functions[name], may_drop) for name, fn in module.functions.items())
    )


def _is_like(new: Member, old: Member, may_drop: bool) -> bool:
    if isinstance(new, e.Function) and isinstance(old, e.Function):
        same = new.params is old.params and new.struct_info is old.struct_info
        same = same and new.ret_struct_info is old.ret_struct_info and _is_as_pure(new, old)
        return same and (new.body is old.body or (may_drop and _only_drops(new.body, old.body)))
    if isinstance(new, PrimFunc) and isinstance(old, PrimFunc):
        return prim_func_info(new) is prim_func_info(old)
    return new is old


def _only_drops(new: e.SeqExpr, old: e.SeqExpr) -> bool:
    """True if a sequence is another one without some calls and other plain values."""
    if new.body is not old.body or new.struct_info is not old.struct_info:
        return False
    left, given = _placed(new), _placed(old)
    rest = iter(given)
    is_part = all([placed in rest for placed in left])  # what was found is not looked at again
    return is_part and _scopes(left) == _scopes(given) and len(merged_blocks(new.blocks)) == len(new.blocks)


def _placed(seq: e.SeqExpr) -> list[tuple[type[e.BindingBlock], e.Binding]]:
    return [(type(block), binding) for block in seq.blocks for binding in block.bindings]


def _scopes(placed: list[tuple[type[e.BindingBlock], e.Binding]]) -> int:
    """The number of bindings that may bind shape variables."""
    return sum([type(binding) is e.MatchCast or type(binding.value) in WITH_BLOCKS for _, binding in placed])


def _is_as_pure(new: e.Function, old: e.Function) -> bool:
    """True if the purity of a function that changed its attributes follows as before: from its body, or from a declaration."""
    if is_pure(new, True) is is_pure(new, False):
        return isinstance(old.struct_info, s.FuncStructInfo) and old.struct_info.pure is is_pure(new, True)
    return is_pure(old, True) is not is_pure(old, False)
