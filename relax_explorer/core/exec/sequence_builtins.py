"""The builtins of `vm.builtin.kv_state_…`, of sequences and forward passes, and those that choose the next token."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.exec.faults import (
    builtin,
    count,
    float_tensor,
    number,
    shape,
    tensor,
    wrong,
)
from relax_explorer.core.exec.kv_cache import Array
from relax_explorer.core.exec.paged_cache import PagedCache
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.rnn_state import RnnState
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import NULL, Shape, Value, describe

_STATE = "vm.builtin.kv_state_"


@builtin(_STATE + "add_sequence", 2)
def add_sequence(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Add an empty sequence: cache, number."""
    _state(machine, at, args[0]).add(sequence_name(machine, at, args[1]))
    return ()


@builtin(_STATE + "remove_sequence", 2)
def remove_sequence(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Remove a sequence: cache, number."""
    _state(machine, at, args[0]).remove(sequence_name(machine, at, args[1]))
    return ()


@builtin(_STATE + "fork_sequence", 3)
def fork_sequence(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Add a sequence with the first tokens of another one: cache, other, new number, number of tokens (-1: all)."""
    position = count(machine, at, args[3], "the position", -1) if len(args) > 3 else -1
    _state(machine, at, args[0]).fork(
        sequence_name(machine, at, args[1]), sequence_name(machine, at, args[2]), position
    )
    return ()


@builtin(_STATE + "popn", 3)
def pop_tokens(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Drop the last tokens of a sequence: cache, number, how many."""
    dropped = count(machine, at, args[2], "the number of tokens")
    _state(machine, at, args[0]).pop(sequence_name(machine, at, args[1]), dropped)
    return ()


@builtin(_STATE + "clear", 1)
def clear(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Remove all sequences."""
    _state(machine, at, args[0]).clear()
    return ()


@builtin(_STATE + "begin_forward", 3)
def begin_forward(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Begin a forward pass: cache, sequences, numbers of new tokens, parents of the tokens if they form trees."""
    added = shape(machine, at, args[2], "the numbers of tokens")
    parents = None
    if len(args) > 3 and args[3] is not NULL:
        parents = numbers(machine, at, args[3], "the parents of the tokens")
    names = numbers(machine, at, args[1], "the sequences")
    _state(machine, at, args[0]).begin(names, tuple(added), parents)
    return ()


@builtin(_STATE + "end_forward", 1)
def end_forward(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """End the forward pass."""
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


# -- token choice ----------------------------------------------------------------------------------------------------
# The builtins that choose the next token of a language model: penalties, softmax, top-p and multinomial sampling.
#
# The random number is an argument, so every choice can be repeated.


COLDEST = 1e-6
"""Below this temperature the most likely token is chosen."""


@builtin("vm.builtin.sample_top_p_from_logits", 4)
def sample_top_p_from_logits(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The chosen token: logits, temperature, share of the likeliest tokens, random number."""
    logits = _row(machine, at, args[0], "the logits")
    temperature = number(machine, at, args[1], "the temperature")
    order = np.argsort(-logits, kind="stable")
    if np.isnan(logits).any() or not temperature >= 0:
        raise wrong(machine, at, "NaN in the logits, or a negative temperature")
    if temperature < COLDEST:
        return int(order[0])
    weights = np.exp((logits[order] - logits[order[0]]) / np.float32(temperature))
    return _choose(machine, at, order, weights / weights.sum(dtype=np.float32), args[2], args[3])


@builtin("vm.builtin.sample_top_p_from_prob", 3)
def sample_top_p_from_prob(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The chosen token: probabilities, share of the likeliest tokens, random number."""
    chances = _row(machine, at, args[0], "the probabilities")
    if not (chances >= 0).all():
        raise wrong(machine, at, "a probability is negative or NaN")
    order = np.argsort(-chances, kind="stable")
    return _choose(machine, at, order, chances[order], args[1], args[2])


def _choose(
    machine: Running, at: Instruction, order: Array, chances: Array, share: Value, random: Value
) -> int:
    """A token of the likeliest ones, which make `share` of the chances. `chances` fall, as `order` does."""
    share, random = number(machine, at, share, "top_p"), _random(machine, at, random)
    sums = np.cumsum(chances, dtype=np.float32)
    kept = max(int(np.count_nonzero((sums - chances) < share)), 1)
    place = int(np.searchsorted(sums[:kept], random * float(sums[kept - 1]), side="right"))
    return int(order[min(place, kept - 1)])


@builtin("vm.builtin.multinomial_from_uniform", 2)
def multinomial_from_uniform(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The chosen token of each row: probabilities, random numbers of shape (rows, 1)."""
    chances = float_tensor(machine, at, args[0], "the probabilities")
    random = float_tensor(machine, at, args[1], "the random numbers")
    if chances.ndim != 2 or random.shape != (len(chances), 1):
        text = f"{describe(chances)} needs one random number for each row, given is {describe(random)}"
        raise wrong(machine, at, text)
    sums = np.cumsum(chances, axis=1, dtype=np.float32)
    places = (sums <= random).sum(axis=1, keepdims=True)
    return np.minimum(places, chances.shape[1] - 1).astype(np.int64)


@builtin("vm.builtin.apply_softmax_with_temperature", 2)
def apply_softmax_with_temperature(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Turn logits into probabilities, in place: logits, temperature."""
    logits = _row(machine, at, args[0], "the logits")
    temperature = number(machine, at, args[1], "the temperature")
    if not temperature > 0:
        raise wrong(machine, at, f"the temperature {temperature} is not positive")
    weights = np.exp((logits - logits.max()) / np.float32(temperature))
    args[0][...] = (weights / weights.sum(dtype=np.float32)).reshape(args[0].shape)
    return ()


@builtin("vm.builtin.apply_repetition_penalty", 3)
def apply_repetition_penalty(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Make tokens less likely, in place, once each: logits, tokens, penalty."""
    logits = _row(machine, at, args[0], "the logits")
    tokens = np.unique(_tokens(machine, at, args[1], logits.size))
    penalty = number(machine, at, args[2], "the penalty")
    if not penalty > 0:
        raise wrong(machine, at, f"the penalty {penalty} is not positive")
    old = logits[tokens]
    logits[tokens] = np.where(old <= 0, old * np.float32(penalty), old / np.float32(penalty))
    args[0][...] = logits.reshape(args[0].shape)
    return ()


@builtin("vm.builtin.apply_presence_and_frequency_penalty", 5)
def apply_presence_and_frequency_penalty(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Make tokens less likely, in place: logits, tokens, how often each occurred, penalty once, penalty each time."""
    logits = _row(machine, at, args[0], "the logits")
    tokens, counts = _tokens(machine, at, args[1], logits.size), tensor(machine, at, args[2]).reshape(-1)
    if len(tokens) != len(counts):
        raise wrong(machine, at, f"{len(tokens)} tokens have {len(counts)} counts")
    once, each = number(machine, at, args[3], "the penalty"), number(machine, at, args[4], "the penalty")
    np.subtract.at(logits, tokens, (once + counts * each).astype(np.float32))
    args[0][...] = logits.reshape(args[0].shape)
    return ()


def _row(machine: Running, at: Instruction, value: Value, what: str) -> Array:
    """The only row of a tensor of float32."""
    array = float_tensor(machine, at, value, what)
    if array.ndim == 0 or array.size != array.shape[-1]:
        raise wrong(machine, at, f"{what} must be one row, this is {describe(value)}")
    row: Array = array.reshape(-1)
    return row


def _random(machine: Running, at: Instruction, value: Value) -> float:
    random = number(machine, at, value, "the random number")
    if not 0 <= random <= 1:
        raise wrong(machine, at, f"the random number {random} is not between 0 and 1")
    return random


def _tokens(machine: Running, at: Instruction, value: Value, most: int) -> Array:
    tokens: Array = tensor(machine, at, value).reshape(-1)
    if tokens.dtype.kind not in "iu" or (tokens.size and not (tokens.min() >= 0 and tokens.max() < most)):
        raise wrong(machine, at, f"the tokens must be whole numbers below {most}")
    return tokens
