"""Printing, assertions, the null object, and where values lie: what the machine does itself."""

from __future__ import annotations

from typing import Any

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.call import ByMachine
from relax_explorer.core.ops.decl import REQUIRED, Site, Value, attr, operand
from relax_explorer.core.ops.places import need_device
from relax_explorer.core.ops.te import Tensor


class Print(ByMachine, name="relax.print"):
    """Print values, `{}` in the format standing for each in turn (TVM; str.format of Python).

    The values are the operands, as many as there are. Without a format they are printed with a space between.
    """

    format: str = attr("", "the text, with {} where a value goes")
    pure = False
    variadic = True

    @staticmethod
    def infer(at: Site, *values: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """Nothing."""
        return s.VOID


class AssertOp(ByMachine, name="relax.assert_op"):
    """Stop with a message unless a scalar bool holds (TVM).

    What the message mentions follows the condition, `{}` in the format standing for each in turn.
    """

    condition: Value = operand("one bool: a tensor of rank 0, or a scalar")
    format: str = attr("", "the message, with {} where a value goes")
    pure = False
    variadic = True

    @staticmethod
    def infer(
        at: Site, condition: s.StructInfo | None = None, *values: s.StructInfo, **attrs: Any
    ) -> s.StructInfo:
        """Nothing; the condition is one bool."""
        if condition is None:
            raise at.fail(codes.ARGUMENT_COUNT, "a condition is needed")
        dtype = condition.dtype if isinstance(condition, (s.TensorStructInfo, s.PrimStructInfo)) else None
        rank = condition.ndim if isinstance(condition, s.TensorStructInfo) else 0
        unknown = isinstance(condition, s.TensorStructInfo) and dtype is None
        if rank > 0 or not (unknown or (dtype is not None and dtype.is_bool)):
            text = f"condition is {condition}, one bool is needed"
            raise at.fail(
                codes.DTYPE_WRONG, text, condition=f"this is {condition}", help="reduce it: R.all(x)"
            )
        return s.VOID


class NullValue(ByMachine, name="relax.null_value"):
    """The null object, where an optional value is left out (TVM)."""

    examples = ("-> object",)


class ToVdevice(ByMachine, name="relax.to_vdevice"):
    """The tensor on another device; here all values lie in one memory (TVM)."""

    data: Tensor = operand("the tensor")
    dst_vdevice: Any = attr(REQUIRED, "the device: a name of one of the module's, such as llvm:0")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, dst_vdevice: Any) -> s.StructInfo:
        """The tensor, placed there."""
        info = rules.tensor(at, data, "data")
        where = dst_vdevice if isinstance(dst_vdevice, str) else info.vdevice
        if where is not None:
            need_device(at, where)
        return s.TensorStructInfo(
            info.shape, info.dtype, info.ndim, str(where) if where is not None else None
        )


class HintOnDevice(ByMachine, name="relax.hint_on_device"):
    """The tensor itself, and a hint for RealizeVDevice where it should lie (TVM)."""

    data: Tensor = operand("the tensor")
    dst_vdevice: Any = attr(REQUIRED, "the device, R.device(…), R.cpu(…) or R.cuda(…)")
    memory_scope: str = attr("global", "the memory there")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """The tensor."""
        info = rules.tensor(at, data, "data")
        return info
