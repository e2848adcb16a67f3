"""Operators that pick elements by tensors of indices. A negative index counts from the end; an index out of bounds stops the run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import (
    REQUIRED,
    Fusion,
    NotLowered,
    Op,
    Prim,
    Site,
    Stops,
    Tensors,
    attr,
    operand,
)
from relax_explorer.core.ops.kit.ndarrays import Array, Number
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, where


class GatherElements(Op, name="relax.gather_elements"):
    """For each index, the element at that index along an axis and at the same position in the other axes.

    A negative index counts from the end; the run stops at an index out of bounds. Along the other axes indices may be shorter than data.
    """

    source = "ONNX GatherElements"
    raises = (codes.AXIS_RANGE, codes.RANK_WRONG, codes.DTYPE_WRONG)
    data: Tensor = operand("the tensor")
    indices: Tensor = operand("signed integers, of the rank of data")
    axis: int = attr(0, "the axis; negative counts from the last")
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[6,4] i64[n,4] axis=0 -> f32[n,4]",
        "f32[2,5] i32[2,7] axis=-1 -> f32[2,7]",
        "f32[5] i64[n] -> f32[n]",
    )

    @staticmethod
    def infer(at: Site, data: s.StructInfo, indices: s.StructInfo, axis: int) -> s.StructInfo:
        """The shape of indices, the dtype of data."""
        info, places = rules.tensor(at, data, "data"), rules.tensor(at, indices, "indices")
        need_int(at, places, "indices")
        if info.ndim < 0 or places.ndim < 0:
            return s.TensorStructInfo(None, info.dtype)
        rules.axis(at, axis, info.ndim)
        rules.need_rank(at, places, info.ndim, "indices")
        return s.TensorStructInfo(places.shape, info.dtype, places.ndim)

    @staticmethod
    def evaluate(data: Array, indices: Array, axis: int) -> Array:
        """One index for each axis: the given index along `axis`, the element's own position along the others."""
        result: Array = data[positions_along(indices, data.shape, axis)]
        return result

    @staticmethod
    def legalize(te: Te, data: Tensor, indices: Tensor, axis: int) -> Tensor:
        """The element at the index."""
        place = axis % data.ndim

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            return data[(*i[:place], counted(indices[i], data.shape[place]), *i[place + 1 :])]

        return te.compute("T_gather", indices.shape, element)


def positions_along(indices: Array, shape: Sequence[int], axis: int) -> tuple[Array, ...]:
    """The given indices along `axis` of a shape, and their own positions along the others."""
    need_room(indices.shape, shape, [n for n in range(len(shape)) if n != axis % len(shape)])
    index: list[Array] = list(np.indices(indices.shape))
    index[axis] = inside(indices, shape, axis)
    return tuple(index)


class GatherNd(Op, name="relax.gather_nd"):
    """The elements, or slices, of data at rows of indices, one index for each of its first axes.

    Indices [*batch, …, k] of data [*batch, i1, …, ik, *rest] give [*batch, …, *rest]. A negative index counts from the end; the run
    stops at an index out of bounds.
    """

    source = "ONNX GatherND"
    raises = (codes.RANK_WRONG, codes.DTYPE_WRONG)
    data: Tensor = operand("the tensor")
    indices: Tensor = operand("int64; each row of the last axis is the indices of one element or slice")
    batch_dims: int = attr(0, "how many first axes data and indices have in common, at least 0")
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[5,6,n] i64[m,2] -> f32[m,n]",
        "f32[2,5,3] i64[2,4,1] batch_dims=1 -> f32[2,4,3]",
        "f32[5,5] i64[2] -> f32[]",
    )

    @staticmethod
    def infer(at: Site, data: s.StructInfo, indices: s.StructInfo, batch_dims: int) -> s.StructInfo:
        """The shape of indices without the last axis, then the axes of data without an index; the dtype of data."""
        info, places = rules.tensor(at, data, "data"), rules.tensor(at, indices, "indices")
        if places.dtype is not None and places.dtype is not INT64:
            text = f"indices is {places.dtype}, int64 is needed"
            raise at.fail(codes.DTYPE_WRONG, text, indices=f"dtype {places.dtype}")
        if places.ndim == 0:
            text = "indices has rank 0, at least 1 is needed"
            raise at.fail(codes.RANK_WRONG, text, indices=f"this is {places}")
        for name, operand_info, most in (("data", info, info.ndim), ("indices", places, places.ndim - 1)):
            if batch_dims < 0 or (operand_info.ndim >= 0 and batch_dims > most):
                message = f"batch_dims is {batch_dims}, 0 to {most} axes of {name} can be in common"
                message = message if most >= 0 else f"batch_dims is {batch_dims}, at least 0 is needed"
                raise at.fail(codes.BAD_ATTRIBUTE, message, **{name: f"this is {operand_info}"})
        depth = places.dims[-1] if places.dims else None
        if info.ndim < 0 or not isinstance(depth, p.IntImm):
            return s.TensorStructInfo(None, info.dtype)
        used = depth.value + batch_dims
        if used > info.ndim:
            message = f"{used} axes are indexed, data has rank {info.ndim}"
            raise at.fail(codes.RANK_WRONG, message, data=f"this is {info}", indices=f"this is {places}")
        assert places.dims is not None  # depth is one of them
        if info.dims is None:
            return s.TensorStructInfo(None, info.dtype, places.ndim - 1 + info.ndim - used)
        return s.TensorStructInfo((*places.dims[:-1], *info.dims[used:]), info.dtype)

    @staticmethod
    def evaluate(data: Array, indices: Array, batch_dims: int) -> Array:
        """One index for each axis; the places themselves along the axes in common."""
        depth = indices.shape[-1]
        need_room(indices.shape, data.shape, range(batch_dims))
        others = data.shape[batch_dims + depth :]
        if 0 in others:  # nothing is read, whatever the indices are
            return np.empty((*indices.shape[:-1], *others), data.dtype)
        batch = list(np.indices(indices.shape[:-1], sparse=True)[:batch_dims])
        gathered = [inside(indices[..., n], data.shape, batch_dims + n, last=f", {n}") for n in range(depth)]
        if not (batch or gathered):
            return np.broadcast_to(data, (*indices.shape[:-1], *data.shape)).copy()
        return np.asarray(data[tuple(batch + gathered)]).reshape((*indices.shape[:-1], *others))

    @staticmethod
    def legalize(te: Te, data: Tensor, indices: Tensor, batch_dims: int) -> Tensor:
        """The element at the indices."""
        depth, outer = indices.shape[-1], indices.ndim - 1
        if not isinstance(depth, p.IntImm):
            raise NotLowered(f"how many axes the indices count along is {depth}, no literal")
        count = depth.value
        shape = (*indices.shape[:-1], *data.shape[batch_dims + count :])

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            coordinates = [
                counted(indices[(*i[:outer], p.IntImm(n))], data.shape[batch_dims + n]) for n in range(count)
            ]
            return data[(*i[:batch_dims], *coordinates, *i[outer:])]

        return te.compute("T_gather_nd", shape, element)


class IndexTensor(Op, name="relax.index_tensor"):
    """data[i0, i1, …]: the elements, or slices, at indices along the first axes.

    A negative index counts from the end; the run stops at an index out of bounds.
    """

    source = "numpy indexing"
    raises = (codes.NOT_BROADCASTABLE, codes.RANK_WRONG, codes.DTYPE_WRONG)
    data: Tensor = operand("the tensor")
    indices: Tensors = operand(
        "a tuple of tensors of signed integers, one for each of the first axes; they broadcast"
    )
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[5,6,n] (i64[m],i64[m]) -> f32[m,n]",
        "f32[5,6] (i64[3,1],i64[1,n]) -> f32[3,n]",
        "f32[5] (i32[2,3],) -> f32[2,3]",
    )

    @staticmethod
    def infer(at: Site, data: s.StructInfo, indices: s.StructInfo) -> s.StructInfo:
        """The shape that the indices broadcast to, then the axes of data without an index; the dtype of data."""
        info = rules.tensor(at, data, "data")
        places = rules.tensors(at, indices, "indices")
        if not places:
            text = "indices is an empty tuple, at least one tensor is needed"
            raise at.fail(codes.ARGUMENT_COUNT, text, indices="an empty tuple", help="give a tensor")
        for place in places:
            need_int(at, place, "indices")
        if 0 <= info.ndim < len(places):
            message = f"indices has {len(places)} fields, data has rank {info.ndim}"
            raise at.fail(codes.RANK_WRONG, message, data=f"this is {info}", indices="one for each axis")
        common: s.TensorStructInfo = places[0]
        for place in places[1:]:
            indexed = rules.broadcast_info(at, common, place, None, ("indices", "indices"))
            common = s.TensorStructInfo(indexed.shape, None) if indexed.shape is None else indexed
        if info.ndim < 0 or common.ndim < 0:
            return s.TensorStructInfo(None, info.dtype)
        if info.dims is None or common.dims is None:
            return s.TensorStructInfo(None, info.dtype, common.ndim + info.ndim - len(places))
        return s.TensorStructInfo((*common.dims, *info.dims[len(places) :]), info.dtype)

    @staticmethod
    def evaluate(data: Array, indices: tuple[Any, ...]) -> Array:
        """numpy indexing."""
        others = data.shape[len(indices) :]
        if 0 in others:  # nothing is read, whatever the indices are
            return np.empty((*np.broadcast_shapes(*[index.shape for index in indices]), *others), data.dtype)
        positions = [inside(index, data.shape, n, f"indices[{n}]") for n, index in enumerate(indices)]
        return np.asarray(data[tuple(positions)])

    @staticmethod
    def legalize(te: Te, data: Tensor, indices: Sequence[Tensor]) -> Tensor:
        """The element at the indices."""
        common: rules.Dims | None = indices[0].shape
        for index in indices[1:]:
            common = rules.broadcast(Site(None), common or (), index.shape) if common is not None else None
        if common is None:
            raise NotLowered("the shapes of the indices are not known to broadcast")
        outer = len(common)

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            position = [counted(x[stretched(i[:outer], x)], data.shape[n]) for n, x in enumerate(indices)]
            return data[(*position, *i[outer:])]

        return te.compute("T_index_tensor", (*common, *data.shape[len(indices) :]), element)


class OneHot(Op, name="relax.one_hot"):
    """For each index, a vector along a new axis: on_value at the index, off_value elsewhere.

    An index below 0 or not below depth gives off_value everywhere. In ONNX, a negative index counts from the end.
    """

    source = "ONNX OneHot"
    raises = (codes.DTYPES_DIFFER, codes.AXIS_RANGE, codes.DTYPE_WRONG)
    stops = Stops.LENGTHS
    indices: Tensor = operand("integers")
    on_value: Prim = operand("the number at the index")
    off_value: Prim = operand("the number elsewhere, of the dtype of on_value")
    depth: int = attr(REQUIRED, "length of the new axis, at least 1")
    axis: int = attr(-1, "the position of the new axis in the result; a negative one counts from the last")
    fusion = Fusion.INJECTIVE
    examples = (
        "i64[n,4] 1 0 depth=5 -> i64[n,4,5]",
        "i32[3] T.float32(2.5) T.float32(-1.0) depth=4 axis=0 -> f32[4,3]",
        "i64[2,n] 1 0 depth=3 axis=1 -> i64[2,3,n]",
    )

    @staticmethod
    def infer(
        at: Site,
        indices: s.StructInfo,
        on_value: s.StructInfo,
        off_value: s.StructInfo,
        depth: int,
        axis: int,
    ) -> s.StructInfo:
        """The shape of indices with the new axis, the dtype of on_value."""
        places = rules.tensor(at, indices, "indices")
        need_int(at, places, "indices", ("int", "uint"))
        if not (isinstance(on_value, s.PrimStructInfo) and isinstance(off_value, s.PrimStructInfo)):
            name, operand_info = (
                ("off_value", off_value) if isinstance(on_value, s.PrimStructInfo) else ("on_value", on_value)
            )
            text = f"{name} is {operand_info}, a scalar is needed"
            raise at.fail(codes.WRONG_KIND, text, **{name: f"this is {operand_info}"})
        if on_value.dtype is not off_value.dtype:
            message = f"on_value is {on_value.dtype}, off_value is {off_value.dtype}: one dtype is needed"
            labels = {"on_value": f"dtype {on_value.dtype}", "off_value": f"dtype {off_value.dtype}"}
            raise at.fail(codes.DTYPES_DIFFER, message, **labels, help=rules.write_scalar(on_value.dtype))
        if depth < 1:
            raise at.fail(codes.BAD_ATTRIBUTE, f"depth is {depth}, at least 1 is needed")
        if places.ndim < 0:
            return s.TensorStructInfo(None, on_value.dtype)
        place = rules.axis(at, axis, places.ndim + 1)
        if places.dims is None:
            return s.TensorStructInfo(None, on_value.dtype, places.ndim + 1)
        shape = (*places.dims[:place], p.IntImm(depth), *places.dims[place:])
        return s.TensorStructInfo(shape, on_value.dtype)

    @staticmethod
    def evaluate(indices: Array, on_value: Number, off_value: Number, depth: int, axis: int) -> Array:
        """By comparison with every valid index. An index out of range gives off_value everywhere, as in TVM."""
        place = axis % (indices.ndim + 1)
        there = np.arange(depth).reshape((depth,) + (1,) * (indices.ndim - place))
        kind = on_value.dtype if isinstance(on_value, np.generic) else scalar_dtype(on_value)
        return np.where(np.expand_dims(indices, place) == there, on_value, off_value).astype(kind)

    @staticmethod
    def legalize(
        te: Te, indices: Tensor, on_value: p.PrimExpr, off_value: p.PrimExpr, depth: int, axis: int
    ) -> Tensor:
        """By comparing the index."""
        place = axis % (indices.ndim + 1)
        shape = (*indices.shape[:place], p.IntImm(depth), *indices.shape[place:])

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            index = indices[(*i[:place], *i[place + 1 :])]
            return where(p.EQ(cast(index, i[place].dtype), i[place]), on_value, off_value)

        return te.compute("T_one_hot", shape, element)


def need_int(at: Site, x: s.TensorStructInfo, name: str, kinds: tuple[str, ...] = ("int",)) -> None:
    """Refuse indices of a dtype that is not an integer type; accept an unknown dtype."""
    if x.dtype is not None and x.dtype.kind not in kinds:
        needed = "integers" if "uint" in kinds else "signed integers"
        text = f"{name} is {x.dtype}, {needed} are needed"
        raise at.fail(codes.DTYPE_WRONG, text, **{name: f"dtype {x.dtype}"})


def inside(
    index: Array,
    shape: Sequence[int],
    axis: int,
    name: str = "indices",
    of: str = "data",
    *,
    from_end: bool = True,
    last: str = "",
) -> Array:
    """Indices counted from 0. An index out of bounds of axis `axis` of the tensor `of` raises an IndexError with its position.

    `last` completes the position in the message if `index` is only a part of the tensor `name`.
    """
    length = shape[axis]
    low = -length if from_end else 0
    index = np.trunc(index) if index.dtype.kind not in "biu" else index
    good = (index >= low) & (index < length)
    if not np.all(good):
        place = tuple(np.argwhere(~good)[0].tolist())
        position = ", ".join(map(str, place)) + (last if place else last.removeprefix(", "))
        entry = f"{name}[{position}]" if position else name
        axis %= len(shape)
        range_ = f"{low} to {length - 1} are inside" if length else "nothing can be picked"
        raise IndexError(f"{entry} is {index[place]}, axis {axis} of {of} has length {length}: {range_}")
    positions = index.astype(np.int64, copy=False)
    return np.where(positions < 0, positions + length, positions)


def need_room(places: Sequence[int], shape: Sequence[int], axes: Sequence[int]) -> None:
    """Raise an IndexError if the indices are longer than the data along one of `axes`."""
    for axis in axes:
        if places[axis] > shape[axis]:
            text = f"the indices have length {places[axis]} along axis {axis}, the data only {shape[axis]}"
            raise IndexError(text)


def counted(index: p.PrimExpr, length: p.PrimExpr) -> p.PrimExpr:
    """An index counted from 0, in an index expression.

    The index is not clamped. A kernel that runs here checks it and stops like `inside`, so no other memory is read.
    """
    position = cast(index, length.dtype)
    return where(p.LT(position, rules.ZERO), p.Add(position, length), position)


def stretched(i: Sequence[p.PrimExpr], x: Tensor) -> tuple[p.PrimExpr, ...]:
    """The index in `x` of element `i` of the broadcast result."""
    last = i[len(i) - x.ndim :]
    return tuple([rules.ZERO if n is rules.ONE else v for v, n in zip(last, x.shape, strict=True)])


def scalar_dtype(value: object) -> np.dtype[Any]:
    """The dtype of a scalar operand of a program."""
    if isinstance(value, bool):
        return np.dtype(bool)
    return np.dtype(np.float64 if isinstance(value, float) else np.int64)


# -- grid ------------------------------------------------------------------------------------------------------------
# Operators that spread or rearrange elements over grids.


class Meshgrid(Op, name="relax.meshgrid"):
    """Each of the vectors a[n], b[m], … repeated over the whole grid [n, m, …]."""

    source = "numpy.meshgrid"
    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG)
    stops = Stops.LENGTHS
    tensors: Tensors = operand("a tuple of vectors of one dtype")
    indexing: str | None = attr(
        "ij", "ij, also when None, for a grid [n, m, …]; xy, which is numpy's default, for [m, n, …]"
    )
    fusion = Fusion.INJECTIVE
    examples = (
        "(f32[n],f32[4]) -> (f32[n,4],f32[n,4])",
        "(f32[2],f32[3],f32[4]) -> (f32[2,3,4],f32[2,3,4],f32[2,3,4])",
    )

    @staticmethod
    def infer(at: Site, tensors: s.StructInfo, indexing: str | None) -> s.StructInfo:
        """A tuple with a tensor for each vector: all have the lengths of the vectors, and their dtype."""
        infos = rules.tensors(at, tensors, "tensors")
        if not infos:
            text = "tensors is an empty tuple, at least one tensor is needed"
            raise at.fail(codes.ARGUMENT_COUNT, text, tensors="an empty tuple", help="give a tensor")
        if indexing not in (None, "ij", "xy"):
            raise at.fail_by_spec(codes.BAD_ATTRIBUTE, f"indexing is {indexing!r}, it must be ij or xy")
        element = rules.same_field_dtype(at, infos, "tensors")
        for info in infos:
            if info.ndim != 1:
                has = f"has rank {info.ndim}" if info.ndim >= 0 else "has no known rank"
                text = f"a field of tensors {has}, 1 is needed"
                raise at.fail(codes.RANK_WRONG, text, tensors=f"one is {info}")
        dims = [info.dims[0] for info in infos if info.dims]
        if element is None:  # then TVM derives no lengths
            known = [info.dtype for info in infos if info.dtype is not None]
            return s.TupleStructInfo(
                (s.TensorStructInfo(None, known[0] if known else None, len(infos)),) * len(infos)
            )
        grid = s.TensorStructInfo(None, element, len(infos))
        if len(dims) == len(infos):
            grid = s.TensorStructInfo(_turned(dims, indexing), element)
        return s.TupleStructInfo((grid,) * len(infos))

    @staticmethod
    def evaluate(tensors: tuple[Any, ...], indexing: str | None) -> tuple[Array, ...]:
        """numpy.meshgrid."""
        return tuple([x.copy() for x in np.meshgrid(*tensors, indexing="xy" if indexing == "xy" else "ij")])

    @staticmethod
    def legalize(te: Te, tensors: Sequence[Tensor], indexing: str | None) -> list[Tensor]:
        """The element of the index along the vector's axis."""
        shape = _turned([x.shape[0] for x in tensors], indexing)
        axes = _turned(list(range(len(tensors))), indexing)
        return [
            te.compute("T_meshgrid", shape, lambda *i, x=x, n=n: x[i[axes.index(n)]])
            for n, x in enumerate(tensors)
        ]


_LARGEST_FACTOR = math.isqrt(2**63 - 1)


class PixelShuffle(Op, name="relax.nn.pixel_shuffle"):
    """The elements of […, c*r*r, h, w] as […, c, h*r, w*r]: channels become pixels.

    Of the r*r channels that make one, the first r are the first row of each square of pixels.
    """

    source = "torch.nn.functional.pixel_shuffle"
    raises = (codes.RANK_WRONG,)
    stops = Stops.LENGTHS
    data: Tensor = operand("images, […, channels, height, width]; channels are a multiple of r * r")
    upscale_factor: int = attr(REQUIRED, "r, how many times as high and wide the images become, at least 1")
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[n,8,3,w] upscale_factor=2 -> f32[n,2,6,w*2]",
        "f32[9,2,2] upscale_factor=3 -> f32[1,6,6]",
    )

    @staticmethod
    def infer(at: Site, data: s.StructInfo, upscale_factor: int) -> s.StructInfo:
        """[…, channels / (r * r), height * r, width * r], the dtype of data."""
        info = rules.tensor(at, data, "data")
        if upscale_factor < 1:
            raise at.fail(codes.BAD_ATTRIBUTE, f"upscale_factor is {upscale_factor}, at least 1 is needed")
        if upscale_factor > _LARGEST_FACTOR:
            text = f"upscale_factor is {upscale_factor}, at most {_LARGEST_FACTOR} is possible: its square divides the channels"
            raise at.fail(codes.BAD_ATTRIBUTE, text)
        if 0 <= info.ndim < 3:
            raise at.fail(
                codes.RANK_WRONG, f"data has rank {info.ndim}, at least 3 is needed", data=f"this is {info}"
            )
        if info.ndim < 0:
            hint = "state it with R.match_cast(…, R.Tensor(ndim=4))"
            raise at.fail(
                codes.RANK_WRONG, "the rank of data is not known", data=f"this is {info}", help=hint
            )
        if info.dims is None:
            return info
        factor, square = p.IntImm(upscale_factor), p.IntImm(upscale_factor * upscale_factor)
        if at.equal(simplify(p.FloorMod(info.dims[-3], square)), rules.ZERO) is Answer.NO:
            message = f"data has {info.dims[-3]} channels, a multiple of {square.value} is needed, the square of upscale_factor"
            raise at.fail(codes.BAD_ATTRIBUTE, message, data=f"this is {info}")
        channels = simplify(p.FloorDiv(info.dims[-3], square))
        large = [simplify(p.Mul(dim, factor)) for dim in info.dims[-2:]]
        return s.TensorStructInfo((*info.dims[:-3], channels, *large), info.dtype)

    @staticmethod
    def evaluate(data: Array, upscale_factor: int) -> Array:
        """The channels as two axes more, each after rows and columns."""
        r, (*outer, channels, high, wide) = upscale_factor, data.shape
        x = data.reshape((-1, channels // (r * r), r, r, high, wide)) if data.size else data
        shape = (*outer, channels // (r * r), high * r, wide * r)
        return np.ascontiguousarray(np.transpose(x, (0, 1, 4, 2, 5, 3)) if data.size else x).reshape(shape)

    @staticmethod
    def legalize(te: Te, data: Tensor, upscale_factor: int) -> Tensor:
        """The channel by the place of the pixel within its square."""
        r = p.IntImm(upscale_factor)
        *outer, channels, high, wide = data.shape
        small = simplify(p.FloorDiv(channels, p.IntImm(upscale_factor * upscale_factor)))
        shape = (*outer, small, simplify(p.Mul(high, r)), simplify(p.Mul(wide, r)))

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            *first, c, y, x = i
            square = p.Add(p.Mul(p.FloorMod(y, r), r), p.FloorMod(x, r))
            channel = p.Add(p.Mul(c, p.Mul(r, r)), square)
            return data[(*first, channel, p.FloorDiv(y, r), p.FloorDiv(x, r))]

        return te.compute("T_pixel_shuffle", shape, element)


def _turned(items: list[Any], indexing: str | None) -> tuple[Any, ...]:
    """The axes of the grid in their order."""
    if indexing == "xy" and len(items) > 1:
        items = [items[1], items[0], *items[2:]]
    return tuple(items)
