"""Padding of tensors."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from relax_explorer.core.arith.simplify import simplify
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import REQUIRED, Fusion, Ints, Op, Site, Stops, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.special import BadValue
from relax_explorer.core.ops.kit.te import Te, Tensor, cast, where
from relax_explorer.core.ops.kit.windows import Pads, pad_stage, padded


class Pad(Op, name="relax.nn.pad"):
    """The tensor with a border around it: a constant, or elements of the tensor itself.

    `reflect` mirrors at the first and last element without repeating it, `replicate` repeats it (numpy's edge), `circular` continues
    at the other end (numpy's wrap).
    """

    source = "numpy.pad"
    stops = Stops.LENGTHS
    data: Tensor = operand("the tensor")
    pad_width: Ints = attr(
        REQUIRED,
        "the padding before and after each axis: [before 0, after 0, before 1, …]; negative numbers cut elements off",
        unit="elements",
    )
    pad_mode: str | None = attr("constant", "constant, reflect, replicate or circular")
    pad_value: float | None = attr(0.0, "the constant, converted to the dtype of data; 0 when None")
    printed_order: ClassVar[tuple[str, ...]] = ("pad_width", "pad_value", "pad_mode")
    fusion = Fusion.INJECTIVE
    examples = (
        "f32[n,4] pad_width=[0,0,1,2] -> f32[n,7]",
        'f32[3,4] pad_width=[1,2,1,0] pad_mode="reflect" -> f32[6,5]',
        'f32[3,4] pad_width=[1,2,1,0] pad_mode="replicate" -> f32[6,5]',
        'f32[3,4] pad_width=[1,2,1,0] pad_mode="circular" -> f32[6,5]',
        "f32[n,4] pad_width=[1,0,-1,2] pad_value=2.0 -> f32[n+1,5]",
        'f32[3,4] pad_width=[-1,2,1,-2] pad_mode="reflect" -> f32[4,3]',
    )

    @staticmethod
    def infer(
        at: Site, data: s.StructInfo, pad_width: Ints, pad_mode: str | None, pad_value: float | None
    ) -> s.StructInfo:
        """The lengths of data plus those of the border, the dtype of data."""
        info = rules.tensor(at, data, "data")
        if info.ndim < 0 or len(pad_width) != 2 * info.ndim:
            axes = f"the {info.ndim} axes" if info.ndim >= 0 else "the unknown number of axes"
            text = f"pad_width has {len(pad_width)} numbers, two for each of {axes} of data are needed"
            raise at.fail(codes.BAD_ATTRIBUTE, text, data=f"this is {info}")
        if pad_mode not in _PAD_MODES:
            raise at.fail(
                codes.BAD_ATTRIBUTE, f"pad_mode is {pad_mode!r}, it must be one of {', '.join(_PAD_MODES)}"
            )
        if info.dims is None:
            return info
        ends = pads_by_axis(pad_width)
        lengths = [simplify(p.Add(dim, p.IntImm(sum(pad)))) for dim, pad in zip(info.dims, ends, strict=True)]
        for dim, length, pad in zip(info.dims, lengths, ends, strict=True):
            if isinstance(length, p.IntImm) and length.value < 0:
                text = f"pad_width cuts {-sum(pad)} elements off an axis of data that has {dim}"
                raise at.fail(codes.BAD_ATTRIBUTE, text, data=f"this is {info}")
        return s.TensorStructInfo(tuple(lengths), info.dtype)

    @staticmethod
    def evaluate(data: Array, pad_width: Ints, pad_mode: str, pad_value: float | None) -> Array:
        """The constant outside, or elements at indices that are folded back."""
        ends = pads_by_axis(pad_width)
        if pad_mode == "constant":
            return padded(data, range(data.ndim), ends, np.asarray(pad_value or 0).astype(data.dtype)).copy()
        result = data
        for axis, (length, (before, after)) in enumerate(zip(data.shape, ends, strict=True)):
            index = np.arange(-before, length + after)
            if length:
                result = np.take(result, _folded_array(index, length, pad_mode), axis)
            elif index.size:
                text = f"axis {axis} of data has length 0, so there is no element to repeat"
                raise BadValue(text)
        return result.copy()

    @staticmethod
    def legalize(te: Te, data: Tensor, pad_width: Ints, pad_mode: str, pad_value: float | None) -> Tensor:
        """The constant outside, or the element that the index is folded back to."""
        ends = pads_by_axis(pad_width)
        if pad_mode == "constant":
            value = cast(p.FloatImm(float(pad_value or 0)), data.dtype)
            made = pad_stage(te, data, dict(enumerate(ends)), value)
            return te.compute("PadInput", data.shape, lambda *i: data[i]) if made is data else made
        shape = [simplify(p.Add(dim, p.IntImm(sum(pad)))) for dim, pad in zip(data.shape, ends, strict=True)]

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            moved = [simplify(p.Sub(v, p.IntImm(pad[0]))) for v, pad in zip(i, ends, strict=True)]
            return data[[_folded(v, dim, pad_mode) for v, dim in zip(moved, data.shape, strict=True)]]

        return te.compute("PadInput", shape, element)


def pads_by_axis(pad_width: Ints) -> Pads:
    """The widths as pairs (before, after), one for each axis."""
    return tuple(zip(pad_width[::2], pad_width[1::2], strict=True))


def _folded(v: p.PrimExpr, length: p.PrimExpr, mode: str) -> p.PrimExpr:
    last = simplify(p.Sub(length, rules.ONE))
    if mode == "replicate":
        return p.Max(p.Min(v, last), rules.ZERO)
    if mode == "circular":
        return p.FloorMod(v, length)
    back = p.FloorMod(v, simplify(p.Mul(last, p.IntImm(2))))  # one way and back again
    return where(
        p.LT(last, rules.ONE), rules.ZERO, p.Min(back, simplify(p.Sub(p.Mul(last, p.IntImm(2)), back)))
    )


def _folded_array(index: Array, length: int, mode: str) -> Array:
    """Like `_folded`, for an array of indices."""
    if mode == "replicate":
        return np.clip(index, 0, length - 1)
    if mode == "circular":
        return index % length
    back = index % max(2 * (length - 1), 1)
    return np.minimum(back, 2 * (length - 1) - back) if length > 1 else np.zeros_like(index)


_PAD_MODES = ("constant", "reflect", "replicate", "circular")
