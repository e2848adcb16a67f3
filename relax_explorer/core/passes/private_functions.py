"""Private functions whose calls are all known, so that a pass may change their parameters and results."""

from __future__ import annotations

from collections.abc import Iterator

from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.check.matching import match_params
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import exprs, substitute_info
from relax_explorer.core.passes import eliminate_dead_code as dead_code
from relax_explorer.core.passes.canonicalize_bindings import canonicalize
from relax_explorer.core.passes.contract import PassSite, infer_again
from relax_explorer.core.program.module import IRModule


def changeable(module: IRModule, at: PassSite) -> dict[str, e.Function]:
    """The private Relax functions that nothing uses as a value, by name. In the profile `tvm` all private ones."""
    private = {name: fn for name, fn in module.relax_functions.items() if fn.is_private}
    if at.as_tvm or not private:
        return private
    values = used_as_values(module)
    return {name: fn for name, fn in private.items() if name not in values}


def used_as_values(module: IRModule) -> set[str]:
    """The names of the functions that something else than a call reads."""
    count: dict[str, int] = {}
    for fn in module.relax_functions.values():
        for expr in exprs(fn):
            if type(expr) is e.GlobalVar:
                count[expr.name] = count.get(expr.name, 0) + 1
            elif type(expr) is e.Call and type(expr.op) is e.GlobalVar:
                count[expr.op.name] = count.get(expr.op.name, 0) - 1
    return {name for name, number in count.items() if number}


def calls(module: IRModule) -> Iterator[tuple[str, e.Call]]:
    """The calls of global functions in a module, each with the name of its callee."""
    for fn in module.relax_functions.values():
        for expr in exprs(fn):
            if type(expr) is e.Call and type(expr.op) is e.GlobalVar:
                yield expr.op.name, expr


def fits(fn: e.Function, call: e.Call) -> bool:
    """True if the StructInfo of the arguments proves that a call need not check them."""
    dims: dict[p.PrimVar, p.PrimExpr] = {}
    infos = tuple([param.struct_info or s.OBJECT for param in fn.params])
    given = tuple([arg.struct_info or s.OBJECT for arg in call.args])
    match_params(infos, given, dims)
    return all(
        always_fits(have, substitute_info(want, dims)) for have, want in zip(given, infos, strict=True)
    )


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
        module, report=at.report, recorded=at.recorded, rule=at.rule, as_tvm=at.as_tvm, drops_checks=at.as_tvm
    )
