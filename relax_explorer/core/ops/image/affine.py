"""Grids of coordinates for sampling images and volumes (spatial transformers)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, FLOAT64, DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
from relax_explorer.core.ops.kit.decl import Fusion, Op, Shape, Site, attr, operand
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, where

# Slightly less than the distance from -1 to 1, so that rounding keeps the last coordinate in range.
_WAY = 2.0 - 1e-7


class AffineGrid(Op, name="relax.image.affine_grid"):
    """The coordinates x, y (and z) of the points of a grid under an affine map.

    The points go from -1 to 1 along each axis. The result is an operand of `image.grid_sample`. Unlike in torch, the coordinates
    are in the second axis.
    """

    source = "Jaderberg et al. 2015"
    raises = (codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    data: Tensor = operand(
        "a map for each image, floating point: [batch, 2, 3], or [batch, 3, 4] for volumes; the last column is added"
    )
    size: Shape = operand("height and width of the grid, or depth, height and width")
    align_corners: bool = attr(
        True,
        "True if -1 and 1 are the centers of the first and last element; False if they are their outer borders",
    )
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[n,2,3] (4,5) -> f32[n,2,4,5]",
        "f32[n,3,4] (2,m,3) align_corners=False -> f32[n,3,2,m,3]",
        "f32[n,2,3] (1,5) -> f32[n,2,1,5]",
    )

    @staticmethod
    def infer(at: Site, data: s.StructInfo, size: s.StructInfo, align_corners: bool) -> s.StructInfo:
        """[batch, 2, *size], or [batch, 3, *size] for volumes, the dtype of data."""
        x = rules.tensor(at, data, "data")
        rules.need_rank(at, x, 3, "data")
        rules.need_float(at, x, "data")
        if not isinstance(size, s.ShapeStructInfo) or size.ndim not in (-1, 2, 3):
            text = f"size is {size}, a shape of 2 or 3 lengths is needed"
            raise at.fail(codes.WRONG_KIND, text, size=f"this is {size}")
        if any(isinstance(dim, p.IntImm) and dim.value < 0 for dim in size.values or ()):
            text = f"size is {size}, lengths of at least 0 are needed"
            raise at.fail(codes.BAD_ATTRIBUTE, text, size=f"this is {size}")
        rank = size.ndim
        expected = (rank, rank + 1)
        for have, length in zip((x.dims or ())[1:], expected, strict=False):
            if rank > 0 and at.equal(have, p.IntImm(length)) is Answer.NO:
                text = f"data has maps of shape {rules.text(x.dims[1:] if x.dims else ())}, ({expected[0]}, {expected[1]}) is needed for size"
                raise at.fail(codes.DIMS_DIFFER, text, data=f"this is {x}", size=f"{rank} lengths")
        if x.dims is None or size.values is None:
            return s.TensorStructInfo(None, x.dtype, rank + 2 if rank > 0 else -1)
        return s.TensorStructInfo((x.dims[0], p.IntImm(rank), *size.values), x.dtype)

    @staticmethod
    def evaluate(data: Array, size: tuple[int, ...], align_corners: bool) -> Array:
        """The last column plus the other columns times the points."""
        maps, rank = wide(data), len(size)
        grid = np.broadcast_to(
            maps[:, :, rank].reshape(*maps.shape[:2], *[1] * rank), (*maps.shape[:2], *size)
        )
        for n, length in enumerate(size):
            first, step = _points(length, align_corners)
            points = np.asarray(first, maps.dtype) + np.arange(length, dtype=maps.dtype) * np.asarray(
                step, maps.dtype
            )
            column = maps[:, :, rank - 1 - n].reshape(*maps.shape[:2], *[1] * rank)
            grid = grid + column * points.reshape([-1 if other == n else 1 for other in range(rank)])
        return grid.astype(data.dtype)

    @staticmethod
    def legalize(te: Te, data: Tensor, size: Sequence[p.PrimExpr], align_corners: bool) -> Tensor:
        """One coordinate at a time."""
        rank, dtype = len(size), data.dtype

        def element(n: p.PrimExpr, row: p.PrimExpr, *i: p.PrimExpr) -> p.PrimExpr:
            value: p.PrimExpr = data[n, row, rank]
            for place, (index, length) in enumerate(zip(i, size, strict=True)):
                first, step = _point_steps(length, align_corners, dtype)
                point = p.Add(cast(first, dtype), p.Mul(cast(index, dtype), cast(step, dtype)))
                value = p.Add(value, p.Mul(data[n, row, rank - 1 - place], point))
            return value

        return te.compute("affine_grid", (data.shape[0], p.IntImm(rank), *size), element)


def _points(length: int, align_corners: bool) -> tuple[float, float]:
    """The first point of an axis and the step to the next."""
    if not align_corners:
        return (1 / length - 1, 2 / length) if length else (0.0, 0.0)
    return (-1.0, _WAY / (length - 1)) if length > 1 else (0.0, 0.0)


def _point_steps(length: p.PrimExpr, align_corners: bool, dtype: DType) -> tuple[p.PrimExpr, p.PrimExpr]:
    """Like `_points`, for any length, at least in float32."""
    dtype = dtype if dtype is FLOAT64 else FLOAT32
    if isinstance(length, p.IntImm):
        first, step = _points(length.value, align_corners)
        return p.FloatImm(first, dtype), p.FloatImm(step, dtype)
    count, one = cast(length, dtype), p.FloatImm(1.0, dtype)
    if not align_corners:
        return p.Sub(p.Div(one, count), one), p.Div(p.FloatImm(2.0, dtype), count)
    several, none = p.LT(rules.ONE, length), p.FloatImm(0.0, dtype)
    way = p.Div(p.FloatImm(_WAY, dtype), cast(simplify(p.Sub(length, rules.ONE)), dtype))
    return where(several, p.FloatImm(-1.0, dtype), none), where(several, way, none)
