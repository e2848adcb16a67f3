"""Whether a value of one StructInfo may stand where another is expected.

`fits` asks about values (always, never, or known only at run time), `compatible` about the language: there, kind, rank and
dtype have to be right as they are, and only lengths may be left to run time. The neighbouring rules are in `order`, `unify`,
`matching` and `erase`; their functions can be had from here too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.arith.prove import Answer, equal, shapes_equal
from relax_explorer.core.check.erase import erase
from relax_explorer.core.check.matching import instantiate, match_dims, shape_var_mapping
from relax_explorer.core.check.order import NO, UNKNOWN, YES, both, more_specific, signatures
from relax_explorer.core.check.types import is_subtype
from relax_explorer.core.check.unify import unify
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.erasure import erase_struct_info
from relax_explorer.core.ir.walk import defined_dims

__all__ = [
    "NO", "UNKNOWN", "YES", "both", "compatible", "defined_dims", "erase", "fits", "match_dims", "more_specific",
    "overlaps", "shape_var_mapping", "unify",
]  # fmt: skip


def compatible(have: s.StructInfo, want: s.StructInfo) -> Answer:
    """Whether `have` is accepted where `want` is expected: yes, no, or possibly, when it depends on lengths.

    What is not refused is a subtype: a claim about kind, rank or dtype needs a match_cast.
    """
    if have is want or want is s.OBJECT:
        return YES
    if not is_subtype(erase_struct_info(have), erase_struct_info(want)):
        return NO
    return fits(have, want)


def fits(have: s.StructInfo, want: s.StructInfo) -> Answer:
    """Whether every value described by `have` is described by `want`: always, never, or perhaps (known only at run time).

    Perhaps, too, for an opaque function and one of known parameters: TVM takes one for the other, the language does not.
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
    if rank is NO or want.values is None:
        return rank
    return UNKNOWN if have.values is None else shapes_equal(have.values, want.values)


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
    return UNKNOWN if left is None or right is None else shapes_equal(left, right)


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
    """Whether some value may be described by both, so that a match_cast from one to the other can succeed (errata E-15).

    Of functions only the results have to: one that takes more and promises less effect is described by both.
    """
    if isinstance(a, s.TupleStructInfo) and isinstance(b, s.TupleStructInfo):
        return len(a.fields) == len(b.fields) and all(map(overlaps, a.fields, b.fields))
    if isinstance(a, s.FuncStructInfo) and isinstance(b, s.FuncStructInfo):
        if a.params is None or b.params is None:
            return a.params is b.params
        if len(a.params) != len(b.params):
            return False
        # Either may be the one that takes any length.
        return overlaps(instantiate(a, b.params)[1], b.ret) or overlaps(a.ret, instantiate(b, a.params)[1])
    return b is s.OBJECT or fits(a, b) is not NO


_FITS: dict[type, Callable[[Any, Any], Answer]] = {
    s.PrimStructInfo: _fits_prim,
    s.ShapeStructInfo: _fits_shape,
    s.TensorStructInfo: _fits_tensor,
    s.TupleStructInfo: _fits_tuple,
    s.FuncStructInfo: _fits_func,
}
