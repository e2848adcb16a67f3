"""Quantization: real numbers as small integers (or narrow floats) by a scale and a zero point, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import FLOAT32, INT8, DType
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import Fusion, Op, Site, attr, operand
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.ops.kit.te import Te, Tensor, call, cast, highest, lowest

_SCALES = ("float32", "float16")
_INTEGERS = ("int8", "uint8", "int16", "uint16")
_NARROW = (*_INTEGERS, "float8_e4m3fn", "float8_e5m2")
_STORED = (*_NARROW, "int32", "float16", "float32")
_ZERO_POINTS = (*_INTEGERS, "int32", "uint32", "float16")


class Quantized(Op):
    """Base of both operators: one scale and zero point for all elements, or one for each index of an axis."""

    data: Tensor = operand("the tensor")
    scale: Tensor = operand(
        "the size of one quantization step: one number, or a vector with one for each index along the axis"
    )
    zero_point: Tensor = operand(
        "the quantized value of 0: one number, or a vector with one for each index along the axis"
    )
    axis: int = attr(-1, "the axis; negative counts from the last")
    raises = (codes.AXIS_RANGE, codes.RANK_WRONG, codes.DIMS_DIFFER, codes.DTYPE_WRONG)
    fusion = Fusion.INJECTIVE
    stored: ClassVar[tuple[str, ...]]  # the dtypes of data
    made: ClassVar[tuple[str, ...]]  # the dtypes of the result
    stage: ClassVar[str]  # the name of the kernel's stage

    @classmethod
    def infer(
        cls, at: Site, data: s.StructInfo, scale: s.StructInfo, zero_point: s.StructInfo, axis: int, out_dtype: DType
    ) -> s.StructInfo:  # fmt: skip
        """The shape of data, in out_dtype."""
        if out_dtype.name not in cls.made:
            text = f"out_dtype is {out_dtype}, it must be one of {', '.join(cls.made)}"
            raise at.fail(codes.BAD_ATTRIBUTE, text)
        info = _operands(at, data, scale, zero_point, axis, cls.stored)
        return info if info.dtype is None else rules.like(info, out_dtype)

    @classmethod
    def evaluate(cls, data: Array, scale: Array, zero_point: Array, axis: int, out_dtype: DType) -> Array:
        """Computed in float32, then clamped."""
        step = _along(scale, data, axis).astype(np.float32)
        values = cls.values(data.astype(np.float32), step, _along(zero_point, data, axis), out_dtype)
        return _kept(values, out_dtype)

    @classmethod
    def legalize(
        cls, te: Te, data: Tensor, scale: Tensor, zero_point: Tensor, axis: int, out_dtype: DType
    ) -> Tensor:
        """Computed in float32, then clamped."""
        place = axis % max(data.ndim, 1)

        def element(*i: p.PrimExpr) -> p.PrimExpr:
            step, zero = cast(_at(scale, i, place), FLOAT32), cast(_at(zero_point, i, place), FLOAT32)
            value = cls.value(cast(data[i], FLOAT32), step, zero, out_dtype)
            least, most = cast(lowest(out_dtype), FLOAT32), cast(highest(out_dtype), FLOAT32)
            return cast(p.Max(p.Min(value, most), least), out_dtype)

        return te.compute(cls.stage, data.shape, element)

    @classmethod
    def values(cls, data: Array, scale: Array, zero_point: Array, out_dtype: DType) -> Array:
        """The result before it is clamped."""
        raise NotImplementedError

    @classmethod
    def value(
        cls, data: p.PrimExpr, scale: p.PrimExpr, zero_point: p.PrimExpr, out_dtype: DType
    ) -> p.PrimExpr:
        """The result before it is clamped, in a kernel."""
        raise NotImplementedError


class Quantize(Quantized, name="relax.quantize"):
    """round(data / scale) + zero_point, clamped to the range of out_dtype.

    Halves are rounded to even. For a float8 result, zero_point is added without rounding first.
    """

    source = "ONNX QuantizeLinear"
    stored, made, stage = _SCALES, _NARROW, "quantized"
    out_dtype: DType = attr(INT8, f"dtype of the result: {', '.join(_NARROW)}")
    examples = (
        "f32[n,4] f32[4] i8[4] axis=-1 -> i8[n,4]",
        'f32[2,n] f32[] u8[] out_dtype="uint8" -> u8[2,n]',
        'f16[2,3] f32[2] i8[2] axis=0 out_dtype="int8" -> i8[2,3]',
        'f32[n,4] f32[] i8[] out_dtype="float8_e4m3fn" -> f8[n,4]',
    )

    @classmethod
    def values(cls, data: Array, scale: Array, zero_point: Array, out_dtype: DType) -> Array:
        """Whole numbers for integers."""
        steps = data / scale
        return (np.rint(steps) if out_dtype.is_int else steps) + zero_point

    @classmethod
    def value(
        cls, data: p.PrimExpr, scale: p.PrimExpr, zero_point: p.PrimExpr, out_dtype: DType
    ) -> p.PrimExpr:
        """Whole numbers for integers."""
        steps = p.Div(data, scale)
        return p.Add(call("round", steps) if out_dtype.is_int else steps, zero_point)


class Dequantize(Quantized, name="relax.dequantize"):
    """(data - zero_point) * scale, computed in float32."""

    source = "ONNX DequantizeLinear"
    stored, made, stage = _STORED, ("float16", "float32"), "dequantized"
    out_dtype: DType = attr(FLOAT32, "dtype of the result: float16 or float32")
    examples = (
        "i8[n,4] f32[4] i8[4] axis=-1 -> f32[n,4]",
        "u8[2,n] f32[] u8[] -> f32[2,n]",
        'i8[2,3] f16[2] i8[2] axis=0 out_dtype="float16" -> f16[2,3]',
        "f8[n,4] f32[4] f16[] -> f32[n,4]",
    )

    @classmethod
    def values(cls, data: Array, scale: Array, zero_point: Array, out_dtype: DType) -> Array:
        """Steps from the zero point."""
        return (data - zero_point) * scale

    @classmethod
    def value(
        cls, data: p.PrimExpr, scale: p.PrimExpr, zero_point: p.PrimExpr, out_dtype: DType
    ) -> p.PrimExpr:
        """Steps from the zero point."""
        return p.Mul(p.Sub(data, zero_point), scale)


def _operands(
    at: Site,
    data: s.StructInfo,
    scale: s.StructInfo,
    zero_point: s.StructInfo,
    axis: int,
    kinds: Sequence[str],
) -> s.TensorStructInfo:
    """The data, after the checks of both operators; its dtype is unknown if any dtype is unknown."""
    info = rules.tensor(at, data, "data")
    parts = {
        "scale": rules.tensor(at, scale, "scale"),
        "zero_point": rules.tensor(at, zero_point, "zero_point"),
    }
    operands = {"data": info, **parts}
    if any(part.dtype is None for part in operands.values()):
        return rules.like(info, None)
    allowed = {"data": kinds, "scale": _SCALES, "zero_point": _ZERO_POINTS}
    for name, part in operands.items():
        if str(part.dtype) not in allowed[name]:
            message = f"{name} is {part.dtype}, one of {', '.join(allowed[name])} is needed"
            raise at.fail(codes.DTYPE_WRONG, message, **{name: f"dtype {part.dtype}"})
    if info.ndim < 0:
        hint = "state it with R.match_cast(…, R.Tensor(ndim=2))"
        raise at.fail(codes.RANK_WRONG, "the rank of data is not known", data=f"this is {info}", help=hint)
    place = rules.axis(at, axis, info.ndim) if info.ndim else 0
    for name, part in parts.items():
        _need_length(at, part, name, info, place)
    return info


def _need_length(at: Site, part: s.TensorStructInfo, name: str, info: s.TensorStructInfo, place: int) -> None:
    """Refuse an operand that is neither a single number nor provably as long as the axis."""
    if part.dims is not None and all(dim is rules.ONE for dim in part.dims):
        return
    if part.ndim > 1:
        text = f"{name} has rank {part.ndim}, 0 or 1 is needed"
        raise at.fail(codes.RANK_WRONG, text, **{name: f"this is {part}"})
    length = info.dims[place] if info.dims else None
    if part.dims is None or length is None or at.equal(part.dims[0], length) is not Answer.YES:
        has = f"has {part.dims[0]} numbers" if part.dims else "has no known length"
        text = "not known" if length is None else str(length)
        message = f"{name} {has}, 1 or the length of axis {place} of data, which is {text}, is needed"
        raise at.fail(codes.DIMS_DIFFER, message, **{name: f"this is {part}"})


def _along(part: Array, data: Array, axis: int) -> Array:
    """A number, or a vector laid along an axis of the data."""
    if part.size == 1 or data.ndim == 0:
        return part.reshape(())
    return part.reshape((-1,) + (1,) * (data.ndim - 1 - axis % data.ndim))


def _kept(values: Array, dtype: DType) -> Array:
    """As `dtype`, the nearest number it has for one outside."""
    from ml_dtypes import finfo

    kind = dtype.to_numpy()
    limits: Any = np.iinfo(kind) if dtype.is_int else finfo(kind)
    return np.clip(values, float(limits.min), float(limits.max)).astype(kind)


def _at(part: Tensor, i: tuple[p.PrimExpr, ...], place: int) -> p.PrimExpr:
    """The element of a scale or zero point that goes with the element at `i`."""
    if part.ndim == 0:
        return part[()]
    return part[rules.ZERO if part.shape[0] is rules.ONE else i[place]]
