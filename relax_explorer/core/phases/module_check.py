"""The checks, in order: normal form and inference, well-formedness, purity, unused values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from relax_explorer.core.arith.prove import proving
from relax_explorer.core.check import arguments, normal_form
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.check.well_formed import violations
from relax_explorer.core.codes import style
from relax_explorer.core.codes import well_formedness as codes
from relax_explorer.core.codes.syntax import UNKNOWN_OPERATOR
from relax_explorer.core.collector import collector_at_rest
from relax_explorer.core.diagnostics import Diagnostic, ParseError, Report, Severity
from relax_explorer.core.expected import expect
from relax_explorer.core.ir.expr import UNREAD, Function, op_ref
from relax_explorer.core.ir.walk import any_expr
from relax_explorer.core.phases import phase_claims
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.source import Source, Span
from relax_explorer.core.syntax.parser import parse, read


@collector_at_rest()
def check(
    module: IRModule | str,
    profile: str = "spec",
    normalized: bool = False,
    prover: str = "arithmetic",
    allow_unknown_ops: bool = False,
) -> list[Diagnostic]:
    """The diagnostics of a module, sorted by place: StructInfo, well-formedness, purity, unused values.

    For a text, the errors of the parser are included. The parts that could be read are checked too.

    `profile` is `spec` (the language specification) or `tvm` (the rules of TVM 0.27: rules that only the specification has
    become warnings). With `normalized` the module must be in normal form already. If it is not, only that is reported.
    `prover` is `arithmetic`, or `alpha`: dimensions are equal only if they are written alike.
    An operator that nobody declared (`rxe.ops.register`) is an error, for it mostly is a typing mistake; a warning with
    `allow_unknown_ops`. Raises ValueError for another profile or prover.

    >>> rxe.check("@R.function\\ndef main(x: R.Tensor((2, 3), 'float32')): return R.matmul(x, x)")
    [<Diagnostic <text>:2:50: error[RX0203]: relax.matmul: inner dimensions differ: 3 and 2>]
    """
    expect(module, (IRModule, str), "check takes a module or a text", "`load` reads a file")
    check_profile(profile)
    if isinstance(module, str):
        try:
            module = parse(module)
        except ParseError as failure:
            return list(problems(failure, profile, prover, allow_unknown_ops))
    if normalized:
        raw = list(normal_form.violations(module))
        if raw:
            return sorted(raw, key=Diagnostic.order)
    return list(_examined(module, profile, prover, allow_unknown_ops).problems)


@dataclass(frozen=True, slots=True)
class Examined:
    """A text as `check` sees it: its problems, and its module in normal form, without the parts that can't be read. None: nothing can."""

    module: IRModule | None
    problems: tuple[Diagnostic, ...]


def examined(
    source: Source, profile: str = "spec", prover: str = "arithmetic", allow_unknown_ops: bool = False
) -> Examined:
    """A text of TVMScript with its problems, and what could be read of it. The arguments are those of `check`."""
    module, report = read(source)
    if module is not None and not report.errors:
        return _examined(module, profile, prover, allow_unknown_ops)
    failure = ParseError(*[item for item in report.sorted() if not item.tvm_only], module=module)
    return _with_rest(failure, profile, prover, allow_unknown_ops)


def _examined(module: IRModule, profile: str, prover: str, allow_unknown_ops: bool) -> Examined:
    result = checked(module, profile, prover)
    found = judged([*result.problems, *_unused(result.module), *module.refused], profile, allow_unknown_ops)
    return Examined(result.module, tuple(sorted(found, key=Diagnostic.order)))


def check_profile(profile: str) -> None:
    """Raise ValueError for an unknown profile."""
    if profile not in ("spec", "tvm"):
        raise ValueError(f"no profile {profile!r}; there are spec and tvm")


@dataclass(frozen=True, slots=True)
class Checked:
    """A module in normal form with its problems, sorted by place. `well_formed` is True if no rule of well-formedness fails."""

    module: IRModule
    problems: tuple[Diagnostic, ...]
    well_formed: bool


@collector_at_rest()
def checked(module: IRModule, profile: str = "spec", prover: str = "arithmetic") -> Checked:
    """Normalize a module and check it, but not for unused values. The profile is as in `check`."""
    from relax_explorer.core.shapes.decided_lengths import decide

    assume_pure = profile == "tvm"
    with proving(prover):
        normal, report = normalize_with(module, assume_pure=assume_pure)
        rules = list(violations(normal, assume_pure=assume_pure))
        collected = Report()
        collected.extend(decide(normal, report))
        collected.extend(rules)
        collected.extend(arguments.violations(normal))
        collected.extend(phase_claims.violations(normal))
    return Checked(normal, tuple(collected.sorted()), not any(item.is_error for item in rules))


# Errors that may come from an unread part of a function: it may allocate, bind a shape variable or hold a condition.
_MAY_FOLLOW = frozenset({codes.BAD_CONDITION, codes.UNBOUND_SHAPE_VAR, codes.DIRECT_KERNEL_CALL})


def _is_inside(item: Diagnostic, spans: list[Span]) -> bool:
    place = item.span
    return place is not None and any(span.line <= place.line <= span.end_line for span in spans)


def problems(
    failure: ParseError, profile: str = "spec", prover: str = "arithmetic", allow_unknown_ops: bool = False
) -> tuple[Diagnostic, ...]:
    """The problems of a text with unreadable parts: those of the parser, and those that `check` finds in the rest.

    Of a function with an unreadable part, `check` says no warning but that of an unknown operator: the part may use a value.
    """
    return _with_rest(failure, profile, prover, allow_unknown_ops).problems


@collector_at_rest()
def _with_rest(failure: ParseError, profile: str, prover: str, allow_unknown_ops: bool) -> Examined:
    """What can be read of a text, with all problems."""
    if failure.module is None:
        return Examined(None, tuple(judged(failure.diagnostics, profile, allow_unknown_ops)))
    partial = [
        fn.span
        for fn in failure.module.relax_functions.values()
        if fn.span is not None and has_unread_part(fn)
    ]
    rest = _examined(failure.module, profile, prover, allow_unknown_ops)
    found = [item for item in rest.problems if not (may_follow(item) and _is_inside(item, partial))]
    unread = judged(failure.diagnostics, profile, allow_unknown_ops)
    return Examined(rest.module, tuple(sorted([*unread, *found], key=Diagnostic.order)))


def has_unread_part(fn: Function) -> bool:
    """True if a part of a function could not be read."""
    return any_expr(fn, lambda expr: expr is op_ref(UNREAD))


def may_follow(item: Diagnostic) -> bool:
    """True for a problem that an unread part of its function may cause."""
    return item.code in _MAY_FOLLOW if item.is_error else item.code is not UNKNOWN_OPERATOR


def judged(items: Iterable[Diagnostic], profile: str, allow_unknown_ops: bool) -> list[Diagnostic]:
    """The diagnostics of a profile: those that only TVM has are errors in `tvm`, and notes elsewhere, which are left out."""
    if not allow_unknown_ops:
        items = [
            replace(item, severity=Severity.ERROR) if item.code is UNKNOWN_OPERATOR else item
            for item in items
        ]
    if profile != "tvm":
        return [item for item in items if not item.tvm_only or item.level > Severity.NOTE]
    return list(map(lenient, items))


def lenient(item: Diagnostic) -> Diagnostic:
    """The diagnostic in the profile `tvm`: an error that TVM does not report is a warning, one that only TVM has an error."""
    if item.tvm_only:
        return replace(item, severity=Severity.ERROR)
    return replace(item, severity=Severity.WARNING) if item.is_ours and item.is_error else item


def of_recorded(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The problems of a stage that TVM printed itself: what it would not read again is none."""
    kept = [item for item in found if not item.tvm_only or item.code.severity < Severity.ERROR]
    return tuple([replace(item, severity=None) if item.tvm_only else item for item in kept])


def well_formed(module: IRModule, profile: str = "spec", normalized: bool = False) -> bool:
    """True if `check` finds no error.

    >>> rxe.well_formed(module)
    True
    """
    expect(module, (IRModule, str), "well_formed takes a module or a text", "`load` reads a file")
    return not any(item.is_error for item in check(module, profile, normalized))


def _unused(module: IRModule) -> Report:
    from relax_explorer.core.check.purity import has_effect
    from relax_explorer.core.ir.expr import Call, VarBinding
    from relax_explorer.core.ir.facts import facts
    from relax_explorer.core.ir.struct_info import PrimStructInfo

    report = Report()
    for fn in module.relax_functions.values():
        derived = facts(fn)
        for binding in derived.bindings:
            var = binding.var
            if (
                type(binding) is VarBinding
                and var is not None
                and var not in derived.uses
                and var.name != "_"
                and not isinstance(var.struct_info, PrimStructInfo)  # a dimension may use it
            ):
                direct = type(binding.value) is Call and type(binding.value.op).__name__ != "OpRef"
                if not direct and not has_effect(binding.value):
                    report.say(
                        style.UNUSED_BINDING,
                        f"{var.name!r} is never used",
                        binding,
                        help=style.UNUSED_BINDING.fix,
                    )
    return report
