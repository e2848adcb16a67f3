"""Pooling into a given number of regions."""

from __future__ import annotations

from functools import reduce

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.data_layout import (
    by_axis,
    dims_of,
    is_plain,
    lengths_of,
    need_layout,
    need_layout_rank,
    ordered,
    plain,
    plain_stage,
    rank_of,
    tiled,
    tiled_stage,
)
from relax_explorer.core.ops.kit.decl import NUMBERS, Fusion, Ints, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, where
from relax_explorer.core.ops.kit.windows import Windowed, all_of, each, in_order
from relax_explorer.core.ops.nn.pool import share, shares


class AdaptiveAvgPool(Windowed):
    """Base of the adaptive poolings: one mean for each of a given number of nearly equal regions."""

    raises = (codes.RANK_WRONG, codes.DIMS_DIFFER)
    by_kernel = True
    stops = Stops.LENGTHS
    defined_for = NUMBERS
    data: Tensor = operand("IMAGES, by layout")
    output_size: Ints | None = attr(
        None,
        "lengths of the result along the axes of space: one number, or one for each; at least 1; None keeps the lengths of data",
        unit="elements",
    )
    layout: str = attr(
        in_order("NC"),
        "order of the axes of data: N batch, C channels, the others space; tiles such as 4c may follow",
    )
    out_layout: str | None = attr(None, "order of the axes of the result; layout when None")
    fusion = Fusion.OUT_ELEMENTWISE

    @classmethod
    def infer(
        cls, at: Site, data: s.StructInfo, output_size: Ints | None, layout: str, out_layout: str | None
    ) -> s.StructInfo:
        """Like data, with the lengths output_size along the axes of space."""
        x, rank = rules.tensor(at, data, "data"), len(cls.spatial)
        result_layout = layout if out_layout is None else out_layout
        need_layout(at, f"NC{cls.spatial}", layout=layout, out_layout=result_layout)
        need_layout_rank(at, layout, x, "data")
        if output_size is not None and (
            len(each(output_size, rank)) != rank or min(each(output_size, rank)) < 1
        ):
            needed = "a number from 1 on is" if rank == 1 else f"1 or {rank} numbers from 1 on are"
            numbers = list(output_size) if isinstance(output_size, tuple) else output_size
            text = f"output_size is {numbers}, {needed} needed"
            raise at.fail_by_spec(codes.BAD_ATTRIBUTE, text, help="None keeps the lengths of the data")
        if x.dims is None:
            return s.TensorStructInfo(None, x.dtype, rank_of(result_layout))
        lengths = _adapted(cls.spatial, lengths_of(layout, x.dims), output_size)
        return s.TensorStructInfo(dims_of(result_layout, lengths), x.dtype)

    @classmethod
    def evaluate(cls, data: Array, output_size: Ints | None, layout: str, out_layout: str | None) -> Array:
        """Products with matrices of means, one for each axis."""
        rank, axes = len(cls.spatial), f"NC{cls.spatial}"
        x = wide(plain(data, layout, axes))
        sizes = x.shape[2:] if output_size is None else each(output_size, rank)
        counted = np.ones((1,) * x.ndim, x.dtype)
        for axis, size in zip(range(2, rank + 2), sizes, strict=True):
            x, lengths = _region_sums(x, axis, size)
            counted = counted * lengths.astype(x.dtype).reshape(
                [-1 if n == axis else 1 for n in range(rank + 2)]
            )
        return tiled(shares(x, np.maximum(counted, 1)), axes, out_layout or layout).astype(
            data.dtype, copy=False
        )

    @classmethod
    def legalize(
        cls, te: Te, data: Tensor, output_size: Ints | None, layout: str, out_layout: str | None
    ) -> Tensor:
        """Sums over a region of the largest size, without elements outside the actual region, then divisions."""
        result_layout, axes = out_layout or layout, f"NC{cls.spatial}"
        data, layout = plain_stage(te, data, layout, axes)
        work_layout, size = result_layout if is_plain(result_layout) else axes, by_axis(layout, data.shape)
        lengths = _adapted(cls.spatial, size, output_size)
        over = {axis: _largest(size[axis], lengths[axis]) for axis in cls.spatial}
        zero = p.as_prim(0, data.dtype)

        def region(i: p.PrimExpr, axis: str) -> tuple[p.PrimExpr, p.PrimExpr]:
            start = p.FloorDiv(p.Mul(i, size[axis]), lengths[axis])
            last = p.Sub(p.Add(p.Mul(p.Add(i, rules.ONE), size[axis]), lengths[axis]), rules.ONE)
            return simplify(start), simplify(p.FloorDiv(last, lengths[axis]))

        def body(*i: p.PrimExpr) -> p.PrimExpr:
            tests: list[p.PrimExpr] = []
            place = by_axis(work_layout, i[: len(work_layout)])
            for axis, tap in zip(cls.spatial, i[len(work_layout) :], strict=True):
                start, end = region(place[axis], axis)
                place[axis] = index = p.Add(start, tap)
                if not _exact(size[axis], lengths[axis]):
                    tests.append(p.LT(index, end))
                    place[axis] = p.Min(index, simplify(p.Sub(size[axis], rules.ONE)))
            element = data[ordered(layout, place)]
            return where(all_of(tests), element, zero) if tests else element

        total = te.sum(
            "adaptive_pool_sum", ordered(work_layout, lengths), ordered(cls.spatial, over), body, data.dtype
        )

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            ends = [region(by_axis(work_layout, i)[axis], axis) for axis in cls.spatial]
            counts = reduce(p.Mul, [simplify(p.Sub(end, start)) for start, end in ends])
            return share(total[i], counts)

        average = te.compute("adaptive_pool_avg", ordered(work_layout, lengths), element)
        return tiled_stage(te, average, work_layout, result_layout)


def _adapted(spatial: str, size: dict[str, p.PrimExpr], output_size: Ints | None) -> dict[str, p.PrimExpr]:
    if output_size is None:
        return size
    lengths = map(p.IntImm, each(output_size, len(spatial)))
    return {**size, **dict(zip(spatial, lengths, strict=True))}


def _exact(length: p.PrimExpr, count: p.PrimExpr) -> bool:
    """True if all regions are known to have the same length."""
    if isinstance(length, p.IntImm) and isinstance(count, p.IntImm):
        return count.value > 0 and length.value % count.value == 0
    return length is count or count is rules.ONE


def _largest(length: p.PrimExpr, count: p.PrimExpr) -> p.PrimExpr:
    """The greatest possible number of elements of a region."""
    if _exact(length, count):
        return rules.ONE if length is count else simplify(p.FloorDiv(length, count))
    more = simplify(p.Sub(p.Add(length, count), rules.ONE))
    return simplify(p.Add(p.FloorDiv(more, p.Max(count, rules.ONE)), rules.ONE))


def _region_sums(x: Array, axis: int, count: int) -> tuple[Array, Array]:
    """Sums over `count` regions of an axis, and the number of elements of each region."""
    length, numbers = x.shape[axis], np.arange(count)
    starts, ends = numbers * length // max(count, 1), -(-(numbers + 1) * length // max(count, 1))
    if not length or not count:
        return np.zeros((*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype), ends - starts
    border = [(0, 1) if n == axis else (0, 0) for n in range(x.ndim)]  # an end may be the end of the axis
    both = np.stack([starts, ends], 1).ravel()
    sums = np.add.reduceat(np.pad(x, border), both, axis, dtype=x.dtype)
    return sums[(slice(None),) * axis + (slice(None, None, 2),)], ends - starts


class AdaptiveAvgPool1d(AdaptiveAvgPool, name="relax.nn.adaptive_avg_pool1d", spatial="W"):
    """The means of a given number of parts of signals, of nearly equal size.

    Part i goes from i * length // count to (i + 1) * length / count, rounded up, so parts may overlap by an element.
    """

    source = "torch.nn.AdaptiveAvgPool1d"
    examples = (
        "f32[n,3,7] output_size=[1] -> f32[n,3,1]",
        "f32[n,2,7] output_size=3 -> f32[n,2,3]",
        'f32[n,w,2] layout="NWC" -> f32[n,w,2]',
    )


class AdaptiveAvgPool2d(AdaptiveAvgPool, name="relax.nn.adaptive_avg_pool2d", spatial="HW"):
    """The means of a given number of regions of images, of nearly equal size.

    Along each axis region i goes from i * length // count to (i + 1) * length / count, rounded up, so regions may overlap by an
    element.
    """

    source = "torch.nn.AdaptiveAvgPool2d"
    examples = (
        "f32[n,3,7,7] output_size=[1,1] -> f32[n,3,1,1]",
        "f32[1,2,7,5] output_size=[3,2] -> f32[1,2,3,2]",
        'f32[1,7,5,2] output_size=3 layout="NHWC" -> f32[1,3,3,2]',
        'f32[n,2,6,5,3] output_size=[3,2] layout="NCHW3c" -> f32[n,2,3,2,3]',
    )


class AdaptiveAvgPool3d(AdaptiveAvgPool, name="relax.nn.adaptive_avg_pool3d", spatial="DHW"):
    """The means of a given number of regions of volumes, of nearly equal size.

    Along each axis region i goes from i * length // count to (i + 1) * length / count, rounded up, so regions may overlap by an
    element.
    """

    source = "torch.nn.AdaptiveAvgPool3d"
    examples = (
        "f32[n,3,4,5,6] output_size=1 -> f32[n,3,1,1,1]",
        "f32[1,2,4,5,6] output_size=[3,2,6] -> f32[1,2,3,2,6]",
        'i32[n,h,4,5,2] output_size=[2,2,3] layout="NDHWC" -> i32[n,2,2,3,2]',
    )
