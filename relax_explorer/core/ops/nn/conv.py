"""Convolution of signals, images and volumes."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.array_types import Array
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
from relax_explorer.core.ops.kit.decl import Fusion, Ints, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast
from relax_explorer.core.ops.kit.windows import (
    Windowed,
    border,
    each,
    every,
    in_order,
    need_fit,
    need_window,
    pad_stage,
    padded,
    pads,
    window_count,
    windows,
)


class Product(Windowed):
    """Base of convolutions and transposed convolutions: operands, attributes, the order of axes."""

    data: Tensor = operand("IMAGES, by data_layout")
    weight: Tensor = operand("kernels, by kernel_layout")
    strides: Ints = attr(
        every(1),
        "steps from a window to the next: one number, or one for each axis; at least 1",
        unit="elements",
    )
    padding: Ints = attr(
        border(0),
        "zeros around data: one number, one for each axis, or all before and then all after; at least 0",
        unit="elements",
    )
    output_padding: Ints = attr(
        every(0),
        "further elements at the end: one number, or one for each axis; less than the stride",
        unit="elements",
    )
    dilation: Ints = attr(
        every(1),
        "steps from a kernel element to the next: one number, or one for each axis; at least 1",
        unit="elements",
    )
    groups: int = attr(1, "groups of channels, each with kernels of its own; at least 1")
    data_layout: str = attr(
        in_order("NC"),
        "order of the axes of data: N batch, C channels, the others space; tiles such as 4c may follow",
    )
    kernel_layout: str = attr(
        in_order("OI"),
        "order of the axes of weight: O channels of the result, I channels of data, the others space",
    )
    out_layout: str | None = attr(None, "order of the axes of the result; data_layout when None")
    out_dtype: DType | None = attr(
        None, "dtype of the computation and of the result; None means the dtype of the operands"
    )
    same_layout = "data_layout"
    kernel_axes: ClassVar[str] = "OI"
    fusion = Fusion.OUT_ELEMENTWISE

    @classmethod
    def operands_of(
        cls, at: Site, data: s.StructInfo, weight: s.StructInfo, strides: Ints, padding: Ints, dilation: Ints, groups: int,
        data_layout: str, kernel_layout: str, out_layout: str,
    ) -> tuple[s.TensorStructInfo, s.TensorStructInfo]:  # fmt: skip
        """The StructInfo of data and kernels, after checks of ranks and attributes."""
        x, w, rank = rules.tensor(at, data, "data"), rules.tensor(at, weight, "weight"), len(cls.spatial)
        need_layout(at, f"NC{cls.spatial}", data_layout=data_layout, out_layout=out_layout)
        need_layout(at, f"{cls.kernel_axes}{cls.spatial}", kernel_layout=kernel_layout)
        need_window(at, rank, padding, strides=strides, dilation=dilation)
        if groups <= 0:
            raise at.fail(codes.BAD_ATTRIBUTE, f"groups is {groups}, at least 1 is needed")
        need_layout_rank(at, data_layout, x, "data")
        need_layout_rank(at, kernel_layout, w, "weight")
        return x, w

    @classmethod
    def in_axes(
        cls, data: Array, weight: Array, data_layout: str, kernel_layout: str, dtype: np.dtype[Any]
    ) -> tuple[Array, Array]:
        """Data and kernels as arrays with channels first, in the dtype of the computation."""
        x = plain(data, data_layout, f"NC{cls.spatial}").astype(dtype, copy=False)
        return wide(x), wide(
            plain(weight, kernel_layout, f"{cls.kernel_axes}{cls.spatial}").astype(dtype, copy=False)
        )


class Convolution(Product):
    """Base of the convolutions."""

    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG, codes.DIMS_DIFFER)
    stops = Stops.RELATIONS
    left_out = ("output_padding",)

    @classmethod
    def infer(
        cls, at: Site, data: s.StructInfo, weight: s.StructInfo, strides: Ints, padding: Ints, dilation: Ints, groups: int, data_layout: str,
        kernel_layout: str, out_layout: str | None, out_dtype: DType | None,
    ) -> s.StructInfo:  # fmt: skip
        """Like data, with a channel for each kernel and, along each axis of space,
        (length + padding before and after - dilation * (kernel - 1) - 1) // stride + 1; the dtype is out_dtype.
        """
        out_layout = data_layout if out_layout is None else out_layout
        window = (strides, padding, dilation, groups, data_layout, kernel_layout, out_layout)
        x, w = cls.operands_of(at, data, weight, *window)
        dtype = out_dtype if out_dtype is not None else rules.common_dtype(at, data=x, weight=w)
        if x.dims is None or w.dims is None:
            return s.TensorStructInfo(None, dtype, rank_of(out_layout))
        size, kernel = lengths_of(data_layout, x.dims), lengths_of(kernel_layout, w.dims)
        _check_channels(at, size["C"], kernel["I"], kernel["O"], groups)
        lengths = cls.output(size, kernel, strides, padding, dilation)
        need_fit(at, cls.spatial, size, lengths, data=f"this is {x}", weight=f"this is {w}")
        return s.TensorStructInfo(dims_of(out_layout, lengths), dtype)

    @classmethod
    def output(
        cls,
        size: dict[str, p.PrimExpr],
        kernel: dict[str, p.PrimExpr],
        strides: Ints,
        padding: Ints,
        dilation: Ints,
    ) -> dict[str, p.PrimExpr]:
        """The lengths of the result by axis."""
        rank = len(cls.spatial)
        steps = zip(cls.spatial, each(strides, rank), each(dilation, rank), pads(padding, rank), strict=True)
        made = {axis: window_count(size[axis], kernel[axis], step, d, pad) for axis, step, d, pad in steps}
        return {"N": size["N"], "C": kernel["O"], **made}

    @classmethod
    def evaluate(
        cls, data: Array, weight: Array, strides: Ints, padding: Ints, dilation: Ints, groups: int, data_layout: str, kernel_layout: str,
        out_layout: str | None, out_dtype: DType | None,
    ) -> Array:  # fmt: skip
        """A product of windows and kernels for each group."""
        rank = len(cls.spatial)
        dtype = out_dtype.to_numpy() if out_dtype is not None else data.dtype
        x, w = cls.in_axes(data, weight, data_layout, kernel_layout, dtype)
        x = padded(x, range(2, rank + 2), pads(padding, rank), 0)
        views = windows(x, w.shape[2:], each(strides, rank), each(dilation, rank))
        result = product(views, w, groups)
        return tiled(result, f"NC{cls.spatial}", out_layout or data_layout).astype(dtype, copy=False)

    @classmethod
    def legalize(
        cls, te: Te, data: Tensor, weight: Tensor, strides: Ints, padding: Ints, dilation: Ints, groups: int, data_layout: str,
        kernel_layout: str, out_layout: str | None, out_dtype: DType | None,
    ) -> Tensor | None:  # fmt: skip
        """Padded images, then a sum over the channels of the group and the window."""
        rank, result_layout, axes = len(cls.spatial), out_layout or data_layout, f"NC{cls.spatial}"
        data, data_layout = plain_stage(te, data, data_layout, axes)
        weight, kernel_layout = plain_stage(te, weight, kernel_layout, f"OI{cls.spatial}")
        out_layout = result_layout if is_plain(result_layout) else axes
        size, kernel = by_axis(data_layout, data.shape), by_axis(kernel_layout, weight.shape)
        dtype, places = out_dtype or data.dtype, [data_layout.index(axis) for axis in cls.spatial]
        source = pad_stage(te, data, places, pads(padding, rank), p.as_prim(0, data.dtype))
        shape = ordered(out_layout, cls.output(size, kernel, strides, padding, dilation))
        steps = dict(
            zip(cls.spatial, zip(each(strides, rank), each(dilation, rank), strict=True), strict=True)
        )
        per_group = simplify(p.FloorDiv(kernel["O"], p.IntImm(groups)))

        def body(*i: p.PrimExpr) -> p.PrimExpr:
            out, over = by_axis(out_layout, i[: rank + 2]), by_axis(f"I{cls.spatial}", i[rank + 2 :])
            group = p.Mul(p.FloorDiv(out["C"], per_group), kernel["I"])
            place = {"N": out["N"], "C": over["I"] if groups == 1 else p.Add(group, over["I"])}
            for axis, (step, d) in steps.items():
                moved = out[axis] if step == 1 else p.Mul(out[axis], p.IntImm(step))
                place[axis] = p.Add(moved, over[axis] if d == 1 else p.Mul(over[axis], p.IntImm(d)))
            element = source[ordered(data_layout, place)]
            return p.Mul(
                cast(element, dtype), cast(weight[ordered(kernel_layout, {"O": out["C"], **over})], dtype)
            )

        name = f"conv{rank}d_{data_layout.lower()}"
        result = te.sum(name, shape, ordered(f"I{cls.spatial}", kernel), body, dtype)
        return tiled_stage(te, result, out_layout, result_layout)


def _check_channels(at: Site, have: p.PrimExpr, taken: p.PrimExpr, kernels: p.PrimExpr, groups: int) -> None:
    if at.equal(have, simplify(p.Mul(taken, p.IntImm(groups)))) is Answer.NO:
        text = f"data has {have} channels, and weight takes {taken} in each of {groups} groups"
        raise at.fail(codes.DIMS_DIFFER, text, data=f"{have} channels", weight=f"{taken} channels")
    if isinstance(kernels, p.IntImm) and kernels.value % groups:
        text = f"groups is {groups}, which does not divide the {kernels} kernels of weight"
        raise at.fail(codes.BAD_ATTRIBUTE, text, weight=f"{kernels} kernels")


def product(views: Array, w: Array, groups: int) -> Array:
    """Sums over channels and window: views (N, C, places…, window…) with kernels (O, I, window…).

    A column for each place, as long as a kernel, makes it a product of matrices (Chellapilla et al. 2006, im2col). Neighbouring
    places lie side by side in a row, as in the image, so a row is copied in long pieces.
    """
    rank = w.ndim - 2
    n, outputs, places, length = views.shape[0], w.shape[0], views.shape[2 : rank + 2], prod(w.shape[1:])
    rows = views.transpose(0, 1, *range(rank + 2, 2 * rank + 2), *range(2, rank + 2))
    columns = rows.reshape(n, groups, length, prod(places))
    result: Array = w.reshape(groups, outputs // groups, length) @ columns
    return result.reshape(n, outputs, *places)


class Conv1d(Convolution, name="relax.nn.conv1d", spatial="W"):
    """Cross-correlation of signals with kernels.

    Each element of the result is the sum of the products of a window, in all channels of a group, with a kernel; the kernel is
    not flipped.
    """

    source = "Dumoulin and Visin 2016"
    examples = (
        "f32[n,3,8] f32[4,3,3] padding=[1,2] -> f32[n,4,9]",
        "f32[2,4,9] f32[4,2,3] groups=2 strides=2 -> f32[2,4,4]",
        'f32[n,8,3] f32[4,3,3] dilation=2 data_layout="NWC" -> f32[n,4,4]',
        'f32[n,2,8,2] f32[4,4,3] data_layout="NCW2c" -> f32[n,2,6,2]',
    )


class Conv2d(Convolution, name="relax.nn.conv2d", spatial="HW"):
    """Cross-correlation of images with kernels.

    Each element of the result is the sum of the products of a window, in all channels of a group, with a kernel; the kernel is
    not flipped.
    """

    source = "Dumoulin and Visin 2016"
    examples = (
        "f32[n,3,8,8] f32[4,3,3,3] padding=[1,1,1,1] -> f32[n,4,8,8]",
        "f32[1,4,8,8] f32[4,2,3,3] groups=2 -> f32[1,4,6,6]",
        'f32[n,8,8,3] f32[3,3,3,4] strides=2 data_layout="NHWC" kernel_layout="HWIO" -> f32[n,3,3,4]',
        'f32[n,2,5,5,4] f32[2,2,3,3,4,3] data_layout="NCHW4c" kernel_layout="OIHW4i3o" out_layout="NHWC" -> f32[n,3,3,6]',
        'f32[n,3,5,5] f32[5,3,2,2] out_layout="NCHW4c" -> f32[n,2,4,4,4]',
    )


class Conv3d(Convolution, name="relax.nn.conv3d", spatial="DHW"):
    """Cross-correlation of volumes with kernels.

    Each element of the result is the sum of the products of a window, in all channels of a group, with a kernel; the kernel is
    not flipped.
    """

    source = "Dumoulin and Visin 2016"
    examples = (
        "f32[n,3,5,6,7] f32[4,3,3,3,3] padding=[1,1,1] -> f32[n,4,5,6,7]",
        "f32[1,4,4,5,6] f32[6,2,2,2,2] groups=2 strides=[1,2,2] -> f32[1,6,3,2,3]",
        'f32[n,5,5,5,2] f32[2,1,3,2,4] dilation=[2,1,2] data_layout="NDHWC" kernel_layout="DHWIO" -> f32[n,3,5,1,4]',
    )
