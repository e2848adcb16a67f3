"""TVM's results without the fields of tuples that some passes take apart for one of them, which is what we promise instead."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import Any

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts
from relax_explorer.core.ir.node import replace
from relax_explorer.core.passes.contract import PassSite
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite, without
from relax_explorer.core.program.module import IRModule

_CAST, _PERMUTED = e.op_ref("relax.astype"), e.op_ref("relax.permute_dims")
_PARTS = (e.Tuple, e.TupleGetItem)


def with_cast_fields(module: IRModule) -> IRModule:
    """The module where a field that is taken from a tuple of cast fields is the cast field itself."""

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        value = binding.value
        if type(value) is e.TupleGetItem and binding.var is not None:
            known = walk.lookup(value.tuple)
            if type(known) is e.Tuple and _is_of_one_tuple(walk, known):
                walk.rename(binding.var, known.fields[value.index])
                return ()
        walk.note(binding.var, value)
        return binding

    return _changed(module, rule)


def _is_of_one_tuple(walk: Rewriter, value: e.Tuple) -> bool:
    """True if the fields of a tuple are those of another one, cast or not."""
    found: list[Any] = [walk.lookup(field) for field in value.fields]
    found = [walk.lookup(x.args[0]) if type(x) is e.Call and x.op is _CAST else x for x in found]
    numbers = [getattr(x, "index", None) for x in found]
    return numbers == [*range(len(found))] and len({x.tuple for x in found}) == 1


def with_permuted_fields(module: IRModule) -> IRModule:
    """The module where a copy of a permuted field of a tuple is the permuted field itself."""

    apart: set[e.Expr] = set()  # the tuples that are taken apart for one field

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        known = walk.lookup(binding.value)
        walk.note(binding.var, binding.value)
        if type(binding) is e.VarBinding and type(known) is e.Call and known.op is _PERMUTED:
            field = walk.lookup(known.args[0])
            apart.update({field.tuple} if type(field) is e.TupleGetItem else ())
            return replace(binding, value=known)
        return binding

    return _changed(module, rule, apart)


def _changed(
    module: IRModule, rule: Callable[[Rewriter, e.Binding], Answer], apart: Container[e.Expr] = ()
) -> IRModule:
    """The module after a rule. What nothing reads then of fields, tuples of them and permuted ones goes.

    What nothing read before stays, unless it is of a tuple that is taken `apart`.
    """
    site = PassSite(module)
    for name, fn in module.relax_functions.items():
        site.function, new = name, rewrite(fn, site, rule)
        if new is not fn:
            kept = {binding.var for binding, of in _unread_parts(fn).items() if of not in apart}
            site.editor.replace(name, _without_parts(new, kept, site))
    return site.editor.done()


def _without_parts(fn: e.Function, kept: Container[e.Var | None], site: PassSite) -> e.Function:
    before = None
    while fn is not before:
        before, stays = fn, partial(_stays, {b for b in _unread_parts(fn) if b.var not in kept})
        fn = without(fn, site, stays)
    return fn


def _stays(unread: Container[e.Binding], binding: e.Binding) -> bool:
    return binding not in unread


def _unread_parts(fn: e.Function) -> dict[e.Binding, e.Expr | None]:
    """The parts of tuples that nothing reads, each with the tuple if it is a field."""
    derived, found = facts(fn), dict[e.Binding, e.Expr | None]()
    made: dict[Any, Any] = {binding.var: binding.value for binding in derived.bindings}
    for binding in derived.bindings:
        value: Any = binding.value
        if type(value) is e.Call and value.op is _PERMUTED:
            value = made.get(value.args[0])
        var: Any = binding.var
        if type(var) is e.DataflowVar and type(value) in _PARTS and not derived.users(var):
            found[binding] = value.tuple if type(value) is e.TupleGetItem else None
    return found
