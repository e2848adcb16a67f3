"""EliminateShapeChecks: drop checks of lengths that the program proves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.check.compatible import always_fits
from relax_explorer.core.codes import passes as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.facts import facts, reads
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import bindings, contents
from relax_explorer.core.passes.builtin_checks import without_proved
from relax_explorer.core.passes.cast_checks import bound_by_casts
from relax_explorer.core.passes.contract import PassSite, module_pass
from relax_explorer.core.passes.rewrite import Answer as Rewritten
from relax_explorer.core.passes.rewrite import Rewriter, rewrite
from relax_explorer.core.phases.module_properties import CANONICAL_BINDINGS, NORMAL_FORM, PURITY_ERASED
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.conditions import fits_without_lengths
from relax_explorer.core.shapes.machine_checks import is_lowered
from relax_explorer.core.shapes.residual import ASSERT, CAST, MACHINE, WRITTEN, ShapeCheck, shape_checks
from relax_explorer.core.shapes.settled import loses, refused, tells_as_much
from relax_explorer.core.shapes.value_terms import ValueNames

Proofs = dict[e.Binding, Sequence[ShapeCheck]]  # what each check demands, and the facts that prove it


@module_pass("EliminateShapeChecks", requires=[NORMAL_FORM], invalidates=[CANONICAL_BINDINGS, PURITY_ERASED])
def eliminate_shape_checks(module: IRModule, at: PassSite) -> IRModule:
    """Drop match_casts and assertions about lengths that always hold: annotations, earlier checks or the branch prove them.

    A note tells the facts that prove each of them. What operators and calls demand proves nothing here, for their kernels may
    not compare lengths. A match_cast stays if it is the only one that tells the lengths of a value, if it binds a shape
    variable, or if without it a length, a type or a proof of the checker would be lost.

    In functions in virtual machine form the checks are calls of builtins. Those that earlier ones prove go, and `match_shape`
    compares no length that is known to be right; it still stores those that are new. A tensor that the function makes has
    the lengths that it was made with.
    """
    if not any(map(_has_checks, module.relax_functions.values())):
        return module
    for name, proofs in proved_checks(module).items():

        def is_fine(dropped: Collection[e.Binding], name: str = name) -> bool:
            fn = _without(module.relax_functions[name], PassSite(module), dropped)
            return tells_as_much(module.having({**module.functions, name: fn}), module, dropped)

        kept = refused(list(proofs), is_fine)
        dropped = [binding for binding in proofs if binding not in kept]
        if dropped:
            at.editor.replace(name, _without(module.relax_functions[name], at, dropped))
            for binding in dropped:
                _tell(at, binding, proofs[binding])
    for name, checks in _machine_checks(module).items():
        changes = without_proved(checks)
        at.function = name

        def rule(
            _: Rewriter, binding: e.Binding, changes: Mapping[e.Binding, Rewritten] = changes
        ) -> Rewritten:
            return changes.get(binding, binding)

        if changes:
            at.editor.replace(name, rewrite(module.relax_functions[name], at, rule))
            for binding in changes:
                proved = [check for check in checks[binding] if check.answer is Answer.YES]
                _tell(at, binding, proved, is_gone=changes[binding] == ())
    return at.editor.done()


def _has_checks(fn: e.Function) -> bool:
    """True if a function has match_casts, assertions, or checks in virtual machine form: nothing else goes."""
    found = contents(fn)
    return e.MatchCast in found.bindings or _ASSERT in found.operators or is_lowered(fn)


_ASSERT = e.op_ref("relax.assert_op")


def proved_checks(module: IRModule) -> dict[str, Proofs]:
    """The match_casts and assertions of each function that can't fail."""
    at_place: dict[int, list[ShapeCheck]] = {}
    for check in shape_checks(module, trusted=WRITTEN):
        if check.kind in (CAST, ASSERT):
            at_place.setdefault(id(check.place), []).append(check)
    found: dict[str, Proofs] = {}
    for name, fn in module.relax_functions.items():
        if is_lowered(fn):  # a match_cast is a copy there, behind the check of a builtin
            continue
        new = bound_by_casts(fn)
        read = facts(fn).uses
        for binding in bindings(fn):
            checks = at_place.get(id(binding), [])
            if any(check.answer is not Answer.YES for check in checks):
                continue
            if type(binding) is e.MatchCast:
                have = binding.value.struct_info
                is_fitting = have is not None and fits_without_lengths(have, binding.struct_info)
                is_proved = is_fitting and not new[binding]
            else:  # only assertions and match_casts have checks of these kinds
                is_proved = bool(checks) and binding.var not in read
            if is_proved:
                found.setdefault(name, {})[binding] = checks
    return found


def proved_bindings(module: IRModule) -> set[e.Binding]:
    """The bindings whose checks, or some of them, can't fail."""
    machine = [without_proved(checks) for checks in _machine_checks(module).values()]
    return {binding for found in (*proved_checks(module).values(), *machine) for binding in found}


def _machine_checks(module: IRModule) -> dict[str, dict[e.Binding, list[ShapeCheck]]]:
    """The checks that builtins make in functions in virtual machine form, by their bindings."""
    found: dict[str, dict[e.Binding, list[ShapeCheck]]] = {}
    for check in (
        shape_checks(module, trusted=WRITTEN) if any(map(is_lowered, module.relax_functions.values())) else ()
    ):
        if check.kind == MACHINE and isinstance(check.place, e.VarBinding):
            found.setdefault(check.function, {}).setdefault(check.place, []).append(check)
    return found


def _without(fn: e.Function, at: PassSite, dropped: Collection[e.Binding]) -> e.Function:
    """The function without some checks. The variable of a match_cast becomes a copy: of the result of a like check, or of its value.

    Annotations of what follows from it go, for they may tell lengths that follow from the check and not from the value.
    """
    names = ValueNames()
    affected: set[e.Var] = set()

    def rule(walk: Rewriter, binding: e.Binding) -> Rewritten:
        value, new = binding.value, binding
        if binding in dropped:
            if type(binding) is not e.MatchCast or binding.var is None:
                return ()
            source = _alike(walk, binding, names.place(value)) or value
            new = e.VarBinding(binding.var, source, None, binding.span)
            affected.add(binding.var)
        elif binding.var is not None and not affected.isdisjoint(reads(binding)):
            new = replace(binding, annotation=None)
            affected.add(binding.var)
        names.note(binding)
        if binding.var is not None and isinstance(value, (e.Var, e.TupleGetItem)):
            root = names.place(binding.var)
            walk.note(root, (*(walk.lookup(root) or ()), (binding.var, walk.block)))
        return new

    return rewrite(fn, at, rule)


def _alike(walk: Rewriter, cast: e.MatchCast, root: str) -> e.Var | None:
    """An earlier variable with the same value: one whose StructInfo tells what the match_cast does, else the latest.

    Reading the result of an earlier check keeps that check alive.
    """
    visible: list[e.Var] = [
        var for var, block in walk.lookup(root) or () if type(var) is not e.DataflowVar or block is walk.block
    ]
    fitting = [var for var in visible if always_fits(var.struct_info or s.OBJECT, cast.struct_info)]
    if fitting:
        return fitting[0]
    have = cast.value.struct_info
    latest = [var for var in reversed(visible) if not loses(have, var.struct_info)]
    telling = [var for var in latest if not loses(cast.struct_info, var.struct_info)]
    return next(iter(telling or latest), None)


def _tell(at: PassSite, binding: e.Binding, checks: Sequence[ShapeCheck], is_gone: bool = True) -> None:
    """A note: what was checked, and what proves it."""
    what = (
        f"the check of {binding.var.name!r}"
        if binding.var is not None and binding.var.name != "_"
        else "a check"
    )
    because = list(dict.fromkeys(str(fact) for check in checks for fact in check.proof))
    demands = " and ".join(check.text for check in checks) or "its type tells it"
    text = f"{what} {'is gone' if is_gone else 'compares less'}, for it can't fail: {demands}" + (
        f", because {' and '.join(because)}" if because else ""
    )
    at.report.say(codes.CHECK_PROVED, text, binding, help=codes.CHECK_PROVED.fix)
