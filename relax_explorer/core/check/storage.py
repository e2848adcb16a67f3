"""Storages of planned memory: which tensors lie in which bytes, what variables show of them, and how programs write it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Union

from relax_explorer.core.arith.bounds import bounds, polynomial_bounds
from relax_explorer.core.arith.form import CANONICAL
from relax_explorer.core.arith.polynomial import Polynomial, combine, over_variables
from relax_explorer.core.check.call_graph import Callees
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir import struct_info as s
from relax_explorer.core.ir.dtype import INT64, UINT8, DType

When = frozenset[tuple[object, bool]]
"""Branches around a place: conditions of Ifs, each with the side."""
Bytes = tuple[int, int]
"""The first byte of a part of a storage, and the one behind its last."""

ALWAYS: When = frozenset()
NOWHERE: Bytes = (0, 0)
_KEPT = 16  # tensors that one byte may hold, depending on branches, and tensors at symbolic offsets: no more are told apart


def excluded(a: When, b: When) -> bool:
    """True if no run takes all branches of both."""
    small, large = (a, b) if len(a) <= len(b) else (b, a)
    return any([(condition, not side) in large for condition, side in small])


@dataclass(eq=False, slots=True)
class Loss:
    """A write into the bytes of a tensor whose elements were there. `repairs` are the branches of later writes to the tensor."""

    victim: Tensor
    written: e.Binding
    by: Tensor
    place: e.Binding
    when: When
    part: Bytes | None  # the bytes that are lost; None if they depend on symbolic lengths
    repairs: list[When] = field(default_factory=list)
    last_read: object = None


@dataclass(eq=False, slots=True)
class Tensor:
    """A tensor at an offset in a storage. Without a storage, nothing overlaps it. `bytes` is None at a symbolic offset."""

    name: str
    storage: Storage | None = None
    offset: p.PrimExpr | None = None
    size: p.PrimExpr | None = None
    bytes: Bytes | None = None
    written: e.Binding | None = None
    when: When = ALWAYS
    last_read: object = None
    losses: list[Loss] = field(default_factory=list)

    def extent(self) -> str:
        """Its bytes, as the plan has them."""
        if self.bytes is not None and isinstance(self.size, p.IntImm):
            return f"bytes {self.bytes[0]} to {self.bytes[1] - 1}"
        size = "an unknown number of" if self.size is None else str(self.size)
        return f"{size} bytes from byte {self.offset}"


class _Segment(NamedTuple):
    low: int
    high: int
    held: tuple[Tensor, ...]


@dataclass(eq=False, slots=True)
class Storage:
    """A piece of memory, or an unknown object whose fields may be such."""

    name: str
    size: p.PrimExpr | None = None
    fields: dict[int, Storage] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)
    _segments: list[_Segment] = field(default_factory=list)
    _symbolic: list[Tensor] = field(default_factory=list)

    def field_of(self, index: int) -> Storage:
        """A field of the object, always the same one."""
        return self.fields.setdefault(index, Storage(f"{self.name}[{index}]"))

    def overwritten(self, by: Tensor, part: Bytes | None, when: When) -> list[Tensor]:
        """The tensors that had elements in the bytes that `by` now has, or that it has in this part."""
        if part is None and by.bytes is None:
            found = [tensor for tensor in self._tensors() if overlap(tensor, by)]
            self._symbolic = [*[item for item in self._symbolic if item is not by], by][-_KEPT:]
            return found
        own = by.bytes if part is None else part
        assert own is not None
        hit = [tensor for tensor in self._symbolic if overlap(tensor, by)] if part is None else []
        if hit and not when:
            self._symbolic = [tensor for tensor in self._symbolic if tensor not in hit]
        return hit + self._cover(own, by, when)

    def _tensors(self) -> list[Tensor]:
        return [*self._symbolic, *[tensor for item in self._segments[-_KEPT:] for tensor in item.held]]

    def _cover(self, own: Bytes, by: Tensor, when: When) -> list[Tensor]:
        """Let `by` hold these bytes, besides those that keep elements in runs that do not come here."""
        low, high = own
        if low >= high:
            return []
        first = max(bisect_right(self._starts, low) - 1, 0)
        if first < len(self._segments) and self._segments[first][:2] == own:
            return self._replace(first, by, when)
        last = first
        while last < len(self._segments) and self._segments[last].low < high:
            last += 1
        hit = [item for item in self._segments[first:last] if item.high > low]
        if len(hit) == 1:
            found = list(hit[0].held)
        else:
            found = list(dict.fromkeys([tensor for item in hit for tensor in item.held]))
        kept = [tensor for tensor in found if tensor is not by and not when <= tensor.when][-_KEPT + 1 :]
        new = [_Segment(item.low, low, item.held) for item in hit if item.low < low]
        new.append(_Segment(low, high, (*kept, by)))
        new += [_Segment(high, item.high, item.held) for item in hit if item.high > high]
        before = [item for item in self._segments[first:last] if item.high <= low]
        self._segments[first:last] = [*before, *new]
        self._starts[first:last] = [item.low for item in (*before, *new)]
        return found

    def _replace(self, number: int, by: Tensor, when: When) -> list[Tensor]:
        """Let `by` hold the bytes of one segment."""
        low, high, found = self._segments[number]
        kept = [tensor for tensor in found if tensor is not by and not when <= tensor.when][-_KEPT + 1 :]
        self._segments[number] = _Segment(low, high, (*kept, by))
        return list(found)


def overlap(a: Tensor, b: Tensor) -> bool:
    """True if two tensors of one storage certainly have a byte in common, unless one is empty."""
    if a is b:
        return False
    if a.bytes is not None and b.bytes is not None:
        return max(a.bytes[0], b.bytes[0]) < min(a.bytes[1], b.bytes[1])
    if a.offset is None or b.offset is None or NOWHERE in (a.bytes, b.bytes):
        return False
    distance = combine(CANONICAL.polynomial(b.offset), CANONICAL.polynomial(a.offset), -1)
    low, high = polynomial_bounds(distance)
    if low is not None and low >= 0:
        return not distance or _is_inside(distance, a.size)
    return high is not None and high <= 0 and _is_inside(combine({}, distance, -1), b.size)


def _is_inside(distance: Polynomial, size: p.PrimExpr | None) -> bool:
    """True if a byte at this distance from the start of a tensor of this size certainly belongs to it."""
    if size is None:
        return False
    left = combine(CANONICAL.polynomial(size), distance, -1)
    rises = (
        all(factor >= 0 or not atoms for atoms, factor in left.items()) and over_variables(left) is not None
    )
    return rises and sum(left.values()) >= 1  # its least value: all lengths are 1


def _of_full(size: p.PrimExpr) -> p.PrimExpr:
    """A size whose variables are one larger: what holds of it for all lengths holds of the size for those from 1."""
    one = p.IntImm(1, INT64)
    return p.substitute(size, {var: p.Add(var, one) for var in p.free_vars(size)})


def least_bytes(size: p.PrimExpr | None, width: int) -> int:
    """The number of bytes that a tensor certainly has, unless it is empty: 0 if it is."""
    if isinstance(size, p.IntImm):
        return max(width, size.value) if size.value > 0 else 0
    least = bounds(_of_full(size))[0] if size is not None else None
    return max(width, least or 0)


def certain_bytes(offset: p.PrimExpr | None, least: int) -> Bytes | None:
    """The bytes that a tensor with `least_bytes` certainly has, unless it is empty. None if the offset is no number."""
    if least == 0:
        return NOWHERE
    return (offset.value, offset.value + least) if isinstance(offset, p.IntImm) else None


def size_in_bytes(lengths: Sequence[p.PrimExpr], dtype: DType) -> p.PrimExpr | None:
    """The size of a tensor of these lengths. None if it does not fit int64: no memory holds this."""
    number, size = width(dtype), None
    for length in lengths:
        if isinstance(length, p.IntImm):
            number *= length.value
        else:
            size = length if size is None else p.Mul(size, length)
    try:
        factor = p.IntImm(number, INT64)
    except OverflowError:
        return None
    return factor if size is None or number == 0 else p.Mul(factor, size)


def width(dtype: DType) -> int:
    """The size of an element in bytes."""
    return (dtype.bits * dtype.lanes + 7) // 8


# -- memory values ---------------------------------------------------------------------------------------------------
# What variables show of planned memory: tensors, tuples of them, and storages.


_SHOWN = 16  # tensors that one variable may show, depending on branches; of more, nothing is known
_BRANCHES = 32  # branches on which a value depends; with more, nothing is known
_LEAVES = 4096  # tensors in a tuple that are looked at


class Held(NamedTuple):
    """A tensor that a value shows in runs that take these branches; `part` are the bytes that it shows, or None for all."""

    tensor: Tensor
    when: When = ALWAYS
    part: Bytes | None = None


class Views(NamedTuple):
    """A value that shows one of these tensors."""

    held: tuple[Held, ...]


class Fields(NamedTuple):
    """A tuple."""

    values: tuple[Value, ...]


Value = Union["Views", "Fields", Storage, None]
"""The memory of a value; None if nothing is known, or if there is none."""


def shown(tensor: Tensor) -> Views:
    """The value that shows a tensor."""
    return Views((Held(tensor),))


def field_of(value: Value, index: int) -> Value:
    """A field of a value."""
    if isinstance(value, Fields):
        return value.values[index] if 0 <= index < len(value.values) else None
    return value.field_of(index) if isinstance(value, Storage) else None


def held(value: Value) -> Iterator[Held]:
    """Every tensor that a value shows, also in tuples."""
    stack, left = [value], _LEAVES
    while stack and left:
        item, left = stack.pop(), left - 1
        if isinstance(item, Views):
            yield from item.held
        elif isinstance(item, Fields):
            stack.extend(reversed(item.values))


def choice(condition: object, a: Value, b: Value) -> Value:
    """The value of an If with these results of its branches."""
    if a is b:
        return a
    if isinstance(a, Fields) and isinstance(b, Fields) and len(a.values) == len(b.values):
        pairs = zip(a.values, b.values, strict=True)
        return Fields(tuple([_chosen(condition, left, right) for left, right in pairs]))
    return _chosen(condition, a, b)


def _chosen(condition: object, a: Value, b: Value) -> Value:
    if a is b:
        return a
    sides = ((a, True), (b, False))
    found = [
        item._replace(when=item.when | {(condition, side)})
        for value, side in sides
        if isinstance(value, Views)
        for item in value.held
    ]
    found = [item for item in found if len(item.when) <= _BRANCHES]
    return Views(tuple(found[:_SHOWN])) if found else None


def parameter(name: str, info: s.StructInfo | None) -> Value:
    """A parameter: tensors without a storage, and objects that may be storages."""
    if isinstance(info, s.TupleStructInfo):
        fields = [parameter(f"{name}[{number}]", field) for number, field in enumerate(info.fields)]
        return Fields(tuple(fields))
    if isinstance(info, s.TensorStructInfo):
        return shown(Tensor(name))
    return Storage(name) if info is s.OBJECT else None


def pairs(param: Value, given: Value) -> Iterator[tuple[Tensor | Storage, Value]]:
    """The tensors and objects of a parameter, each with what a call gives for it."""
    stack = [(param, given)]
    while stack:
        own, value = stack.pop()
        if isinstance(own, Fields):
            stack += [(field, field_of(value, number)) for number, field in enumerate(own.values)]
        elif isinstance(own, Storage):
            yield own, value
            stack += [(inner, field_of(value, number)) for number, inner in own.fields.items()]
        elif own is not None:
            yield own.held[0].tensor, value


# -- memory calls ----------------------------------------------------------------------------------------------------
# How planned and lowered programs write the calls that place tensors in memory and show them.


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
KILLS = frozenset(["relax.memory.kill_tensor", "relax.memory.kill_storage", "relax.vm.kill_object"])
BOOKKEEPING = KILLS | {
    *["relax.null_value", "vm.builtin.null_value", "vm.builtin.tuple_reset_item"],
    *["vm.builtin.alloc_shape_heap", "vm.builtin.match_shape", "vm.builtin.match_prim_value"],
    *["vm.builtin.make_shape", "vm.builtin.make_prim_value"],
    *[
        f"vm.builtin.check_{kind}_info"
        for kind in ("tensor", "shape", "prim_value", "tuple", "func", "string")
    ],
}
"""Calls that compute no value of the program: ends of lives, and what the shape heap is for."""
NO_ACCESS = BOOKKEEPING | {
    *["relax.shape_of", "relax.size", "relax.builtin.alloc_tensor", "vm.builtin.shape_of"],
    *[
        f"relax.inspect.tensor_{what}"
        for what in ("stride_i", "byte_offset", "elem_offset", "shape_i", "dtype_code")
    ],
    *["relax.inspect.tensor_dtype_bits", "relax.inspect.tensor_dtype_lanes", "relax.inspect.tensor_ndim"],
}
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
        self._decoded: dict[tuple[int | None, ...], tuple[p.PrimExpr, ...] | None] = {}
        self._sizes: dict[tuple[object, ...], tuple[p.PrimExpr | None, int]] = {}

    def note(self, name: str, args: tuple[e.Expr, ...], binding: e.Binding) -> None:
        """Record a call of make_shape."""
        if name != "vm.builtin.make_shape" or binding.var is None:
            return
        numbers = tuple(map(number, args[2:]))
        if numbers not in self._decoded:  # a program has few shapes
            known = [item for item in numbers if item is not None]
            pairs = zip(known[::2], known[1::2], strict=False)
            is_known = len(known) == len(numbers) and not len(known) % 2
            self._decoded[numbers] = tuple([self._length(*pair) for pair in pairs]) if is_known else None
        lengths = self._decoded[numbers]
        if lengths is not None:
            self._known[binding.var] = lengths

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

    def size(self, shape: e.Expr, dtype: DType | None) -> tuple[p.PrimExpr | None, int]:
        """The bytes of a tensor of this shape, None if they are unknown, and those that it certainly has. Found once for equal ones."""
        dims = self.of(shape)
        known = self._sizes.get((dims, dtype))
        if known is None:
            size = size_in_bytes(dims, dtype) if dims is not None and dtype is not None else None
            known = size, least_bytes(size, 1 if dtype is None else width(dtype))
            self._sizes[dims, dtype] = known
        return known


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
    op, args = call.op, call.args
    if type(op) is e.ExternFunc and op.name not in _CACHED:
        return op.name, args
    op = callees.of(op)
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
    shape = args[0]
    if type(shape) is not e.ShapeExpr:
        return None
    if (
        name == "relax.memory.alloc_storage"
    ):  # LowerRuntimeBuiltin allocates as many uint8, whatever the dtype is
        return size_in_bytes(shape.values, UINT8)
    dtype = _dtype(args[STORAGES[name]]) if len(args) > STORAGES[name] else None
    return size_in_bytes(shape.values, dtype) if dtype is not None else None


def placed(name: str, storage: Storage, args: tuple[e.Expr, ...], at: Place, lengths: Lengths) -> Tensor:
    """A tensor that an allocation places in a storage."""
    offset = _scalar(args[at.offset])
    size, least = lengths.size(args[at.shape], _dtype(args[at.dtype]))
    return Tensor(name, storage, offset, size, certain_bytes(offset, least))


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
