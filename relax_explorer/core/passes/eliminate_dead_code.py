"""DeadCodeElimination: drop unread bindings and uncalled private functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from relax_explorer.core.check.stopping import stopping
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import exprs
from relax_explorer.core.passes.contract import PassSite, check_errors, module_pass
from relax_explorer.core.passes.liveness import Live
from relax_explorer.core.passes.properties import NORMAL_FORM
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc


@module_pass("DeadCodeElimination", requires=[NORMAL_FORM])
def eliminate_dead_code(
    module: IRModule,
    at: PassSite,
    *,
    entry_functions: Annotated[
        tuple[str, ...], "functions that count as called; all public ones by default"
    ] = (),
    errors: Annotated[str, '"keep" or "drop" bindings that may stop the run'] = "keep",
) -> IRModule:
    """Drop unread bindings without an effect, then uncalled private functions.

    With `errors="keep"` a binding outside a dataflow block stays if it may stop the run, as the specification says.
    `errors="drop"` drops it, as TVM does. A match_cast stays, unless it stands in a dataflow block and binds no shape variable.
    `entry_functions` count as called; without them every public function does.
    One sweep from the end of each function finds the live bindings, in linear time. Raises Failure if one of the
    `entry_functions` is not in the module, or if none is public: then no function could be called from outside.
    """
    check_errors(errors)
    at.drops_checks = errors == "drop"  # a match_cast may stand in a branch of an unread If
    _check_entries(module, entry_functions)
    for name, fn in module.relax_functions.items():
        at.editor.replace(name, drop_unread(fn, at, errors == "keep"))
    called = reached(at.editor.done().functions, entry_functions)
    for name in module.functions.keys() - called:
        at.editor.remove(name)
    return at.editor.done()


def _check_entries(module: IRModule, names: tuple[str, ...]) -> None:
    unknown = [name for name in names if name not in module.functions]
    problem = f"names {unknown[0]!r}, which is not a function of the module" if unknown else ""
    public = [name for name, fn in module.functions.items() if "global_symbol" in getattr(fn, "attrs", ())]
    if names and public and set(names).isdisjoint(public):
        problem = problem or "names no public function"
    if problem:
        help = (
            f"the public functions are {', '.join(public)}" if public else "the module has no public function"
        )
        raise Failure(Diagnostic(codes.BAD_OPTION, f"entry_functions {problem}", help=help))


def drop_unread(fn: e.Function, at: PassSite, keep_errors: bool) -> e.Function:
    """The function without unread bindings that have no effect. With `keep_errors`, those stay that may stop the run."""
    live = Live(fn)
    live.keep_casts()
    may_stop = stopping(at.module).binding
    doubtful: list[e.Binding] = []
    for binding, owner in live.outside:
        if (owner is None or live.stays(owner)) and not live.stays(binding) and may_stop(binding):
            doubtful.append(binding)
            if keep_errors:
                live.keep(binding)
    doubtful.reverse()
    if doubtful:
        what = "is kept: it" if keep_errors else "is dropped although it"
        names = ", ".join(repr(b.var.name) for b in doubtful[:3] if b.var is not None)
        others = f" and {len(doubtful) - 3} more" if len(doubtful) > 3 else ""
        text = f"{names}{others} {what} may stop the run, and nothing reads it"
        at.report.say(codes.STOPS_UNREAD, text, doubtful[0], help=codes.STOPS_UNREAD.fix)
    live.keep_casts()  # those in an If that is kept now

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        return binding if live.stays(binding) else ()

    return rewrite(fn, at, rule)


def reached(functions: Mapping[str, object], entries: tuple[str, ...] = ()) -> set[str]:
    """The functions that the entries (by default all public ones) call, directly or through others, and the entries."""
    stack = [n for n, fn in functions.items() if (n in entries if entries else not _private(fn))]
    found: set[str] = set()
    while stack:
        name = stack.pop()
        if name in found:
            continue
        found.add(name)
        fn = functions.get(name)
        if type(fn) is e.Function:
            stack += [x.name for x in exprs(fn) if type(x) is e.GlobalVar]
    return found


def _private(fn: object) -> bool:
    return isinstance(fn, (e.Function, PrimFunc)) and fn.is_private
