"""The order `a <<: b` of types and of StructInfo, from more to less specific, and its least upper bounds (errata E-01 to E-04, E-18, E-20)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from relax_explorer.core.arith.prove import Answer, equal, shapes_equal
from relax_explorer.core.check.matching import apart, instantiate, match_params
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir import types as t
from relax_explorer.core.ir.struct_info import is_same_place
from relax_explorer.core.ir.walk import substitute_info

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


# -- subtypes --------------------------------------------------------------------------------------------------------
# The order of types: subtypes, least upper and greatest lower bounds.


def is_subtype(a: t.Type, b: t.Type) -> bool:
    """True if `a <: b`: a value of `a` is accepted wherever a value of `b` is expected."""
    if a is b or b is t.OBJECT_TYPE:
        return True
    if type(a) is not type(b):
        return False
    rule = _BELOW.get(type(a))
    return rule is not None and rule(a, b)


def _tensor_below(a: t.DynTensorType, b: t.DynTensorType) -> bool:
    return b.ndim in (-1, a.ndim) and b.dtype in (None, a.dtype)  # independent of each other (errata E-07)


def _tuple_below(a: t.TupleType, b: t.TupleType) -> bool:
    return len(a.fields) == len(b.fields) and all(map(is_subtype, a.fields, b.fields))


def _func_below(a: t.FuncType, b: t.FuncType) -> bool:
    if len(a.arg_types) != len(b.arg_types) or (b.pure and not a.pure):
        return False
    return is_subtype(a.ret_type, b.ret_type) and all(map(is_subtype, b.arg_types, a.arg_types))


_BELOW: dict[type, Callable[[Any, Any], bool]] = {
    t.ShapeType: lambda a, b: b.ndim == -1,
    t.DynTensorType: _tensor_below,
    t.TupleType: _tuple_below,
    t.FuncType: _func_below,
}


def lub(a: t.Type, b: t.Type) -> t.Type:
    """The least upper bound: the smallest type above both. It always exists."""
    if a is b:
        return a
    rule = _LUB.get(type(a)) if type(a) is type(b) else None
    return t.OBJECT_TYPE if rule is None else rule(a, b)


def _tensor_lub(a: t.DynTensorType, b: t.DynTensorType) -> t.Type:
    return t.DynTensorType(a.ndim if a.ndim == b.ndim else -1, a.dtype if a.dtype is b.dtype else None)


def _tuple_lub(a: t.TupleType, b: t.TupleType) -> t.Type:
    if len(a.fields) != len(b.fields):
        return t.OBJECT_TYPE
    return t.TupleType(tuple(map(lub, a.fields, b.fields)))


def _func_lub(a: t.FuncType, b: t.FuncType) -> t.Type:
    if len(a.arg_types) != len(b.arg_types):
        return t.OBJECT_TYPE
    arguments = _all_known(map(glb, a.arg_types, b.arg_types))
    if arguments is None:
        return t.OBJECT_TYPE
    return t.FuncType(arguments, lub(a.ret_type, b.ret_type), a.pure and b.pure)


_LUB: dict[type, Callable[[Any, Any], t.Type]] = {
    t.ShapeType: lambda a, b: t.ShapeType(-1),
    t.DynTensorType: _tensor_lub,
    t.TupleType: _tuple_lub,
    t.FuncType: _func_lub,
}


def glb(a: t.Type, b: t.Type) -> t.Type | None:
    """The greatest lower bound: the largest type below both; None if no type is below both (errata E-05, E-06)."""
    if a is b or b is t.OBJECT_TYPE:
        return a
    if a is t.OBJECT_TYPE:
        return b
    rule = _GLB.get(type(a)) if type(a) is type(b) else None
    return None if rule is None else rule(a, b)


def _shape_glb(a: t.ShapeType, b: t.ShapeType) -> t.Type | None:
    return t.ShapeType(max(a.ndim, b.ndim)) if -1 in (a.ndim, b.ndim) else None


def _tensor_glb(a: t.DynTensorType, b: t.DynTensorType) -> t.Type | None:
    if a.ndim != b.ndim and -1 not in (a.ndim, b.ndim):
        return None
    if a.dtype is not b.dtype and None not in (a.dtype, b.dtype):
        return None
    return t.DynTensorType(max(a.ndim, b.ndim), a.dtype or b.dtype)


def _tuple_glb(a: t.TupleType, b: t.TupleType) -> t.Type | None:
    if len(a.fields) != len(b.fields):
        return None
    fields = _all_known(map(glb, a.fields, b.fields))
    return None if fields is None else t.TupleType(fields)


def _func_glb(a: t.FuncType, b: t.FuncType) -> t.Type | None:
    if len(a.arg_types) != len(b.arg_types):
        return None
    result = glb(a.ret_type, b.ret_type)
    if result is None:
        return None
    return t.FuncType(tuple(map(lub, a.arg_types, b.arg_types)), result, a.pure or b.pure)


def _all_known(types: map[t.Type | None]) -> tuple[t.Type, ...] | None:
    known = list(types)
    return None if None in known else tuple([type_ for type_ in known if type_ is not None])


_GLB: dict[type, Callable[[Any, Any], t.Type | None]] = {
    t.ShapeType: _shape_glb,
    t.DynTensorType: _tensor_glb,
    t.TupleType: _tuple_glb,
    t.FuncType: _func_glb,
}


# -- unify -----------------------------------------------------------------------------------------------------------
# The least upper bound of two StructInfos (errata E-01 to E-04, E-18).


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


def _lub_tensor(a: s.TensorStructInfo, b: s.TensorStructInfo) -> s.StructInfo:
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
    whole, dims = _lub_tensor(a, b), _by_axis(a.lengths, b.lengths)
    assert isinstance(whole, s.TensorStructInfo)  # both are tensors
    return (
        whole
        if dims is None or whole.shape is not None
        else s.TensorStructInfo(dims, whole.dtype, -1, whole.vdevice)
    )


def _shape_by_axis(a: s.ShapeStructInfo, b: s.ShapeStructInfo) -> s.StructInfo:
    dims = _by_axis(a.values, b.values)
    return _lub_shape(a, b) if dims is None else s.ShapeStructInfo(dims)


def _by_axis(
    left: tuple[p.PrimExpr, ...] | None, right: tuple[p.PrimExpr, ...] | None
) -> tuple[p.PrimExpr, ...] | None:
    """Equal lengths, and a wildcard for the others. None if the ranks differ or are not known."""
    if left is None or right is None or len(left) != len(right):
        return None
    return tuple([x if equal(x, y) is YES else p.AnyDim() for x, y in zip(left, right, strict=True)])


def _lub_shape(a: s.ShapeStructInfo, b: s.ShapeStructInfo) -> s.StructInfo:
    if a.values is not None and b.values is not None and shapes_equal(a.values, b.values) is YES:
        return a
    return s.ShapeStructInfo(None, a.ndim if a.ndim == b.ndim else -1)


def _lub_prim(a: s.PrimStructInfo, b: s.PrimStructInfo) -> s.StructInfo:
    if a.dtype is not b.dtype:
        return s.OBJECT
    same = a.value is not None and b.value is not None and equal(a.value, b.value) is YES
    return a if same else s.PrimStructInfo(a.dtype)


def _lub_tuple(a: s.TupleStructInfo, b: s.TupleStructInfo) -> s.StructInfo:
    if len(a.fields) != len(b.fields):
        return s.OBJECT
    return s.TupleStructInfo(tuple(map(unify, a.fields, b.fields)))


def _lub_func(a: s.FuncStructInfo, b: s.FuncStructInfo) -> s.StructInfo:
    pure = a.pure and b.pure
    if a.params is None or b.params is None:
        return s.OBJECT if a.params is not b.params else _lub_opaque(a, b, pure)
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


def _lub_opaque(a: s.FuncStructInfo, b: s.FuncStructInfo, pure: bool) -> s.StructInfo:
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
    s.TensorStructInfo: _lub_tensor,
    s.ShapeStructInfo: _lub_shape,
    s.PrimStructInfo: _lub_prim,
    s.TupleStructInfo: _lub_tuple,
    s.FuncStructInfo: _lub_func,
}
