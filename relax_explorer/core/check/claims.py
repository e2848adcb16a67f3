"""What the user claims against what is derived: annotations of bindings and results, and match_casts."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from relax_explorer.core.check.compatible import YES, defined_dims, erase, fits, match_dims, overlaps
from relax_explorer.core.check.conversion import Conversion, cast_binding, conversion, counterexample
from relax_explorer.core.check.missing import rests_on_missing
from relax_explorer.core.codes import operators as op_codes
from relax_explorer.core.codes import well_formed as codes
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import all_dims, substitute_info


def annotated(
    report: Report,
    binding: e.VarBinding,
    derived: s.StructInfo,
    poisoned: bool,
    definitions: Mapping[e.Var, e.Expr],
) -> s.StructInfo:
    """What a variable is known to be: its annotation where there is one, for a widening sticks (errata E-13).

    A contradiction is reported, unless the value is already known to be wrong, or rests on data that the text left out.
    """
    wanted = binding.annotation
    if wanted is None or wanted is derived:
        return derived
    if isinstance(wanted, s.PrimStructInfo) and wanted.value is None and fits(derived, wanted) is YES:
        return derived  # the text has no way to say a scalar's value
    if not poisoned and not (not _is_known(derived, wanted) and rests_on_missing(binding.value, definitions)):
        _check_annotation(report, binding, derived, wanted)
    return wanted


def _is_known(derived: s.StructInfo, wanted: s.StructInfo) -> bool:
    """Whether the annotation adds nothing, or contradicts: no missing data excuses that."""
    return conversion(derived, wanted) in (Conversion.FITS, Conversion.NEVER)


def _check_annotation(
    report: Report, binding: e.VarBinding, derived: s.StructInfo, wanted: s.StructInfo
) -> None:
    verdict = conversion(derived, wanted)
    cast = f"write {binding.var.name} = R.match_cast(…, {wanted})"
    if verdict is Conversion.NEVER:
        text = f"the value is {derived}, the annotation says {wanted}"
        report.say(codes.BAD_ANNOTATION_INFO, text, binding, help=f"write {binding.var.name}: {derived}")
    elif verdict is Conversion.NARROWS:
        text = f"the value is {derived}; that it is {wanted} takes a match_cast"
        edits = cast_binding(binding, wanted)
        report.say(codes.NARROW_ANNOTATION, text, binding, help=cast, spec_only=True, edits=edits)
    elif verdict is Conversion.MAYBE:
        text = f"the value is {derived}; whether it is {wanted} is known only at run time"
        notes, edits = counterexample(derived, wanted), cast_binding(binding, wanted)
        report.say(codes.MAYBE_ANNOTATION, text, binding, help=cast, notes=notes, edits=edits)


def check_return(report: Report, fn: e.Function, derived: s.StructInfo, trusted: bool) -> None:
    """Report a result that is not, or not provably, what the return annotation of `fn` says; TVM does not look.

    A result that is `trusted` rests on data that the text left out.
    """
    wanted = fn.ret_struct_info
    assert wanted is not None  # the caller looked
    verdict = conversion(derived, wanted)
    if verdict is Conversion.FITS or (trusted and verdict is not Conversion.NEVER):
        return
    place = fn.body if fn.body.span else fn
    if verdict is Conversion.MAYBE:
        text = f"the function returns {derived}; whether it is {wanted} is known only at run time"
        notes = counterexample(derived, wanted)
        report.say(op_codes.MAYBE_RETURN, text, place, help=op_codes.MAYBE_RETURN.fix, notes=notes)
        return
    text = f"the function returns {derived}, its annotation says {wanted}"
    fix = codes.BAD_RETURN.fix if verdict is Conversion.NEVER else f"return R.match_cast(…, {wanted})"
    report.say(codes.BAD_RETURN, text, place, help=fix, spec_only=True)


def check_cast(report: Report, binding: e.MatchCast, have: s.StructInfo, dims: Collection[p.PrimVar]) -> None:
    """Report a match_cast that always fails, or never (errata E-14, E-15); `dims` are the shape variables in scope."""
    want = binding.struct_info
    new = [dim for dim in defined_dims(want) if dim not in dims]
    if not overlaps(have, _bound_by(want, have, dims)):
        text = f"the value is {have} and can never be {want}"
        report.say(op_codes.IMPOSSIBLE_CAST, text, binding, help=op_codes.IMPOSSIBLE_CAST.fix)
    elif not new and fits(have, want) is YES:
        text = f"the value is {have}, which is always {want}"
        report.say(op_codes.NEEDLESS_CAST, text, binding, help=op_codes.NEEDLESS_CAST.fix)


def _bound_by(want: s.StructInfo, have: s.StructInfo, dims: Collection[p.PrimVar]) -> s.StructInfo:
    """What a match_cast asks for, with the lengths that its new shape variables get; lengths that stay unknown are left out."""
    found: dict[p.PrimVar, p.PrimExpr] = {var: var for var in all_dims(want) if var in dims}
    match_dims(want, have, found)
    return substitute_info(erase(want, found.keys()), found)


def cast_annotation(report: Report, binding: e.MatchCast) -> s.StructInfo:
    """What the variable of a match_cast is known to be: its annotation, which must be as wide as the target."""
    wanted, target = binding.annotation, binding.struct_info
    if wanted is None or wanted is target:
        return target
    if fits(target, wanted) is not YES:
        text = f"the value is cast to {target}, the annotation says {wanted}"
        report.say(codes.BAD_ANNOTATION_INFO, text, binding, help="cast to what the annotation says")
    return wanted
