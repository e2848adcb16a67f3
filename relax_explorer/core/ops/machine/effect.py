"""Operators that the machine runs itself: printing, assertions, the null object, and devices of values."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.struct_info import VDevice
from relax_explorer.core.ops.kit import rules
from relax_explorer.core.ops.kit.decl import REQUIRED, Site, Stops, Value, attr, operand
from relax_explorer.core.ops.kit.devices import need_device, place_text
from relax_explorer.core.ops.kit.te import Tensor
from relax_explorer.core.ops.machine.call import ByMachine


class Print(ByMachine, name="relax.print"):
    """Prints values. Each {} in the format is replaced by the next value.

    The values are the operands. Without a format they are printed with a space between.
    """

    source = "TVM; str.format of Python"
    format: str = attr("", "the text, with {} where a value goes")
    pure = False
    writes = ()
    variadic = True

    @staticmethod
    def infer(at: Site, *values: s.StructInfo, **attrs: object) -> s.StructInfo:
        """An empty tuple."""
        return s.VOID


class AssertOp(ByMachine, name="relax.assert_op"):
    """Stops the run with a message if a condition is false.

    The operands after the condition are values for the message: each {} in the format is replaced by the next one.
    """

    source = "TVM"
    raises = (codes.DTYPE_WRONG,)
    condition: Value = operand("one bool: a tensor of rank 0, or a scalar")
    format: str = attr("", "the message, with {} where a value goes")
    pure = False
    writes = ()
    variadic = True

    @staticmethod
    def infer(
        at: Site, condition: s.StructInfo | None = None, *values: s.StructInfo, **attrs: object
    ) -> s.StructInfo:
        """An empty tuple."""
        if condition is None:
            raise at.fail(codes.ARGUMENT_COUNT, "no condition is given, one bool is needed")
        dtype = condition.dtype if isinstance(condition, (s.TensorStructInfo, s.PrimStructInfo)) else None
        rank = condition.ndim if isinstance(condition, s.TensorStructInfo) else 0
        unknown = isinstance(condition, s.TensorStructInfo) and dtype is None
        if rank > 0 or not (unknown or (dtype is not None and dtype.is_bool)):
            text = f"condition is {condition}, one bool is needed"
            hint = 'make one of all: R.astype(R.min(R.astype(x, "int32")), "bool")'
            hint = hint if rank > 0 else 'compare it, or convert it: R.astype(x, "bool")'
            raise at.fail(codes.DTYPE_WRONG, text, condition=f"this is {condition}", help=hint)
        return s.VOID


class NullValue(ByMachine, name="relax.null_value"):
    """The null object, which replaces an omitted optional value."""

    source = "TVM"
    stops = Stops.NEVER
    examples = ("-> object",)

    @staticmethod
    def infer(at: Site) -> s.StructInfo:
        """An object."""
        return s.OBJECT


class ToVdevice(ByMachine, name="relax.to_vdevice"):
    """The tensor, copied to another device.

    The explorer keeps all values in one memory, so it copies nothing.
    """

    source = "TVM"
    shares = ("data",)
    stops = Stops.NEVER
    data: Tensor = operand("the tensor")
    dst_vdevice: Any = attr(
        REQUIRED, "the device, one of the module's by its name and number, such as llvm:0"
    )

    @staticmethod
    def infer(at: Site, data: s.StructInfo, dst_vdevice: object) -> s.StructInfo:
        """The shape and dtype of data, on the device."""
        info = rules.tensor(at, data, "data")
        device = VDevice.read(place_text(at, "dst_vdevice", dst_vdevice))
        need_device(at, device)
        return s.TensorStructInfo(info.shape, info.dtype, info.ndim, device)


class HintOnDevice(ByMachine, name="relax.hint_on_device"):
    """The tensor itself, with a hint of its device for the pass RealizeVDevice."""

    unnamed = True
    source = "TVM"
    shares = ("data",)
    stops = Stops.NEVER
    data: Tensor = operand("the tensor")
    dst_vdevice: Any = attr(REQUIRED, "the device, R.device(…), R.cpu(…) or R.cuda(…)")
    memory_scope: str = attr("global", "the kind of memory there, such as global or shared")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, dst_vdevice: object, **attrs: object) -> s.StructInfo:
        """The StructInfo of data."""
        place_text(at, "dst_vdevice", dst_vdevice)
        return rules.tensor(at, data, "data")
