"""Operators that pick elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer, at_least
from relax_explorer.core.arith.simplify import polynomial, simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import Fusion, Ints, NotLowered, Op, Prims, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.legalize import Emitter, need_known
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, is_inside, where
from relax_explorer.core.ops.tensor.gather import inside

_MODES = ("fast", "clip", "wrap", "nan")


class Take(Op, name="relax.take"):
    """The elements, or slices, at given indices along an axis.

    An index from 0 to length - 1 is in bounds; unlike in numpy, a negative one is not. `mode` handles an index out of bounds:
    `fast` promises that there is none, and the run stops if there is; `clip` takes the nearest end, `wrap` continues at the
    other end, `nan` gives NaN. No mode ever reads outside the tensor.
    """

    source = "numpy.take"
    raises = (codes.AXIS_RANGE, codes.DTYPE_WRONG)
    x: Tensor = operand("the tensor")
    indices: Tensor = operand("integers: a tensor, or a scalar")
    axis: int | None = attr(None, "the axis; negative counts from the last; only a vector needs none")
    mode: str = attr("fast", "fast, clip, wrap, or nan, which needs floating point elements")
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[8,4] i32[n] axis=0 -> f32[n,4]",
        "f32[8] i64[2,3] -> f32[2,3]",
        'f32[n,3] i64[2] axis=1 mode="nan" -> f32[n,2]',
        'f32[3,n] 2 axis=0 mode="wrap" -> f32[n]',
    )

    @staticmethod
    def infer(at: Site, x: s.StructInfo, indices: s.StructInfo, axis: int | None, mode: str) -> s.StructInfo:
        """The shape of x with the shape of the indices in place of the axis, the dtype of x."""
        info = rules.tensor(at, x, "x")
        places = (
            s.TensorStructInfo((), indices.dtype)
            if isinstance(indices, s.PrimStructInfo)
            else rules.tensor(at, indices, "indices")
        )
        if places.dtype is not None and not places.dtype.is_int:
            text = f"indices is {places.dtype}, integers are needed"
            raise at.fail(codes.DTYPE_WRONG, text, indices=f"dtype {places.dtype}")
        if axis is None and info.ndim != 1:
            raise at.fail(
                codes.BAD_ATTRIBUTE,
                "axis is None, and x is not known to be a vector",
                x=f"this is {info}",
                help="name an axis",
            )
        if mode not in _MODES:
            raise at.fail_by_spec(
                codes.BAD_ATTRIBUTE, f"mode is {mode!r}, it must be one of {', '.join(_MODES)}"
            )
        if mode == "nan" and info.dtype is not None and not info.dtype.is_float:
            text = f"x is {info.dtype}, which has no NaN, and mode is 'nan'"
            raise at.fail(codes.DTYPE_WRONG, text, x=f"dtype {info.dtype}", help="use fast, clip or wrap")
        if info.ndim < 0 or places.ndim < 0:
            return s.TensorStructInfo(None, info.dtype)
        place = rules.axis(at, axis or 0, info.ndim)
        if info.dims is None or places.dims is None:
            return s.TensorStructInfo(None, info.dtype, info.ndim - 1 + places.ndim)
        return s.TensorStructInfo((*info.dims[:place], *places.dims, *info.dims[place + 1 :]), info.dtype)

    @staticmethod
    def evaluate(x: Array, indices: Array, axis: int | None, mode: str) -> Array:
        """numpy.take, never outside."""
        place, positions = (axis or 0) % x.ndim, np.asarray(indices)
        length, others = x.shape[place], (x.shape[:place], x.shape[place + 1 :])
        if 0 in others[0] + others[1]:  # nothing is read, whatever the indices are
            return np.empty((*others[0], *positions.shape, *others[1]), x.dtype)
        if mode == "fast" or not length:
            positions = inside(positions, x.shape, place, of="x", from_end=False)
        index = positions.astype(np.int64, copy=False)
        if mode == "nan":
            values = np.take(x, np.clip(index, 0, length - 1), place)
            outside = ((index < 0) | (index >= length)).reshape(
                (1,) * (place % x.ndim) + index.shape + (1,) * (x.ndim - 1 - place % x.ndim)
            )
            return np.where(outside, np.asarray(np.nan, x.dtype), values)
        return np.take(x, index, place, mode="wrap" if mode == "wrap" else "clip")

    @staticmethod
    def legalize(te: Te, x: Tensor, indices: Tensor | p.PrimExpr, axis: int | None, mode: str) -> Tensor:
        """The element at the index. Unless the mode is `fast`, an index out of bounds is clamped or wrapped first."""
        place = (axis or 0) % x.ndim
        length = x.shape[place]
        rank = indices.ndim if isinstance(indices, Tensor) else 0
        shape = (
            *x.shape[:place],
            *(indices.shape if isinstance(indices, Tensor) else ()),
            *x.shape[place + 1 :],
        )

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            index = indices[i[place : place + rank]] if isinstance(indices, Tensor) else indices
            position = cast(index, length.dtype)
            if mode == "fast":
                return x[(*i[:place], position, *i[place + rank :])]
            kept: p.PrimExpr = p.Min(p.Max(position, rules.ZERO), simplify(p.Sub(length, rules.ONE)))
            if mode == "wrap":
                kept = p.FloorMod(position, length)
            taken = x[(*i[:place], kept, *i[place + rank :])]
            if mode == "nan":
                return where(is_inside(position, length), taken, p.FloatImm(math.nan, x.dtype))
            return taken

        return te.compute("T_take", shape, element)


class StridedSlice(Op, name="relax.strided_slice"):
    """A slice along some axes: from begin to before end in steps.

    A begin or end outside is moved to the nearest end. Axes that are not named stay whole.
    """

    source = "numpy slicing"
    raises = (codes.AXIS_RANGE, codes.AXIS_TWICE)
    stops = Stops.RELATIONS
    x: Tensor = operand("the tensor")
    axes: Prims = operand("the axes, literals; negative count from the last")
    begin: Prims = operand("first index along each of the axes; negative counts from the end")
    end: Prims = operand("index after the last along each of the axes; negative counts from the end")
    strides: Prims | None = operand(
        "step along each of the axes, a literal; negative goes backwards; 1 when left out", default=None
    )
    assume_inbound: bool = attr(
        False, "True promises that begin and end are in bounds, which makes the lengths simpler"
    )
    fusion = Fusion.INJECTIVE
    by_info = False
    examples = (
        "f32[8,4] (0,) (2,) (6,) -> f32[4,4]",
        "f32[8,4] (0,) (7,) (0,) (-2,) -> f32[4,4]",
        "f32[9,4] (0,) (1,) (9,) (3,) assume_inbound=True -> f32[3,4]",
        "f32[n,4] (-1,) (1,) (3,) -> f32[n,2]",
    )

    @staticmethod
    def infer(
        at: Site,
        x: s.StructInfo,
        axes: s.StructInfo,
        begin: s.StructInfo,
        end: s.StructInfo,
        strides: s.StructInfo | None,
        assume_inbound: bool,
    ) -> s.StructInfo:
        """The shape of x with the lengths of the slices, the dtype of x."""
        info = rules.tensor(at, x, "x")
        operands = {"axes": axes, "begin": begin, "end": end, "strides": strides}
        lengths = {name: len(i.fields) for name, i in operands.items() if isinstance(i, s.TupleStructInfo)}
        if len(set(lengths.values())) > 1:
            text = ", ".join(f"{name} has {n}" for name, n in lengths.items())
            raise at.fail(codes.BAD_ATTRIBUTE, f"one number is needed for each axis: {text}")
        numbers = {name: _numbers(item) for name, item in operands.items()}
        for name, values in numbers.items():
            other = next((value for value in values or () if not value.dtype.is_int), None)
            if other is not None:
                text = f"{name} has {other}, which is {other.dtype}: integers are needed"
                raise at.fail(codes.BAD_ATTRIBUTE, text, **{name: f"one is {other.dtype}"})
        places = numbers["axes"]
        if places is None:
            return s.TensorStructInfo(None, info.dtype, info.ndim)
        open_ = next((axis for axis in places if not isinstance(axis, p.IntImm)), None)
        if open_ is not None:
            text = f"axes has {open_}, a literal number is needed"
            raise at.fail(codes.BAD_ATTRIBUTE, text, axes=f"one is {open_}")
        sliced = rules.axes(
            at, tuple([axis.value for axis in places if isinstance(axis, p.IntImm)]), info.ndim
        )
        if info.dims is None or numbers["begin"] is None or numbers["end"] is None:
            return s.TensorStructInfo(None, info.dtype, info.ndim)
        steps = _steps(at, numbers["strides"], len(sliced))
        dims = list(info.dims)
        for n, place in enumerate(sliced):
            ends = numbers["begin"][n], numbers["end"][n]
            dims[place] = _slice(dims[place], *ends, steps[n], assume_inbound)[1]
        return s.TensorStructInfo(tuple(dims), info.dtype)

    @staticmethod
    def evaluate(
        x: Array, axes: Ints, begin: Ints, end: Ints, strides: Ints | None, assume_inbound: bool
    ) -> Array:
        """numpy slicing."""
        slices: list[Any] = [slice(None)] * x.ndim
        for n, axis in enumerate(axes):
            step = int(strides[n]) if strides is not None else 1
            stop: int | None = int(end[n])
            if step < 0 and stop is not None and stop < -x.shape[axis]:
                stop = None
            slices[int(axis)] = slice(int(begin[n]), stop, step)
        return np.ascontiguousarray(x[tuple(slices)])

    @staticmethod
    def legalize(
        te: Te,
        x: Tensor,
        axes: Sequence[Any],
        begin: Sequence[Any],
        end: Sequence[Any],
        strides: Sequence[Any] | None,
        assume_inbound: bool,
    ) -> Tensor:
        """The element at begin plus a number of steps."""
        places = [axis.value % x.ndim for axis in axes]
        steps = [item.value for item in strides] if strides is not None else [1] * len(places)
        shape, firsts = list(x.shape), {}
        for n, place in enumerate(places):
            first, shape[place] = _slice(x.shape[place], begin[n], end[n], steps[n], assume_inbound)
            firsts[place] = (first, p.IntImm(steps[n]))

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            at = [
                simplify(p.Add(p.Mul(v, firsts[n][1]), firsts[n][0])) if n in firsts else v
                for n, v in enumerate(i)
            ]
            return x[at]

        return te.compute("T_strided_slice", shape, element)


def _numbers(info: s.StructInfo | None) -> Sequence[p.PrimExpr] | None:
    if isinstance(info, s.TupleStructInfo):
        values = [
            field.value
            for field in info.fields
            if isinstance(field, s.PrimStructInfo) and field.value is not None
        ]
        return values if len(values) == len(info.fields) else None
    return None


def _steps(at: Site, strides: Sequence[p.PrimExpr] | None, count: int) -> list[int]:
    steps = (
        [step.value for step in strides if isinstance(step, p.IntImm)] if strides is not None else [1] * count
    )
    if len(steps) != count or 0 in steps:
        written = ", ".join(map(str, strides or ()))
        text = f"strides is ({written}), literal numbers other than 0 are needed"
        raise at.fail(codes.BAD_ATTRIBUTE, text, strides="one is 0 or no literal")
    return steps


def _slice(
    length: p.PrimExpr, begin: p.PrimExpr, end: p.PrimExpr, step: int, inbound: bool
) -> tuple[p.PrimExpr, p.PrimExpr]:
    """First index and length of a slice."""
    begin, end = _int64(begin), _int64(end)
    if isinstance(length, p.IntImm) and isinstance(begin, p.IntImm) and isinstance(end, p.IntImm):
        positions = range(length.value)[slice(begin.value, _stop(end.value, length.value, step), step)]
        return p.IntImm(positions.start), p.IntImm(len(positions))
    bound = _inside if not inbound else _counted
    first, last = _number(bound(begin, length, step)), _number(bound(end, length, step))
    empty = isinstance(begin, p.IntImm) and isinstance(end, p.IntImm) and 0 <= end.value <= begin.value
    if step == 1 and not inbound and (empty or (isinstance(first, p.Min) and first.b is last)):
        return first, rules.ZERO if empty else rules.extent(first, last)
    low, high = (first, last) if step > 0 else (last, first)
    room = _minus(high if abs(step) == 1 else _plain(p.Add(high, p.IntImm(abs(step) - 1))), low)
    return first, room if abs(step) == 1 else _plain(p.FloorDiv(room, p.IntImm(abs(step))))


def _int64(place: p.PrimExpr) -> p.PrimExpr:
    """A place in the type of lengths."""
    if place.dtype is INT64:
        return place
    return p.IntImm(place.value) if isinstance(place, p.IntImm) else p.Cast(INT64, place)


def _number(place: p.PrimExpr) -> p.PrimExpr:
    """A place in which no variable occurs as the number it is."""
    return place if p.free_vars(place) else simplify(place)


def _plain(value: p.PrimExpr) -> p.PrimExpr:
    """Simplified, unless it has a minimum or maximum, whose operands stay in the order they are written in."""
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, (p.Min, p.Max)):
            return value
        parts.extend(part.children())
    return simplify(value)


def _minus(a: p.PrimExpr, b: p.PrimExpr) -> p.PrimExpr:
    return a if b is rules.ZERO else _plain(p.Sub(a, b))


def _stop(end: int, length: int, step: int) -> int | None:
    """The end as Python's slices have it: going down, an end before the first element leaves nothing out."""
    return None if step < 0 and end < -length else end


def _counted(place: p.PrimExpr, length: p.PrimExpr, step: int) -> p.PrimExpr:
    """A negative position counted from the end."""
    return (
        simplify(p.Sub(length, p.IntImm(-place.value)))
        if isinstance(place, p.IntImm) and place.value < 0
        else place
    )


def _inside(place: p.PrimExpr, length: p.PrimExpr, step: int) -> p.PrimExpr:
    """A position moved into the axis: [0, length] going up, [-1, length - 1] going down."""
    if step < 0:
        last = simplify(p.Sub(length, p.IntImm(1)))
        return (
            p.Min(p.Max(_counted(place, length, step), p.IntImm(-1)), last)
            if _is_negative(place)
            else p.Min(place, last)
        )
    if _is_negative(place):
        return p.Min(p.Max(_counted(place, length, step), rules.ZERO), length)
    if not isinstance(place, p.IntImm) and at_least(place, 0) is not Answer.YES:  # negative for some lengths
        known = polynomial(place).get((), 0)
        negative = p.LT(simplify(p.Sub(place, p.IntImm(known))), p.IntImm(-known))
        counted = where(negative, simplify(p.Add(place, length)), place)
        return p.Min(p.Max(counted, rules.ZERO), length)
    return rules.bounded(place, length)


def _is_negative(place: p.PrimExpr) -> bool:
    return isinstance(place, p.IntImm) and place.value < 0


# -- dynamic slice ---------------------------------------------------------------------------------------------------
# Slices whose ends are known only at run time.


class DynamicStridedSlice(Op, name="relax.dynamic_strided_slice"):
    """A slice along each axis: from begin to before end in steps, all known only at run time.

    A begin or end outside is moved to the nearest end.
    """

    source = "numpy slicing; TVM"
    raises = (codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    x: Tensor = operand("the tensor")
    begin: Tensor = operand("first index along each axis, a vector of int64; negative counts from the end")
    end: Tensor = operand(
        "index after the last along each axis, a vector of int64; negative counts from the end"
    )
    strides: Tensor = operand(
        "step along each axis, a vector of int64; negative goes backwards; the run stops if one is 0"
    )
    fusion = Fusion.OPAQUE
    examples = ("f32[n,4] i64[2] i64[2] i64[2] -> f32[?,?]", "i32[8] i64[1] i64[1] i64[1] -> i32[?]")

    @staticmethod
    def infer(
        at: Site, x: s.StructInfo, begin: s.StructInfo, end: s.StructInfo, strides: s.StructInfo
    ) -> s.StructInfo:
        """The rank and dtype of x; the lengths are known only at run time."""
        info = rules.tensor(at, x, "x")
        for name, operand_info in (("begin", begin), ("end", end), ("strides", strides)):
            numbers = rules.tensor(at, operand_info, name)
            if numbers.dtype not in (None, INT64):
                text = f"{name} is {numbers.dtype}, int64 is needed"
                raise at.fail(codes.DTYPE_WRONG, text, **{name: f"dtype {numbers.dtype}"})
            rules.need_rank(at, numbers, 1, name)
            if info.ndim < 0:
                continue
            count = numbers.dims[0] if numbers.dims else None
            if not isinstance(count, p.IntImm) or count.value != info.ndim:
                has = "has no known length" if count is None else f"has {count} numbers"
                text = f"{name} {has}, {info.ndim} are needed, one for each axis of x"
                labels = {"x": f"this is {info}", name: f"this is {numbers}"}
                raise at.fail(codes.DIMS_DIFFER, text, **labels, help=f"give {info.ndim} numbers")
        return s.TensorStructInfo(None, info.dtype, info.ndim)

    @staticmethod
    def evaluate(x: Array, begin: Array, end: Array, strides: Array) -> Array:
        """numpy.ix_ of the places along each axis."""
        places = []
        for n, (length, first, last, step) in enumerate(zip(x.shape, begin, end, strides, strict=True)):
            if step == 0:
                raise ZeroDivisionError(f"strides[{n}] is 0, so end is never reached")
            places.append(np.arange(length)[slice(*_within(int(first), int(last), int(step), length))])
        return np.array(x[np.ix_(*places)]) if places else np.array(x)

    @staticmethod
    def unfold(build: Emitter, call: e.Call, infos: list[s.StructInfo]) -> e.Expr:
        """The lengths are computed first, as a tensor. A match_cast names them for the allocation of the slice."""
        x, *numbers = infos
        need_known(x, "x")
        assert isinstance(x, s.TensorStructInfo)  # inference checked it
        vectors = [
            info
            for info in numbers
            if isinstance(info, s.TensorStructInfo) and info.dims == (p.IntImm(x.ndim),)
        ]
        if len(vectors) < 3 or any(info.dtype is not INT64 for info in vectors):
            raise NotLowered("begin, end and strides are not known to be int64, one for each axis of x")
        return sliced(build, call.args[0], x, (call.args[1], call.args[2], call.args[3]))


def sliced(
    build: Emitter, x: e.Expr, info: s.TensorStructInfo, ends: tuple[e.Expr, e.Expr, e.Expr]
) -> e.Call:
    """The bindings of a slice of `x` by tensors of begins, ends and steps; returns the last value."""
    assert info.dims is not None  # the callers looked
    count = s.TensorStructInfo((p.IntImm(info.ndim),), INT64)
    infos = (info, count, count, count)
    lengths = build.emit(build.call_te("shape_func", _shape_func, (x, *ends), infos, count), "lengths")
    out = s.TensorStructInfo(build.emit_lengths(lengths, info.ndim), info.dtype)
    return build.call_te("dynamic_strided_slice", _slice_func, (x, *ends), infos, out)


def _within(first: int, last: int, step: int, length: int) -> tuple[int, int | None, int]:
    """The ends of a Python slice: an index is counted from 0 and clamped to the range that the step can reach."""
    low, high = (-1, length - 1) if step < 0 else (0, length)
    first, last = (min(max(item + length if item < 0 else item, low), high) for item in (first, last))
    if first < 0 or (step < 0 and last > first):  # the slice is empty
        return 0, 0, 1
    return first, None if last < 0 else last, step


def _end(place: p.PrimExpr, length: p.PrimExpr, step: p.PrimExpr) -> p.PrimExpr:
    """The same in an index expression."""
    back = p.LT(step, rules.ZERO)
    low = where(back, p.IntImm(-1), rules.ZERO)
    high = where(back, p.Sub(length, rules.ONE), length)
    return p.Min(p.Max(where(p.LT(place, rules.ZERO), p.Add(place, length), place), low), high)


def _shape_func(
    te: Te, x: Tensor, begin: Tensor, end: Tensor, strides: Tensor, out: s.TensorStructInfo
) -> Tensor:
    def count(i: p.PrimExpr) -> p.PrimExpr:
        length: p.PrimExpr = p.IntImm(0)
        for n in reversed(range(x.ndim)):
            length = where(p.EQ(i, p.IntImm(n)), x.shape[n], length)
        step = strides[i]
        first, last = _end(begin[i], length, step), _end(end[i], length, step)
        back = p.LT(step, rules.ZERO)
        way = where(back, p.Sub(first, last), p.Sub(last, first))
        size = where(back, p.Sub(rules.ZERO, step), step)
        return p.Max(p.FloorDiv(p.Sub(p.Add(way, size), rules.ONE), size), rules.ZERO)

    return te.compute("T_lengths", (p.IntImm(x.ndim),), count, INT64)


def _slice_func(
    te: Te, x: Tensor, begin: Tensor, end: Tensor, strides: Tensor, out: s.TensorStructInfo
) -> Tensor:
    def element(*i: p.PrimExpr) -> p.PrimExpr:
        places = []
        for n, (index, length) in enumerate(zip(i, x.shape, strict=True)):
            first = _end(begin[p.IntImm(n)], length, strides[p.IntImm(n)])
            places.append(simplify(p.Add(first, p.Mul(index, strides[p.IntImm(n)]))))
        return x[places]

    return te.compute("T_slice", out.dims or (), element)
