"""How planned and lowered programs write the calls that place tensors in memory and show them."""

from __future__ import annotations

from typing import NamedTuple

from relax_explorer.core.check.callee import Callees
from relax_explorer.core.check.storage_bytes import (
    Bytes,
    Storage,
    Tensor,
    certain_bytes,
    size_in_bytes,
    width,
)
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, DType


class Place(NamedTuple):
    """The numbers of the operands of an allocation: offset, shape and dtype. The first operand is the storage."""

    offset: int = 1
    shape: int = 2
    dtype: int = 3


PLACES = {
    name: Place()
    for name in ("relax.memory.alloc_tensor", "relax.vm.alloc_tensor", "vm.builtin.alloc_tensor")
}
STORAGES = {"relax.memory.alloc_storage": 3, "relax.vm.alloc_storage": 2, "vm.builtin.alloc_storage": 2}
"""The allocations of storages, each with the number of the operand that tells the dtype."""
SAME = frozenset(
    {
        *["relax.reshape", "relax.memory.ensure_zero_offset", "relax.builtin.stop_lift_params"],
        *["vm.builtin.reshape", "vm.builtin.ensure_zero_offset", "vm.builtin.copy"],
    }
)
"""Calls whose result is the memory of their first operand."""
VIEWS = frozenset({"relax.memory.view", "runtime.TVMTensorCreateView"})
NO_ACCESS = frozenset(
    {
        *[
            "relax.memory.kill_tensor",
            "relax.memory.kill_storage",
            "relax.vm.kill_object",
            "relax.null_value",
        ],
        *["relax.shape_of", "relax.size", "relax.builtin.alloc_tensor", "vm.builtin.shape_of"],
        *[
            "vm.builtin.match_shape",
            "vm.builtin.match_prim_value",
            "vm.builtin.make_shape",
            "vm.builtin.null_value",
        ],
        *[
            f"vm.builtin.check_{kind}_info"
            for kind in ("tensor", "shape", "prim_value", "tuple", "func", "string")
        ],
        *["vm.builtin.make_prim_value", "vm.builtin.alloc_shape_heap", "vm.builtin.tuple_reset_item"],
        *[
            f"relax.inspect.tensor_{what}"
            for what in ("stride_i", "byte_offset", "elem_offset", "shape_i", "dtype_code")
        ],
        *["relax.inspect.tensor_dtype_bits", "relax.inspect.tensor_dtype_lanes", "relax.inspect.tensor_ndim"],
    }
)
"""Calls that look at no element of a tensor."""
PURE_KERNELS = frozenset(
    f"relax.call_{name}" for name in ("tir", "tir_inplace", "tir_with_grad", "dps_packed")
)
_WITH_FUNCTION = PURE_KERNELS | {
    *[
        "relax.call_builtin_with_ctx",
        "relax.call_pure_packed",
        "relax.call_packed",
        "relax.call_inplace_packed",
    ],
    *["relax.vm.call_tir_dyn", "relax.invoke_closure", "relax.invoke_pure_closure", "relax.make_closure"],
}
"""Operators whose first operand is called with the others, which stand in a tuple for most."""
_CACHED = frozenset({"vm.builtin.cuda_graph.run_or_capture", "vm.builtin.cuda_graph.get_cached_alloc"})
_IMMEDIATE = 0  # in make_shape: a number, not an entry of the heap


class Lengths:
    """The lengths that lowered programs compute: variables of `make_shape`, by the numbers and the entries of the heap that they name."""

    def __init__(self) -> None:
        self._known: dict[e.Expr, tuple[p.PrimExpr, ...]] = {}
        self._entries: dict[int, p.PrimVar] = {}

    def note(self, name: str, args: tuple[e.Expr, ...], binding: e.Binding) -> None:
        """Record a call of make_shape."""
        if name != "vm.builtin.make_shape" or binding.var is None:
            return
        numbers = [number(arg) for arg in args[2:]]
        if None in numbers or len(numbers) % 2:
            return
        known = [item for item in numbers if item is not None]
        self._known[binding.var] = tuple(
            [self._length(*pair) for pair in zip(known[::2], known[1::2], strict=True)]
        )

    def _length(self, code: int, value: int) -> p.PrimExpr:
        if code == _IMMEDIATE:
            return p.IntImm(value, INT64)
        return self._entries.setdefault(value, p.PrimVar(f"heap_{value}", INT64))

    def of(self, shape: e.Expr) -> tuple[p.PrimExpr, ...] | None:
        """The lengths that a shape has; None if they are unknown."""
        if type(shape) is e.ShapeExpr:
            return shape.values
        if shape in self._known:
            return self._known[shape]
        info = shape.struct_info
        return info.values if isinstance(info, s.ShapeStructInfo) else None


def number(expr: e.Expr) -> int | None:
    """The number that an operand is, if it is known."""
    value = _scalar(expr)
    return value.value if isinstance(value, p.IntImm) else None


def _scalar(expr: e.Expr) -> p.PrimExpr | None:
    if type(expr) is e.PrimValue:
        return expr.value
    return expr.struct_info.value if isinstance(expr.struct_info, s.PrimStructInfo) else None


def is_wrapped(call: e.Call) -> bool:
    """True if an operator calls a kernel and allocates its results."""
    return type(call.op) is e.OpRef and call.op.name in PURE_KERNELS


def spread(call: e.Call, callees: Callees) -> tuple[str, tuple[e.Expr, ...]]:
    """The name of the operator or packed function that is called, or "", and its arguments."""
    op, args = callees.of(call.op), call.args
    if type(op) is e.OpRef and op.name in _WITH_FUNCTION and args:
        function, args = callees.of(args[0]), args[1:]
        if len(args) == 1 and (fields := callees.fields(args[0])) is not None:
            args = fields
        name = function.name if type(function) is e.ExternFunc else ""
    else:
        name = op.name if isinstance(op, (e.OpRef, e.ExternFunc)) else ""
    if name in _CACHED and args:
        inner = callees.fields(args[1]) if len(args) > 1 else None
        return name, inner or ()
    return name, args


def callee(call: e.Call, callees: Callees) -> e.Expr:
    """What is called: a function of the module, a packed function, an operator, or an unknown value."""
    op, args = callees.of(call.op), call.args
    if type(op) is e.OpRef and op.name in _WITH_FUNCTION and args:
        op, args = callees.of(args[0]), args[1:]
        if len(args) == 1 and (fields := callees.fields(args[0])) is not None:
            args = fields
    return callees.of(args[0]) if type(op) is e.ExternFunc and op.name in _CACHED and args else op


def storage_size(name: str, args: tuple[e.Expr, ...]) -> p.PrimExpr | None:
    """The bytes of a new storage, if they are known."""
    dtype = _dtype(args[STORAGES[name]]) if len(args) > STORAGES[name] else None
    shape = args[0]
    if type(shape) is not e.ShapeExpr:
        return None
    if name == "relax.memory.alloc_storage" and len(shape.values) == 1:
        return shape.values[0]
    return size_in_bytes(shape.values, dtype) if dtype is not None else None


def placed(name: str, storage: Storage, args: tuple[e.Expr, ...], at: Place, lengths: Lengths) -> Tensor:
    """A tensor that an allocation places in a storage."""
    offset, dtype, dims = _scalar(args[at.offset]), _dtype(args[at.dtype]), lengths.of(args[at.shape])
    size = size_in_bytes(dims, dtype) if dims is not None and dtype is not None else None
    least = width(dtype) if dtype is not None else 1
    return Tensor(name, storage, offset, size, certain_bytes(offset, size, least))


def part(args: tuple[e.Expr, ...], lengths: Lengths) -> Bytes | None:
    """The bytes of a view from the start of its tensor: tensor, shape, dtype, offset. None if they are unknown."""
    info = args[0].struct_info
    own = info if isinstance(info, s.TensorStructInfo) else s.TensorStructInfo()
    dims = lengths.of(args[1]) if len(args) > 1 else None
    dtype = (_dtype(args[2]) if len(args) > 2 else None) or own.dtype
    dims = own.dims if dims is None else dims
    offset = number(args[3]) if len(args) > 3 else None
    if len(args) > 3 and offset is None and not _is_omitted(args[3]):
        return None
    if dims is None or dtype is None:
        return None
    size = size_in_bytes(dims, dtype)
    return ((offset or 0), (offset or 0) + size.value) if isinstance(size, p.IntImm) else None


def _is_omitted(arg: e.Expr) -> bool:
    return type(arg) is e.Tuple or (type(arg) is e.Call and arg.op is e.op_ref("relax.null_value"))


def _dtype(arg: e.Expr) -> DType | None:
    return arg.value if type(arg) is e.DataTypeImm else None
