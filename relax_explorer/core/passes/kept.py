"""What every pass keeps: effects and their order, checks, StructInfo of results, and visible functions.

No property tells this, since it compares two modules. Successors of bindings are those that the pass recorded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from relax_explorer.core.check.compatible import NO, YES, fits, more_specific, never_fits
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.interned import PerNode
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, casts_in, contents, map_sequences, sequences
from relax_explorer.core.passes.cast_checks import bound_by_casts, is_proven
from relax_explorer.core.passes.contract import Kept, PassSite
from relax_explorer.core.passes.eliminate import Live, reached
from relax_explorer.core.passes.same_lengths import known_lengths
from relax_explorer.core.passes.tvm_kernels import FORMATS
from relax_explorer.core.program.module import IRModule

_SEEN = tuple(FORMATS)
_SAID = {packed: name for name, (packed, _) in FORMATS.items()}
_SEEN_OPS = frozenset(map(e.op_ref, _SEEN))
_MACHINE = ("vm.builtin.", "vm.")  # packed functions that lowering adds
_CHECKS = re.compile(r"vm\.builtin\.(check_\w+_info|match_shape|match_prim_value)")  # they may stop a run


class Loss(NamedTuple):
    """A binding whose effect or check is gone, or came too early, with a sentence."""

    place: e.Binding | e.SeqExpr
    text: str


def effect(binding: e.Binding) -> str:
    """What a binding does that a user sees, without its operands: they get other names. Empty if nothing."""
    value = binding.value
    if type(binding) is e.MatchCast or type(value) is not e.Call:
        return ""
    if type(value.op) is e.OpRef and value.op.name in _SEEN:
        return f"{value.op.name} {value.attrs.get('format', '')!r} {_texts(value)}"
    if type(value.op) is e.ExternFunc and value.op.name in _SAID and (texts := _texts(value)):
        return f"{_SAID[value.op.name]} {texts[0]!r} {texts[1:]}"
    if type(value.op) is e.ExternFunc and _CHECKS.fullmatch(value.op.name):
        return f"{value.op.name} {_texts(value)}"
    if type(value.op) is e.ExternFunc and value.attrs.get("pure") is not True:
        return "" if value.op.name.startswith(_MACHINE) else f"call of {value.op.name!r}"
    return ""


_HAS_EFFECTS: PerNode[bool] = PerNode()


def _has_effects(fn: e.Function) -> bool:
    inside = contents(fn)
    if not inside.calls_packed and inside.operators.isdisjoint(_SEEN_OPS):  # most often
        return False
    return _HAS_EFFECTS.of(fn, lambda fn: any(effect(b) for b in bindings(fn)))


def _is_pure(fn: e.Function) -> bool:
    return isinstance(fn.struct_info, s.FuncStructInfo) and fn.struct_info.pure


def _texts(call: e.Call) -> list[str]:
    return [arg.value for arg in call.args if type(arg) is e.StringImm]


def _checked(binding: e.Binding) -> e.Call | None:
    """The call of a builtin that compares a value with its StructInfo."""
    call = binding.value
    if type(call) is not e.Call or type(call.op) is not e.ExternFunc:
        return None
    return call if _CHECKS.fullmatch(call.op.name) else None


def losses(before: IRModule, after: IRModule, site: PassSite) -> Iterator[Loss]:
    """The effects and checks of `before` that `after` lost or reordered, at most one for each function."""
    kept = _Kept(before, after, site)
    for name, fn in before.relax_functions.items():
        new = after.relax_functions.get(name)
        if new is not None and not _is_pure(fn) and kept.has_other_bodies and _has_effects(fn):
            yield from kept.of_calls(name, fn)
        if new is fn:
            continue
        found = kept.of_function(fn, new) if new is not None else kept.of_removed(name, fn)
        yield from found[:1]


def _live(fn: object) -> object:
    """A function without unread bindings that have no effect, in branches and nested functions too."""
    if type(fn) is not e.Function:
        return fn
    live = Live(fn, every_cast=False)
    live.keep_casts()

    def kept(seq: e.SeqExpr) -> e.SeqExpr:
        blocks = [
            replace(block, bindings=tuple([map_sequences(b, kept) for b in block.bindings if live.stays(b)]))
            for block in seq.blocks
        ]
        return replace(seq, blocks=tuple(blocks))

    return replace(fn, body=kept(fn.body))


class _Kept:
    """Compares two modules. What is asked only for modules with effects is found at its first use."""

    def __init__(self, before: IRModule, after: IRModule, site: PassSite) -> None:
        self.before, self.after, self.site = before, after, site

    @cached_property
    def successors(self) -> dict[e.Binding, tuple[e.Binding, ...]]:
        """The bindings that came from a binding, as the pass recorded them."""
        found: dict[e.Binding, tuple[e.Binding, ...]] = {}
        for item in self.site.recorded.rewrites():
            for old in item.before:
                found[old] = (*found.get(old, ()), *item.after)
        return found

    @cached_property
    def effects(self) -> Counter[str]:
        """How often each effect stands in the new module."""
        return Counter(effect(b) for fn in self.after.relax_functions.values() for b in bindings(fn))

    @cached_property
    def needed(self) -> Counter[str]:
        """How often each effect stood in the old module, where a run may come to it."""
        return Counter(effect(b) for fn in self._called.values() for b in bindings(fn))

    @cached_property
    def checks(self) -> set[str]:
        """The names and the StructInfo of all match_casts of the new module."""
        casts = [cast for fn in self.after.relax_functions.values() for cast in casts_in(fn)]
        names = {b.var.name for b in casts if b.var is not None}
        return names | {str(b.struct_info) for b in casts}

    def of_function(self, fn: e.Function, new: e.Function) -> list[Loss]:
        """What a function lost, and what changed places in it."""
        if not (_has_effects(fn) or e.MatchCast in contents(fn).bindings):  # most often
            return []
        found = self._of_function(fn, new, frozenset())
        return self._of_function(fn, new, self._proved) if found else found

    @cached_property
    def _proved(self) -> Set[e.Binding]:
        """The bindings of the old module whose checks can't stop a run. Few passes drop checks, so others do not load the proofs."""
        from relax_explorer.core.passes.shape_checks import proved_bindings

        return proved_bindings(self.before)

    def _of_function(self, fn: e.Function, new: e.Function, proved: Set[e.Binding]) -> list[Loss]:
        found: list[Loss] = []
        places: dict[e.Binding, int] = {}
        casts: _Casts | None = None
        for owner, group, unordered in _groups(fn):
            casts = casts or (_Casts.of(fn) if any(type(b) is e.MatchCast for b in group) else None)
            may_stop = [b for b in group if b not in proved]
            seen = [b for b in may_stop if effect(b) or self._may_stop(b, casts)]
            if not seen:
                continue
            places = places or {b: number for number, b in enumerate(bindings(new))}
            if owner and not any(b.var is not None and b.var.name == owner for b in places):
                continue  # a nested function may be lifted, or dropped if nothing calls it
            found += self._lost(seen, places)
            found += self._moved([b for b in seen if b not in unordered], places)
        return found

    def of_removed(self, name: str, fn: e.Function) -> list[Loss]:
        """The effects of a function that is gone although others call it. Code generators take their functions away."""
        if fn.attrs.get("Codegen") or not _has_effects(fn) or name not in self._called:
            return []
        # A nested function that nothing calls goes with the function.
        own = [b for owner, group, _ in _groups(fn) if not owner for b in group]
        return [Loss(b, self._gone(b)) for b in own if effect(b) and not self.effects[effect(b)]]

    @cached_property
    def has_other_bodies(self) -> bool:
        """True if a function is gone, or its body is another one."""
        new = self.after.relax_functions
        return any(
            name not in new or new[name].body is not fn.body
            for name, fn in self.before.relax_functions.items()
        )

    def of_calls(self, name: str, fn: e.Function) -> list[Loss]:
        """A call of a function with effects that is gone. Where the effects stand in other places now, it is inlined."""
        was, now = self._calls[0].get(name, []), self._calls[1].get(name, [])
        if len(now) >= len(was):
            return []
        moved = any(self.effects[effect(b)] > self.written[effect(b)] for b in bindings(fn) if effect(b))
        gone = next((b for b in was if b not in now and not self._stays(b, now)), was[0])
        return [] if moved else [Loss(gone, f"a call of {name!r}, which has effects, is gone")]

    def _stays(self, call: e.Binding, now: list[e.Binding]) -> bool:
        return any(new in now for new in self.successors.get(call, ()))

    @cached_property
    def _calls(self) -> tuple[dict[str, list[e.Binding]], dict[str, list[e.Binding]]]:
        """The calls of each function before and after, but for those in functions that nothing calls."""
        after = reached(self.after.functions)
        new = [fn for name, fn in self.after.relax_functions.items() if name in after]
        found: tuple[dict[str, list[e.Binding]], dict[str, list[e.Binding]]] = ({}, {})
        for functions, calls in zip((self._called.values(), new), found, strict=True):
            for binding in (b for fn in functions for b in bindings(fn)):
                value = binding.value
                if type(value) is e.Call and type(value.op) is e.GlobalVar:
                    calls.setdefault(value.op.name, []).append(binding)
        return found

    @cached_property
    def written(self) -> Counter[str]:
        """How often each effect stood in the old module."""
        return Counter(effect(b) for fn in self.before.relax_functions.values() for b in bindings(fn))

    @cached_property
    def _called(self) -> dict[str, e.Function]:
        """The functions of the old module that a run may come to, without what nothing reads: a mention in a dead closure does not count."""
        live = {name: _live(fn) for name, fn in self.before.functions.items()}
        found = reached(live)
        return {name: fn for name, fn in live.items() if name in found and isinstance(fn, e.Function)}

    def _may_stop(self, binding: e.Binding, casts: _Casts | None) -> bool:
        """True for a match_cast that may fail, unless the pass was asked to drop checks."""
        if type(binding) is not e.MatchCast or Kept.CHECKS in self.site.changes or casts is None:
            return False
        return not is_proven(binding, casts.new[binding], casts.lengths)

    def _lost(self, seen: Iterable[e.Binding], places: dict[e.Binding, int]) -> Iterator[Loss]:
        for binding in seen:
            if self._place(binding, places) is not None and not self._is_unchecked(binding, places):
                continue
            key = effect(binding)
            if key and self.effects[key] < self.needed[key]:
                yield Loss(binding, self._gone(binding))
            elif type(binding) is e.MatchCast and self._has_lost_its_check(binding, places):
                yield Loss(
                    binding, f"the check of {_name(binding)} is gone: R.match_cast to {binding.struct_info}"
                )

    def _has_lost_its_check(self, cast: e.MatchCast, places: dict[e.Binding, int]) -> bool:
        """True if nothing checks what a match_cast checked. One that came to compare a shape with itself needs no check."""
        if self._is_unchecked(cast, places):
            return True
        later = self._later(cast)
        if any(new.value.struct_info is new.struct_info for new in later[1:]):
            return False
        return self.checks.isdisjoint({name for each in later for name in _names(each)})

    def _later(self, cast: e.MatchCast) -> list[e.MatchCast]:
        """A match_cast and those that came from it. Their lengths may have other names."""
        found, known = [cast], {cast}
        for current in found:
            for new in self.successors.get(current, ()):
                if type(new) is e.MatchCast and new not in known:
                    known.add(new)
                    found.append(new)
        return found

    def _is_unchecked(self, binding: e.Binding, places: dict[e.Binding, int]) -> bool:
        """True for a match_cast that became checks of the machine of which one is gone. It stays behind them, as a copy."""
        made = self.successors.get(binding, ()) if type(binding) is e.MatchCast else ()
        return any(_checked(new) is not None and new not in places for new in made)

    def _moved(self, seen: list[e.Binding], places: dict[e.Binding, int]) -> Iterator[Loss]:
        placed = [(place, b) for b in seen if (place := self._place(b, places)) is not None]
        if any(place < before for (before, _), (place, _) in pairwise(placed)):
            now = sorted(placed, key=lambda item: item[0])
            early, late = next((a[1], b[1]) for a, b in zip(now, placed, strict=True) if a[1] is not b[1])
            where = next((b for b, place in places.items() if place == self._place(early, places)), early)
            yield Loss(where, f"{_what(early)} comes before {_what(late)} now")

    def _place(self, binding: e.Binding, places: dict[e.Binding, int]) -> int | None:
        """Where a binding, or what came from it, stands now."""
        for found in (binding, *self.successors.get(binding, ())):
            if found in places and (found is binding or _is_like(binding, found)):
                return places[found]
        return self._by_effect(binding, places)

    def _by_effect(self, binding: e.Binding, places: dict[e.Binding, int]) -> int | None:
        """Where an effect stands that there was, and is, only once, if the pass recorded nothing."""
        key = effect(binding)
        if not key or self.needed[key] != 1 or self.effects[key] != 1:
            return None
        return next((place for found, place in places.items() if effect(found) == key), None)

    def _gone(self, binding: e.Binding) -> str:
        return f"{_what(binding)} is gone"


class _Casts(NamedTuple):
    """The shape variables that each match_cast of a function binds first, and those that are bound to known lengths."""

    new: dict[e.MatchCast, list[p.PrimVar]]
    lengths: dict[p.PrimVar, p.PrimExpr]

    @classmethod
    def of(cls, fn: e.Function) -> _Casts:
        return cls(bound_by_casts(fn), known_lengths(fn))


class _Group(NamedTuple):
    """The bindings of a function or a nested one, which `owner` holds, with those of branches."""

    owner: str
    bindings: list[e.Binding]
    unordered: set[e.Binding]
    """Those in dataflow blocks, where every call counts as pure: a function may promise it of a packed function."""


def _groups(fn: e.Function) -> Iterator[_Group]:
    """The bindings of a function and of each nested function, in their order. Dataflow blocks may lose checks."""
    functions = [("", fn)]
    while functions:
        owner, current = functions.pop()
        group = _Group(owner, [], set())
        _collect(current.body, False, group, functions)
        yield group


def _collect(seq: e.SeqExpr, inside: bool, group: _Group, functions: list[tuple[str, e.Function]]) -> None:
    """Add the bindings of a sequence, and of branches in it. Recursion goes as deep as branches do."""
    for block in seq.blocks:
        is_dataflow = inside or type(block) is e.DataflowBlock
        if is_dataflow:
            group.unordered.update(block.bindings)
        for binding in block.bindings:
            value = binding.value
            if type(value) is e.Function and binding.var is not None:
                functions.append((binding.var.name, value))
            elif not (is_dataflow and type(binding) is e.MatchCast):
                group.bindings.append(binding)
            for inner in sequences(value) if type(value) is e.If else ():
                _collect(inner, is_dataflow, group, functions)


def _is_like(old: e.Binding, new: e.Binding) -> bool:
    """True if a successor does what the binding did. A match_cast may become a copy of what was checked."""
    return type(old) is e.MatchCast or effect(old) == effect(new)


def _names(binding: e.MatchCast) -> set[str]:
    return {str(binding.struct_info)} | ({binding.var.name} if binding.var is not None else set())


def _name(binding: e.Binding) -> str:
    return repr(binding.var.name) if binding.var is not None else "a value"


def _what(binding: e.Binding) -> str:
    if type(binding) is e.MatchCast:
        return f"the check of {_name(binding)}"
    call = _checked(binding)
    if call is not None:
        checked = next((arg.name for arg in call.args if type(arg) is e.Var), "a value")
        return f"the check of {checked!r}"
    return f"the effect {effect(binding).removeprefix('relax.').removesuffix(' []')}"


def vaguer(before: IRModule, after: IRModule, site: PassSite) -> Iterator[Loss]:
    """Results of public functions that can't be what they were, and new annotations that hide what was known of a value."""
    for name, fn in before.relax_functions.items():
        new = after.relax_functions.get(name)
        if new is None or new is fn:
            continue
        if not fn.is_private and Kept.RESULTS not in site.changes:
            yield from _other_result(name, fn, new)
        if not site.as_tvm:
            yield from _hidden(fn, new)


def _other_result(name: str, fn: e.Function, new: e.Function) -> Iterator[Loss]:
    was, now = fn.struct_info, new.struct_info
    if (
        isinstance(was, s.FuncStructInfo)
        and isinstance(now, s.FuncStructInfo)
        and never_fits(now.ret, was.ret)
    ):
        yield Loss(new.body, f"the result of {name} is {now.ret}, it was {was.ret}")


def _hidden(fn: e.Function, new: e.Function) -> Iterator[Loss]:
    """The first variable whose annotation is weaker than its value, where it had better StructInfo before."""
    if not contents(new).hides_infos:  # most often
        return
    weak = [b for b in bindings(new) if type(b) is e.VarBinding and b.annotation is not None and _is_weak(b)]
    if not weak:
        return
    was: dict[str, list[s.StructInfo]] = {}
    for binding in bindings(fn):
        if binding.var is not None and binding.var.struct_info is not None:
            was.setdefault(binding.var.name, []).append(binding.var.struct_info)
    for binding in weak:
        now, known = binding.var.struct_info, was.get(binding.var.name)
        if now is not None and known and all(_is_better(info, now) for info in known):
            yield Loss(
                binding, f"the StructInfo of {binding.var.name!r} is less precise: {now}, it was {known[0]}"
            )
            return


def _is_weak(binding: e.VarBinding) -> bool:
    value, var = binding.value.struct_info, binding.var.struct_info
    return value is not None and var is not None and value is not var and _is_better(value, var)


def _is_better(a: s.StructInfo, b: s.StructInfo) -> bool:
    return more_specific(a, b) is YES and more_specific(b, a) is NO


_OF_PASSES = ("Codegen", "Composite", "Primitive", "num_input", "op_pattern", "rx.", "relax.")
"""Attributes that tell passes what to do, by the beginnings of their names: a pass that did it may drop them."""


def resigned(before: IRModule, after: IRModule, site: PassSite) -> Iterator[Loss]:
    """Visible functions that are gone or can't be called as before, and functions whose results contradict their annotation."""
    symbols = {fn.attrs.get("global_symbol") for fn in after.relax_functions.values()}
    for name, fn in before.relax_functions.items():
        new = after.relax_functions.get(name)
        if new is fn:
            continue
        symbol = fn.attrs.get("global_symbol")
        is_gone = symbol is not None and symbol not in symbols and Kept.SIGNATURES not in site.changes
        if is_gone and not fn.attrs.get("Codegen"):
            yield Loss(fn.body, f"no function has the global_symbol {symbol!r} any more")
        if new is None:
            continue
        if not fn.is_private and Kept.SIGNATURES not in site.changes:
            yield from _other_params(name, fn, new)
        yield from _lost_attributes(name, fn, new)
        # Lengths that options give may contradict it.
        if _contradicts(new) and not _contradicts(fn) and Kept.RESULTS not in site.changes:
            yield Loss(
                new.body,
                f"{name} returns {new.body.struct_info}, its annotation says {new.ret_struct_info}",
            )


def _other_params(name: str, fn: e.Function, new: e.Function) -> Iterator[Loss]:
    """The first difference of parameters that a caller would see."""
    was, now = [p.name for p in fn.params], [p.name for p in new.params]
    if len(was) != len(now):
        yield Loss(new.body, f"{name} has {len(now)} parameters, it had {len(was)}")
    elif was != now and sorted(was) == sorted(now):
        yield Loss(new.body, f"the parameters of {name} are {', '.join(now)} now; they were {', '.join(was)}")
    elif fits(_accepting(new), _accepting(fn)) is not YES:
        infos = [", ".join([f"{p.name}: {p.struct_info}" for p in of.params]) for of in (new, fn)]
        yield Loss(new.body, f"{name} takes {infos[0]} now, it took {infos[1]}")


def _accepting(fn: e.Function) -> s.FuncStructInfo:
    """A function of these parameters, of which only they are of interest."""
    return s.FuncStructInfo(tuple([param.struct_info or s.OBJECT for param in fn.params]), s.OBJECT)


def _lost_attributes(name: str, fn: e.Function, new: e.Function) -> Iterator[Loss]:
    """The first attribute that is gone."""
    for key, value in fn.attrs.items():
        if key not in new.attrs and key != "global_symbol" and not key.startswith(_OF_PASSES):
            yield Loss(new.body, f"the attribute {key!r} of {name} is gone: {value}")
            return


def _contradicts(fn: e.Function) -> bool:
    """True if the result can't be what the annotation says."""
    result, said = fn.body.body.struct_info, fn.ret_struct_info
    return result is not None and said is not None and never_fits(result, said)
