"""What facts decide about the lengths of a program, calls that always fail, and what a program tells more than an earlier one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import TypeVar

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.codes import internal
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Label, Report, Severity
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.assumptions import Assumptions
from relax_explorer.core.shapes.conditions import fits_without_lengths
from relax_explorer.core.shapes.machine_checks import is_lowered
from relax_explorer.core.shapes.origins import owner_name
from relax_explorer.core.shapes.residual import (
    ARGUMENTS,
    ASSERT,
    CAST,
    OPERATOR,
    PARAMETERS,
    RESULT,
    ShapeCheck,
    refuted_checks,
    shape_checks,
)
from relax_explorer.core.shapes.value_terms import condition_text, is_no_length, names_of
from relax_explorer.core.source import Span
from relax_explorer.core.syntax.python_tree import operand_spans

# -- failing calls ---------------------------------------------------------------------------------------------------
# Calls of private functions that always fail inside: the lengths of the arguments contradict a check that every run
# meets.


def has_candidates(module: IRModule) -> bool:
    """True if some private function takes lengths that only its calls know."""
    return any(
        fn.is_private and not is_lowered(fn) and any(_is_open(param.struct_info) for param in fn.params)
        for fn in module.relax_functions.values()
    )


def _is_open(info: s.StructInfo | None) -> bool:
    """True if some length of a value is not a number."""
    if isinstance(info, s.TupleStructInfo):
        return any(_is_open(field) for field in info.fields)
    if isinstance(info, s.TensorStructInfo | s.ShapeStructInfo):
        lengths = info.lengths if isinstance(info, s.TensorStructInfo) else info.values
        return lengths is None or any(dim.children() or not hasattr(dim, "value") for dim in lengths)
    return True


def failing_calls(module: IRModule, checks: Sequence[ShapeCheck]) -> Iterator[Diagnostic]:
    """A problem for each call under which a check of the callee never holds."""
    report = Report()
    told: set[int] = set()
    met = cache(lambda name: _always_met(module.relax_functions[name]))
    for check in checks:
        if not check.refuting or not check.is_reached or id(check.place) not in met(check.function):
            continue
        for site in check.refuting:
            if id(site.place) in told:
                continue  # one reason is enough for a call
            told.add(id(site.place))
            report.say(
                codes.CONTRADICTED,
                f"this call of {site.callee} always fails: {check.text} never holds there",
                site.place.value if isinstance(site.place, e.Binding) else site.place,
                labels=(Label(_place(check), f"the check of {check.subject}"),),
                severity=Severity.WARNING if check.kind in (ASSERT, CAST) else codes.CONTRADICTED.severity,
                spec_only=True,
            )
    return iter(report)


def _always_met(fn: e.Function) -> set[int]:
    """The places that a call comes to if it ends: none in a branch, and none in a nested function."""
    return {id(fn), *[id(binding) for block in fn.body.blocks for binding in block.bindings]}


def _place(check: ShapeCheck) -> object:
    """The part of the program to point at."""
    place = check.place
    if isinstance(place, e.Function):
        return place.body if place.body.span else place
    return place.value if isinstance(place, e.VarBinding) else place


# -- decided ----------------------------------------------------------------------------------------------------------
# What facts decide about the lengths of a program: inference compares types, and knows no earlier check.


_KINDS = {codes.MAYBE_ARGUMENT: ARGUMENTS, codes.MAYBE_RETURN: RESULT}


def decide(module: IRModule, problems: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The problems of a normalized module, after what its facts decide.

    Warnings about arguments and results go if these are proved to fit, or if a shape heap holds the lengths. Checks that facts
    refute are problems of their own, also beside errors: what inference refuses has no lengths, and so contradicts nothing.
    """
    items = list(problems)
    if any(item.code is internal.OWN_FAULT for item in items):
        return items  # a rule that fails would fail again
    if not any(item.code in _KINDS for item in items) and not has_candidates(module):
        return [*items, *_refuted_problems(module, _failing(refuted_checks(module)))]
    checks = shape_checks(module)
    failing = _failing(checks)
    done = _proved(module, checks, failing)
    items = [
        item for item in items if item.code not in _KINDS or (_KINDS[item.code], _key(item.span)) not in done
    ]
    return [*items, *_refuted_problems(module, failing), *failing_calls(module, checks)]


def _failing(checks: Sequence[ShapeCheck]) -> list[ShapeCheck]:
    """The checks that facts refute. What is refuted without facts is an error of inference, except for operators."""
    return [
        check
        for check in checks
        if check.answer is Answer.NO
        and check.is_reached
        and not check.refuting  # told at the calls
        and check.kind != PARAMETERS
        and check.condition is not None
        and (check.kind == OPERATOR or Assumptions().prove(check.condition) is not Answer.NO)
    ]


def _refuted_problems(module: IRModule, failing: Sequence[ShapeCheck]) -> Iterator[Diagnostic]:
    """A diagnostic for each check that fails, with labels for the facts against it."""
    report = Report()
    for check in failing:
        code, text = codes.CONTRADICTED, f"{check.subject}: {check.text} never holds here"
        if check.kind == CAST:
            code = codes.IMPOSSIBLE_CAST
            text = f"the {check.word} of {check.subject} can never succeed: {check.text} contradicts what is known"
        report.say(
            code, text, _place(check), help=_help(module, check, code), labels=tuple(_labels(module, check)),
            severity=Severity.WARNING if check.kind == ASSERT else code.severity,  # no run may be meant to come there
            spec_only=code is codes.CONTRADICTED,
        )  # fmt: skip
    return iter(report)


def _help(module: IRModule, check: ShapeCheck, code: Code) -> str:
    """What to do: ask where both lengths come from, if a value has the check."""
    place = check.place
    name = "result" if isinstance(place, e.Function) else getattr(getattr(place, "var", None), "name", "_")
    is_length = check.condition is None or not is_no_length(check.condition)
    if check.kind == ASSERT or name == "_" or not is_length:
        return code.fix
    value = f"{owner_name(module, check.function, place)}.{name}"
    return f"`relax-explorer shapes FILE --why {value}` shows where both lengths come from"


def _labels(module: IRModule, check: ShapeCheck) -> Iterator[Label]:
    """The parameter of the callee that an argument does not fit, and the facts against a check."""
    call = check.place.value if check.kind == ARGUMENTS and isinstance(check.place, e.Binding) else None
    if isinstance(call, e.Call) and isinstance(call.op, e.GlobalVar):
        params = module.relax_functions[call.op.name].params
        for param, called in zip(params, names_of(params), strict=True):
            if check.subject == f"{called} of {call.op.name}":
                yield Label(param, "the parameter")
    for fact in check.proof:
        if fact.place is not check.place:
            yield Label(fact.place, f"{condition_text(fact.condition)} is known from here")


def _proved(
    module: IRModule, checks: Sequence[ShapeCheck], failing: Sequence[ShapeCheck]
) -> set[tuple[str, object]]:
    """Calls and results whose lengths fit or never fit, by kind and span. Types do not tell what a shape heap holds."""
    answers: dict[tuple[str, int], set[Answer]] = {}
    for check in checks:
        answers.setdefault((check.kind, id(check.place)), set()).add(check.answer)
    refuted = {(check.kind, id(check.place)) for check in failing}
    found: set[tuple[str, object]] = set()
    lowered = {id(fn) for fn in module.relax_functions.values() if is_lowered(fn)}
    for fn, kind, place, span, pairs in _places(module):
        if span is None:
            continue
        is_proved = answers.get((kind, id(place))) == {Answer.YES} or id(fn) in lowered
        is_proved = is_proved and all(
            have is not None and want is not None and fits_without_lengths(have, want) for have, want in pairs
        )
        if is_proved or (kind, id(place)) in refuted:
            found.add((kind, _key(span)))
    return found


def _key(span: Span | None) -> object:
    """A value that equal spans share."""
    return span and (id(span.source), span.line, span.column, span.end_line, span.end_column)


_Pair = tuple[s.StructInfo | None, s.StructInfo | None]


def _places(module: IRModule) -> Iterator[tuple[e.Function, str, object, Span | None, list[_Pair]]]:
    """The calls of functions of the module, and the results, by function: what there is, and what is wanted."""
    for fn in module.relax_functions.values():
        inside = [b for b in bindings(fn) if b.value.span is not None]
        for owner in (fn, *[b.value for b in inside if isinstance(b.value, e.Function)]):
            yield (
                fn, RESULT, owner, (owner.body if owner.body.span else owner).span,
                [(owner.body.struct_info, owner.ret_struct_info)],
            )  # fmt: skip
        for binding in inside:
            call = binding.value
            if not isinstance(call, e.Call) or not isinstance(call.op, e.GlobalVar):
                continue
            callee = module.relax_functions.get(call.op.name)
            if callee is not None and len(callee.params) == len(call.args):
                pairs = [
                    (a.struct_info, q.struct_info) for a, q in zip(call.args, callee.params, strict=True)
                ]
                for span in (call.span, *operand_spans(call.span)):
                    yield fn, ARGUMENTS, binding, span, pairs


# -- precision -------------------------------------------------------------------------------------------------------
# What the StructInfo of a program tells, compared with that of an earlier one.


T = TypeVar("T")

# The checks of the program tell more than these: they know what was checked before.
_ABOUT_LENGTHS = (codes.MAYBE_RETURN, codes.MAYBE_ARGUMENT)


def tells_as_much(new: IRModule, old: IRModule, dropped: Collection[e.Binding]) -> bool:
    """True if a program without some of its checks has no further problem, and loses no length, type or proof.

    `old` is normalized. Each other binding of `old` has its place in `new`; those in `dropped` may be gone or copies.
    """
    new, report = normalize_with(new)
    problems = Counter(item.code for item in report if item.code not in _ABOUT_LENGTHS)
    if problems - Counter(item.code for item in normalize_with(old)[1]):
        return False
    for name, fn in new.relax_functions.items():
        before = old.relax_functions[name]
        if fn is before:
            continue
        kept = [
            b for b in bindings(before) if b not in dropped or (type(b) is e.MatchCast and b.var is not None)
        ]
        pairs = [(a.var, b.var) for a, b in zip(kept, bindings(fn), strict=True) if a not in dropped]
        if any(a is not None and b is not None and loses(a.struct_info, b.struct_info) for a, b in pairs):
            return False
        if loses(before.ret_struct_info, fn.ret_struct_info):
            return False
    return not _open_checks(new) - _open_checks(old)


def refused(
    candidates: Sequence[T], is_fine: Callable[[Collection[T]], bool], taken: Collection[T] = ()
) -> set[T]:
    """The changes that stay away, because `is_fine` refuses them. Halves are tried as long as a whole fails."""
    if is_fine({*taken, *candidates}):
        return set()
    if len(candidates) == 1:
        return set(candidates)
    half = len(candidates) // 2
    first = refused(candidates[:half], is_fine, taken)
    taken = (*taken, *[one for one in candidates[:half] if one not in first])
    return first | refused(candidates[half:], is_fine, taken)


def _open_checks(module: IRModule) -> Counter[str]:
    """How many checks of each kind the program does not prove, apart from those that stand in its text."""
    checks = shape_checks(module)
    return Counter(
        one.kind for one in checks if one.answer is not Answer.YES and one.kind not in (CAST, ASSERT)
    )


def loses(old: s.StructInfo | None, new: s.StructInfo | None) -> bool:
    """True if lengths, rank, dtype or kind were known and are not."""
    if old is new or old is None or old is s.OBJECT:
        return False
    if type(old) is not type(new):
        return True
    if isinstance(old, s.TensorStructInfo) and isinstance(new, s.TensorStructInfo):
        known = (old.dtype, new.dtype), (old.lengths, new.lengths), (old.shape, new.shape)
        return (old.ndim, old.vdevice) != (new.ndim, new.vdevice) or any(
            a is not None and b is None for a, b in known
        )
    if isinstance(old, s.ShapeStructInfo) and isinstance(new, s.ShapeStructInfo):
        return old.ndim != new.ndim or (old.values is not None and new.values is None)
    if isinstance(old, s.PrimStructInfo) and isinstance(new, s.PrimStructInfo):
        return old.dtype is not new.dtype or (old.value is not None and new.value is None)
    if isinstance(old, s.TupleStructInfo) and isinstance(new, s.TupleStructInfo):
        return len(old.fields) != len(new.fields) or any(map(loses, old.fields, new.fields))
    if isinstance(old, s.FuncStructInfo) and isinstance(new, s.FuncStructInfo):
        if old.params is None or new.params is None:
            return old.params is not new.params
        pairs = zip((*old.params, old.ret), (*new.params, new.ret), strict=True)
        return len(old.params) != len(new.params) or any(loses(a, b) for a, b in pairs)
    return False
