"""Compare the claims of the user with the derived StructInfo: annotations of bindings and results, and match_casts."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from relax_explorer.core.check.arguments import depends_on_missing
from relax_explorer.core.check.compatible import (
    YES,
    Conversion,
    captured_lengths,
    cast_binding,
    conversion,
    counterexample,
    defined_dims,
    erase,
    fits,
    match_dims,
    never_fits,
    overlaps,
)
from relax_explorer.core.check.matching import pinned
from relax_explorer.core.codes import operators as op_codes
from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.diagnostics import Report
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.node import replace
from relax_explorer.core.ir.walk import all_dims, info_holders, substitute_info


def annotated(
    report: Report,
    binding: e.VarBinding,
    derived: s.StructInfo,
    pinned_info: s.StructInfo,
    dims: Collection[p.PrimVar],
    definitions: Mapping[e.Var, e.Expr] | None,
) -> s.StructInfo:
    """The StructInfo of an annotated variable: its annotation, even if it is weaker than the value (errata E-13).

    A contradiction is reported, unless the value depends on data that the text omits. `definitions` is None if the value is
    already wrong; then nothing is reported. `pinned_info` is the value's StructInfo for comparing, `dims` are the shape variables in
    scope.
    """
    annotation = binding.annotation
    assert annotation is not None  # the caller checked this
    annotation = with_values(annotation, derived)
    if annotation is derived:
        return derived
    if definitions is None:
        return annotation
    verdict = conversion(pinned_info, pinned(annotation, dims))
    sure = verdict in (Conversion.FITS, Conversion.NEVER)  # true for any missing data
    if sure or not depends_on_missing(binding.value, definitions):
        _check_annotation(report, binding, derived, pinned_info, verdict)
    return annotation


def with_values(annotation: s.StructInfo, derived: s.StructInfo) -> s.StructInfo:
    """An annotation with the values of the scalars in the value's StructInfo, also in tuples: it can't state them itself."""
    if (
        isinstance(annotation, s.TupleStructInfo)
        and isinstance(derived, s.TupleStructInfo)
        and len(annotation.fields) == len(derived.fields)
    ):
        return s.TupleStructInfo(tuple(map(with_values, annotation.fields, derived.fields)))
    if not isinstance(annotation, s.PrimStructInfo) or not isinstance(derived, s.PrimStructInfo):
        return annotation
    return derived if annotation.value is None and derived.dtype is annotation.dtype else annotation


def _check_annotation(
    report: Report,
    binding: e.VarBinding,
    derived: s.StructInfo,
    pinned_info: s.StructInfo,
    verdict: Conversion,
) -> None:
    annotation = binding.annotation
    assert annotation is not None  # the caller checked this
    cast = f"write {binding.var.name} = R.match_cast(…, {annotation})"
    if verdict is Conversion.NEVER:
        text = f"the value is {derived}, the annotation says {annotation}"
        help = f"write {binding.var.name}: {derived}"
        seen = _as_seen(annotation)
        own = (seen is not annotation and not _differ_plainly(derived, seen)) or _differ_unseen(
            derived, annotation
        )
        report.say(codes.BAD_ANNOTATION_INFO, text, binding, help=help, spec_only=own)
    elif verdict is Conversion.NARROWS:
        text = f"the value is {derived}; only a match_cast may claim {annotation}"
        edits = cast_binding(binding, annotation)
        report.say(codes.NARROW_ANNOTATION, text, binding, help=cast, spec_only=True, edits=edits)
    elif verdict is Conversion.MAYBE:
        text = f"the value is {derived}; whether it is {annotation} is known only at run time"
        notes = counterexample(derived, annotation) + captured_lengths(derived, pinned_info)
        edits = cast_binding(binding, annotation)
        report.say(codes.MAYBE_ANNOTATION, text, binding, help=cast, notes=notes, edits=edits)


def check_return(
    report: Report,
    fn: e.Function,
    derived: s.StructInfo,
    pinned_info: s.StructInfo,
    dims: Collection[p.PrimVar],
    trusted: bool,
) -> None:
    """Report a result that contradicts the return annotation of `fn`, or is not proven to fit. TVM does not check it.

    A `trusted` result depends on data that the text omits. `pinned_info` and `dims` are as in `annotated`.
    """
    declared = fn.ret_struct_info
    assert declared is not None  # the caller checked this
    verdict = conversion(pinned_info, pinned(declared, dims))
    if verdict is Conversion.FITS or (trusted and verdict is not Conversion.NEVER):
        return
    place = fn.body if fn.body.span else fn
    if verdict is Conversion.MAYBE:
        text = f"the function returns {derived}; whether it is {declared} is known only at run time"
        notes = counterexample(derived, declared) + captured_lengths(derived, pinned_info)
        report.say(op_codes.MAYBE_RETURN, text, place, help=op_codes.MAYBE_RETURN.fix, notes=notes)
        return
    text = f"the function returns {derived}, its annotation says {declared}"
    fix = codes.BAD_RETURN.fix if verdict is Conversion.NEVER else f"return R.match_cast(…, {declared})"
    report.say(codes.BAD_RETURN, text, place, help=fix, spec_only=True)


def check_cast(
    report: Report,
    binding: e.MatchCast,
    have: s.StructInfo,
    pinned_info: s.StructInfo,
    dims: Collection[p.PrimVar],
    exact: bool,
) -> None:
    """Report a match_cast that always fails or never fails (errata E-14, E-15). `pinned_info` and `dims` are as in `annotated`.

    With `exact` the value is one known function, not just any function of its StructInfo.
    """
    want = binding.struct_info
    new = [dim for dim in defined_dims(want) if dim not in dims]
    if not overlaps(pinned_info, pinned(_bound_by(want, have, dims), dims)) or (
        exact and never_fits(pinned_info, pinned(want, dims))
    ):
        text = f"the value is {have} and can never be {want}"
        notes = captured_lengths(have, pinned_info)
        report.say(
            op_codes.IMPOSSIBLE_CAST,
            text,
            binding,
            help=op_codes.IMPOSSIBLE_CAST.fix,
            notes=notes,
            tvm_only=_differ_plainly(have, _as_seen(want, getattr(want, "dtype", None) is not None))
            and not _differ_unseen(want, have),
        )
    elif not new and fits(pinned_info, pinned(want, dims)) is YES:
        text = f"the value is {have}, which is always {want}"
        report.say(op_codes.NEEDLESS_CAST, text, binding, help=op_codes.NEEDLESS_CAST.fix)


def _as_seen(info: s.StructInfo, ranked: bool = True) -> s.StructInfo:
    """`info` as TVM sees it: of a shape that a variable holds it compares the rank if the dtype is given, too."""
    if isinstance(info, s.TensorStructInfo) and info_holders(info):
        return s.TensorStructInfo(None, info.dtype, info.ndim if ranked else -1, info.vdevice)
    return info


def _differ_plainly(have: s.StructInfo, want: s.StructInfo) -> bool:
    """True if TVM refuses a cast too: the kinds, dtypes, ranks or written lengths differ, whatever the shape variables are."""
    if isinstance(have, s.TupleStructInfo) and isinstance(want, s.TupleStructInfo):
        pairs = zip(have.fields, want.fields, strict=False)
        return len(have.fields) != len(want.fields) or any(_differ_plainly(a, b) for a, b in pairs)
    if isinstance(have, s.FuncStructInfo) and isinstance(want, s.FuncStructInfo):
        if have.params is None or want.params is None:
            return False
        pairs = zip((*have.params, have.ret), (*want.params, want.ret), strict=False)
        return len(have.params) != len(want.params) or any(_differ_plainly(a, b) for a, b in pairs)
    if type(have) is not type(want):
        return s.OBJECT not in (have, want)
    with_dtype = s.TensorStructInfo, s.PrimStructInfo
    dtypes = {info.dtype for info in (have, want) if isinstance(info, with_dtype)}
    if len(dtypes - {None}) > 1:
        return True
    ranks = getattr(have, "ndim", -1), getattr(want, "ndim", -1)
    if ranks[0] != ranks[1] and -1 not in ranks:
        return True
    lengths = zip(s.lengths(have), s.lengths(want), strict=False)
    return any(type(a) is type(b) is p.IntImm and a is not b for a, b in lengths)


def _differ_unseen(have: s.StructInfo, want: s.StructInfo) -> bool:
    """True if TVM does not see a difference: where only the narrower one, `want`, has a dtype it compares nothing else."""
    if isinstance(have, s.TupleStructInfo) and isinstance(want, s.TupleStructInfo):
        pairs = list(zip(have.fields, want.fields, strict=False))
        alike = [_differ_unseen(a, b) or not _differ_plainly(a, b) for a, b in pairs]
        return len(have.fields) == len(want.fields) and all(alike)
    if not isinstance(have, s.TensorStructInfo) or not isinstance(want, s.TensorStructInfo):
        return False
    return have.dtype is None and want.dtype is not None


def _bound_by(want: s.StructInfo, have: s.StructInfo, dims: Collection[p.PrimVar]) -> s.StructInfo:
    """The target of a match_cast with the values of its new shape variables. Unknown lengths are erased."""
    mapping: dict[p.PrimVar, p.PrimExpr] = {var: var for var in all_dims(want) if var in dims}
    match_dims(want, have, mapping)
    return substitute_info(erase(want, mapping.keys()), mapping)


def with_kind_of(binding: e.MatchCast, have: s.StructInfo) -> e.MatchCast:
    """A match_cast; if it states lengths only, with the kind, dtype and place of the value."""
    if not binding.lengths_only:
        return binding
    return replace(binding, struct_info=s.with_lengths(have, s.lengths(binding.struct_info)))


def cast_annotation(report: Report, binding: e.MatchCast) -> s.StructInfo:
    """The StructInfo of the variable of a match_cast: its annotation, which must be at least as wide as the target."""
    annotation, target = binding.annotation, binding.struct_info
    if annotation is None or annotation is target:
        return target
    if fits(target, annotation) is not YES:
        text = f"the value is cast to {target}, the annotation says {annotation}"
        report.say(codes.BAD_ANNOTATION_INFO, text, binding, help="cast to the annotated StructInfo")
    return annotation
