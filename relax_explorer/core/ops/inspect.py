"""What a tensor is at run time: its rank, lengths, strides, dtype and place in memory, as scalars."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType, dtype, from_numpy
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.decl import Op, Prim, Site, operand
from relax_explorer.core.ops.memory import need_scalar
from relax_explorer.core.ops.te import Tensor
from relax_explorer.core.ops.view import byte_offset

UINT8, UINT16, UINT64, INT32 = dtype("uint8"), dtype("uint16"), dtype("uint64"), dtype("int32")
# How DLPack numbers the kinds of element types.
_CODES = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "bool": 6}
_FLOAT8 = (
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
)  # fmt: skip
_SMALL = {name: 7 + n for n, name in enumerate(_FLOAT8)}


class Inspected(Op):
    """Base of the questions about a tensor: one scalar."""

    result: DType
    tensor: Tensor = operand("the tensor")
    no_legalize = "it asks for the tensor's description, no element is read"


class AboutDtype(Inspected):
    """Base of the questions that an Object is asked too, as TVM does."""

    @classmethod
    def infer(cls, at: Site, tensor: s.StructInfo) -> s.StructInfo:
        """A scalar, of the dtype that the runtime gives it."""
        if not isinstance(tensor, (s.TensorStructInfo, s.ObjectStructInfo)):
            text = f"tensor is {tensor}, a tensor is needed"
            raise at.fail(codes.WRONG_KIND, text, tensor=f"this is {tensor}")
        return s.PrimStructInfo(cls.result)


def _kind(array: Any) -> DType:
    found = from_numpy(array.dtype)
    assert found is not None  # run-time tensors are of dtypes that the language has
    return found


class DtypeCode(AboutDtype, name="relax.inspect.tensor_dtype_code"):
    """The kind of a tensor's elements as DLPack numbers it: int 0, uint 1, float 2, bfloat 4, bool 6 (DLPack)."""

    result = UINT8
    examples = ("i32[n,4] -> scalar(uint8)", "bool[] -> scalar(uint8)")

    @staticmethod
    def evaluate(tensor: Any) -> Any:
        """From the array's dtype."""
        kind = _kind(tensor)
        return np.uint8(_SMALL.get(kind.name, _CODES.get(kind.kind, 3)))


class DtypeBits(AboutDtype, name="relax.inspect.tensor_dtype_bits"):
    """How many bits an element of a tensor has; a bool has 8, as it is stored (DLPack)."""

    result = UINT8
    examples = ("i32[n,4] -> scalar(uint8)", "f16[] -> scalar(uint8)")

    @staticmethod
    def evaluate(tensor: Any) -> Any:
        """From the array's dtype."""
        kind = _kind(tensor)
        return np.uint8(8 if kind.is_bool else kind.bits)


class DtypeLanes(AboutDtype, name="relax.inspect.tensor_dtype_lanes"):
    """How many numbers an element of a tensor has: 1, for elements are no vectors (DLPack)."""

    result = UINT16
    examples = ("f32[n,4] -> scalar(uint16)", "i8[?,?] -> scalar(uint16)")

    @staticmethod
    def evaluate(tensor: Any) -> Any:
        """From the array's dtype."""
        return np.uint16(_kind(tensor).lanes)


class Ndim(AboutDtype, name="relax.inspect.tensor_ndim"):
    """How many axes a tensor has (numpy.ndim)."""

    result = INT32
    examples = ("f32[n,4] -> scalar(int32)", "f32 -> scalar(int32)")

    @staticmethod
    def evaluate(tensor: Any) -> Any:
        """From the array."""
        return np.int32(tensor.ndim)


class AtAxis(Inspected):
    """Base of the questions about one axis."""

    result = INT64
    axis: Prim = operand("the axis, from 0 on; an axis known only when it runs is checked then")

    @staticmethod
    def infer(at: Site, tensor: s.StructInfo, axis: s.StructInfo) -> s.StructInfo:
        """A scalar of int64."""
        info = rules.tensor(at, tensor, "tensor")
        number = need_scalar(at, axis, "axis")
        if isinstance(number, p.IntImm) and not 0 <= number.value < (
            info.ndim if info.ndim >= 0 else 1 << 30
        ):
            rank = f", the tensor has rank {info.ndim}" if info.ndim >= 0 else ""
            hint = f"use 0 to {info.ndim - 1}" if info.ndim > 0 else "use an axis that exists, from 0 on"
            raise at.fail(codes.AXIS_RANGE, f"axis is {number}{rank}", axis=f"this is {number}", help=hint)
        return s.PrimStructInfo(INT64)

    @staticmethod
    def _axis(tensor: Any, axis: Any) -> int:
        if not 0 <= axis < tensor.ndim:
            raise IndexError(f"axis is {axis}, the tensor has rank {tensor.ndim}; an axis counts from 0")
        return int(axis)


class ShapeI(AtAxis, name="relax.inspect.tensor_shape_i"):
    """The length of one axis of a tensor (DLPack)."""

    examples = ("f32[n,4] 0 -> scalar(int64)", "f32[?,?] 1 -> scalar(int64)")

    @staticmethod
    def evaluate(tensor: Any, axis: Any) -> Any:
        """From the array."""
        return np.int64(tensor.shape[AtAxis._axis(tensor, axis)])


class StrideI(AtAxis, name="relax.inspect.tensor_stride_i"):
    """How many elements lie between neighbours along one axis of a tensor (DLPack).

    Tensors are compact, so it is the product of the lengths of the axes after it.
    """

    examples = ("f32[n,4] 0 -> scalar(int64)", "f32[n,m] 1 -> scalar(int64)")

    @staticmethod
    def evaluate(tensor: Any, axis: Any) -> Any:
        """The product of the lengths after it, however numpy happens to hold the array."""
        return np.int64(np.prod(tensor.shape[AtAxis._axis(tensor, axis) + 1 :], dtype=np.int64))


class Offset(Inspected):
    """Base of the questions where a tensor starts."""

    result = UINT64
    examples = ("f32[n,4] -> scalar(uint64)", "f32 -> scalar(uint64)")

    @staticmethod
    def infer(at: Site, tensor: s.StructInfo) -> s.StructInfo:
        """A scalar of uint64."""
        rules.tensor(at, tensor, "tensor")
        return s.PrimStructInfo(UINT64)


class ByteOffset(Offset, name="relax.inspect.tensor_byte_offset"):
    """Where a tensor starts in its memory, in bytes; only views start elsewhere than at 0 (DLPack)."""

    @staticmethod
    def evaluate(tensor: Any) -> Any:
        """As the view was made."""
        return np.uint64(byte_offset(tensor))


class ElemOffset(Offset, name="relax.inspect.tensor_elem_offset"):
    """Where a tensor starts in its memory, in elements; only views start elsewhere than at 0 (DLPack)."""

    @staticmethod
    def evaluate(tensor: Any) -> Any:
        """As the view was made, rounded down to whole elements."""
        return np.uint64(byte_offset(tensor) // tensor.dtype.itemsize)
