"""Calls of private functions that always fail inside: the lengths of the arguments contradict a check that every run meets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.diagnostics import Diagnostic, Label, Report, Severity
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.machine_checks import is_lowered
from relax_explorer.core.shapes.residual import ASSERT, CAST, ShapeCheck


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
    """The part of the callee to point at."""
    place = check.place
    if isinstance(place, e.Function):
        return place.body if place.body.span else place
    return place.value if isinstance(place, e.VarBinding) else place
