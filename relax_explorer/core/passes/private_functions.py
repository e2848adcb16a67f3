"""Private functions whose calls are all known, so that a pass may change their parameters and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.check.matching import call_dims
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings, exprs, infos_of, operands, sequences, substitute_info
from relax_explorer.core.passes import eliminate as dead_code
from relax_explorer.core.passes.canonicalize_bindings import canonicalize
from relax_explorer.core.passes.contract import PassSite, infer_again
from relax_explorer.core.program.module import IRModule


def changeable(
    module: IRModule, at: PassSite, chosen: Callable[[e.Function], bool] = bool
) -> dict[str, e.Function]:
    """The private Relax functions that nothing uses as a value, by name; with `chosen` only some. In the profile `tvm` all private ones."""
    private = {name: fn for name, fn in module.relax_functions.items() if fn.is_private and chosen(fn)}
    if at.as_tvm or not private:
        return private
    values = used_as_values(module)
    return {name: fn for name, fn in private.items() if name not in values}


def used_as_values(module: IRModule) -> set[str]:
    """The names of the functions that something else than a call reads."""
    found: set[str] = set()
    for fn in module.relax_functions.values():
        todo: list[e.Expr] = [fn.body.body]
        for binding in bindings(fn):
            value = binding.value
            if type(value) is not e.Call:
                todo.append(value)
                todo.extend([seq.body for seq in sequences(value)])
            elif not _PLAIN.issuperset(map(type, value.args)):
                todo.extend(value.args)
        while todo:
            expr = todo.pop()
            if type(expr) is e.GlobalVar:
                found.add(expr.name)
            else:
                todo.extend(operands(expr))
    return found


_PLAIN = frozenset({e.Var, e.DataflowVar, e.Constant, e.PrimValue, e.ShapeExpr})


def calls(module: IRModule) -> Iterator[tuple[str, e.Call]]:
    """The calls of global functions in a module, each with the name of its callee."""
    for fn in module.relax_functions.values():
        for expr in exprs(fn):
            if type(expr) is e.Call and type(expr.op) is e.GlobalVar:
                yield expr.op.name, expr


def fits(fn: e.Function, call: e.Call) -> bool:
    """True if the StructInfo of the arguments proves that a call need not check them."""
    dims = call_dims(fn.params, call.args)
    pairs = zip(infos_of(call.args), infos_of(fn.params), strict=True)
    return all(always_fits(have, substitute_info(want, dims)) for have, want in pairs)


def clean_up(at: PassSite) -> IRModule:
    """The module of `at` with canonical bindings and without dead code, for passes that end with this."""
    site = canonical(at)
    return infer_again(dead_code.eliminate_dead_code.run(site.module, site), site)


def canonical(at: PassSite) -> PassSite:
    """A site for the rest of a pass, whose module has canonical bindings."""
    site = following(at)
    for name, fn in site.module.relax_functions.items():
        site.function = name
        site.editor.replace(name, canonicalize(fn, site))
    return following(site)


def drop_unread_bindings(at: PassSite) -> IRModule:
    """The module of `at` with all its functions, but without their unread bindings, for passes that end with this."""
    site = following(at)
    for name, fn in site.module.relax_functions.items():
        site.editor.replace(name, dead_code.drop_unread(fn, site))
    return infer_again(site.editor.done(), site)


def following(at: PassSite, module: IRModule | None = None) -> PassSite:
    """A site for the next part of a pass, with the same report and record. Its module is `module`, by default that of `at`."""
    if module is None:
        module = infer_again(at.editor.done(), at)
    return PassSite(
        module, report=at.report, recorded=at.recorded, rule=at.rule, as_tvm=at.as_tvm, changes=at.changes
    )
