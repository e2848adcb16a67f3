"""Classify how a value fits an expected StructInfo, and build the edit that inserts a match_cast."""

from __future__ import annotations

from enum import Enum

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import disagreement
from relax_explorer.core.check.compatible import fits
from relax_explorer.core.check.matching import captured
from relax_explorer.core.check.subtypes import is_subtype
from relax_explorer.core.diagnostics import Edit
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.types import erase_struct_info
from relax_explorer.core.source import Span


class Conversion(Enum):
    """How a value's StructInfo relates to the expected one."""

    FITS = "it always fits"
    MAYBE = "kind, rank and dtype fit; the dimensions are known only at run time"
    NARROWS = "kind, rank or dtype must be claimed, and only a match_cast may do that"
    NEVER = "it never fits"


def conversion(have: s.StructInfo, want: s.StructInfo) -> Conversion:
    """How `have` fits `want`: types must fit now, dimensions may be compared at run time."""
    if have is want:
        return Conversion.FITS
    answer = fits(have, want)
    if answer is Answer.YES:
        return Conversion.FITS
    if answer is Answer.NO:
        return Conversion.NEVER
    return Conversion.MAYBE if typed_alike(have, want) else Conversion.NARROWS


def typed_alike(have: s.StructInfo, want: s.StructInfo) -> bool:
    """True if kind, rank and dtype fit."""
    return is_subtype(erase_struct_info(have), erase_struct_info(want))


def counterexample(have: s.StructInfo, want: s.StructInfo) -> tuple[str, ...]:
    """A note with lengths for which the value does not fit; none if no such lengths were found."""
    for axis, (a, b) in enumerate(zip(s.lengths(have), s.lengths(want), strict=False)):
        example = disagreement(a, b)
        if example is not None and example[0]:
            values = ", ".join(f"{var.name} = {value}" for var, value in example[0].items())
            return (f"with {values}, dimension {axis} is {example[1]}, not {example[2]}",)
    return ()


def captured_lengths(have: s.StructInfo, pinned_info: s.StructInfo) -> tuple[str, ...]:
    """A note with the lengths that a function captured, so that it accepts no others; none if it captured none."""
    names = captured(have, pinned_info)
    return (f"it captured {', '.join(names)}, so it accepts no other length there",) if names else ()


def cast_binding(binding: e.VarBinding, want: s.StructInfo) -> tuple[Edit, ...]:
    """The edit that turns an annotated binding into a match_cast."""
    value = binding.value
    written = value.name if isinstance(value, e.Var) else value.span.text if value.span else ""
    if binding.span is None or not written:
        return ()
    return (Edit(binding.span, f"{binding.var.name} = R.match_cast({written}, {want})"),)


def cast_operand(
    operand: e.Expr, used: Span | None, place: Span | None, want: s.StructInfo
) -> tuple[Edit, ...]:
    """The edits that cast the variable at `used` in a new line above the statement at `place`."""
    if not isinstance(operand, e.Var) or used is None or place is None or used.text != operand.name:
        return ()
    name = f"{operand.name}_cast"
    start = place.source.span(place.line, place.column, place.line, place.column)
    line = f"{name} = R.match_cast({operand.name}, {want})\n{' ' * place.column}"
    return Edit(start, line), Edit(used, name)
