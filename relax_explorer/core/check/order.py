"""The order `a <<: b` of StructInfo, from more to less specific. The answer may be unknown (errata E-20)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from relax_explorer.core.arith.prove import Answer, equal, shapes_equal
from relax_explorer.core.check.matching import apart, instantiate
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.struct_info import is_same_place

YES, NO, UNKNOWN = Answer.YES, Answer.NO, Answer.UNKNOWN


def both(answers: Iterable[Answer]) -> Answer:
    """The conjunction of several answers. It stops at the first no."""
    result = YES
    for answer in answers:
        if answer is NO:
            return NO
        if answer is UNKNOWN:
            result = UNKNOWN
    return result


def more_specific(a: s.StructInfo, b: s.StructInfo) -> Answer:
    """The answer to `a <<: b`: `a` is at least as specific as `b`. Unknown if it depends on lengths."""
    if a is b or b is s.OBJECT:
        return YES
    if type(a) is not type(b):
        return NO
    return _ORDER[type(b)](a, b)


def _values(a: tuple[p.PrimExpr, ...] | None, b: tuple[p.PrimExpr, ...] | None) -> Answer:
    """The order of lengths: unknown lengths are less specific."""
    if b is None:
        return YES
    return NO if a is None else _dims(a, b)


def _dims(a: tuple[p.PrimExpr, ...], b: tuple[p.PrimExpr, ...]) -> Answer:
    """The order of known lengths: a wildcard is less specific than any other length."""
    if not any(type(dim) is p.AnyDim for dim in (*a, *b)):
        return shapes_equal(a, b)
    return both(map(_dim, a, b)) if len(a) == len(b) else NO


def _dim(a: p.PrimExpr, b: p.PrimExpr) -> Answer:
    if type(b) is p.AnyDim:
        return YES
    return NO if type(a) is p.AnyDim else equal(a, b)


def _prim(a: s.PrimStructInfo, b: s.PrimStructInfo) -> Answer:
    if a.dtype is not b.dtype:
        return NO
    if b.value is None:
        return YES
    return NO if a.value is None else equal(a.value, b.value)


def _shape(a: s.ShapeStructInfo, b: s.ShapeStructInfo) -> Answer:
    return _values(a.values, b.values) if b.ndim in (-1, a.ndim) else NO


def _tensor(a: s.TensorStructInfo, b: s.TensorStructInfo) -> Answer:
    fields = (
        b.dtype in (None, a.dtype)
        and b.ndim in (-1, a.ndim)
        and (b.vdevice is None or is_same_place(a.vdevice, b.vdevice))
    )
    if not fields or b.shape is None or a.shape is b.shape:
        return YES if fields else NO
    if a.shape is None:
        return NO
    left, right = a.lengths, b.lengths
    return UNKNOWN if left is None or right is None else _dims(left, right)


def _tuple(a: s.TupleStructInfo, b: s.TupleStructInfo) -> Answer:
    if len(a.fields) != len(b.fields):
        return NO
    return both(map(more_specific, a.fields, b.fields))


def _func(a: s.FuncStructInfo, b: s.FuncStructInfo) -> Answer:
    if b.pure and not a.pure:
        return NO
    if a.params is None or b.params is None:
        return NO if a.params is not b.params else _opaque(a, b)
    if len(a.params) != len(b.params):
        return NO
    return signatures(a, b, more_specific)


def signatures(
    a: s.FuncStructInfo, b: s.FuncStructInfo, relation: Callable[[s.StructInfo, s.StructInfo], Answer]
) -> Answer:
    """A relation of two functions from the relation of their parts. Parameters are contravariant. The numbers are equal."""
    a, b = apart(a, b)
    params, ret = instantiate(a, b.params or ())
    answer = both(map(relation, b.params or (), params))
    return NO if answer is NO else both((answer, relation(ret, b.ret)))


def _opaque(a: s.FuncStructInfo, b: s.FuncStructInfo) -> Answer:
    if b.derive_func is None and b.ret is s.OBJECT:
        return YES  # empty_derive is the least specific
    if a.derive_func != b.derive_func:
        return NO
    return YES if a.derive_func is not None else more_specific(a.ret, b.ret)


_ORDER: dict[type, Callable[[Any, Any], Answer]] = {
    s.PrimStructInfo: _prim,
    s.ShapeStructInfo: _shape,
    s.TensorStructInfo: _tensor,
    s.TupleStructInfo: _tuple,
    s.FuncStructInfo: _func,
}
