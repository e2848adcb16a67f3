"""Run-time values.

| value           | Python                                                    |
|-----------------|-----------------------------------------------------------|
| tensor          | `numpy.ndarray`, of rank 0 too                            |
| tuple           | `tuple`                                                   |
| shape           | `Shape`, a tuple of int                                   |
| closure         | `Closure`, `Lifted`; a global function is its `GlobalVar` |
| packed function | any callable, such as the `PackedFunction` of a name      |
| scalar          | `bool`, `int` (int64), `float`, or a numpy scalar         |
| string, dtype   | `str`, `DType`                                            |
| null            | `NULL`                                                    |
| other objects   | themselves                                                |

UNKNOWN stands for an unknown value. Packed functions receive exactly these types, and a global function as a `Closure`:
every function that they receive can be called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from reprlib import Repr
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Code, Diagnostic, Failure, Label
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import BOOL, FLOAT64, INT64, DType, from_numpy

Lengths = dict[p.PrimVar, int]
Value = Any
"""A run-time value: an array, a number, a text, a Shape, a tuple of values, a closure, an opaque object, or UNKNOWN."""
MEMORY_LIMIT = 4 << 30  # maximal bytes of one result
MOST_AXES = 64
"""No numpy array has more."""


class Shape(tuple[int, ...]):
    """A shape value: a tuple of lengths, not of values."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"shape({', '.join(map(str, self))})"


class _Unknown:
    """The value ⊥: it was not computed, so every result that depends on it is unknown too."""

    def __repr__(self) -> str:
        return "⊥"


UNKNOWN = _Unknown()


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A function value: the function, its captured variables, and its captured shape variables.

    It can be called if Python code got it from a run: `called` runs it.
    """

    function: e.Function
    name: str
    captured: dict[e.Var, Any]
    dims: Lengths
    called: Callable[..., Value] | None = None

    @property
    def env(self) -> dict[str, Any]:
        """The captured values by name: variables, then shape variables, and the closure itself last."""
        values = {var.name: value for var, value in self.captured.items()}
        itself = {self.name: values.pop(self.name)} if values.get(self.name) is self else {}
        return {**values, **{var.name: length for var, length in self.dims.items()}, **itself}

    def __call__(self, *args: Value) -> Value:
        """The result of the function."""
        return _call(self, args)

    def __repr__(self) -> str:
        return f"closure({self.name})"


@dataclass(frozen=True, slots=True, eq=False)
class Lifted:
    """A closure after lambda lifting: a global function, and the captured values for its last parameters."""

    function: e.GlobalVar
    captured: tuple[Any, ...]
    called: Callable[..., Value] | None = None

    def __call__(self, *args: Value) -> Value:
        """The result of the function."""
        return _call(self, args)

    def __repr__(self) -> str:
        return f"closure({self.function.name})"


def _call(function: Closure | Lifted, args: tuple[Value, ...]) -> Value:
    if function.called is None:
        raise TypeError(f"{function!r} is outside of a run")
    return function.called(*args)


@dataclass(frozen=True, slots=True, eq=False)
class PackedFunction:
    """A packed function that was looked up by its name."""

    name: str
    function: Callable[..., Value]

    def __call__(self, *args: Value) -> Value:
        """The result of the function."""
        return self.function(*args)

    def __repr__(self) -> str:
        return f"packed({self.name})"


@dataclass(frozen=True, slots=True, eq=False)
class Opaque:
    """An opaque object of the runtime, such as a storage."""

    kind: str

    def __repr__(self) -> str:
        return f"<{self.kind}>"


NULL = Opaque("null")
"""The null object; None for the caller of `run`."""


def bytes_of(value: Value) -> int:
    """The bytes of the arrays in a value."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return sum(map(bytes_of, value)) if type(value) is tuple else 0


def arrays_in(value: Value) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays in a value, those of nested tuples too."""
    if isinstance(value, np.ndarray):
        yield value
    elif type(value) is tuple:
        for part in value:
            yield from arrays_in(part)


def describe(value: Value) -> str:
    """A short description of a value."""
    if isinstance(value, np.ndarray):
        dims = ", ".join(map(str, value.shape)) + ("," if value.ndim == 1 else "")
        return f"a tensor ({dims}) of {value.dtype.name}"
    if isinstance(value, Shape):
        return f"the shape ({', '.join(map(str, value))})"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    if isinstance(value, (bool, int, float, np.generic)):
        return f"the scalar {value}"
    if isinstance(value, (e.GlobalVar, e.ExternFunc, PackedFunction)):
        return f"the {'' if isinstance(value, e.GlobalVar) else 'packed '}function {value.name!r}"
    return object_text(value)


_BRIEF = Repr()  # never fails, whatever the `__repr__` of a user's object does
_BRIEF.maxother = _BRIEF.maxstring = 200


def object_text(value: object) -> str:
    """The text of an object or a string."""
    return _BRIEF.repr(value)


def kind_of(value: Value) -> str:
    """The kind of a value: tensor, tuple, shape, closure, packed, prim (a scalar) or object."""
    if isinstance(value, np.ndarray):
        return "tensor"
    if isinstance(value, tuple):
        return "shape" if isinstance(value, Shape) else "tuple"
    if isinstance(value, (bool, int, float, np.generic)):
        return "prim"
    if isinstance(value, (Closure, Lifted, e.GlobalVar)):
        return "closure"
    return "packed" if isinstance(value, e.ExternFunc) or callable(value) else "object"


def scalar_dtype(value: Value, expected: DType) -> DType | None:
    """The dtype of a scalar. A Python int is an int64; a Python float is the `expected` float, or else a float64."""
    if isinstance(value, np.generic):
        return from_numpy(value.dtype)
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT64
    return expected if expected.is_float else FLOAT64


def shape_value(values: tuple[p.PrimExpr, ...], dims: Lengths, place: object) -> tuple[int, ...]:
    """The dimensions as numbers. They may be negative in a shape value. Raises Failure if one has no value."""
    numbers = []
    for dim in values:
        try:
            number = dim.value if type(dim) is p.IntImm else evaluate(dim, dims)
        except Undefined as problem:
            raise fault(problem.code, str(problem), place) from None
        if number is None:
            raise fault(codes.SHAPE_CHECK, f"the dimension {dim} has no value here", place)
        numbers.append(int(number))
    return tuple(numbers)


def lengths(values: tuple[p.PrimExpr, ...], dims: Lengths, place: object) -> tuple[int, ...]:
    """The dimensions of an allocated tensor. Raises Failure if one is negative or has no value."""
    numbers = shape_value(values, dims, place)
    text = negative_dimension(numbers, values)
    if text:
        raise fault(codes.SHAPE_CHECK, text, place)
    return numbers


def negative_dimension(numbers: tuple[int, ...], values: tuple[p.PrimExpr, ...] | None) -> str:
    """The message about a negative length, which can't be allocated; empty if there is none."""
    for n, length in enumerate(numbers):
        if length < 0:
            dim = values[n] if values is not None else None
            return f"the dimension {length if dim is None or type(dim) is p.IntImm else f'{dim} = {length}'} is negative"
    return ""


def fault(code: Code, text: str, place: object = None, hint: str = "") -> Failure:
    """The failure of a program at a place, with the usual help of its code unless there is a better hint."""
    labels = () if place is None else (Label(place, "", True),)
    return Failure(Diagnostic(code, text, labels, help=hint or code.fix))


def as_argument(value: Value, info: s.StructInfo | None) -> Value:
    """A Python value of a caller as a run-time value: lists become arrays, tuples of int become shapes if one is expected.

    An integer or bool dtype takes the numbers that it has, however they are written (2.0 is 2, True is 1), and no others; a float
    dtype rounds to its next number. Raises Failure for a number that the dtype does not have.
    """
    if type(value) is np.ndarray:
        return value
    if value is None:
        return NULL
    if isinstance(info, s.PrimStructInfo) and info.dtype is not None and type(value) in (int, float):
        return _number(value, info.dtype)
    if isinstance(info, s.ShapeStructInfo) and _are_lengths(value):
        return Shape(_array(int(element), INT64).item() for element in value)
    if (
        isinstance(info, s.TupleStructInfo)
        and isinstance(value, (tuple, list))
        and len(value) == len(info.fields)
    ):
        return tuple(as_argument(element, field) for element, field in zip(value, info.fields, strict=True))
    if (
        isinstance(info, s.TensorStructInfo)
        and not isinstance(value, np.ndarray)
        and hasattr(value, "__array__")
    ):
        return np.asarray(value)
    if isinstance(info, s.TensorStructInfo) and isinstance(value, (bool, int, float, list)):
        return _array(value, info.dtype)
    return value


def as_parameter(value: Value, info: s.StructInfo | None, name: str, place: e.Var) -> Value:
    """`as_argument` for a parameter: a problem tells its name and place."""
    try:
        return as_argument(value, info)
    except Failure as failure:
        problem = failure.diagnostics[0]
        labels = (Label(place, "", True),)
        raise Failure(replace(problem, message=f"{name}: {problem.message}", labels=labels)) from None


def as_parameters(args: Sequence[Value], params: Sequence[e.Var], function: str) -> list[Value]:
    """The arguments of a call from outside as run-time values."""
    return [
        as_parameter(arg, param.struct_info, f"{param.name} of {function}", param)
        for arg, param in zip(args, params, strict=True)
    ]


def _number(value: int | float, dtype: DType) -> Value:
    """A number of Python as a scalar of a dtype. One of another kind stays, and its check refuses it."""
    if dtype == BOOL or (type(value) is float and not dtype.is_float):
        return value
    found = _array(value, dtype)
    return value if dtype in (INT64, FLOAT64) and type(value) is type(found.item()) else found[()]


def _array(value: Value, element_dtype: DType | None) -> np.ndarray[Any, Any]:
    """Numbers of Python as an array. Raises Failure if they are none, or one does not fit the dtype."""
    try:
        given = np.asarray(value)
        if given.dtype.kind == "O" and all(isinstance(item, int) for item in given.flat):  # beyond int64
            given = given.astype(np.float64)
        if given.dtype.kind not in "biuf":
            raise TypeError("not all elements are numbers")
        if element_dtype is None:
            return given
        with np.errstate(over="ignore", invalid="ignore"):
            dtype = element_dtype.to_numpy()
            found = given.astype(dtype) if element_dtype.is_float else np.asarray(value, dtype)
            same = found.astype(given.dtype) == given
    except (OverflowError, ValueError, TypeError) as problem:
        raise _unfit(value, element_dtype, str(problem)) from None
    if element_dtype.is_float and (np.isfinite(given) & ~np.isfinite(found)).any():
        raise _unfit(value, element_dtype, "it would be infinite")
    if not (element_dtype.is_float or same.all()):
        raise _unfit(value, element_dtype, f"{given[~same].flat[0]} is no {element_dtype}")
    return found


def _unfit(value: Value, element_dtype: DType | None, reason: str) -> Failure:
    given = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:60]}…"
    text = f"{given} does not fit {element_dtype or 'a tensor'}: {reason}"
    return fault(codes.WRONG_INPUT, text)


def _are_lengths(value: Value) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(item, (int, np.integer)) for item in value)


def dtype_of(value: Value) -> DType | None:
    """The element dtype of a tensor; None for other values."""
    return from_numpy(value.dtype) if isinstance(value, np.ndarray) else None


def to_python(value: Value) -> Value:
    """A run-time value for the caller of `run`: arrays stay, a shape becomes a plain tuple of int."""
    if isinstance(value, Shape):
        return tuple(value)
    if value is NULL:
        return None
    if isinstance(value, tuple):
        return tuple(to_python(element) for element in value)
    return value


# -- types of values -------------------------------------------------------------------------------------------------


_SCALARS = frozenset({bool, int, float, str, type(None), Shape, DType})
Types = tuple[Any, ...]


def info_of(value: Value, stated: s.StructInfo | None) -> s.StructInfo:
    """The StructInfo of a value. For objects, the stated one."""
    if isinstance(value, np.ndarray):
        device = stated.vdevice if isinstance(stated, s.TensorStructInfo) else None
        dims = tuple([p.IntImm(length) for length in value.shape])
        return s.TensorStructInfo(dims, dtype_of(value), value.ndim, device)
    if isinstance(value, Shape):
        return s.ShapeStructInfo(tuple([p.IntImm(length) for length in value]))
    if isinstance(value, tuple):
        fields = stated.fields if isinstance(stated, s.TupleStructInfo) else (None,) * len(value)
        return s.TupleStructInfo(tuple([info_of(item, f) for item, f in zip(value, fields, strict=False)]))
    if isinstance(value, (bool, int, float, np.generic)):
        expected = stated.dtype if isinstance(stated, s.PrimStructInfo) else FLOAT64
        dtype = scalar_dtype(value, expected) or FLOAT64
        return s.PrimStructInfo(
            dtype, p.as_prim(value.item() if isinstance(value, np.generic) else value, dtype)
        )
    return stated or s.OBJECT


def types_of(values: Sequence[Value]) -> Types | None:
    """Shapes and dtypes of arrays, and the values of scalars and shapes. None if a value has no such type."""
    types: list[Any] = []
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            types += (value.shape, value.dtype)
        elif kind in _SCALARS:
            types += (kind, value)
        elif kind is tuple:
            types.append(types_of(value))
            if types[-1] is None:
                return None
        else:
            return None
    return tuple(types)
