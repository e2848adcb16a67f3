"""Makes values for parameters: `zeros`, `ones`, `arange`, `randn:SEED` or a number, within a memory limit."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_explorer.core.codes import runtime as codes
from relax_explorer.core.diagnostics import Diagnostic, Failure, Label
from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.exec.values import MOST_AXES, Shape
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT64, DType, limits
from relax_explorer.core.session.weight_entries import too_much

DEFAULT_LENGTH = 3  # of a shape variable without a given value
_SOURCES = "use zeros, ones, randn:SEED, arange, a number, or a .npy or .npz file"
_MADE = re.compile(r"(zeros|ones|arange|randn)|randn:([0-9]{1,18})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,40}")


@dataclass(slots=True)
class Maker:
    """Makes values of known lengths. `most` is the remaining number of bytes, `hint` tells how to give a length."""

    dims: dict[p.PrimVar, int]
    most: int
    hint: str = "give it with --shape"
    is_unnamed: bool = False  # True once a length without a name (`R.any_dim`) was made up

    def make(self, info: s.StructInfo, source: str, param: e.Var, number: int) -> Any:
        """A value of this StructInfo. `number` gives each parameter its own random values."""
        if isinstance(info, s.TupleStructInfo):
            return tuple([self.make(field, source, param, number + i) for i, field in enumerate(info.fields)])
        if isinstance(info, s.ShapeStructInfo):
            if info.values is None:
                return Shape([DEFAULT_LENGTH] * max(info.ndim, 0))
            return Shape(self._length(dim, param) for dim in info.values)
        if isinstance(info, s.PrimStructInfo):
            known = self._known(info.value)
            return known if known is not None else scalar(source, info, param)
        if isinstance(info, s.TensorStructInfo):
            return self._tensor(info, source, param, number)
        raise failure(
            f"parameter {param.name!r} is {info}: no value can be made for it",
            "give a file; what another call makes, such as a cache, comes from a file of calls: --calls, or I in Debug",
            param,
        )

    def _known(self, value: p.PrimExpr | None) -> Any:
        try:
            return None if value is None else evaluate(value, self.dims)
        except Undefined:
            return None

    def _length(self, dim: p.PrimExpr, param: e.Var) -> int:
        if type(dim) is p.AnyDim:
            self.is_unnamed = True
            return DEFAULT_LENGTH
        try:
            value = evaluate(dim, self.dims)
        except Undefined as problem:
            raise failure(f"{problem} in {param.name!r}", "give other lengths with --shape", param) from None
        if value is None or value < 0:
            text = f"the dimension {dim} of {param.name!r} has no value"
            raise failure(text, self.hint, param)
        return int(value)

    def _tensor(self, info: s.TensorStructInfo, source: str, param: e.Var, number: int) -> Any:
        dims = info.dims
        lengths = (
            tuple([self._length(dim, param) for dim in dims])
            if dims is not None
            else (DEFAULT_LENGTH,) * max(info.ndim, 0)
        )
        if len(lengths) > MOST_AXES:
            text = f"{param.name!r} has {len(lengths)} axes; runs support at most {MOST_AXES}"
            raise failure(text, "use fewer axes", param)
        element_dtype = info.dtype or FLOAT32
        try:
            dtype = element_dtype.to_numpy()
        except TypeError as problem:
            raise failure(
                f"no value can be made for {param.name!r}: {problem}", "use another dtype", param
            ) from None
        needed = math.prod(lengths) * dtype.itemsize
        if needed > self.most:
            raise too_much(f"{param.name!r}, a tensor {lengths} of {element_dtype},", needed, self.most)
        self.most -= needed
        return _filled(source, lengths, element_dtype, param, number)


def _filled(source: str, lengths: tuple[int, ...], element_dtype: DType, param: e.Var, number: int) -> Any:
    """A tensor filled as `source` says."""
    dtype = element_dtype.to_numpy()
    match = _MADE.fullmatch(source)
    if match is None:
        return np.full(lengths, number_in(source, element_dtype, param)).astype(dtype)
    if match[1] == "zeros":
        return np.zeros(lengths, dtype)
    if match[1] == "ones":
        return np.ones(lengths, dtype)
    if match[1] == "arange":
        return np.arange(math.prod(lengths)).reshape(lengths).astype(dtype)
    generator = np.random.default_rng([int(match[2] or 0), number])
    if dtype.kind == "f" or dtype.name.startswith(("bfloat", "float")):
        return generator.standard_normal(lengths).astype(dtype)
    return generator.integers(0, 2 if dtype.kind == "b" else 4, lengths).astype(dtype)


def scalar(source: str, info: s.PrimStructInfo, param: e.Var) -> Any:
    """A scalar of this StructInfo: the number in `source`."""
    found = _MADE.fullmatch(source)
    if found is None:
        return number_in(source, info.dtype or INT64, param)
    return {"zeros": 0, "ones": 1}.get(found[1], DEFAULT_LENGTH)


def number_in(source: str, dtype: DType, param: e.Var) -> int | float:
    """The number in `source`. Raises Failure if the dtype cannot hold it."""
    try:
        value: int | float = int(source) if _WHOLE.fullmatch(source) else float(source)
    except ValueError:
        text = f"{source[:40]!r} is not a source of values for {param.name!r}"
        raise failure(text, _SOURCES, param) from None
    if dtype.name == "bool":
        return value
    if dtype.is_float:
        with np.errstate(over="ignore"):
            fits = np.isfinite(np.asarray(value, dtype.to_numpy())) or not re.search(
                r"\d", source
            )  # inf, nan
    else:
        low, high = limits(dtype)
        fits = low <= value <= high and int(value) == value
    if not fits:
        raise failure(
            f"{source[:40]} does not fit {dtype}, the dtype of {param.name!r}",
            "give a number of this dtype",
            param,
        )
    return value if dtype.is_float else int(value)


def failure(text: str, hint: str, place: object) -> Failure:
    """The Failure for an unusable input."""
    return Failure(Diagnostic(codes.WRONG_INPUT, text, (Label(place, "", True),), help=hint))
