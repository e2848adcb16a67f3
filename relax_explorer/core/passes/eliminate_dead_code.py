"""DeadCodeElimination: drop unread bindings and uncalled private functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated

from relax_explorer.core.check.call_graph import mentioned
from relax_explorer.core.check.stopping import stopping
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.passes.contract import Kept, PassSite, module_pass
from relax_explorer.core.passes.liveness import Live, unread_in_graphs
from relax_explorer.core.passes.rewrite import without
from relax_explorer.core.phases.module_properties import NORMAL_FORM
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.tir.stmt import PrimFunc


@module_pass(
    "DeadCodeElimination", rebuilds=True, changes={Kept.SIGNATURES: "entry_functions"}, requires=[NORMAL_FORM]
)
def eliminate_dead_code(
    module: IRModule,
    at: PassSite,
    *,
    entry_functions: Annotated[
        tuple[str, ...], "functions that count as called; all public ones by default"
    ] = (),
) -> IRModule:
    """Drop unread bindings without an effect, then uncalled private functions.

    A binding outside a dataflow block stays if it may stop the run, as the specification says; in the profile `tvm` it goes. As in
    TVM, every match_cast stays, also in dataflow blocks.
    `entry_functions` count as called; without them every public function does.
    One sweep from the end of each function finds the live bindings, in linear time. Raises Failure if one of the
    `entry_functions` is not in the module, or if none is public: then no function could be called from outside.
    """
    _check_entries(module, entry_functions)
    return drop_dead(at, entry_functions)


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


def drop_dead(at: PassSite, entries: Collection[str] = ()) -> IRModule:
    """The module of `at` without unread bindings and uncalled private functions."""
    for name, fn in at.editor.done().relax_functions.items():
        at.editor.replace(name, drop_unread(fn, at))
    return drop_uncalled(at, entries)


def drop_uncalled(at: PassSite, entries: Collection[str] = ()) -> IRModule:
    """The module of `at` without the functions that the entries, by default all public ones, do not call."""
    module = at.editor.done()
    for name in module.functions.keys() - reached(module.functions, entries):
        at.editor.remove(name)
    return at.editor.done()


def drop_unread(fn: e.Function, at: PassSite) -> e.Function:
    """The function without unread bindings that have no effect. Those stay that may stop the run, unless the profile is `tvm`."""
    unread = unread_in_graphs(fn)
    if unread is not None:
        return without(fn, at, lambda binding: binding not in unread) if unread else fn
    keep_errors = not at.as_tvm
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
        verb, it, them = ("is", "it", "it") if len(doubtful) == 1 else ("are", "they", "them")
        what = f"{verb} kept: {it}" if keep_errors else f"{verb} dropped although {it}"
        names = ", ".join(repr(b.var.name) for b in doubtful[:3] if b.var is not None)
        others = f" and {len(doubtful) - 3} more" if len(doubtful) > 3 else ""
        text = f"{names}{others} {what} may stop the run, and nothing reads {them}"
        at.report.say(codes.STOPS_UNREAD, text, doubtful[0], help=codes.STOPS_UNREAD.fix)
    live.keep_casts()  # those in an If that is kept now

    if all(map(live.stays, live.facts.bindings)):
        return fn
    return without(fn, at, live.stays)


def reached(functions: Mapping[str, object], entries: Collection[str] = ()) -> set[str]:
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
            stack += mentioned(fn)
    return found


def _private(fn: object) -> bool:
    return isinstance(fn, (e.Function, PrimFunc)) and fn.is_private
