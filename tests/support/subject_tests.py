"""Tests that tell whether a value is what a row of `differences.md` is about."""

from __future__ import annotations

from relax_explorer.core.check.cache_effects import is_new
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.walk import info_holders

_KEPT = {"relax.sort", "relax.argsort", "relax.topk", "relax.cumsum", "relax.cumprod", "relax.memory.view"}
_PRODUCTS = {"relax.matmul", "relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d"}


def operator(value: e.Expr) -> str:
    """The name of the operator that is called; empty if none is."""
    return value.op.name if type(value) is e.Call and type(value.op) is e.OpRef else ""


def operands(value: e.Expr) -> tuple[e.Expr, ...]:
    """The operands of a call."""
    return value.args if type(value) is e.Call else ()


def is_dynamic_slice(value: e.Expr) -> bool:
    """True for `dynamic_strided_slice`."""
    return operator(value) == "relax.dynamic_strided_slice"


def reads_held_shape(value: e.Expr) -> bool:
    """True for the call of an operator that takes its shape from a variable."""
    shapes = [
        arg
        for arg in operands(value)
        if isinstance(arg, e.Var) and isinstance(arg.struct_info, s.ShapeStructInfo)
    ]
    return bool(operator(value)) and bool(shapes)


def is_packed_filling(value: e.Expr) -> bool:
    """True for `call_dps_packed`."""
    return operator(value) == "relax.call_dps_packed"


def is_overwriting(value: e.Expr) -> bool:
    """True for a call that overwrites an operand."""
    return operator(value) in ("relax.call_inplace_packed", "relax.call_tir_inplace")


def makes_cache(value: e.Expr) -> bool:
    """True for a call that makes a cache."""
    return type(value) is e.Call and is_new(value)


def is_hint(value: e.Expr) -> bool:
    """True for `hint_on_device`, whose result may be its operand."""
    return operator(value) == "relax.hint_on_device"


def passes_scalar(value: e.Expr) -> bool:
    """True for a call of a function of the module with a scalar among the arguments."""
    is_call = type(value) is e.Call and isinstance(value.op, e.GlobalVar)
    return is_call and any(isinstance(arg.struct_info, s.PrimStructInfo) for arg in operands(value))


def is_reshape(value: e.Expr) -> bool:
    """True for a reshape that is not lowered."""
    return operator(value) == "relax.reshape"


def is_whole_repeat(value: e.Expr) -> bool:
    """True for a `repeat` of all elements, in their order."""
    return type(value) is e.Call and value.op is e.op_ref("relax.repeat") and value.attrs["axis"] is None


def is_tuple(value: e.Expr) -> bool:
    """True for a tuple."""
    return type(value) is e.Tuple


def is_attention(value: e.Expr) -> bool:
    """True for an attention."""
    return operator(value).startswith("relax.nn.attention")


def is_scalar(value: e.Expr) -> bool:
    """True for a call that gives a tensor without axes."""
    info = value.struct_info
    return type(value) is e.Call and isinstance(info, s.TensorStructInfo) and info.ndim == 0


def is_kept_constant(value: e.Expr) -> bool:
    """True for a call that TVM does not fold."""
    if operator(value) != "relax.astype":
        return operator(value) in _KEPT
    info = operands(value)[0].struct_info
    return isinstance(info, s.TensorStructInfo) and info.ndim == 0


def is_other_product(value: e.Expr) -> bool:
    """True for a product of tensors other than float32 and float16."""
    infos = [arg.struct_info for arg in operands(value)]
    dtypes = {str(info.dtype) for info in infos if isinstance(info, s.TensorStructInfo)}
    return operator(value) in _PRODUCTS and not dtypes <= {"float32", "float16"}


def is_ready_product(value: e.Expr) -> bool:
    """True for a product of float16 tensors with a result of float32."""
    infos = [arg.struct_info for arg in operands(value)]
    dtypes = {str(info.dtype) for info in infos if isinstance(info, s.TensorStructInfo)}
    is_wide = isinstance(value.struct_info, s.TensorStructInfo) and str(value.struct_info.dtype) == "float32"
    return operator(value) in _PRODUCTS and dtypes == {"float16"} and is_wide


def is_module_call(value: e.Expr) -> bool:
    """True for a call of a function of the module."""
    return type(value) is e.Call and isinstance(value.op, e.GlobalVar)


def is_unshaped_module_call(value: e.Expr) -> bool:
    """True for a call of a function of the module that gives a tensor of unknown shape or dtype."""
    info = value.struct_info
    return is_module_call(value) and isinstance(info, s.TensorStructInfo) and None in (info.dims, info.dtype)


def has_held_shape(value: e.Expr) -> bool:
    """True for a value whose shape a variable holds, or an operand of it does."""
    return any(info_holders(part.struct_info) for part in (value, *operands(value)) if part.struct_info)


def has_float_number(value: e.Expr) -> bool:
    """True for a call with a number of floating point among the operands."""
    numbers = [arg.value for arg in operands(value) if type(arg) is e.PrimValue]
    return any(isinstance(number, p.FloatImm) for number in numbers)
