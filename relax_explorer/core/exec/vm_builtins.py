"""The builtins of TVM's virtual machine, which lowered programs call by name: checks of inputs, shapes, tuples, closures.

Each function takes the machine, the instruction, and the arguments. The arguments don't include a second machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relax_explorer.core.exec import faults, kv_cache, paged_builtins, rnn_state, sequence_builtins
from relax_explorer.core.exec.faults import VmBuiltin, need, tensor, wrong
from relax_explorer.core.exec.memory import new_storage, tensor_in
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import NULL, Closure, Lifted, Shape, Value, describe, scalar_dtype
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.dtype import DType, from_numpy
from relax_explorer.core.ops.machine.view import EnsureZeroOffset, view_of

# The source of a length in make_shape and make_prim_value: an immediate number, or an entry of the heap.
IMMEDIATE, LOADED = 0, 1
# The actions of match_shape: compare with a number, store in the heap, do nothing, compare with an entry of the heap.
EQUAL_TO_NUMBER, STORED, IGNORED, EQUAL_TO_HEAP = 0, 1, 2, 3


def alloc_shape_heap(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Allocate the heap of lengths, a vector of int64."""
    need(machine, at, args, 1, "alloc_shape_heap")
    return np.zeros(int(args[0]), np.int64)


def match_shape(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Compare or store each length of a tensor or shape: value, heap, count, (action, number) for each, context."""
    need(machine, at, args, 3, "match_shape")
    value, heap, count, *rules = args
    lengths = value.shape if isinstance(value, np.ndarray) else value
    if not isinstance(lengths, tuple):
        raise wrong(machine, at, f"a tensor or shape is needed, this is {describe(value)}", rules[-1])
    if len(lengths) != count:
        raise wrong(
            machine, at, f"{describe(value)} has {len(lengths)} lengths, {count} are needed", rules[-1]
        )
    for n, length in enumerate(lengths):
        _match(
            machine, at, f"length {n} of {describe(value)}", length, heap, rules[2 * n : 2 * n + 2], rules[-1]
        )
    return ()


def match_prim_value(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Compare or store a scalar: value, heap, action, number, context."""
    need(machine, at, args, 4, "match_prim_value")
    value, heap, *rule = args
    _match(machine, at, f"the scalar {value}", int(value), heap, rule[:2], rule[-1])
    return ()


def _match(
    machine: Running,
    at: Instruction,
    what: str,
    length: int,
    heap: Value,
    rule: Sequence[int],
    context: Value,
) -> None:
    code, number = rule
    if code == STORED:
        heap[number] = length
    elif code in (EQUAL_TO_NUMBER, EQUAL_TO_HEAP):
        expected = number if code == EQUAL_TO_NUMBER else int(heap[number])
        if length != expected:
            raise wrong(machine, at, f"{what} is {length}, {expected} is needed", context)
    elif code != IGNORED:
        raise wrong(machine, at, f"{code} is not an action of match_shape")


def make_shape(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Make a shape of immediate lengths and lengths in the heap: heap, count, (source, number) for each."""
    need(machine, at, args, 2, "make_shape")
    heap, count, *entries = args
    if len(entries) != 2 * count:
        raise wrong(
            machine, at, f"make_shape takes {2 * count} numbers for {count} lengths, {len(entries)} given"
        )
    return Shape(
        _loaded(heap, code, number) for code, number in zip(entries[::2], entries[1::2], strict=True)
    )


def make_prim_value(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """An immediate number, or an entry of the heap: heap, source, number."""
    need(machine, at, args, 3, "make_prim_value")
    return _loaded(*args[:3])


def _loaded(heap: Value, code: int, number: int) -> int:
    return int(heap[number]) if code == LOADED else int(number)


def check_tensor_info(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Check that a value is a tensor of a rank (-1: any) and dtype (null: any)."""
    need(machine, at, args, 3, "check_tensor_info")
    value, ndim, *options = args
    dtype = options[0] if isinstance(options[0], DType) else None
    if not isinstance(value, np.ndarray):
        raise wrong(machine, at, f"{describe(value)} is not a tensor", options[-1])
    if ndim not in (-1, value.ndim):
        raise wrong(machine, at, f"{describe(value)} has rank {value.ndim}, {ndim} is needed", options[-1])
    if dtype is not None and from_numpy(value.dtype) is not dtype:
        raise wrong(machine, at, f"{describe(value)} is not of {dtype}", options[-1])
    return ()


def check_shape_info(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Check that a value is a shape of a number of lengths (-1: any)."""
    need(machine, at, args, 2, "check_shape_info")
    value, ndim, *context = args
    if not isinstance(value, Shape) or ndim not in (-1, len(value)):
        expected = "a shape" if ndim == -1 else f"a shape of {ndim} lengths"
        raise wrong(machine, at, f"{describe(value)} is not {expected}", context[-1] if context else "")
    return ()


def check_prim_value_info(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Check that a value is a scalar of a dtype."""
    need(machine, at, args, 2, "check_prim_value_info")
    value, dtype, *context = args
    scalar = isinstance(value, (bool, int, float, np.generic))
    if not scalar or (isinstance(dtype, DType) and scalar_dtype(value, dtype) is not dtype):
        raise wrong(
            machine, at, f"{describe(value)} is not a scalar of {dtype}", context[-1] if context else ""
        )
    return ()


def check_tuple_info(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Check that a value is a tuple of a number of fields."""
    need(machine, at, args, 2, "check_tuple_info")
    value, count, *context = args
    if not isinstance(value, tuple) or isinstance(value, Shape) or len(value) != count:
        raise wrong(
            machine, at, f"{describe(value)} is not a tuple of {count}", context[-1] if context else ""
        )
    return ()


def check_func_info(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Check that a value is a function."""
    need(machine, at, args, 1, "check_func_info")
    value, *context = args
    if not isinstance(value, (Closure, Lifted, e.GlobalVar, e.ExternFunc)) and not callable(value):
        raise wrong(machine, at, f"{describe(value)} is not a function", context[-1] if context else "")
    return ()


def check_string_info(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Check that a value is a string."""
    need(machine, at, args, 1, "check_string_info")
    if not isinstance(args[0], str):
        raise wrong(machine, at, f"{describe(args[0])} is not a string", args[-1])
    return ()


def reshape(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The tensor in another shape, with the same memory."""
    need(machine, at, args, 2, "reshape")
    value = tensor(machine, at, args[0])
    lengths = tuple(args[1])
    if min(lengths, default=0) < 0 or int(np.prod(lengths, dtype=object)) != value.size:
        raise wrong(machine, at, f"{describe(value)} can't be reshaped to {describe(args[1])}")
    return value.reshape(lengths)


def shape_of(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The shape of a tensor."""
    need(machine, at, args, 1, "shape_of")
    return Shape(tensor(machine, at, args[0]).shape)


def tensor_to_shape(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A vector of integers as a shape."""
    need(machine, at, args, 1, "tensor_to_shape")
    return Shape(int(n) for n in tensor(machine, at, args[0]).reshape(-1))


def shape_to_tensor(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A shape as a vector."""
    need(machine, at, args, 1, "shape_to_tensor")
    return np.asarray(args[0], np.int64)


def create_view(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A view: tensor, shape, dtype, offset in bytes."""
    need(machine, at, args, 4, "TVMTensorCreateView")
    value, shape, dtype, offset = args[:4]
    return view_of(tensor(machine, at, value), tuple(shape), np.dtype(dtype.to_numpy()), int(offset))


def ensure_zero_offset(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The tensor, copied if it has an offset in its memory."""
    need(machine, at, args, 1, "ensure_zero_offset")
    return EnsureZeroOffset.evaluate(args[0])


def null_value(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The null object."""
    return NULL


def first(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The value itself, because there is only one device."""
    need(machine, at, args, 1, "the builtin")
    return args[0]


def make_tuple(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A tuple of the arguments."""
    return tuple(args)


def tuple_getitem(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A field of a tuple."""
    need(machine, at, args, 2, "tuple_getitem")
    source, index = args[:2]
    if not isinstance(source, tuple) or not 0 <= index < len(source):
        raise wrong(machine, at, f"{describe(source)} has no field {index}")
    return source[index]


def tuple_reset_item(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The end of a field of a tuple, which TVM sets to null. Here it stays, because one can go back."""
    tuple_getitem(machine, at, args)
    return ()


def invoke_debug_func(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Call a packed function with a source line and arguments: null, its name, line, arguments. Returns null."""
    need(machine, at, args, 3, "invoke_debug_func")
    effect, name, *rest = args
    if effect is not NULL:
        raise wrong(machine, at, f"the first argument must be null, this is {describe(effect)}")
    if not isinstance(name, str) or not isinstance(rest[0], str):
        raise wrong(
            machine, at, "invoke_debug_func needs the name of a function and a source line, two strings"
        )
    machine.packed(name, rest, at)
    return effect


def debug_print(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Print a tensor: source line, tensor."""
    need(machine, at, args, 2, "debug_print")
    value = tensor(machine, at, args[1])
    machine.output.append(f"{args[0]}: shape = {value.shape}, dtype = {value.dtype}, data =\n{value}")
    return ()


def read_if_cond(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A scalar bool as a number: 0 or 1."""
    need(machine, at, args, 1, "read_if_cond")
    value = args[0]
    if isinstance(value, np.ndarray) and value.ndim:
        raise wrong(machine, at, f"the condition is {describe(value)}, not one bool")
    return int(bool(value))


def make_closure(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A function of the module by name, with its captured values."""
    need(machine, at, args, 1, "make_closure")
    function = args[0] if isinstance(args[0], e.GlobalVar) else e.GlobalVar(str(args[0]), None, None)
    return Lifted(function, tuple(args[1:]))


def alloc_storage(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A storage: shape, device, dtype, scope."""
    need(machine, at, args, 3, "alloc_storage")
    return new_storage(machine, at, args[0], args[2])


def alloc_tensor(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A tensor in a storage: storage, offset, shape, dtype."""
    need(machine, at, args, 4, "alloc_tensor")
    storage, offset, shape, dtype = args[:4]
    return tensor_in(machine, at, storage, int(offset), shape, dtype)


TABLE: dict[str, VmBuiltin] = {
    "vm.builtin.alloc_shape_heap": alloc_shape_heap,
    "vm.builtin.match_shape": match_shape,
    "vm.builtin.match_prim_value": match_prim_value,
    "vm.builtin.make_shape": make_shape,
    "vm.builtin.make_prim_value": make_prim_value,
    "vm.builtin.check_tensor_info": check_tensor_info,
    "vm.builtin.check_shape_info": check_shape_info,
    "vm.builtin.check_prim_value_info": check_prim_value_info,
    "vm.builtin.check_tuple_info": check_tuple_info,
    "vm.builtin.check_func_info": check_func_info,
    "vm.builtin.check_string_info": check_string_info,
    "vm.builtin.reshape": reshape,
    "vm.builtin.shape_of": shape_of,
    "vm.builtin.tensor_to_shape": tensor_to_shape,
    "vm.builtin.null_value": null_value,
    "vm.builtin.copy": first,
    "vm.builtin.to_device": first,
    "vm.builtin.make_tuple": make_tuple,
    "vm.builtin.tuple_getitem": tuple_getitem,
    "vm.builtin.tuple_reset_item": tuple_reset_item,
    "vm.builtin.invoke_debug_func": invoke_debug_func,
    "vm.builtin.debug_print": debug_print,
    "vm.builtin.read_if_cond": read_if_cond,
    "vm.builtin.make_closure": make_closure,
    "vm.builtin.alloc_storage": alloc_storage,
    "vm.builtin.alloc_tensor": alloc_tensor,
    "vm.builtin.ensure_zero_offset": ensure_zero_offset,
    "runtime.TVMTensorCreateView": create_view,
    "relax.run.shape_to_tensor": shape_to_tensor,
    **faults.MESSAGES,
    **kv_cache.TABLE,
    **paged_builtins.TABLE,
    **paged_builtins.LATENT,
    **sequence_builtins.TABLE,
    **rnn_state.TABLE,
    **sequence_builtins.CHOICES,
}
