"""Compatibility: may a value of one StructInfo stand where another is expected?

`fits` asks about values (always, never, or known only at run time). `compatible` asks about the language: kind, rank and
dtype must be right, and only lengths may be left to run time. Related rules are in `order`, `unify`, `matching` and `erase`;
this module exports their functions too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum
from typing import Any

from relax_explorer.core.arith.prove import Answer, equal, shapes_equal
from relax_explorer.core.arith.simplify import disagreement
from relax_explorer.core.check.matching import (
    apart,
    bound_dims,
    captured,
    erase,
    holds_function,
    instantiate,
    match_dims,
    pinned,
    shape_var_mapping,
)
from relax_explorer.core.check.order import (
    NO,
    UNKNOWN,
    YES,
    both,
    is_subtype,
    more_specific,
    signatures,
    unify,
)
from relax_explorer.core.diagnostics import Edit, Label
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.prim import AnyDim, PrimExpr, PrimVar, free_vars
from relax_explorer.core.ir.types import erase_struct_info
from relax_explorer.core.ir.walk import all_dims, bindings, defined_dims
from relax_explorer.core.source import Span

__all__ = [
    "NO", "UNKNOWN", "YES", "always_fits", "both", "compatible", "defined_dims", "erase", "fits", "match_dims", "more_specific",
    "never_fits", "overlaps", "shape_var_mapping", "unify",
]  # fmt: skip


def always_fits(have: s.StructInfo, want: s.StructInfo) -> bool:
    """True if every value of `have` is a value of `want`. Functions in `have` may have captured their shape variables."""
    if have is want or not holds_function(have):
        return fits(have, want) is YES
    return fits(pinned(have, all_dims(have)), want) is YES


def compatible(have: s.StructInfo, want: s.StructInfo) -> Answer:
    """Is `have` accepted where `want` is expected? Unknown if it depends on lengths.

    Only subtypes are accepted: a claim about kind, rank or dtype needs a match_cast.
    """
    if have is want or want is s.OBJECT:
        return YES
    if not is_subtype(erase_struct_info(have), erase_struct_info(want)):
        return NO
    return fits(have, want)


def fits(have: s.StructInfo, want: s.StructInfo) -> Answer:
    """Does `want` describe every value that `have` describes? Unknown if only the run can tell.

    Also unknown for an opaque function and one with known parameters: TVM accepts one for the other, the language does not.
    """
    if have is want or want is s.OBJECT:
        return YES
    if have is s.OBJECT:
        return UNKNOWN
    if type(have) is not type(want):
        return NO
    return _FITS[type(want)](have, want)


def _fits_prim(have: s.PrimStructInfo, want: s.PrimStructInfo) -> Answer:
    if have.dtype is not want.dtype:
        return NO
    if want.value is None:
        return YES
    return UNKNOWN if have.value is None else equal(have.value, want.value)


def _fits_rank(have: int, want: int) -> Answer:
    if want == -1 or have == want:
        return YES
    return UNKNOWN if have == -1 else NO


def _fits_shape(have: s.ShapeStructInfo, want: s.ShapeStructInfo) -> Answer:
    rank = _fits_rank(have.ndim, want.ndim)
    if rank is not YES or want.values is None:
        return rank
    return _fits_dims(have.values, want.values)


def _fits_tensor(have: s.TensorStructInfo, want: s.TensorStructInfo) -> Answer:
    element = YES if want.dtype is None or have.dtype is want.dtype else UNKNOWN if have.dtype is None else NO
    rank = _fits_rank(have.ndim, want.ndim)
    if element is NO or rank is NO:
        return NO
    return both((element, rank, _fits_lengths(have, want)))


def _fits_lengths(have: s.TensorStructInfo, want: s.TensorStructInfo) -> Answer:
    if want.shape is None or have.shape is want.shape:
        return YES
    left, right = have.lengths, want.lengths
    return UNKNOWN if right is None else _fits_dims(left, right)


def _fits_dims(have: tuple[PrimExpr, ...] | None, want: tuple[PrimExpr, ...]) -> Answer:
    """`fits` for lengths. Every length fits a wildcard."""
    if not any(type(dim) is AnyDim for dim in want):
        return UNKNOWN if have is None else shapes_equal(have, want)
    if have is None:
        return YES if all(type(dim) is AnyDim for dim in want) else UNKNOWN
    if len(have) != len(want):
        return NO
    return both(YES if type(b) is AnyDim else equal(a, b) for a, b in zip(have, want, strict=True))


def _fits_tuple(have: s.TupleStructInfo, want: s.TupleStructInfo) -> Answer:
    if len(have.fields) != len(want.fields):
        return NO
    return both(map(fits, have.fields, want.fields))


def _fits_func(have: s.FuncStructInfo, want: s.FuncStructInfo) -> Answer:
    if want.pure and not have.pure:
        return NO
    if have.params is None or want.params is None:
        return UNKNOWN if have.params is not want.params else _fits_opaque(have, want)
    if len(have.params) != len(want.params):
        return NO
    return signatures(have, want, fits)


def _fits_opaque(have: s.FuncStructInfo, want: s.FuncStructInfo) -> Answer:
    if want.derive_func is None:
        return YES if want.ret is s.OBJECT else UNKNOWN if have.derive_func else fits(have.ret, want.ret)
    return YES if have.derive_func == want.derive_func else UNKNOWN


def overlaps(a: s.StructInfo, b: s.StructInfo) -> bool:
    """True if both may describe the same value, so that a match_cast from one to the other can succeed (errata E-15).

    For functions only the results must overlap: a function with wider parameters and less effect is described by both.
    """
    if isinstance(a, s.TupleStructInfo) and isinstance(b, s.TupleStructInfo):
        return len(a.fields) == len(b.fields) and all(map(overlaps, a.fields, b.fields))
    if isinstance(a, s.FuncStructInfo) and isinstance(b, s.FuncStructInfo):
        if a.params is None or b.params is None:
            return a.params is b.params
        if len(a.params) != len(b.params):
            return False
        # Either of the two may accept any length.
        return overlaps(instantiate(a, b.params)[1], b.ret) or overlaps(a.ret, instantiate(b, a.params)[1])
    return fits(a, b) is not NO


def never_fits(have: s.StructInfo, want: s.StructInfo) -> bool:
    """True if a function of exactly this StructInfo fits in no run, for any lengths in scope. `have` is pinned like `want`."""
    answer = fits(have, want)
    if answer is not UNKNOWN or type(have) is not s.FuncStructInfo or type(want) is not s.FuncStructInfo:
        return answer is NO
    if have.params is None or want.params is None:
        return False
    have, want = apart(have, want)
    params, ret = instantiate(have, want.params or ())
    free = bound_dims(want)
    pairs = [*zip(want.params or (), params, strict=True), (ret, want.ret)]
    return any(_is_hopeless(a, b, free) for a, b in pairs if fits(a, b) is UNKNOWN)


def _is_hopeless(have: s.StructInfo, want: s.StructInfo, free: Collection[PrimVar]) -> bool:
    """True if no lengths in scope make `have` fit `want` for all values of the shape variables `free`."""
    if type(have) is not s.TensorStructInfo or type(want) is not s.TensorStructInfo:
        return False
    if (have.dtype is None) > (want.dtype is None) or (have.ndim == -1) > (want.ndim == -1):
        return True
    left, right = have.lengths, want.lengths
    if left is None or right is None:
        return left is None and right is not None
    return any(
        (a in free) > (a in free_vars(b)) or (b in free) > (b in free_vars(a))
        for a, b in zip(left, right, strict=True)
    )


_FITS: dict[type, Callable[[Any, Any], Answer]] = {
    s.PrimStructInfo: _fits_prim,
    s.ShapeStructInfo: _fits_shape,
    s.TensorStructInfo: _fits_tensor,
    s.TupleStructInfo: _fits_tuple,
    s.FuncStructInfo: _fits_func,
}


# -- conversion ------------------------------------------------------------------------------------------------------
# Classify how a value fits an expected StructInfo, and build the edit that inserts a match_cast.


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
    text = place.source.line(place.line)
    margin = text[
        : len(text) - len(text.lstrip())
    ]  # of the statement: the call may stand in the middle of it
    start = place.source.span(place.line, len(margin), place.line, len(margin))
    line = f"{name} = R.match_cast({operand.name}, {want})\n{margin}"
    return Edit(start, line), Edit(used, name)


# -- bound below -----------------------------------------------------------------------------------------------------
# Where a variable is bound that has no value at a place: in a binding below it.


def bound_below(fn: e.Function, var: e.Var | p.PrimVar, place: object) -> tuple[str, tuple[Label, ...]]:
    """The end of a sentence about the binding of a variable below a place of `fn`, and its label; empty if there is none."""
    use = place if isinstance(place, Span) else getattr(place, "span", None)
    for binding in bindings(fn):
        is_cast = isinstance(binding, e.MatchCast) and var in defined_dims(binding.struct_info)
        if is_cast or binding.var is var:
            span = binding.span
            if use is None or span is None or span.line <= use.line:
                break  # bound above, where another scope has ended
            return f": it is bound only in line {span.line}, below", (Label(binding, "bound here"),)
    return "", ()
