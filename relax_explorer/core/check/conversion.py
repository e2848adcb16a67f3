"""Whether a value may stand where a StructInfo is wanted, what a match_cast would cure, and the edit that inserts it."""

from __future__ import annotations

from enum import Enum

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.witness import disagreement
from relax_explorer.core.check.compatible import fits
from relax_explorer.core.diagnostics import Edit
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
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
    typed = fits(without_shapes(have), without_shapes(want)) is Answer.YES
    return Conversion.MAYBE if typed else Conversion.NARROWS


def without_shapes(info: s.StructInfo) -> s.StructInfo:
    """What is left of a StructInfo when dimensions are forgotten: kind, rank, dtype."""
    if isinstance(info, s.TensorStructInfo):
        return info if info.shape is None else s.TensorStructInfo(None, info.dtype, info.ndim, info.vdevice)
    if isinstance(info, s.ShapeStructInfo):
        return info if info.values is None else s.ShapeStructInfo(None, info.ndim)
    if isinstance(info, s.PrimStructInfo):
        return info if info.value is None else s.PrimStructInfo(info.dtype)
    if isinstance(info, s.TupleStructInfo):
        return s.TupleStructInfo(tuple([without_shapes(field) for field in info.fields]))
    if isinstance(info, s.FuncStructInfo) and info.params is not None:
        params = tuple([without_shapes(param) for param in info.params])
        return s.FuncStructInfo(params, without_shapes(info.ret), info.pure, info.derive_func)
    return info


def counterexample(have: s.StructInfo, want: s.StructInfo) -> tuple[str, ...]:
    """A note that gives lengths for which the value is not what is wanted; none when no such lengths were found."""
    for axis, (a, b) in enumerate(zip(_lengths(have), _lengths(want), strict=False)):
        found = disagreement(a, b)
        if found is not None and found[0]:
            values = ", ".join(f"{var.name} = {value}" for var, value in found[0].items())
            return (f"with {values}, dimension {axis} is {found[1]}, not {found[2]}",)
    return ()


def _lengths(info: s.StructInfo) -> tuple[p.PrimExpr, ...]:
    if isinstance(info, s.TensorStructInfo):
        return info.lengths or ()
    return info.values or () if isinstance(info, s.ShapeStructInfo) else ()


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
