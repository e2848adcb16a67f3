"""The builtins of TVM's virtual machine, which lowered programs call by name: checks of inputs, shapes, tuples, closures.

Each function takes the machine, the instruction, and the arguments. The arguments don't include a second machine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relax_explorer.core.exec import (
    collectives,
    faults,
    kv_cache,
    paged_builtins,
    rnn_state,
    sequence_builtins,
)
from relax_explorer.core.exec.faults import builtin, tensor, wrong
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


@builtin("vm.builtin.alloc_shape_heap", 1)
def alloc_shape_heap(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Allocate the heap of lengths, a vector of int64."""
    return np.zeros(int(args[0]), np.int64)


@builtin("vm.builtin.match_shape", 3)
def match_shape(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Compare or store each length of a tensor or shape: value, heap, count, (action, number) for each, context."""
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


@builtin("vm.builtin.match_prim_value", 4)
def match_prim_value(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Compare or store a scalar: value, heap, action, number, context."""
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


@builtin("vm.builtin.make_shape", 2)
def make_shape(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Make a shape of immediate lengths and lengths in the heap: heap, count, (source, number) for each."""
    heap, count, *entries = args
    if len(entries) != 2 * count:
        raise wrong(
            machine, at, f"make_shape takes {2 * count} numbers for {count} lengths, {len(entries)} given"
        )
    return Shape(
        _loaded(heap, code, number) for code, number in zip(entries[::2], entries[1::2], strict=True)
    )


@builtin("vm.builtin.make_prim_value", 3)
def make_prim_value(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """An immediate number, or an entry of the heap: heap, source, number."""
    return _loaded(*args[:3])


def _loaded(heap: Value, code: int, number: int) -> int:
    return int(heap[number]) if code == LOADED else int(number)


@builtin("vm.builtin.check_tensor_info", 3)
def check_tensor_info(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Check that a value is a tensor of a rank (-1: any) and dtype (null: any)."""
    value, ndim, *options = args
    dtype = options[0] if isinstance(options[0], DType) else None
    if not isinstance(value, np.ndarray):
        raise wrong(machine, at, f"{describe(value)} is not a tensor", options[-1])
    if ndim not in (-1, value.ndim):
        raise wrong(machine, at, f"{describe(value)} has rank {value.ndim}, {ndim} is needed", options[-1])
    if dtype is not None and from_numpy(value.dtype) is not dtype:
        raise wrong(machine, at, f"{describe(value)} is not of {dtype}", options[-1])
    return ()


@builtin("vm.builtin.check_shape_info", 2)
def check_shape_info(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Check that a value is a shape of a number of lengths (-1: any)."""
    value, ndim, *context = args
    if not isinstance(value, Shape) or ndim not in (-1, len(value)):
        expected = "a shape" if ndim == -1 else f"a shape of {ndim} lengths"
        raise wrong(machine, at, f"{describe(value)} is not {expected}", context[-1] if context else "")
    return ()


@builtin("vm.builtin.check_prim_value_info", 2)
def check_prim_value_info(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Check that a value is a scalar of a dtype."""
    value, dtype, *context = args
    scalar = isinstance(value, (bool, int, float, np.generic))
    if not scalar or (isinstance(dtype, DType) and scalar_dtype(value, dtype) is not dtype):
        raise wrong(
            machine, at, f"{describe(value)} is not a scalar of {dtype}", context[-1] if context else ""
        )
    return ()


@builtin("vm.builtin.check_tuple_info", 2)
def check_tuple_info(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Check that a value is a tuple of a number of fields."""
    value, count, *context = args
    if not isinstance(value, tuple) or isinstance(value, Shape) or len(value) != count:
        raise wrong(
            machine, at, f"{describe(value)} is not a tuple of {count}", context[-1] if context else ""
        )
    return ()


@builtin("vm.builtin.check_func_info", 1)
def check_func_info(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Check that a value is a function."""
    value, *context = args
    if not isinstance(value, (Closure, Lifted, e.GlobalVar, e.ExternFunc)) and not callable(value):
        raise wrong(machine, at, f"{describe(value)} is not a function", context[-1] if context else "")
    return ()


@builtin("vm.builtin.check_string_info", 1)
def check_string_info(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Check that a value is a string."""
    if not isinstance(args[0], str):
        raise wrong(machine, at, f"{describe(args[0])} is not a string", args[-1])
    return ()


@builtin("vm.builtin.reshape", 2)
def reshape(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The tensor in another shape, with the same memory."""
    value = tensor(machine, at, args[0])
    lengths = tuple(args[1])
    if min(lengths, default=0) < 0 or int(np.prod(lengths, dtype=object)) != value.size:
        raise wrong(machine, at, f"{describe(value)} can't be reshaped to {describe(args[1])}")
    return value.reshape(lengths)


@builtin("vm.builtin.shape_of", 1)
def shape_of(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The shape of a tensor."""
    return Shape(tensor(machine, at, args[0]).shape)


@builtin("vm.builtin.tensor_to_shape", 1)
def tensor_to_shape(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A vector of integers as a shape."""
    return Shape(int(n) for n in tensor(machine, at, args[0]).reshape(-1))


@builtin("relax.run.shape_to_tensor", 1)
def shape_to_tensor(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A shape as a vector."""
    return np.asarray(args[0], np.int64)


@builtin("runtime.TVMTensorCreateView", 4)
def create_view(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A view: tensor, shape, dtype, offset in bytes."""
    value, shape, dtype, offset = args[:4]
    return view_of(tensor(machine, at, value), tuple(shape), np.dtype(dtype.to_numpy()), int(offset))


@builtin("vm.builtin.ensure_zero_offset", 1)
def ensure_zero_offset(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The tensor, copied if it has an offset in its memory."""
    return EnsureZeroOffset.evaluate(args[0])


@builtin("vm.builtin.null_value")
def null_value(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The null object."""
    return NULL


@builtin("vm.builtin.copy", 1)
@builtin("vm.builtin.to_device", 1)
def first(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The value itself, because there is only one device."""
    return args[0]


@builtin("vm.builtin.make_tuple")
def make_tuple(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A tuple of the arguments."""
    return tuple(args)


@builtin("vm.builtin.tuple_getitem", 2)
def tuple_getitem(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A field of a tuple."""
    source, index = args[:2]
    if not isinstance(source, tuple) or not 0 <= index < len(source):
        raise wrong(machine, at, f"{describe(source)} has no field {index}")
    return source[index]


@builtin("vm.builtin.tuple_reset_item")
def tuple_reset_item(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The end of a field of a tuple, which TVM sets to null. Here it stays, because one can go back."""
    tuple_getitem(machine, at, args)
    return ()


@builtin("vm.builtin.invoke_debug_func", 3)
def invoke_debug_func(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Call a packed function with a source line and arguments: null, its name, line, arguments. Returns null."""
    effect, name, *rest = args
    if effect is not NULL:
        raise wrong(machine, at, f"the first argument must be null, this is {describe(effect)}")
    if not isinstance(name, str) or not isinstance(rest[0], str):
        raise wrong(
            machine, at, "invoke_debug_func needs the name of a function and a source line, two strings"
        )
    machine.packed(name, rest, at)
    return effect


@builtin("vm.builtin.debug_print", 2)
def debug_print(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Print a tensor: source line, tensor."""
    value = tensor(machine, at, args[1])
    machine.output.append(f"{args[0]}: shape = {value.shape}, dtype = {value.dtype}, data =\n{value}")
    return ()


@builtin("vm.builtin.read_if_cond", 1)
def read_if_cond(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A scalar bool as a number: 0 or 1."""
    value = args[0]
    if isinstance(value, np.ndarray) and value.ndim:
        raise wrong(machine, at, f"the condition is {describe(value)}, not one bool")
    return int(bool(value))


@builtin("vm.builtin.make_closure", 1)
def make_closure(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A function of the module by name, with its captured values."""
    function = args[0] if isinstance(args[0], e.GlobalVar) else e.GlobalVar(str(args[0]), None, None)
    return Lifted(function, tuple(args[1:]))


@builtin("vm.builtin.alloc_storage", 3)
def alloc_storage(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A storage: shape, device, dtype, scope."""
    return new_storage(machine, at, args[0], args[2])


@builtin("vm.builtin.alloc_tensor", 4)
def alloc_tensor(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A tensor in a storage: storage, offset, shape, dtype."""
    storage, offset, shape, dtype = args[:4]
    return tensor_in(machine, at, storage, int(offset), shape, dtype)


# The modules that have builtins, too. They fill the table when they are imported.
_FAMILIES = collectives, kv_cache, paged_builtins, sequence_builtins, rnn_state
TABLE = faults.BUILTINS
