"""Properties of a tensor at run time, as scalars: rank, lengths, strides, dtype and position in memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.attrs import Attrs
from relax_explorer.core.ir.dtype import BOOL, HANDLE, INT32, INT64, DType, dtype, from_numpy
from relax_explorer.core.ops.kit import rules, te
from relax_explorer.core.ops.kit.decl import Op, Prim, Site, operand
from relax_explorer.core.ops.kit.legalize import Emitter
from relax_explorer.core.ops.kit.ndarrays import Array, Number, Scalar
from relax_explorer.core.ops.kit.te import Tensor
from relax_explorer.core.ops.machine.storages import need_scalar
from relax_explorer.core.ops.machine.view import byte_offset
from relax_explorer.core.tir import stmt as t
from relax_explorer.core.tir.prim_expr import BufferLoad, PointerType
from relax_explorer.core.tir.stmt import Buffer

UINT8, UINT16, UINT64 = dtype("uint8"), dtype("uint16"), dtype("uint64")


# The fields of a tensor's descriptor for `T.tvm_struct_get` (TVMStructFieldKind in TVM's tirx/builtin.h).
SHAPE, STRIDES, NDIM, CODE, BITS, LANES, BYTE_OFFSET = range(2, 9)
_LENGTHS = PointerType(INT64)


def _field(handle: p.PrimVar, place: int, kind: DType | PointerType) -> p.PrimExpr:
    """A field of a tensor's descriptor."""
    last, dtype = (kind, HANDLE) if isinstance(kind, PointerType) else (p.PrimString(kind.name), kind)
    return p.PrimCall("tvm_struct_get", (handle, p.IntImm(0, INT32), p.IntImm(place, INT32), last), dtype)


def _returned(name: str, value: p.PrimExpr) -> list[t.Stmt]:
    var = p.PrimVar(name, value.dtype)
    return [t.LetStmt(var, value), t.Evaluate(p.PrimCall("ret", (var,), value.dtype))]


class Inspected(Op):
    """Base of the operators that read a property of a tensor as a scalar."""

    result: DType
    place: int  # number of the field in the descriptor
    number: ClassVar[Callable[..., int]]  # the property of an array
    unfolds_to = "a call of a PrimFunc that reads the tensor's descriptor"
    tensor: Tensor = operand("the tensor")

    @classmethod
    def evaluate(cls, tensor: Array, *rest: Number) -> Scalar:
        """The property of the array."""
        scalar: Scalar = cls.result.to_numpy().type(cls.number(tensor, *rest))
        return scalar

    @classmethod
    def unfold(cls, build: Emitter, call: e.Call, infos: list[s.StructInfo]) -> e.Expr:
        """A call of a PrimFunc that reads the tensor's descriptor."""
        params = (p.PrimVar("dlpack_handle", HANDLE), p.PrimVar("axis"))[: len(infos)]
        kind = s.PrimStructInfo(cls.result)
        body = t.SeqStmt(tuple(cls.reading(*params)))
        fn = t.PrimFunc(params, body, kind, Attrs({"tirx.is_host_func": True, "tirx.is_scheduled": True}))
        return build.call_function(f"_get_{cls.name.rpartition('.')[2]}", fn, call.args)

    @classmethod
    def reading(cls, handle: p.PrimVar, *rest: p.PrimVar) -> list[t.Stmt]:
        """The statements of the PrimFunc, from its parameters."""
        return _returned("value", _field(handle, cls.place, cls.result))


class AboutDtype(Inspected):
    """Base of the properties of the dtype. As in TVM, the operand may be an Object."""

    @classmethod
    def infer(cls, at: Site, tensor: s.StructInfo) -> s.StructInfo:
        """A scalar of the dtype that the runtime uses; the examples show it."""
        if not isinstance(tensor, (s.TensorStructInfo, s.ObjectStructInfo)):
            text = f"tensor is {tensor}, a tensor is needed"
            raise at.fail(codes.WRONG_KIND, text, tensor=f"this is {tensor}")
        return s.PrimStructInfo(cls.result)


def _kind(array: Array) -> DType:
    found = from_numpy(array.dtype)
    assert found is not None  # every run-time dtype is a dtype of the language
    return found


class DtypeCode(AboutDtype, name="relax.inspect.tensor_dtype_code"):
    """The kind of a tensor's elements as DLPack numbers it: int 0, uint 1, float 2, bfloat 4, bool 6."""

    source = "DLPack"
    result, place = UINT8, CODE
    examples = ("i32[n,4] -> scalar(uint8)", "bool[] -> scalar(uint8)")
    number = staticmethod(lambda tensor: _kind(tensor).code)


class DtypeBits(AboutDtype, name="relax.inspect.tensor_dtype_bits"):
    """The number of bits of an element of a tensor; a bool is stored in 8 bits."""

    source = "DLPack"
    result, place = UINT8, BITS
    examples = ("i32[n,4] -> scalar(uint8)", "f16[] -> scalar(uint8)")
    number = staticmethod(lambda tensor: 8 if _kind(tensor).is_bool else _kind(tensor).bits)


class DtypeLanes(AboutDtype, name="relax.inspect.tensor_dtype_lanes"):
    """The number of lanes of an element of a tensor: 1, because elements are not vectors."""

    source = "DLPack"
    result, place = UINT16, LANES
    examples = ("f32[n,4] -> scalar(uint16)", "i8[?,?] -> scalar(uint16)")
    number = staticmethod(lambda tensor: _kind(tensor).lanes)


class Ndim(AboutDtype, name="relax.inspect.tensor_ndim"):
    """The number of axes of a tensor."""

    source = "numpy.ndim"
    result, place = INT32, NDIM
    examples = ("f32[n,4] -> scalar(int32)", "f32 -> scalar(int32)")
    number = staticmethod(lambda tensor: tensor.ndim)


class AtAxis(Inspected):
    """Base of the properties of one axis."""

    raises = (codes.AXIS_RANGE,)
    result = INT64
    along: ClassVar[Callable[..., list[t.Stmt]]]  # reads it: handle, axis, rank
    axis: Prim = operand("the axis, counted from 0; an axis that is known only at run time is checked there")

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

    @classmethod
    def reading(cls, handle: p.PrimVar, *rest: p.PrimVar) -> list[t.Stmt]:
        """The statements that check the axis and then read it."""
        (axis,) = rest
        rank = p.PrimVar("ndim", INT32)
        return [
            te.check(p.LE(rules.ZERO, axis), "axis is below 0, it counts from 0"),
            t.LetStmt(rank, _field(handle, NDIM, INT32)),
            te.check(p.LT(axis, p.Cast(INT64, rank)), "the tensor has no such axis"),
            *cls.along(handle, axis, rank),
        ]

    @staticmethod
    def _axis(tensor: Array, axis: Number) -> int:
        if not 0 <= axis < tensor.ndim:
            raise IndexError(f"axis is {axis}, the tensor has rank {tensor.ndim}; an axis counts from 0")
        return int(axis)


class ShapeI(AtAxis, name="relax.inspect.tensor_shape_i"):
    """The length of one axis of a tensor."""

    source = "DLPack"
    examples = ("f32[n,4] 0 -> scalar(int64)", "f32[?,?] 1 -> scalar(int64)")
    number = staticmethod(lambda tensor, axis: tensor.shape[AtAxis._axis(tensor, axis)])

    @staticmethod
    def along(handle: p.PrimVar, axis: p.PrimVar, rank: p.PrimVar) -> list[t.Stmt]:
        """One of the lengths."""
        shape = Buffer("shape", (rank,), INT64, data=_field(handle, SHAPE, _LENGTHS))
        return [t.AllocBuffer(shape, "decl_buffer"), *_returned("length", BufferLoad(shape, (axis,)))]


class StrideI(AtAxis, name="relax.inspect.tensor_stride_i"):
    """The stride along one axis of a tensor: the number of elements between neighbours.

    Tensors are compact, so it is the product of the lengths of the axes after it.
    """

    source = "DLPack"
    examples = ("f32[n,4] 0 -> scalar(int64)", "f32[n,m] 1 -> scalar(int64)")
    number = staticmethod(lambda tensor, axis: math.prod(tensor.shape[AtAxis._axis(tensor, axis) + 1 :]))

    @staticmethod
    def along(handle: p.PrimVar, axis: p.PrimVar, rank: p.PrimVar) -> list[t.Stmt]:
        """One of the strides. The descriptor of a compact tensor may omit them."""
        pointer = p.PrimVar("stride_ptr", HANDLE)
        strides = Buffer("strides", (rank,), INT64, data=pointer)
        shape = Buffer("shape", (rank,), INT64, data=_field(handle, SHAPE, _LENGTHS))
        product = Buffer("product", (), INT64)
        after = p.Sub(p.Sub(p.Cast(INT64, rank), axis), rules.ONE)

        def times(k: p.PrimVar) -> t.Stmt:
            length = BufferLoad(shape, (p.Add(p.Add(axis, rules.ONE), k),))
            return t.BufferStore(product, (), p.Mul(BufferLoad(product, ()), length))

        computed = te.seq(
            t.AllocBuffer(shape, "decl_buffer"),
            t.AllocBuffer(product),
            t.BufferStore(product, (), rules.ONE),
            te.loop(after, times),
            t.Evaluate(p.PrimCall("ret", (BufferLoad(product, ()),), INT64)),
        )
        stored = te.seq(
            t.AllocBuffer(strides, "decl_buffer"), *_returned("stride", BufferLoad(strides, (axis,)))
        )
        missing = p.PrimCall("isnullptr", (pointer,), BOOL)
        return [t.LetStmt(pointer, _field(handle, STRIDES, _LENGTHS)), te.when(missing, computed, stored)]


class Offset(Inspected):
    """Base of the offsets of a tensor in its memory."""

    result, place = UINT64, BYTE_OFFSET
    examples = ("f32[n,4] -> scalar(uint64)", "f32 -> scalar(uint64)")

    @staticmethod
    def infer(at: Site, tensor: s.StructInfo) -> s.StructInfo:
        """A scalar of uint64."""
        rules.tensor(at, tensor, "tensor")
        return s.PrimStructInfo(UINT64)


class ByteOffset(Offset, name="relax.inspect.tensor_byte_offset"):
    """The offset of a tensor in its memory, in bytes; only a view may have an offset other than 0."""

    source = "DLPack"
    number = staticmethod(byte_offset)


class ElemOffset(Offset, name="relax.inspect.tensor_elem_offset"):
    """The offset of a tensor in its memory, in elements; only a view may have an offset other than 0."""

    source = "DLPack"
    number = staticmethod(lambda tensor: byte_offset(tensor) // tensor.dtype.itemsize)

    @classmethod
    def reading(cls, handle: p.PrimVar, *rest: p.PrimVar) -> list[t.Stmt]:
        """The offset in bytes, divided by the size of an element."""
        bits, lanes = p.PrimVar("bits", UINT8), p.PrimVar("lanes", UINT16)
        width = p.Mul(p.Cast(UINT64, bits), p.Cast(UINT64, lanes))
        size = p.FloorDiv(p.Add(width, p.IntImm(7, UINT64)), p.IntImm(8, UINT64))
        offset = p.FloorDiv(_field(handle, BYTE_OFFSET, UINT64), size)
        return [
            t.LetStmt(bits, _field(handle, BITS, UINT8)),
            t.LetStmt(lanes, _field(handle, LANES, UINT16)),
            *_returned("offset", offset),
        ]
