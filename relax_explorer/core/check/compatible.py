"""Relations between StructInfos: fits (three-valued), least upper bound, shape-variable matching, erasure to what is in scope."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from relax_explorer.core.arith.prove import Answer, equal, shapes_equal
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import info_vars

YES, NO, UNKNOWN = Answer.YES, Answer.NO, Answer.UNKNOWN


def both(answers: Collection[Answer]) -> Answer:
    """Whether all of several answers are yes."""
    if NO in answers:
        return NO
    return UNKNOWN if UNKNOWN in answers else YES


def fits(have: s.StructInfo, want: s.StructInfo) -> Answer:
    """Whether every value described by `have` is described by `want`: always, never, or perhaps (known only at run time)."""
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
    shape = YES
    if want.shape is not None and have.shape is not want.shape:
        known = have.dims is not None and want.dims is not None
        shape = shapes_equal(have.dims or (), want.dims or ()) if known and rank is not NO else UNKNOWN
    return both((element, rank, shape))


def _fits_tuple(have: s.TupleStructInfo, want: s.TupleStructInfo) -> Answer:
    if len(have.fields) != len(want.fields):
        return NO
    return both([fits(a, b) for a, b in zip(have.fields, want.fields, strict=True)])


def _fits_func(have: s.FuncStructInfo, want: s.FuncStructInfo) -> Answer:
    if want.pure and not have.pure:
        return NO
    if want.params is None:
        return YES
    if have.params is None:
        return UNKNOWN
    if len(have.params) != len(want.params):
        return NO
    inputs = [
        fits(b, a) for a, b in zip(have.params, want.params, strict=True)
    ]  # parameters are contravariant
    return both([*inputs, fits(have.ret, want.ret)])


_FITS: dict[type, Callable[[Any, Any], Answer]] = {
    s.PrimStructInfo: _fits_prim,
    s.ShapeStructInfo: _fits_shape,
    s.TensorStructInfo: _fits_tensor,
    s.TupleStructInfo: _fits_tuple,
    s.FuncStructInfo: _fits_func,
}


def unify(a: s.StructInfo, b: s.StructInfo) -> s.StructInfo:
    """The most precise StructInfo that describes the values of both (errata E-01 to E-04)."""
    if a is b:
        return a
    if type(a) is not type(b):
        return s.OBJECT
    return _UNIFY.get(type(a), lambda x, y: s.OBJECT)(a, b)


def _unify_tensor(a: s.TensorStructInfo, b: s.TensorStructInfo) -> s.StructInfo:
    element = a.dtype if a.dtype is b.dtype else None
    device = a.vdevice if a.vdevice == b.vdevice else None
    if a.shape is b.shape and a.shape is not None:
        return s.TensorStructInfo(a.shape, element, a.ndim, device)
    if a.dims is not None and b.dims is not None and shapes_equal(a.dims, b.dims) is YES:
        return s.TensorStructInfo(a.dims, element, a.ndim, device)
    return s.TensorStructInfo(None, element, a.ndim if a.ndim == b.ndim else -1, device)


def _unify_shape(a: s.ShapeStructInfo, b: s.ShapeStructInfo) -> s.StructInfo:
    if a.values is not None and b.values is not None and shapes_equal(a.values, b.values) is YES:
        return a
    return s.ShapeStructInfo(None, a.ndim if a.ndim == b.ndim else -1)


def _unify_prim(a: s.PrimStructInfo, b: s.PrimStructInfo) -> s.StructInfo:
    return s.PrimStructInfo(a.dtype) if a.dtype is b.dtype else s.OBJECT


def _unify_tuple(a: s.TupleStructInfo, b: s.TupleStructInfo) -> s.StructInfo:
    if len(a.fields) != len(b.fields):
        return s.OBJECT
    return s.TupleStructInfo(tuple([unify(x, y) for x, y in zip(a.fields, b.fields, strict=True)]))


def _unify_func(a: s.FuncStructInfo, b: s.FuncStructInfo) -> s.StructInfo:
    pure = a.pure and b.pure
    if a.params is None or b.params is None or len(a.params) != len(b.params):
        return s.FuncStructInfo(None, s.OBJECT, pure) if a.params is b.params is None else s.OBJECT
    if any(fits(x, y) is not YES or fits(y, x) is not YES for x, y in zip(a.params, b.params, strict=True)):
        return s.OBJECT
    return s.FuncStructInfo(a.params, unify(a.ret, b.ret), pure)


_UNIFY: dict[type, Callable[[Any, Any], s.StructInfo]] = {
    s.TensorStructInfo: _unify_tensor,
    s.ShapeStructInfo: _unify_shape,
    s.PrimStructInfo: _unify_prim,
    s.TupleStructInfo: _unify_tuple,
    s.FuncStructInfo: _unify_func,
}


def match_dims(want: s.StructInfo, have: s.StructInfo, found: dict[p.PrimVar, p.PrimExpr]) -> None:
    """Bind each shape variable that stands alone as a dimension of `want` to the expression in the same place of `have`.

    The first binding of a variable wins (errata E-27); a contradiction is for the caller to find by comparing.
    """
    if isinstance(want, s.TensorStructInfo) and isinstance(have, s.TensorStructInfo):
        _match(want.dims, have.dims, found)
    elif isinstance(want, s.ShapeStructInfo) and isinstance(have, s.ShapeStructInfo):
        _match(want.values, have.values, found)
    elif isinstance(want, s.PrimStructInfo) and isinstance(have, s.PrimStructInfo):
        if type(want.value) is p.PrimVar and have.value is not None:
            found.setdefault(want.value, have.value)
    elif isinstance(want, s.TupleStructInfo) and isinstance(have, s.TupleStructInfo):
        for a, b in zip(want.fields, have.fields, strict=False):
            match_dims(a, b, found)


def _match(
    want: tuple[p.PrimExpr, ...] | None,
    have: tuple[p.PrimExpr, ...] | None,
    found: dict[p.PrimVar, p.PrimExpr],
) -> None:
    if want is not None and have is not None and len(want) == len(have):
        for a, b in zip(want, have, strict=True):
            if type(a) is p.PrimVar:
                found.setdefault(a, b)


def defined_dims(info: s.StructInfo) -> list[p.PrimVar]:
    """The shape variables that a parameter or match_cast of this StructInfo binds: those that stand alone somewhere."""
    if isinstance(info, s.TensorStructInfo):
        return [dim for dim in info.dims or () if type(dim) is p.PrimVar]
    if isinstance(info, s.ShapeStructInfo):
        return [dim for dim in info.values or () if type(dim) is p.PrimVar]
    if isinstance(info, s.PrimStructInfo):
        return [info.value] if type(info.value) is p.PrimVar else []
    if isinstance(info, s.TupleStructInfo):
        return [var for field in info.fields for var in defined_dims(field)]
    return []


def erase(
    info: s.StructInfo, dims: Collection[p.PrimVar], variables: Collection[Any] | None = None
) -> s.StructInfo:
    """`info` without mention of shape variables outside `dims` (and of variables outside `variables`, when given)."""
    if not info_vars(info) and variables is None:
        return info
    if isinstance(info, s.TensorStructInfo):
        kept = (
            _in_scope(info.dims, dims)
            if info.dims is not None
            else variables is None or info.shape in (None, *variables)
        )
        return info if kept else s.TensorStructInfo(None, info.dtype, info.ndim, info.vdevice)
    if isinstance(info, s.ShapeStructInfo):
        return (
            info
            if info.values is None or _in_scope(info.values, dims)
            else s.ShapeStructInfo(None, info.ndim)
        )
    if isinstance(info, s.PrimStructInfo):
        return info if info.value is None or _in_scope((info.value,), dims) else s.PrimStructInfo(info.dtype)
    if isinstance(info, s.TupleStructInfo):
        return s.TupleStructInfo(tuple([erase(field, dims, variables) for field in info.fields]))
    return info


def _in_scope(values: tuple[p.PrimExpr, ...], dims: Collection[p.PrimVar]) -> bool:
    return all(var in dims for var in p.free_vars(*values))
