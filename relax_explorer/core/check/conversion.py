"""Whether a value may stand where a StructInfo is wanted, what a match_cast would cure, and the edit that inserts it."""

from __future__ import annotations

from enum import Enum

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.witness import disagreement
from relax_explorer.core.check.compatible import fits
from relax_explorer.core.check.matching import captured
from relax_explorer.core.check.subtypes import is_subtype
from relax_explorer.core.diagnostics import Edit
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.erasure import erase_struct_info
from relax_explorer.core.source import Span


class Conversion(Enum):
    """How a value's StructInfo relates to the one that is wanted."""

    FITS = "it is always what is wanted"
    MAYBE = "kind, rank and dtype fit; the dimensions are known only at run time"
    NARROWS = "kind, rank or dtype would have to be claimed: only a match_cast may do that"
    NEVER = "it is never what is wanted"


def conversion(have: s.StructInfo, want: s.StructInfo) -> Conversion:
    """How `have` may stand for `want`: types must fit as they are, dimensions may be left to run time."""
    if have is want:
        return Conversion.FITS
    answer = fits(have, want)
    if answer is Answer.YES:
        return Conversion.FITS
    if answer is Answer.NO:
        return Conversion.NEVER
    return Conversion.MAYBE if typed_alike(have, want) else Conversion.NARROWS


def typed_alike(have: s.StructInfo, want: s.StructInfo) -> bool:
    """Whether kind, rank and dtype are right as they are."""
    return is_subtype(erase_struct_info(have), erase_struct_info(want))


def counterexample(have: s.StructInfo, want: s.StructInfo) -> tuple[str, ...]:
    """A note that gives lengths for which the value is not what is wanted; none when no such lengths were found."""
    for axis, (a, b) in enumerate(zip(s.lengths(have), s.lengths(want), strict=False)):
        example = disagreement(a, b)
        if example is not None and example[0]:
            values = ", ".join(f"{var.name} = {value}" for var, value in example[0].items())
            return (f"with {values}, dimension {axis} is {example[1]}, not {example[2]}",)
    return ()


def captured_lengths(have: s.StructInfo, held: s.StructInfo) -> tuple[str, ...]:
    """A note that says which lengths a function captured, so that it takes no others; none when it captured none."""
    names = captured(have, held)
    return (f"it captured {', '.join(names)}, and takes no other length there",) if names else ()


def cast_binding(binding: e.VarBinding, want: s.StructInfo) -> tuple[Edit, ...]:
    """The edit that makes an annotated binding a match_cast."""
    value = binding.value
    written = value.name if isinstance(value, e.Var) else value.span.text if value.span else ""
    if binding.span is None or not written:
        return ()
    return (Edit(binding.span, f"{binding.var.name} = R.match_cast({written}, {want})"),)


def cast_operand(
    operand: e.Expr, used: Span | None, place: Span | None, want: s.StructInfo
) -> tuple[Edit, ...]:
    """The edits that cast an operand, a variable used at `used`, in a line of its own above the statement at `place`."""
    if not isinstance(operand, e.Var) or used is None or place is None or used.text != operand.name:
        return ()
    name = f"{operand.name}_cast"
    start = place.source.span(place.line, place.column, place.line, place.column)
    line = f"{name} = R.match_cast({operand.name}, {want})\n{' ' * place.column}"
    return Edit(start, line), Edit(used, name)
