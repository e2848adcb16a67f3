"""Operators that spread or rearrange elements over grids."""

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
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.decl import REQUIRED, Fusion, Op, Site, Stops, Tensors, attr, operand
from relax_explorer.core.ops.kit.te import Te, Tensor


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
