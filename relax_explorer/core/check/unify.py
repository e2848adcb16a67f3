"""The least upper bound of two StructInfos (errata E-01 to E-04, E-18)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_explorer.core.arith.prove import equal, shapes_equal
from relax_explorer.core.check.matching import apart, match_params
from relax_explorer.core.check.order import YES, both, more_specific
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.struct_info import is_same_place
from relax_explorer.core.ir.walk import substitute_info


def unify(a: s.StructInfo, b: s.StructInfo, wildcard: bool = False) -> s.StructInfo:
    """The most precise StructInfo that describes the values of both.

    With `wildcard` (experimental), different lengths of tensors and shapes become `R.any_dim`, and equal ones stay.
    """
    if a is b:
        return a
    rule = _BY_AXIS.get(type(a)) if wildcard and type(a) is type(b) else None
    if rule is not None:
        return rule(a, b)
    rule = _UNIFY.get(type(a)) if type(a) is type(b) else None
    return s.OBJECT if rule is None else rule(a, b)


def _tensor(a: s.TensorStructInfo, b: s.TensorStructInfo) -> s.StructInfo:
    element = a.dtype if a.dtype is b.dtype else None
    device = a.vdevice if is_same_place(a.vdevice, b.vdevice) else None
    if a.shape is b.shape and a.shape is not None:
        return s.TensorStructInfo(a.shape, element, a.ndim, device)
    left, right = a.lengths, b.lengths
    if left is not None and right is not None and shapes_equal(left, right) is YES:
        return s.TensorStructInfo(left, element, a.ndim, device)
    return s.TensorStructInfo(None, element, a.ndim if a.ndim == b.ndim else -1, device)


def _tensor_by_axis(a: s.TensorStructInfo, b: s.TensorStructInfo) -> s.StructInfo:
    """Unify axis by axis if both have the same rank and known lengths."""
    whole, dims = _tensor(a, b), _by_axis(a.lengths, b.lengths)
    assert isinstance(whole, s.TensorStructInfo)  # both are tensors
    return (
        whole
        if dims is None or whole.shape is not None
        else s.TensorStructInfo(dims, whole.dtype, -1, whole.vdevice)
    )


def _shape_by_axis(a: s.ShapeStructInfo, b: s.ShapeStructInfo) -> s.StructInfo:
    dims = _by_axis(a.values, b.values)
    return _shape(a, b) if dims is None else s.ShapeStructInfo(dims)


def _by_axis(
    left: tuple[p.PrimExpr, ...] | None, right: tuple[p.PrimExpr, ...] | None
) -> tuple[p.PrimExpr, ...] | None:
    """Equal lengths, and a wildcard for the others. None if the ranks differ or are not known."""
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple([x if equal(x, y) is YES else p.AnyDim() for x, y in zip(left, right, strict=True)])


def _shape(a: s.ShapeStructInfo, b: s.ShapeStructInfo) -> s.StructInfo:
    if a.values is not None and b.values is not None and shapes_equal(a.values, b.values) is YES:
        return a
    return s.ShapeStructInfo(None, a.ndim if a.ndim == b.ndim else -1)


def _prim(a: s.PrimStructInfo, b: s.PrimStructInfo) -> s.StructInfo:
    if a.dtype is not b.dtype:
        return s.OBJECT
    same = a.value is not None and b.value is not None and equal(a.value, b.value) is YES
    return a if same else s.PrimStructInfo(a.dtype)


def _tuple(a: s.TupleStructInfo, b: s.TupleStructInfo) -> s.StructInfo:
    if len(a.fields) != len(b.fields):
        return s.OBJECT
    return s.TupleStructInfo(tuple(map(unify, a.fields, b.fields)))


def _func(a: s.FuncStructInfo, b: s.FuncStructInfo) -> s.StructInfo:
    pure = a.pure and b.pure
    if a.params is None or b.params is None:
        return s.OBJECT if a.params is not b.params else _opaque(a, b, pure)
    if len(a.params) != len(b.params):
        return s.OBJECT
    a, b = apart(a, b)
    first, second = a.params or (), b.params or ()
    renamed = _renaming(second, first)
    if renamed is None:
        return s.OBJECT
    params = [substitute_info(param, renamed) for param in second]
    if (
        both(map(more_specific, first, params)) is not YES
        or both(map(more_specific, params, first)) is not YES
    ):
        return s.OBJECT
    return s.FuncStructInfo(first, unify(a.ret, substitute_info(b.ret, renamed)), pure)


def _opaque(a: s.FuncStructInfo, b: s.FuncStructInfo, pure: bool) -> s.StructInfo:
    if a.derive_func == b.derive_func:
        return s.FuncStructInfo(None, unify(a.ret, b.ret), pure, a.derive_func)
    return s.FuncStructInfo(None, s.OBJECT, pure)


def _renaming(
    names: tuple[s.StructInfo, ...], others: tuple[s.StructInfo, ...]
) -> dict[p.PrimVar, p.PrimExpr] | None:
    """The renaming of shape variables from `names` to `others`; None if the two differ in more than names."""
    mapping: dict[p.PrimVar, p.PrimExpr] = {}
    match_params(names, others, mapping)
    only_names = all(type(new) is p.PrimVar for new in mapping.values())
    return mapping if only_names and len(set(mapping.values())) == len(mapping) else None


_BY_AXIS: dict[type, Callable[[Any, Any], s.StructInfo]] = {
    s.TensorStructInfo: _tensor_by_axis,
    s.ShapeStructInfo: _shape_by_axis,
    s.TupleStructInfo: lambda a, b: (
        s.TupleStructInfo(tuple([unify(x, y, True) for x, y in zip(a.fields, b.fields, strict=True)]))
        if len(a.fields) == len(b.fields)
        else s.OBJECT
    ),
}
_UNIFY: dict[type, Callable[[Any, Any], s.StructInfo]] = {
    s.TensorStructInfo: _tensor,
    s.ShapeStructInfo: _shape,
    s.PrimStructInfo: _prim,
    s.TupleStructInfo: _tuple,
    s.FuncStructInfo: _func,
}
