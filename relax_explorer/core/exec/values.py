"""Run-time values, and matching them against StructInfo.

Tensors are numpy arrays, shapes are tuples of int wrapped in Shape, tuples are Python tuples, scalars are numpy or Python
numbers; then closures, packed functions, strings, dtypes, opaque objects, and UNKNOWN where a value isn't known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec.scalars import evaluate
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType, from_numpy

Dims = dict[p.PrimVar, int]


class Shape(tuple[int, ...]):
    """A shape value: a tuple of lengths that is no tuple of values."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"shape({', '.join(map(str, self))})"


class _Unknown:
    """The value ⊥: not computed, and everything computed from it is not known either."""

    def __repr__(self) -> str:
        return "⊥"


UNKNOWN = _Unknown()


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function value: the function, what it captured, and the shape variables it saw."""

    function: e.Function
    name: str
    captured: dict[e.Var, Any]
    dims: Dims

    def __repr__(self) -> str:
        return f"closure({self.name})"


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """An object of the runtime, such as a storage, that has no value of its own."""

    kind: str

    def __repr__(self) -> str:
        return f"<{self.kind}>"


def describe(value: Any) -> str:
    """What a value is, in one short phrase."""
    if isinstance(value, np.ndarray):
        dims = ", ".join(map(str, value.shape)) + ("," if value.ndim == 1 else "")
        return f"a tensor ({dims}) of {value.dtype.name}"
    if isinstance(value, Shape):
        return f"the shape ({', '.join(map(str, value))})"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    if isinstance(value, (bool, int, float, np.generic)):
        return f"the scalar {value}"
    return repr(value)


class Mismatch(Exception):
    """A value that is not what its StructInfo says; carries the sentence."""


def match(value: Any, info: s.StructInfo, dims: Dims) -> None:
    """Check `value` against `info`, giving values to shape variables that have none; raises Mismatch.

    Two passes (errata E-28): first the variables that stand alone are bound, then every dimension is compared.
    """
    pending: list[tuple[p.PrimExpr, int]] = []
    _match(value, info, dims, pending)
    for dim, length in pending:
        wanted = evaluate(dim, dims)
        if wanted is None:
            raise Mismatch(f"the dimension {dim} has no value yet")
        if wanted != length:
            raise Mismatch(f"a length is {length} where {dim} = {wanted} is needed")


def _match(value: Any, info: s.StructInfo, dims: Dims, pending: list[tuple[p.PrimExpr, int]]) -> None:
    if value is UNKNOWN or info is s.OBJECT:
        return
    _MATCHERS[type(info)](value, info, dims, pending)


def _dims(
    lengths: tuple[int, ...],
    wanted: tuple[p.PrimExpr, ...],
    dims: Dims,
    pending: list[tuple[p.PrimExpr, int]],
) -> None:
    if len(lengths) != len(wanted):
        raise Mismatch(f"the rank is {len(lengths)}, not {len(wanted)}")
    for length, dim in zip(lengths, wanted, strict=True):
        if type(dim) is p.PrimVar and dim not in dims:
            dims[dim] = int(length)
        else:
            pending.append((dim, int(length)))


def _tensor(value: Any, info: s.TensorStructInfo, dims: Dims, pending: list[tuple[p.PrimExpr, int]]) -> None:
    if not isinstance(value, np.ndarray):
        raise Mismatch(f"a tensor is needed, this is {describe(value)}")
    if info.dtype is not None and value.dtype.name != info.dtype.name:
        raise Mismatch(f"the dtype is {value.dtype.name}, not {info.dtype}")
    if info.dims is not None:
        _dims(value.shape, info.dims, dims, pending)
    elif info.ndim not in (-1, value.ndim):
        raise Mismatch(f"the rank is {value.ndim}, not {info.ndim}")


def _shape(value: Any, info: s.ShapeStructInfo, dims: Dims, pending: list[tuple[p.PrimExpr, int]]) -> None:
    if not isinstance(value, Shape):
        raise Mismatch(f"a shape is needed, this is {describe(value)}")
    if info.values is not None:
        _dims(value, info.values, dims, pending)
    elif info.ndim not in (-1, len(value)):
        raise Mismatch(f"the shape has {len(value)} dimensions, not {info.ndim}")


def _prim(value: Any, info: s.PrimStructInfo, dims: Dims, pending: list[tuple[p.PrimExpr, int]]) -> None:
    if not isinstance(value, (bool, int, float, np.generic)):
        raise Mismatch(f"a scalar is needed, this is {describe(value)}")
    if type(info.value) is p.PrimVar and info.value not in dims:
        dims[info.value] = int(value)
    elif info.value is not None and info.dtype.is_int:
        pending.append((info.value, int(value)))


def _tuple(value: Any, info: s.TupleStructInfo, dims: Dims, pending: list[tuple[p.PrimExpr, int]]) -> None:
    if not isinstance(value, tuple) or isinstance(value, Shape) or len(value) != len(info.fields):
        raise Mismatch(f"a tuple of {len(info.fields)} is needed, this is {describe(value)}")
    for item, field in zip(value, info.fields, strict=True):
        _match(item, field, dims, pending)


def _func(value: Any, info: s.FuncStructInfo, dims: Dims, pending: list[tuple[p.PrimExpr, int]]) -> None:
    if not isinstance(value, Closure) and not callable(value):
        raise Mismatch(f"a function is needed, this is {describe(value)}")
    if (
        isinstance(value, Closure)
        and info.params is not None
        and len(info.params) != len(value.function.params)
    ):
        raise Mismatch(
            f"a function of {len(info.params)} parameters is needed, this one has {len(value.function.params)}"
        )


_MATCHERS: dict[type, Callable[[Any, Any, Dims, list[tuple[p.PrimExpr, int]]], None]] = {
    s.TensorStructInfo: _tensor,
    s.ShapeStructInfo: _shape,
    s.PrimStructInfo: _prim,
    s.TupleStructInfo: _tuple,
    s.FuncStructInfo: _func,
}


def lengths(values: tuple[p.PrimExpr, ...], dims: Dims, place: Any) -> tuple[int, ...]:
    """The dimensions as numbers; raises Failure when one has no value or is negative."""
    found = []
    for dim in values:
        number = dim.value if type(dim) is p.IntImm else evaluate(dim, dims)
        if number is None or number < 0:
            text = f"the dimension {dim} " + ("has no value here" if number is None else f"is {number}")
            raise Failure(
                Diagnostic(codes.SHAPE_CHECK, text, (Label(place, "", True),), help=codes.SHAPE_CHECK.fix)
            )
        found.append(int(number))
    return tuple(found)


def as_argument(value: Any, info: s.StructInfo | None) -> Any:
    """A Python value given by a caller as a run-time value: lists become arrays, tuples of int shapes where a shape is expected."""
    if isinstance(info, s.ShapeStructInfo) and isinstance(value, (tuple, list)):
        return Shape(int(item) for item in value)
    if (
        isinstance(info, s.TupleStructInfo)
        and isinstance(value, (tuple, list))
        and len(value) == len(info.fields)
    ):
        return tuple(as_argument(item, field) for item, field in zip(value, info.fields, strict=True))
    if (
        isinstance(info, s.TensorStructInfo)
        and not isinstance(value, np.ndarray)
        and hasattr(value, "__array__")
    ):
        return np.asarray(value)
    if isinstance(info, s.TensorStructInfo) and isinstance(value, (bool, int, float, list)):
        wanted = info.dtype.to_numpy() if info.dtype is not None else None
        return np.asarray(value, dtype=wanted)
    return value


def dtype_of(value: Any) -> DType | None:
    """The element type of a tensor, None for anything else."""
    return from_numpy(value.dtype) if isinstance(value, np.ndarray) else None


def to_python(value: Any) -> Any:
    """A value as the caller of `run` gets it: arrays stay, a shape is a plain tuple of int."""
    if isinstance(value, Shape):
        return tuple(value)
    if isinstance(value, tuple):
        return tuple(to_python(item) for item in value)
    return value
