"""Hypothesis strategies for StructInfo and types, and values that a StructInfo describes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from relax_explorer.core.exec.scalars import evaluate
from relax_explorer.core.exec.values import Lengths, Shape
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT32, INT64

VARIABLES = N, M, K = tuple([p.PrimVar(name) for name in "nmk"])
LENGTHS = [p.IntImm(1), p.IntImm(2), p.IntImm(3), N, N, M, K, N + 1, N * 2, N + M, M + N, N + N]
DTYPES = (None, FLOAT32, INT32)

shapes = st.lists(st.sampled_from(LENGTHS), max_size=2).map(tuple)
ranks = st.integers(-1, 2)
tensors = st.one_of(
    st.builds(lambda shape, kind: s.TensorStructInfo(shape, kind), shapes, st.sampled_from(DTYPES)),
    st.builds(lambda rank, kind: s.TensorStructInfo(None, kind, rank), ranks, st.sampled_from(DTYPES)),
)
scalars = st.builds(
    lambda value: s.PrimStructInfo(INT64, value), st.sampled_from([None, p.IntImm(2), N, M, N + 1])
)
flat = st.one_of(
    st.just(s.OBJECT),
    tensors,
    tensors,
    shapes.map(s.ShapeStructInfo),
    ranks.map(lambda rank: s.ShapeStructInfo(None, rank)),
    scalars,
)


def _tuples(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=2).map(lambda fields: s.TupleStructInfo(tuple(fields)))


def _functions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    params = st.lists(inner, max_size=2).map(tuple)
    opaque = st.builds(
        lambda name, pure: s.FuncStructInfo(None, s.OBJECT, pure, name),
        st.sampled_from([None, "d", "e"]),
        st.booleans(),
    )
    return st.one_of(st.builds(s.FuncStructInfo, params, inner, st.booleans()), opaque)


data = st.recursive(flat, _tuples, max_leaves=4)
"""StructInfo without functions."""
infos = st.recursive(flat, lambda inner: _tuples(inner) | _functions(inner), max_leaves=4)


# A strategy made anew for each draw takes longer than the test.
_CHOICE, _LENGTH, _SMALL, _RANK = (
    st.booleans(),
    st.sampled_from(LENGTHS),
    st.integers(0, 4),
    st.integers(0, 3),
)
_DTYPE, _SIZES = st.sampled_from(DTYPES[1:]), [st.lists(_SMALL, min_size=n, max_size=n) for n in range(4)]
_ANYTHING = st.sampled_from([s.TensorStructInfo(), s.ShapeStructInfo(), s.VOID])


@st.composite
def pairs(draw: st.DrawFn, of: st.SearchStrategy[Any] = infos) -> tuple[Any, Any]:
    """Two StructInfos, often nearly alike: the second is the first with one part drawn again."""
    first = draw(of)
    return first, draw(of) if draw(_CHOICE) else _varied(draw, first)


def _varied(draw: st.DrawFn, info: s.StructInfo) -> s.StructInfo:
    if isinstance(info, s.TupleStructInfo) and info.fields:
        return s.TupleStructInfo((_varied(draw, info.fields[0]), *info.fields[1:]))
    if isinstance(info, s.FuncStructInfo) and info.params:
        params = (_varied(draw, info.params[0]), *info.params[1:])
        return s.FuncStructInfo(params, _varied(draw, info.ret), draw(_CHOICE))
    if isinstance(info, s.TensorStructInfo) and info.dims:
        dims = (draw(_LENGTH), *info.dims[1:])
        kind = info.dtype if draw(_CHOICE) else None
        return s.TensorStructInfo(dims if draw(_CHOICE) else None, kind, len(dims))
    return draw(flat)  # type: ignore[no-any-return]  # hypothesis draws Any


environments = st.fixed_dictionaries({variable: st.integers(0, 4) for variable in VARIABLES})
"""What the shape variables are in a run."""


@st.composite
def values(draw: st.DrawFn, info: s.StructInfo, dims: Lengths) -> Any:
    """A value that `info` describes, functions excepted."""
    if isinstance(info, s.TupleStructInfo):
        return tuple([draw(values(field, dims)) for field in info.fields])
    if isinstance(info, s.PrimStructInfo):
        return draw(_SMALL) if info.value is None else evaluate(info.value, dims)
    if isinstance(info, s.ShapeStructInfo):
        return Shape(_lengths(draw, info.values, info.ndim, dims))
    if isinstance(info, s.TensorStructInfo):
        kind = info.dtype or draw(_DTYPE)
        return np.zeros(_lengths(draw, info.dims, info.ndim, dims), kind.to_numpy())
    return draw(values(draw(_ANYTHING), dims))


def _lengths(
    draw: st.DrawFn, known: tuple[p.PrimExpr, ...] | None, rank: int, dims: Lengths
) -> tuple[int, ...]:
    if known is not None:
        return tuple([evaluate(dim, dims) for dim in known])
    size = rank if rank >= 0 else draw(_RANK)
    return tuple(draw(_SIZES[size]))
