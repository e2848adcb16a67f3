"""DeadCodeElimination: drop what nothing reads."""

from __future__ import annotations

from collections.abc import Mapping

from relax_explorer.core.check.purity import is_impure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.facts import facts, variables
from relax_explorer.core.ir.module import IRModule
from relax_explorer.core.ir.walk import any_expr, exprs, info_vars, sequences
from relax_explorer.core.passes.decl import PassSite, module_pass
from relax_explorer.core.passes.properties import NORMAL_FORM
from relax_explorer.core.passes.rewrite import Answer, Rewriter, rewrite
from relax_explorer.core.tir.stmt import PrimFunc


@module_pass("DeadCodeElimination", requires=[NORMAL_FORM])
def eliminate_dead_code(module: IRModule, at: PassSite, *, entry_functions: tuple[str, ...] = ()) -> IRModule:
    """Drop bindings that nothing reads and that have no effect, then private functions that nothing calls.

    A match_cast stays, for it may fail, unless it stands in a dataflow block and binds no shape variable.
    `entry_functions` count as called; without them every public function does.
    One sweep from the end of each function decides what lives: linear in bindings.
    """
    functions = {
        name: _function(fn, at) if type(fn) is e.Function else fn for name, fn in module.functions.items()
    }
    reached = _reached(functions, entry_functions)
    return module.having({name: fn for name, fn in functions.items() if name in reached})


def _function(fn: e.Function, at: PassSite) -> e.Function:
    live, kept = _live(fn)

    def rule(walk: Rewriter, binding: e.Binding) -> Answer:
        return binding if binding in kept or binding.var in live else ()

    return rewrite(fn, at, rule)


def _live(fn: e.Function) -> tuple[set[e.Var], set[e.Binding]]:
    """The variables that are read in the end, and the match_casts that have to stay."""
    derived = facts(fn)
    live: set[e.Var] = set()
    casts: list[e.Binding] = [binding for binding in derived.bindings if type(binding) is e.MatchCast]
    kept = set(casts) - _droppable(fn)
    stack = variables(fn.body.body)
    for number, binding in enumerate(derived.bindings):
        if binding in kept or _has_effect(binding.value):
            stack += derived.operands[number]
            if binding.var is not None:
                live.add(binding.var)
        if type(binding.value) is e.Function:  # its result is read when it is called
            stack += variables(binding.value.body.body)
    while stack:
        var = stack.pop()
        if var in live:
            continue
        live.add(var)
        number = derived.defs.get(var, -1)
        if number >= 0:
            stack += derived.operands[number]
    return live, kept


def _droppable(fn: e.Function) -> set[e.Binding]:
    """The match_casts in dataflow blocks that bind no shape variable: there, a failure may be forgotten (errata E-35)."""
    found: set[e.Binding] = set()
    blocks = list(fn.body.blocks)
    while blocks:
        block = blocks.pop()
        for binding in block.bindings:
            if type(binding) is e.MatchCast and type(block) is e.DataflowBlock:
                if not info_vars(binding.struct_info):
                    found.add(binding)
            else:
                blocks.extend(inner for seq in sequences(binding.value) for inner in seq.blocks)
    return found


def _has_effect(value: e.Expr) -> bool:
    """Whether evaluating the value may do more than compute it; an If does what its branches do."""
    if type(value) is e.If:
        return any_expr(_wrap(value), is_impure)
    return is_impure(value)


def _wrap(value: e.If) -> e.Function:
    holder = e.VarBinding(e.Var("_"), value)
    return e.Function((), e.SeqExpr((e.BindingBlock((holder,)),), e.Tuple(())))


def _reached(functions: Mapping[str, object], entries: tuple[str, ...]) -> set[str]:
    stack = [n for n, fn in functions.items() if (n in entries if entries else not _private(fn))]
    reached: set[str] = set()
    while stack:
        name = stack.pop()
        if name in reached:
            continue
        reached.add(name)
        fn = functions.get(name)
        if type(fn) is e.Function:
            stack += [x.name for x in exprs(fn) if type(x) is e.GlobalVar]
    return reached


def _private(fn: object) -> bool:
    return isinstance(fn, (e.Function, PrimFunc)) and fn.is_private
