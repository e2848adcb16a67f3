"""Private functions whose calls are all known, so that a pass may change their parameters and results."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import exprs
from relax_explorer.core.passes import eliminate_dead_code as dead_code
from relax_explorer.core.passes.canonicalize_bindings import canonicalize
from relax_explorer.core.passes.contract import PassSite, infer_again
from relax_explorer.core.program.module import IRModule


def changeable(module: IRModule, at: PassSite) -> dict[str, e.Function]:
    """The private Relax functions that nothing uses as a value, by name. In the profile `tvm` all private ones."""
    private = {name: fn for name, fn in module.relax_functions.items() if fn.is_private}
    if at.as_tvm:
        return private
    as_values: dict[str, int] = {}
    for fn in module.relax_functions.values():
        for expr in exprs(fn):
            if type(expr) is e.GlobalVar:
                as_values[expr.name] = as_values.get(expr.name, 0) + 1
            elif type(expr) is e.Call and type(expr.op) is e.GlobalVar:
                as_values[expr.op.name] = as_values.get(expr.op.name, 0) - 1
    return {name: fn for name, fn in private.items() if not as_values.get(name)}


def calls(module: IRModule) -> Iterator[tuple[str, e.Call]]:
    """The calls of global functions in a module, each with the name of its callee."""
    for fn in module.relax_functions.values():
        for expr in exprs(fn):
            if type(expr) is e.Call and type(expr.op) is e.GlobalVar:
                yield expr.op.name, expr


def clean_up(at: PassSite) -> IRModule:
    """The module of `at` with canonical bindings and without dead code, for passes that end with this."""
    site = canonical(at)
    return infer_again(dead_code.eliminate_dead_code.run(site.module, site), site)


def canonical(at: PassSite) -> PassSite:
    """A site for the rest of a pass, whose module has canonical bindings."""
    site = _next(at)
    for name, fn in site.module.relax_functions.items():
        site.function = name
        site.editor.replace(name, canonicalize(fn, site))
    return _next(site)


def drop_unread_bindings(at: PassSite) -> IRModule:
    """The module of `at` with all its functions, but without their unread bindings, for passes that end with this."""
    site = _next(at)
    for name, fn in site.module.relax_functions.items():
        site.editor.replace(name, dead_code.drop_unread(fn, site))
    return infer_again(site.editor.done(), site)


def _next(at: PassSite) -> PassSite:
    """A site for the next part of a pass, with the same report and record."""
    module = infer_again(at.editor.done(), at)
    return PassSite(
        module, report=at.report, recorded=at.recorded, rule=at.rule, as_tvm=at.as_tvm, drops_checks=at.as_tvm
    )
