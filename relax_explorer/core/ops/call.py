"""Operators that call functions, and others that the machine itself runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from relax_explorer.core.codes import operators as codes
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64
from relax_explorer.core.ops import rules
from relax_explorer.core.ops.decl import Op, Site, Tensors, Value, attr, operand
from relax_explorer.core.ops.te import Tensor


class ByMachine(Op):
    """Base of the operators that the machine runs and that have no lowering of their own."""

    by_machine = True
    by_info = False
    no_legalize = "it is no computation on elements"


class Stated(ByMachine):
    """Base of the calls whose result is stated in the call (`out_ty`, `ty_args`)."""

    func: Value = operand("the function")
    args: Tensors = operand("its arguments", default=None)
    takes_sinfo = True
    variadic = True

    @staticmethod
    def infer(at: Site, *args: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """What the call says."""
        infos = at.call.sinfo_args
        if not infos:
            return s.OBJECT
        return infos[0] if len(infos) == 1 else s.TupleStructInfo(infos)


class CallTir(Stated, name="relax.call_tir"):
    """A PrimFunc called in destination-passing style: results are allocated as `out_ty` says, and the function fills them."""


class CallTirInplace(Stated, name="relax.call_tir_inplace"):
    """As call_tir, with results written into some of the arguments (`inplace_indices`)."""

    inplace_indices: Any = attr((), "for each result the argument it overwrites, -1 for a new one")


class CallTirWithGrad(Stated, name="relax.call_tir_with_grad"):
    """As call_tir, with the name of a function that gives its gradient."""

    te_grad_name: str = attr("", "name of the gradient")
    te_grad_kwargs: Any = attr(None, "its keyword arguments")


class CallDpsPacked(Stated, name="relax.call_dps_packed"):
    """A packed function called in destination-passing style; pure in TVM, while the specification says it may write."""

    pure_in_spec = False


class CallPurePacked(Stated, name="relax.call_pure_packed"):
    """A packed function that the author says has no side effects."""


class CallInplacePacked(Stated, name="relax.call_inplace_packed"):
    """A packed function that overwrites some of its arguments (`inplace_indices`)."""

    inplace_indices: Any = attr((), "arguments that the results overwrite")


class InvokeClosure(Stated, name="relax.invoke_closure"):
    """A closure called with a tuple of arguments."""

    pure = False


class InvokePureClosure(Stated, name="relax.invoke_pure_closure"):
    """A closure without side effects called with a tuple of arguments."""


class CallBuiltinWithCtx(Stated, name="relax.call_builtin_with_ctx"):
    """A builtin of the virtual machine, which is passed the machine's context."""

    pure = False
    no_evaluate = "it belongs to TVM's virtual machine"
    by_machine = False


class MakeClosure(ByMachine, name="relax.make_closure"):
    """A closure: a global function with its first arguments."""

    func: Value = operand("the function")
    args: Tensors = operand("what it captures")

    @staticmethod
    def infer(at: Site, func: s.StructInfo, args: s.StructInfo) -> s.StructInfo:
        """An object."""
        return s.OBJECT


class ShapeOf(ByMachine, name="relax.shape_of"):
    """The shape of a tensor, as a value."""

    expr: Tensor = operand("the tensor")
    examples = ("f32[n,4] -> shape(n,4)",)

    @staticmethod
    def infer(at: Site, expr: s.StructInfo) -> s.StructInfo:
        """Its dimensions as far as known."""
        info = rules.tensor(at, expr, "expr")
        return s.ShapeStructInfo(info.dims, info.ndim)


class Size(Op, name="relax.size"):
    """How many elements a tensor has, as a scalar of int64."""

    expr: Tensor = operand("the tensor")
    examples = ("f32[n,4] -> i64[]",)
    no_legalize = "it asks for the shape, not for elements"

    @staticmethod
    def infer(at: Site, expr: s.StructInfo) -> s.StructInfo:
        """A scalar."""
        rules.tensor(at, expr, "expr")
        return s.TensorStructInfo((), INT64)

    @staticmethod
    def evaluate(expr: Any) -> Any:
        """numpy.size."""
        return np.asarray(expr.size, dtype=np.int64)


class ShapeToTensor(ByMachine, name="relax.shape_to_tensor"):
    """A shape as a vector of int64."""

    expr: Value = operand("the shape")

    @staticmethod
    def infer(at: Site, expr: s.StructInfo) -> s.StructInfo:
        """As many elements as dimensions."""
        if not isinstance(expr, s.ShapeStructInfo):
            raise at.fail(codes.WRONG_KIND, "a shape is needed", expr=f"this is {expr}")
        return (
            s.TensorStructInfo((p.IntImm(expr.ndim),), INT64)
            if expr.ndim >= 0
            else s.TensorStructInfo(None, INT64, 1)
        )


class TensorToShape(ByMachine, name="relax.tensor_to_shape"):
    """A vector of int64 as a shape."""

    expr: Tensor = operand("the vector")

    @staticmethod
    def infer(at: Site, expr: s.StructInfo) -> s.StructInfo:
        """As many dimensions as elements."""
        info = rules.tensor(at, expr, "expr")
        rules.need_rank(at, info, 1, "expr")
        length = info.dims[0] if info.dims is not None else None
        return s.ShapeStructInfo(None, length.value if isinstance(length, p.IntImm) else -1)


class Print(ByMachine, name="relax.print"):
    """Print values, `{}` in the format standing for each."""

    format: str = attr("", "the text")
    pure = False
    variadic = True

    @staticmethod
    def infer(at: Site, *values: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """Nothing."""
        return s.VOID


class AssertOp(ByMachine, name="relax.assert_op"):
    """Fail with a message unless a scalar bool holds."""

    format: str = attr("", "the message")
    pure = False
    variadic = True

    @staticmethod
    def infer(at: Site, *values: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """Nothing; the condition is one bool."""
        if not values:
            raise at.fail(codes.ARGUMENT_COUNT, "a condition is needed")
        info = values[0]
        if isinstance(info, s.TensorStructInfo) and (
            info.ndim not in (-1, 0) or (info.dtype is not None and not info.dtype.is_bool)
        ):
            raise at.fail(codes.DTYPE_WRONG, f"the condition is {info}, one bool is needed")
        return s.VOID


class NullValue(ByMachine, name="relax.null_value"):
    """The null object."""


class ToVdevice(ByMachine, name="relax.to_vdevice"):
    """A tensor on another device."""

    data: Tensor = operand("the tensor")
    dst_vdevice: Any = attr(None, "the device")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, dst_vdevice: Any) -> s.StructInfo:
        """The tensor, placed there."""
        info = rules.tensor(at, data, "data")
        where = dst_vdevice if isinstance(dst_vdevice, str) else info.vdevice
        return s.TensorStructInfo(
            info.shape, info.dtype, info.ndim, str(where) if where is not None else None
        )


class HintOnDevice(ByMachine, name="relax.hint_on_device"):
    """A hint where a tensor should lie; the tensor itself."""

    data: Tensor = operand("the tensor")
    dst_vdevice: Any = attr(None, "the device")
    memory_scope: Any = attr("global", "the memory there")

    @staticmethod
    def infer(at: Site, data: s.StructInfo, **attrs: Any) -> s.StructInfo:
        """The tensor."""
        return rules.tensor(at, data, "data")
