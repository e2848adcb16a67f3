"""Convolution of signals, images and volumes, and its transpose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, ClassVar, Required, Unpack

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import DType
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
from relax_explorer.core.ops.kit.decl import Fusion, Ints, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.flop_count import FlopCount, products
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import wide
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, where
from relax_explorer.core.ops.kit.windows import (
    Numbers,
    Pads,
    Window,
    Windowed,
    Windows,
    all_of,
    border,
    each,
    every,
    in_order,
    need_fit,
    need_window,
    pad_stage,
    padded,
    views,
    windows_of,
)

Lengths = dict[str, p.PrimExpr]


class Attributes(Numbers, total=False):
    """The attributes of a convolution."""

    groups: Required[int]
    data_layout: Required[str]
    kernel_layout: Required[str]
    out_layout: Required[str | None]
    out_dtype: Required[DType | None]


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
    suffix: ClassVar[str] = ""  # of the stage's name; empty for the layout
    fusion = Fusion.OUT_ELEMENTWISE

    @classmethod
    def result(
        cls, at: Site, data: s.StructInfo, weight: s.StructInfo, groups: int, data_layout: str, kernel_layout: str,
        out_layout: str | None, out_dtype: DType | None, **numbers: Unpack[Numbers],
    ) -> s.StructInfo:  # fmt: skip
        """The StructInfo of the result, after checks of ranks and attributes."""
        x, w, rank = rules.tensor(at, data, "data"), rules.tensor(at, weight, "weight"), len(cls.spatial)
        out_layout = data_layout if out_layout is None else out_layout
        need_layout(at, f"NC{cls.spatial}", data_layout=data_layout, out_layout=out_layout)
        need_layout(at, f"{cls.kernel_axes}{cls.spatial}", kernel_layout=kernel_layout)
        need_window(at, rank, **numbers)
        if groups <= 0:
            raise at.fail(codes.BAD_ATTRIBUTE, f"groups is {groups}, at least 1 is needed")
        need_layout_rank(at, data_layout, x, "data")
        need_layout_rank(at, kernel_layout, w, "weight")
        _check_output_padding(at, rank, **numbers)
        dtype = out_dtype if out_dtype is not None else rules.common_dtype(at, data=x, weight=w)
        if x.dims is None or w.dims is None:
            return s.TensorStructInfo(None, dtype, rank_of(out_layout))
        size, kernel = lengths_of(data_layout, x.dims), lengths_of(kernel_layout, w.dims)
        cls.check_channels(at, size["C"], kernel, groups)
        lengths = cls.output(size, kernel, windows_of(cls.spatial, numbers), groups)
        need_fit(at, cls.spatial, size, lengths, data=f"this is {x}", weight=f"this is {w}")
        return s.TensorStructInfo(dims_of(out_layout, lengths), dtype)

    @classmethod
    def evaluate(
        cls, data: Array, weight: Array, groups: int, data_layout: str, kernel_layout: str, out_layout: str | None, out_dtype: DType | None,
        **numbers: Unpack[Numbers],
    ) -> Array:  # fmt: skip
        """Computed at least in float32, with channels first."""
        axes, dtype = f"NC{cls.spatial}", out_dtype.to_numpy() if out_dtype is not None else data.dtype
        x = plain(data, data_layout, axes).astype(dtype, copy=False)
        w = plain(weight, kernel_layout, f"{cls.kernel_axes}{cls.spatial}").astype(dtype, copy=False)
        made = cls.products(wide(x), wide(w), list(windows_of(cls.spatial, numbers).values()), groups)
        return tiled(made, axes, out_layout or data_layout).astype(dtype, copy=False)

    @classmethod
    def legalize(
        cls, te: Te, data: Tensor, weight: Tensor, groups: int, data_layout: str, kernel_layout: str, out_layout: str | None,
        out_dtype: DType | None, **numbers: Unpack[Numbers],
    ) -> Tensor:  # fmt: skip
        """A sum over the channels of the group and the taps of the kernel."""
        rank, result_layout, axes = len(cls.spatial), out_layout or data_layout, f"NC{cls.spatial}"
        data, data_layout = plain_stage(te, data, data_layout, axes)
        weight, kernel_layout = plain_stage(te, weight, kernel_layout, f"{cls.kernel_axes}{cls.spatial}")
        out_layout = result_layout if is_plain(result_layout) else axes
        size, kernel = by_axis(data_layout, data.shape), by_axis(kernel_layout, weight.shape)
        dtype, windows = out_dtype or data.dtype, windows_of(cls.spatial, numbers)
        source = cls.bordered(te, data, data_layout, windows)
        shape = ordered(out_layout, cls.output(size, kernel, windows, groups))

        def body(*i: p.PrimExpr) -> p.PrimExpr:
            out, over = by_axis(out_layout, i[: rank + 2]), by_axis(f"I{cls.spatial}", i[rank + 2 :])
            place, kernel_place, tests = cls.tap(out, over, size, kernel, windows, groups)
            taken = cast(source[ordered(data_layout, place)], dtype)
            term = p.Mul(taken, cast(weight[ordered(kernel_layout, kernel_place)], dtype))
            return where(all_of(tests), term, p.as_prim(0, dtype)) if tests else term

        lengths = ordered(f"I{cls.spatial}", {**kernel, "I": cls.inputs(kernel, groups)})
        result = te.sum(f"conv{rank}d_{cls.suffix or data_layout.lower()}", shape, lengths, body, dtype)
        return tiled_stage(te, result, out_layout, result_layout)

    # The hooks of the kinds of convolution. `size` and `kernel` have the lengths of data and kernels by axis.

    @classmethod
    def check_channels(cls, at: Site, have: p.PrimExpr, kernel: Lengths, groups: int) -> None:
        """Refuse kernels for another number of channels than data has, and groups that do not divide the channels."""

    @classmethod
    def output(cls, size: Lengths, kernel: Lengths, windows: Windows, groups: int) -> Lengths:
        """The lengths of the result by axis."""
        raise NotImplementedError

    @classmethod
    def products(cls, x: Array, w: Array, windows: list[Window], groups: int) -> Array:
        """The result for arrays with channels first."""
        raise NotImplementedError

    @classmethod
    def bordered(cls, te: Te, data: Tensor, layout: str, windows: Windows) -> Tensor:
        """The tensor whose elements are multiplied."""
        return data

    @classmethod
    def inputs(cls, kernel: Lengths, groups: int) -> p.PrimExpr:
        """The number of channels of data that each element of the result depends on."""
        raise NotImplementedError

    @classmethod
    def tap(
        cls, out: Lengths, over: Lengths, size: Lengths, kernel: Lengths, windows: Windows, groups: int
    ) -> tuple[Lengths, Lengths, list[p.PrimExpr]]:
        """The factors of a term: indices of data and of kernels by axis, and the tests that the element of data exists.

        `out` is the element of the result, `over` the channel of the group and the tap of the kernel.
        """
        raise NotImplementedError


class Convolution(Product):
    """Base of the convolutions."""

    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG, codes.DIMS_DIFFER)
    stops = Stops.RELATIONS
    left_out = ("output_padding",)

    @classmethod
    def infer(
        cls, at: Site, data: s.StructInfo, weight: s.StructInfo, **attributes: Unpack[Attributes]
    ) -> s.StructInfo:
        """Like data, with a channel for each kernel and, along each axis of space,
        (length + padding before and after - dilation * (kernel - 1) - 1) // stride + 1; the dtype is out_dtype.
        """
        return cls.result(at, data, weight, **attributes)

    @classmethod
    def flops(
        cls, out: s.StructInfo, data: s.StructInfo, weight: s.StructInfo, **attributes: Unpack[Attributes]
    ) -> FlopCount | None:
        """A product and an addition for each channel and tap of the kernel of each element of the result."""
        dims = weight.lengths if isinstance(weight, s.TensorStructInfo) else None
        layout = attributes["kernel_layout"]
        if dims is None or {len(dims), len(s.lengths(out))} != {
            len(layout)
        }:  # of channels in blocks its loops tell
            return None
        return products(out, [dim for dim, axis in zip(dims, layout, strict=True) if axis != "O"])

    @classmethod
    def runs_by_kernel(cls, attrs: Mapping[str, Any]) -> bool:
        """With groups: their products are small."""
        return bool(attrs.get("groups", 1) > 1)

    @classmethod
    def check_channels(cls, at: Site, have: p.PrimExpr, kernel: Lengths, groups: int) -> None:
        """Each group takes as many channels as a kernel has, and has equally many kernels."""
        taken, kernels = kernel["I"], kernel["O"]
        if at.equal(have, simplify(p.Mul(taken, p.IntImm(groups)))) is Answer.NO:
            text = f"data has {have} channels, and weight takes {taken} in each of {groups} groups"
            raise at.fail(codes.DIMS_DIFFER, text, data=f"{have} channels", weight=f"{taken} channels")
        if isinstance(kernels, p.IntImm) and kernels.value % groups:
            text = f"groups is {groups}, which does not divide the {kernels} kernels of weight"
            raise at.fail(codes.BAD_ATTRIBUTE, text, weight=f"{kernels} kernels")

    @classmethod
    def output(cls, size: Lengths, kernel: Lengths, windows: Windows, groups: int) -> Lengths:
        """A channel for each kernel, an element for each window."""
        counts = {axis: window.count(size[axis], kernel[axis]) for axis, window in windows.items()}
        return {"N": size["N"], "C": kernel["O"], **counts}

    @classmethod
    def products(cls, x: Array, w: Array, windows: list[Window], groups: int) -> Array:
        """A product of windows and kernels for each group."""
        x = padded(x, range(2, x.ndim), [window.pad for window in windows], 0)
        return product(views(x, w.shape[2:], windows), w, groups)

    @classmethod
    def bordered(cls, te: Te, data: Tensor, layout: str, windows: Windows) -> Tensor:
        """The data with zeros around it."""
        ends = {layout.index(axis): window.pad for axis, window in windows.items()}
        return pad_stage(te, data, ends, p.as_prim(0, data.dtype))

    @classmethod
    def inputs(cls, kernel: Lengths, groups: int) -> p.PrimExpr:
        """The channels of a kernel."""
        return kernel["I"]

    @classmethod
    def tap(
        cls, out: Lengths, over: Lengths, size: Lengths, kernel: Lengths, windows: Windows, groups: int
    ) -> tuple[Lengths, Lengths, list[p.PrimExpr]]:
        """An element of the window, and the kernel of the result's channel."""
        group = p.FloorDiv(out["C"], simplify(p.FloorDiv(kernel["O"], p.IntImm(groups))))
        channel = over["I"] if groups == 1 else p.Add(p.Mul(group, kernel["I"]), over["I"])
        place = {"N": out["N"], "C": channel}
        for axis, window in windows.items():
            step, d = window.stride, window.dilation
            moved = out[axis] if step == 1 else p.Mul(out[axis], p.IntImm(step))
            place[axis] = p.Add(moved, over[axis] if d == 1 else p.Mul(over[axis], p.IntImm(d)))
        return place, {**over, "O": out["C"]}, []


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


# -- conv transpose --------------------------------------------------------------------------------------------------
# Transposed convolution: the gradient of a convolution, which enlarges signals, images and volumes.


class Transposed(Product):
    """Base of the transposed convolutions. Windows lie in the result, and padding is removed from it."""

    raises = (codes.DTYPES_DIFFER, codes.RANK_WRONG, codes.DIMS_DIFFER)
    stops = Stops.LENGTHS
    padding: Ints = attr(
        border(0),
        "elements removed around the result: one number, one for each axis, or all before and then all after; at least 0",
        unit="elements",
    )
    kernel_layout: str = attr(
        in_order("IO"),
        "order of the axes of weight: I channels of data, O channels of the result, the others space",
    )
    kernel_axes, suffix = "IO", "transpose"

    @classmethod
    def infer(
        cls, at: Site, data: s.StructInfo, weight: s.StructInfo, **attributes: Unpack[Attributes]
    ) -> s.StructInfo:
        """Like data, with O * groups channels and, along each axis of space,
        (length - 1) * stride + dilation * (kernel - 1) + 1 + output_padding - padding before and after; the dtype is out_dtype.
        """
        return cls.result(at, data, weight, **attributes)

    @classmethod
    def check_channels(cls, at: Site, have: p.PrimExpr, kernel: Lengths, groups: int) -> None:
        """There is a kernel for each channel, and each group has equally many of them."""
        taken = kernel["I"]
        if at.equal(have, taken) is Answer.NO:
            text = f"data has {have} channels, and weight takes {taken}"
            raise at.fail(codes.DIMS_DIFFER, text, data=f"{have} channels", weight=f"{taken} channels")
        if any(isinstance(count, p.IntImm) and count.value % groups for count in (have, taken)):
            text = f"groups is {groups}, which does not divide the {have} channels of data"
            raise at.fail(codes.BAD_ATTRIBUTE, text, data=f"{have} channels")

    @classmethod
    def output(cls, size: Lengths, kernel: Lengths, windows: Windows, groups: int) -> Lengths:
        """The channels of all groups, and room for a kernel at each element of data."""
        lengths = {"N": size["N"], "C": simplify(p.Mul(kernel["O"], p.IntImm(groups)))}
        for axis, window in windows.items():
            moved = p.Mul(p.Sub(size[axis], rules.ONE), p.IntImm(window.stride))
            span = p.Mul(p.Sub(kernel[axis], rules.ONE), p.IntImm(window.dilation))
            further = p.IntImm(window.further + 1 - sum(window.pad))
            lengths[axis] = simplify(p.Add(p.Add(moved, span), further))
        return lengths

    @classmethod
    def products(cls, x: Array, w: Array, windows: list[Window], groups: int) -> Array:
        """A convolution of the data, spread by the strides, with the kernels flipped."""
        spans = [(k - 1) * window.dilation for k, window in zip(w.shape[2:], windows, strict=True)]
        ends = [
            (span - window.pad[0], span - window.pad[1] + window.further)
            for span, window in zip(spans, windows, strict=True)
        ]
        spread = _spread(x, [window.stride for window in windows], ends)
        taken = views(spread, w.shape[2:], [replace(window, stride=1) for window in windows])
        return _product(taken, np.flip(w, tuple(range(2, w.ndim))), groups)

    @classmethod
    def inputs(cls, kernel: Lengths, groups: int) -> p.PrimExpr:
        """The kernels of a group."""
        return simplify(p.FloorDiv(kernel["I"], p.IntImm(groups)))

    @classmethod
    def tap(
        cls, out: Lengths, over: Lengths, size: Lengths, kernel: Lengths, windows: Windows, groups: int
    ) -> tuple[Lengths, Lengths, list[p.PrimExpr]]:
        """The element of data whose kernel reaches the result with this tap, if there is one."""
        channel, output = over["I"], out["C"]
        if groups > 1:
            channel = p.Add(p.Mul(p.FloorDiv(output, kernel["O"]), cls.inputs(kernel, groups)), channel)
            output = p.FloorMod(output, kernel["O"])
        place, tests = {"N": out["N"], "C": channel}, []
        for axis, window in windows.items():
            start, place[axis], own = window.reaching(out[axis], over[axis], size[axis])
            tests += [p.GE(start, rules.ZERO), *own]
        return place, {**over, "I": channel, "O": output}, tests


def _check_output_padding(
    at: Site, rank: int, *, strides: Ints, output_padding: Ints = (0,), **rest: object
) -> None:
    numbers = output_padding if isinstance(output_padding, tuple) else (output_padding,)
    if len(numbers) not in (1, rank):
        wanted = "1 is" if rank == 1 else f"1 or {rank} are"
        raise at.fail(codes.BAD_ATTRIBUTE, f"output_padding has {len(numbers)} numbers, {wanted} needed")
    if any(not 0 <= n < step for n, step in zip(each(numbers, rank), each(strides, rank), strict=True)):
        raise at.fail(
            codes.BAD_ATTRIBUTE,
            f"output_padding is {list(numbers)}, numbers from 0 on and below the strides are needed",
        )


def _spread(x: Array, strides: Sequence[int], ends: Pads) -> Array:
    """Zeros between the elements, and around them where `ends` are positive; negative `ends` remove elements."""
    lengths = [(n - 1) * step + 1 for n, step in zip(x.shape[2:], strides, strict=True)]
    spaced: Any = np.zeros((*x.shape[:2], *[max(length, 0) for length in lengths]), x.dtype)
    spaced[(..., *[slice(None, None, step) for step in strides])] = x
    # There is one gap fewer than elements; without elements the length would be negative.
    around = [(a, b + min(length, 0)) for (a, b), length in zip(ends, lengths, strict=True)]
    return padded(spaced, range(2, spaced.ndim), around, 0)


def _product(views: Array, w: Array, groups: int) -> Array:
    """Sums over channels and window with kernels (I, O, window…), like a convolution with flipped kernels."""
    inputs, outputs, *window = w.shape
    grouped = w.reshape(groups, inputs // groups, outputs, *window).swapaxes(1, 2)
    return product(views, grouped.reshape(groups * outputs, inputs // groups, *window), groups)


class Conv1dTranspose(Transposed, name="relax.nn.conv1d_transpose", spatial="W"):
    """Transposed cross-correlation of signals with kernels.

    Each element multiplies the kernels of its channel; the products, `strides` apart, are added up. This is the gradient of
    `nn.conv1d` with respect to its data.
    """

    source = "Dumoulin and Visin 2016"
    examples = (
        "f32[n,3,6] f32[3,4,3] -> f32[n,4,8]",
        "f32[2,4,5] f32[4,2,3] groups=2 strides=2 padding=[1,1] output_padding=1 -> f32[2,4,10]",
        'f32[n,5,3] f32[3,4,3] dilation=2 data_layout="NWC" -> f32[n,9,4]',
    )


class Conv2dTranspose(Transposed, name="relax.nn.conv2d_transpose", spatial="HW"):
    """Transposed cross-correlation of images with kernels.

    Each element multiplies the kernels of its channel; the products, `strides` apart, are added up. This is the gradient of
    `nn.conv2d` with respect to its data.
    """

    source = "Dumoulin and Visin 2016"
    examples = (
        "f32[n,3,4,5] f32[3,4,3,3] -> f32[n,4,6,7]",
        "f32[1,4,4,4] f32[4,3,3,3] groups=2 strides=[2,2] padding=[1,1,1,1] output_padding=[1,1] -> f32[1,6,8,8]",
        "f32[1,2,3,3] f32[2,3,2,2] padding=[1,1] -> f32[1,3,2,2]",
        'f32[n,2,3,3,2] f32[2,2,2,2,2,3] data_layout="NCHW2c" kernel_layout="IOHW2i3o" -> f32[n,3,4,4,2]',
    )


class Conv3dTranspose(Transposed, name="relax.nn.conv3d_transpose", spatial="DHW"):
    """Transposed cross-correlation of volumes with kernels.

    Each element multiplies the kernels of its channel; the products, `strides` apart, are added up. This is the gradient of
    `nn.conv3d` with respect to its data.
    """

    source = "Dumoulin and Visin 2016"
    examples = (
        "f32[n,3,2,3,4] f32[3,4,3,3,3] -> f32[n,4,4,5,6]",
        "f32[1,4,2,2,3] f32[4,3,2,3,2] groups=2 strides=2 padding=[0,1,0] output_padding=[1,0,1] -> f32[1,6,5,3,7]",
        'f32[n,2,2,2,3] f32[3,4,2,2,2] dilation=2 data_layout="NDHWC" -> f32[n,4,4,4,4]',
    )
