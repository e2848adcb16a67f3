"""The builtins of `vm.builtin.kv_state_…`: sequences and forward passes of paged caches and recurrent states."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.exec.need import VmBuiltin, count, explained, need, shape, wrong
from relax_explorer.core.exec.paged_cache import PagedCache
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.rnn_state import RnnState
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import NULL, Shape, Value, describe


def add_sequence(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Add an empty sequence: cache, number."""
    need(machine, at, args, 2, "kv_state_add_sequence")
    _state(machine, at, args[0]).add(sequence_name(machine, at, args[1]))
    return ()


def remove_sequence(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Remove a sequence: cache, number."""
    need(machine, at, args, 2, "kv_state_remove_sequence")
    _state(machine, at, args[0]).remove(sequence_name(machine, at, args[1]))
    return ()


def fork_sequence(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Add a sequence with the first tokens of another one: cache, other, new number, number of tokens (-1: all)."""
    need(machine, at, args, 3, "kv_state_fork_sequence")
    position = count(machine, at, args[3], "the position", -1) if len(args) > 3 else -1
    _state(machine, at, args[0]).fork(
        sequence_name(machine, at, args[1]), sequence_name(machine, at, args[2]), position
    )
    return ()


def pop_tokens(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Drop the last tokens of a sequence: cache, number, how many."""
    need(machine, at, args, 3, "kv_state_popn")
    dropped = count(machine, at, args[2], "the number of tokens")
    _state(machine, at, args[0]).pop(sequence_name(machine, at, args[1]), dropped)
    return ()


def clear(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Remove all sequences."""
    need(machine, at, args, 1, "kv_state_clear")
    _state(machine, at, args[0]).clear()
    return ()


def begin_forward(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Begin a forward pass: cache, sequences, numbers of new tokens, parents of the tokens if they form trees."""
    need(machine, at, args, 3, "kv_state_begin_forward")
    added = shape(machine, at, args[2], "the numbers of tokens")
    parents = None
    if len(args) > 3 and args[3] is not NULL:
        parents = numbers(machine, at, args[3], "the parents of the tokens")
    names = numbers(machine, at, args[1], "the sequences")
    _state(machine, at, args[0]).begin(names, tuple(added), parents)
    return ()


def end_forward(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """End the forward pass."""
    need(machine, at, args, 1, "kv_state_end_forward")
    _state(machine, at, args[0]).end()
    return ()


def _state(machine: Running, at: Instruction, value: Value) -> PagedCache | RnnState:
    if not isinstance(value, (PagedCache, RnnState)):
        raise wrong(machine, at, f"{describe(value)} is not a paged cache or a recurrent state")
    return value


def cache_of(machine: Running, at: Instruction, value: Value) -> PagedCache:
    """The value, which must be a paged cache."""
    if not isinstance(value, PagedCache):
        raise wrong(machine, at, f"{describe(value)} is not a paged cache")
    return value


def layer_of(machine: Running, at: Instruction, args: list[Value]) -> int:
    """The layer that the second argument names, counted from the first one of the cache."""
    layout = cache_of(machine, at, args[0]).layout
    layer = count(machine, at, args[1], "the layer") - layout.first_layer
    if not 0 <= layer < layout.layers:
        raise wrong(machine, at, f"layer {args[1]} is not one of the {layout.layers} layers of the cache")
    return layer


def sequence_name(machine: Running, at: Instruction, value: Value) -> int:
    """The number of a sequence. It may be negative."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise wrong(machine, at, f"a sequence has a number, this is {describe(value)}")
    return int(value)


def numbers(machine: Running, at: Instruction, value: Value, what: str) -> tuple[int, ...]:
    """The numbers in a shape. They may be negative."""
    if not isinstance(value, Shape):
        raise wrong(machine, at, f"{what} must be a shape, this is {describe(value)}")
    return tuple(value)


_STATE = "vm.builtin.kv_state_"
TABLE: dict[str, VmBuiltin] = {
    name: explained(builtin)
    for name, builtin in {
        _STATE + "add_sequence": add_sequence,
        _STATE + "remove_sequence": remove_sequence,
        _STATE + "fork_sequence": fork_sequence,
        _STATE + "popn": pop_tokens,
        _STATE + "clear": clear,
        _STATE + "begin_forward": begin_forward,
        _STATE + "end_forward": end_forward,
    }.items()
}
