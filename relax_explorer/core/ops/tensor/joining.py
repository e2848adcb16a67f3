"""Operators that join and split tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT32, INT64, DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import REQUIRED, Fusion, Ints, Op, Site, Stops, Tensors, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, where
from relax_explorer.core.ops.tensor.manipulate import reshape_stage


class Concat(Op, name="relax.concat"):
    """Tensors one after another along an axis."""

    source = "numpy.concatenate"
    raises = (codes.DTYPES_DIFFER, codes.AXIS_RANGE, codes.RANK_WRONG, codes.DIMS_DIFFER)
    stops = Stops.RELATIONS
    kernel = "concatenate"
    tensors: Tensors = operand("a tuple of tensors of one dtype, with equal lengths except along the axis")
    axis: int | None = attr(0, "the axis; negative counts from the last; None is for vectors only")
    fusion = Fusion.INJECTIVE
    examples = ("(f32[n,4],f32[n,2]) axis=1 -> f32[n,6]", "(i8[n],i8[m],i8[1]) -> i8[n+m+1]")

    @staticmethod
    def infer(at: Site, tensors: s.StructInfo, axis: int | None) -> s.StructInfo:
        """The sum of the lengths along the axis, the other lengths unchanged, the common dtype."""
        infos, element, rank = _joined(at, tensors)
        if axis is None and rank > 1:
            text = f"axis is None, which is for vectors; the tensors have rank {rank}"
            raise at.fail(codes.RANK_WRONG, text, tensors=f"this is {tensors}", help="name an axis")
        place = rules.axis(at, axis or 0, rank)
        known = [info.dims for info in infos if info.dims is not None]
        shape = _concat_shape(at, known, place) if known else None
        return s.TensorStructInfo(shape if len(known) == len(infos) else None, element, rank)

    @staticmethod
    def evaluate(tensors: tuple[Any, ...], axis: int | None) -> Array:
        """numpy.concatenate."""
        return np.concatenate(tensors, axis or 0)

    @staticmethod
    def legalize(te: Te, tensors: Sequence[Tensor], axis: int | None) -> Tensor:
        """The element of the tensor into whose part the index along the axis falls."""
        place = (axis or 0) % tensors[0].ndim
        shape = _concat_shape(Site(None), [x.shape for x in tensors], place)
        assert shape is not None  # a result of unknown shape is not lowered

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            start: p.PrimExpr = p.IntImm(0)
            starts = []
            for x in tensors:
                starts.append(start)
                start = simplify(p.Add(start, x.shape[place]))
            values = [
                x[(*i[:place], simplify(p.Sub(i[place], first)), *i[place + 1 :])]
                for x, first in zip(tensors, starts, strict=True)
            ]
            return _chosen(i[place], values, starts[1:])

        return te.compute("T_concat", shape, element)


def _joined(at: Site, tensors: s.StructInfo) -> tuple[list[s.TensorStructInfo], DType | None, int]:
    """The tensors of a tuple that has at least one, their dtype and their rank."""
    infos = rules.tensors(at, tensors, "tensors")
    if not infos:
        text = "tensors is an empty tuple, at least one tensor is needed"
        raise at.fail(codes.ARGUMENT_COUNT, text, tensors="an empty tuple", help="give a tensor")
    return infos, rules.same_field_dtype(at, infos, "tensors"), rules.same_rank(at, infos, "tensors")


def _concat_shape(at: Site, shapes: Sequence[rules.Dims], place: int) -> rules.Dims | None:
    """The joined shape; None if shape variables decide whether the other lengths agree."""
    is_known = True
    for dims in shapes[1:]:
        for n, (a, b) in enumerate(zip(shapes[0], dims, strict=True)):
            answer = at.equal(a, b) if n != place else Answer.YES
            if answer is Answer.NO:
                raise at.fail(
                    codes.DIMS_DIFFER,
                    f"axis {n} of the tensors has the lengths {a} and {b}",
                    tensors=f"all axes but axis {place} must agree",
                )
            is_known = is_known and (answer is Answer.YES or at.wildcards)
    if not is_known:
        return None
    result = list(shapes[0])
    for dims in shapes[1:]:  # where lengths agree, one that is known tells the others
        result = [b if type(a) is p.AnyDim else a for a, b in zip(result, dims, strict=True)]
    result[place] = _total([dims[place] for dims in shapes])
    return tuple(result)


def _total(lengths: Sequence[p.PrimExpr]) -> p.PrimExpr:
    """The sum as TVM writes it: adjacent literals are added, equal lengths multiplied."""
    first = lengths[0]
    if len(lengths) > 1 and not isinstance(first, p.IntImm) and all(length is first for length in lengths):
        return p.Mul(first, p.IntImm(len(lengths)))
    total = first
    for length in lengths[1:]:
        if isinstance(total, p.IntImm) and isinstance(length, p.IntImm):
            total = p.IntImm(total.value + length.value)
        else:
            total = length if total is rules.ZERO else total if length is rules.ZERO else p.Add(total, length)
    return total


MOST_IN_A_ROW = 32
"""With more values than this a binary search is used. TVM tests one value after the other, to any depth."""


def _chosen(index: p.PrimExpr, values: Sequence[p.PrimExpr], starts: Sequence[p.PrimExpr]) -> p.PrimExpr:
    """The value whose part contains `index`; `starts` are the starts of all parts but the first."""
    if len(values) > MOST_IN_A_ROW:
        half = len(values) // 2
        before = _chosen(index, values[:half], starts[: half - 1])
        return where(p.LT(index, starts[half - 1]), before, _chosen(index, values[half:], starts[half:]))
    value = values[-1]
    for source, end in zip(reversed(values[:-1]), reversed(starts), strict=True):
        value = where(p.LT(index, end), source, value)
    return value


class Stack(Op, name="relax.stack"):
    """Tensors of one shape along a new axis."""

    source = "numpy.stack"
    raises = (codes.DTYPES_DIFFER, codes.AXIS_RANGE, codes.RANK_WRONG, codes.DIMS_DIFFER)
    stops = Stops.RELATIONS
    tensors: Tensors = operand("a tuple of tensors of one shape and dtype")
    axis: int = attr(0, "the position of the new axis in the result; a negative one counts from the last")
    fusion = Fusion.INJECTIVE
    examples = ("(f32[n,4],f32[n,4]) axis=1 -> f32[n,2,4]", "(i8[n],i8[n],i8[n]) axis=-1 -> i8[n,3]")

    @staticmethod
    def infer(at: Site, tensors: s.StructInfo, axis: int) -> s.StructInfo:
        """The common shape with the number of tensors as length of the new axis, the common dtype."""
        infos, element, rank = _joined(at, tensors)
        place = rules.axis(at, axis, rank + 1 if rank >= 0 else -1)
        first = infos[0]
        if any(info.ndim < 0 for info in infos):
            text = "TVM has no axis for tensors of unknown rank"
            at.refuse_in_tvm(codes.AXIS_RANGE, text, help="match_cast them to tensors of a rank")
        if first.dims is None or not _same_shapes(at, infos):
            return s.TensorStructInfo(None, element, rank + 1 if rank >= 0 else -1)
        dims = list(first.dims)
        dims.insert(place, p.IntImm(len(infos)))
        return s.TensorStructInfo(tuple(dims), element)

    @staticmethod
    def evaluate(tensors: tuple[Any, ...], axis: int) -> Array:
        """numpy.stack."""
        return np.stack(tensors, axis)

    @staticmethod
    def legalize(te: Te, tensors: Sequence[Tensor], axis: int) -> Tensor:
        """The element of the tensor that the index along the new axis selects."""
        place = axis % (tensors[0].ndim + 1)
        shape = list(tensors[0].shape)
        shape.insert(place, p.IntImm(len(tensors)))

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            rest = (*i[:place], *i[place + 1 :])
            values = [x[rest] for x in tensors]
            if len(values) > MOST_IN_A_ROW:
                return _chosen(i[place], values, [p.IntImm(n) for n in range(1, len(values))])
            value = values[-1]
            for n in range(len(values) - 2, -1, -1):
                value = where(p.EQ(i[place], p.IntImm(n)), values[n], value)
            return value

        return te.compute("T_stack", shape, element)


def _same_shapes(at: Site, infos: Sequence[s.TensorStructInfo]) -> bool:
    """Whether all shapes are known to agree; raises when they can't."""
    agree = True
    first = infos[0].dims or ()
    for info in infos[1:]:
        for a, b in zip(first, info.dims or (), strict=False):
            answer = at.equal(a, b)
            if answer is Answer.NO:
                raise at.fail(
                    codes.DIMS_DIFFER,
                    f"the tensors have the lengths {a} and {b}",
                    tensors="the tensors need one shape",
                )
            agree = agree and answer is Answer.YES
        agree = agree and info.dims is not None
    return agree


class Split(Op, name="relax.split"):
    """A tensor cut into parts along an axis.

    If the length can't be divided into equal parts, the last ones are shorter or empty; numpy refuses that. A cut beyond
    the end is at the end. A single part is returned as a tensor, not as a tuple.
    """

    source = "numpy.split"
    raises = (codes.AXIS_RANGE,)
    stops = Stops.RELATIONS
    x: Tensor = operand("the tensor")
    indices_or_sections: int | Ints = attr(
        REQUIRED, "how many equal parts, at least 1; or the places of the cuts, in ascending order"
    )
    axis: int = attr(0, "the axis; negative counts from the last")
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[n,6] indices_or_sections=3 axis=1 -> (f32[n,2],f32[n,2],f32[n,2])",
        "f32[6] indices_or_sections=[1,4] -> (f32[1],f32[3],f32[2])",
    )

    @staticmethod
    def infer(at: Site, x: s.StructInfo, indices_or_sections: int | Ints, axis: int) -> s.StructInfo:
        """A tuple of the parts, each of the dtype of x; x itself when there is one part."""
        info = rules.tensor(at, x, "x")
        place = rules.axis(at, axis, info.ndim)
        count = indices_or_sections if isinstance(indices_or_sections, int) else len(indices_or_sections) + 1
        if count == 1:
            return info
        if count <= 0:
            raise at.fail(
                codes.BAD_ATTRIBUTE,
                f"indices_or_sections is {indices_or_sections}, at least one part is needed",
            )
        if count > s.MOST_WRITTEN:
            text = (
                f"indices_or_sections is {indices_or_sections}, at most {s.MOST_WRITTEN} parts are possible"
            )
            raise at.fail(codes.BAD_ATTRIBUTE, text)
        if info.dims is None:
            return s.TupleStructInfo((s.TensorStructInfo(None, info.dtype, info.ndim),) * count)
        spans = _spans(info.dims[place], indices_or_sections)
        parts = [
            s.TensorStructInfo((*info.dims[:place], size, *info.dims[place + 1 :]), info.dtype)
            for _, size in spans
        ]
        return s.TupleStructInfo(tuple(parts))

    @staticmethod
    def evaluate(x: Array, indices_or_sections: int | Ints, axis: int) -> Array | tuple[Array, ...]:
        """The parts that inference derived; a single part is the tensor itself."""
        if indices_or_sections in (1, ()):
            return x
        parts = _parts(axis % x.ndim, x.shape[axis], indices_or_sections)
        return tuple([x[part].copy() for part in parts])

    @staticmethod
    def legalize(te: Te, x: Tensor, indices_or_sections: int | Ints, axis: int) -> list[Tensor]:
        """One stage for each part."""
        place = axis % x.ndim
        if indices_or_sections in (1, ()):
            return [te.compute("T_split_sections", x.shape, lambda *i: x[i])]

        def part(start: p.PrimExpr, size: p.PrimExpr, suffix: str) -> Tensor:
            shape = (*x.shape[:place], size, *x.shape[place + 1 :])
            return te.compute(
                f"T_split_sections{suffix}",
                shape,
                lambda *i: x[(*i[:place], simplify(p.Add(i[place], start)), *i[place + 1 :])],
            )

        return [part(start, size, "") for start, size in _spans(x.shape[place], indices_or_sections)]


@lru_cache(256)
def _parts(axis: int, length: int, cuts: int | Ints) -> tuple[tuple[slice, ...], ...]:
    """The places of each part along an axis of known length."""
    before = (slice(None),) * axis
    spans = [(start.value, size.value) for start, size in _spans(p.IntImm(length), cuts)]  # type: ignore[attr-defined]  # literals stay literals
    return tuple([(*before, slice(start, start + size)) for start, size in spans])


def _spans(length: p.PrimExpr, cuts: int | Ints) -> list[tuple[p.PrimExpr, p.PrimExpr]]:
    """Start and length of each part."""
    return _equal_spans(length, cuts) if isinstance(cuts, int) else _cut_spans(length, cuts)


def _equal_spans(length: p.PrimExpr, count: int) -> list[tuple[p.PrimExpr, p.PrimExpr]]:
    if isinstance(length, p.IntImm):
        part = -(-length.value // count)
        starts = [min(n * part, length.value) for n in range(count + 1)]
        return [(p.IntImm(a), p.IntImm(min(b, length.value) - a)) for a, b in pairwise(starts)]
    size = simplify(p.FloorDiv(p.Add(length, p.IntImm(count - 1)), p.IntImm(count)))  # rounded up
    places = [rules.ZERO, size, *[simplify(p.Mul(size, p.IntImm(n))) for n in range(2, count)]]
    last = simplify(p.Sub(length, places[-1]))
    if "//" in str(last):
        last = p.Sub(length, places[-1])
    return [*[(place, size) for place in places[:-1]], (places[-1], last)]


def _cut_spans(length: p.PrimExpr, cuts: Sequence[Any]) -> list[tuple[p.PrimExpr, p.PrimExpr]]:
    """Cuts beyond the end are at the end; a part that would end before it starts is empty."""
    places = [rules.ZERO, *[rules.bounded(p.as_prim(cut), length) for cut in cuts], length]
    return [(a, rules.extent(a, b)) for a, b in pairwise(places)]


class Repeat(Op, name="relax.repeat"):
    """Each element repeated along an axis."""

    source = "numpy.repeat"
    raises = (codes.AXIS_RANGE,)
    stops = Stops.RANKS
    data: Tensor = operand("the tensor")
    repeats: int = attr(REQUIRED, "how many times, at least 0")
    axis: int | None = attr(None, "the axis, negative counts from the last; the flattened tensor when None")
    fusion = Fusion.BROADCAST
    examples = ("f32[n,4] repeats=2 axis=0 -> f32[n*2,4]", "i8[n,2] repeats=3 -> i8[n*6]")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, repeats: int, axis: int | None) -> s.StructInfo:
        """The shape of data with the length of the axis times repeats, the dtype of data; a vector when axis is None."""
        info = rules.tensor(at, data, "data")
        if repeats < 0:
            text = f"repeats is {repeats}, at least 0 is needed"
            raise at.fail(codes.BAD_ATTRIBUTE, text)
        place = 0 if axis is None else rules.axis(at, axis, info.ndim)
        if info.dims is None:
            return s.TensorStructInfo(None, info.dtype, 1 if axis is None else info.ndim)
        if axis is None:
            return s.TensorStructInfo(
                (simplify(p.Mul(rules.volume(info.dims), p.IntImm(repeats))),), info.dtype
            )
        dims = list(info.dims)
        dims[place] = simplify(p.Mul(dims[place], p.IntImm(repeats)))
        return s.TensorStructInfo(tuple(dims), info.dtype)

    @staticmethod
    def evaluate(data: Array, repeats: int, axis: int | None) -> Array:
        """numpy.repeat."""
        return np.repeat(data, repeats, axis)

    @staticmethod
    def legalize(te: Te, data: Tensor, repeats: int, axis: int | None) -> Tensor:
        """The element whose index is divided."""
        source = reshape_stage(te, data, (rules.volume(data.shape),)) if axis is None else data
        place = 0 if axis is None else axis % data.ndim
        shape = list(source.shape)
        shape[place] = simplify(p.Mul(shape[place], p.IntImm(repeats)))
        return te.compute(
            "T_repeat",
            shape,
            lambda *i: source[(*i[:place], p.FloorDiv(i[place], p.IntImm(repeats)), *i[place + 1 :])],
        )


class Tile(Op, name="relax.tile"):
    """The whole tensor repeated along each axis."""

    source = "numpy.tile"
    stops = Stops.RANKS
    data: Tensor = operand("the tensor")
    repeats: Ints = attr(
        REQUIRED,
        "how many times along each of the last axes, at least 0; more numbers than axes make new first axes",
    )
    fusion = Fusion.BROADCAST
    examples = ("f32[n,4] repeats=[2,1] -> f32[n*2,4]", "i8[n] repeats=[2,3] -> i8[2,n*3]")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, repeats: Ints) -> s.StructInfo:
        """The lengths of data times the repeats, aligned from the right, the dtype of data."""
        info = rules.tensor(at, data, "data")
        times = repeats if isinstance(repeats, tuple) else (repeats,)
        if min(times, default=0) < 0:
            raise at.fail(codes.BAD_ATTRIBUTE, f"repeats is {list(times)}, numbers of at least 0 are needed")
        if info.dims is None:
            return s.TensorStructInfo(None, info.dtype, max(info.ndim, len(times)) if info.ndim >= 0 else -1)
        return s.TensorStructInfo(_tiled(info.dims, times), info.dtype)

    @staticmethod
    def evaluate(data: Array, repeats: Ints) -> Array:
        """numpy.tile."""
        return np.tile(data, repeats)

    @staticmethod
    def legalize(te: Te, data: Tensor, repeats: Ints) -> Tensor:
        """The element at the remainder of each index."""
        times = repeats if isinstance(repeats, tuple) else (repeats,)
        shape = _tiled(data.shape, times)
        offset = len(shape) - data.ndim
        return te.compute(
            "T_tile",
            shape,
            lambda *i: data[tuple([p.FloorMod(i[n + offset], dim) for n, dim in enumerate(data.shape)])],
        )


def _tiled(dims: rules.Dims, times: tuple[int, ...]) -> rules.Dims:
    rank = max(len(dims), len(times))
    lengths = (rules.ONE,) * (rank - len(dims)) + dims
    factors = (1,) * (rank - len(times)) + times
    return tuple([simplify(p.Mul(n, p.IntImm(k))) for n, k in zip(lengths, factors, strict=True)])


# -- sequences -------------------------------------------------------------------------------------------------------
# Operators on sequences of different lengths in one tensor.


class ReverseSequence(Op, name="relax.reverse_sequence"):
    """The first elements of each sequence in reverse order; the others stay in place.

    A number above the length of a sequence reverses all of it; 1 or less changes nothing.
    """

    source = "ONNX ReverseSequence"
    raises = (codes.AXIS_RANGE, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    data: Tensor = operand("the tensor")
    seq_lengths: Tensor = operand(
        "the number of elements of each sequence to reverse: a vector of int32 or int64"
    )
    seq_axis: int = attr(1, "the axis along which a sequence goes; negative counts from the last")
    batch_axis: int = attr(0, "the axis along which sequences are counted; negative counts from the last")
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[n,4] i64[n] -> f32[n,4]",
        "f32[n,3,2] i32[3] seq_axis=0 batch_axis=1 -> f32[n,3,2]",
        "i32[2,n] i64[2] seq_axis=-1 batch_axis=-2 -> i32[2,n]",
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, seq_lengths: s.StructInfo, seq_axis: int, batch_axis: int
    ) -> s.StructInfo:
        """The shape and dtype of data."""
        info, counts = rules.tensor(at, data, "data"), rules.tensor(at, seq_lengths, "seq_lengths")
        if counts.dtype not in (None, INT32, INT64):
            raise at.fail(
                codes.DTYPE_WRONG,
                f"seq_lengths is {counts.dtype}, int32 or int64 is needed",
                seq_lengths=f"dtype {counts.dtype}",
            )
        rules.need_rank(at, counts, 1, "seq_lengths")
        rules.axis(at, seq_axis, info.ndim, "seq_axis")
        batch = rules.axis(at, batch_axis, info.ndim, "batch_axis")
        if info.dims is not None and counts.dims is not None:
            rows, counted = info.dims[batch], counts.dims[0]
            if at.equal(rows, counted) is Answer.NO:
                labels = {"data": f"{rows} along axis {batch}", "seq_lengths": f"{counted} lengths"}
                raise at.fail(
                    codes.DIMS_DIFFER,
                    f"seq_lengths has {counted} lengths, there are {rows} sequences along batch_axis {batch_axis}",
                    **labels,
                )
        return info

    @staticmethod
    def evaluate(data: Array, seq_lengths: Array, seq_axis: int, batch_axis: int) -> Array:
        """All elements at once."""
        axis, batch = seq_axis % data.ndim, batch_axis % data.ndim
        along = [1] * data.ndim
        along[batch] = len(seq_lengths)
        index: list[Array] = list(np.indices(data.shape, sparse=True))
        count = np.minimum(seq_lengths.astype(np.int64), data.shape[axis]).reshape(along)
        index[axis] = np.where(index[axis] < count, count - 1 - index[axis], index[axis])
        return data[tuple(index)]

    @staticmethod
    def legalize(te: Te, data: Tensor, seq_lengths: Tensor, seq_axis: int, batch_axis: int) -> Tensor:
        """The mirrored element, if the index is below the number."""
        axis, batch = seq_axis % data.ndim, batch_axis % data.ndim

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            count = p.Min(cast(seq_lengths[i[batch]], INT64), data.shape[axis])
            other = p.Sub(p.Sub(count, rules.ONE), i[axis])
            return data[(*i[:axis], where(p.LT(i[axis], count), other, i[axis]), *i[axis + 1 :])]

        return te.compute("T_reverse_sequence", data.shape, element)
