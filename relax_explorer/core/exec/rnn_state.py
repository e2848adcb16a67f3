"""The state of a recurrent language model: `vm.builtin.rnn_state_create`, `get`, `set`, and the calls of `kv_state_…` on it.

Each sequence has the same tensors for each layer, and keeps the states of its last passes, so that tokens can be dropped. The kernels
given to the creation, which copy states, are not run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from relax_explorer.core.exec.faults import Refused, builtin, count, tensor, wrong
from relax_explorer.core.exec.kv_cache import Array
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.plan import Instruction
from relax_explorer.core.exec.running import Running
from relax_explorer.core.exec.values import MEMORY_LIMIT, Value, describe

_RNN = "vm.builtin.rnn_state_"

_Item = TypeVar("_Item")
Slot = tuple[tuple[Array, ...], ...]
"""The tensors of a sequence after one pass: for each layer its states."""


@dataclass(frozen=True, slots=True, eq=False)
class Sizes:
    """What never changes in a state."""

    layers: int
    most_sequences: int
    history: int  # the number of slots of a sequence
    initial: tuple[Array, ...]  # the first value of each state of a layer


@dataclass(frozen=True, slots=True, eq=False)
class _Sequence:
    """The slots of a sequence, in a ring: the current one, and how many before it can be returned to."""

    slots: tuple[Slot, ...]
    current: int = 0
    returns: int = 0
    length: int = 0

    @property
    def next(self) -> int:
        """The slot that this pass fills."""
        return (self.current + 1) % len(self.slots)


@dataclass(frozen=True, slots=True, eq=False)
class _Pass:
    """A forward pass: sequences, and their numbers of new tokens. It is stale after a call that changes sequences."""

    names: tuple[int, ...]
    added: tuple[int, ...]
    stale: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """The sequences, and the forward pass if there is one."""

    sequences: dict[int, _Sequence]
    forward: _Pass | None = None

    def changed(self, sequences: dict[int, _Sequence]) -> _Held:
        """Other sequences. A forward pass can't read and write them before it is begun again."""
        forward = self.forward
        return _Held(sequences, None if forward is None else replace(forward, stale=True))


class RnnState(Stateful):
    """A recurrent state. Calls that it refuses leave it as it was."""

    __slots__ = ("sizes",)
    state: _Held

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(_Held({}))
        self.sizes = sizes

    def __repr__(self) -> str:
        sizes, sequences = self.sizes, len(self.state.sequences)
        forward = ", in a forward pass" if self.state.forward is not None else ""
        states = f"{len(sizes.initial)} state{'s' * (len(sizes.initial) != 1)} in {sizes.layers} layers"
        return f"<rnn state of {sequences} sequence{'s' * (sequences != 1)}, {states}, {sizes.history} kept{forward}>"

    def parts(self) -> tuple[tuple[str, Array], ...]:
        """The states of each sequence: slots, layers, states."""
        return tuple(
            [
                (f"sequence {name}, slot {slot}, layer {layer}, state {number}", array)
                for name, own in sorted(self.state.sequences.items())
                for slot, layers in enumerate(own.slots)
                for layer, states in enumerate(layers)
                for number, array in enumerate(states)
            ]
        )

    def seen(self) -> Value:
        """For each sequence the current states of its layers."""
        return {name: own.slots[own.current] for name, own in sorted(self.state.sequences.items())}

    def sequence(self, name: int) -> _Sequence:
        """A sequence that exists."""
        found = self.state.sequences.get(name)
        if found is None:
            known = ", ".join(map(str, sorted(self.state.sequences))) or "none"
            raise Refused(f"sequence {name} is not in the state; there are {known}")
        return found

    @property
    def forward(self) -> _Pass:
        """The forward pass, which can read and write."""
        forward = self.state.forward
        if forward is None:
            raise Refused("no forward pass was begun; call kv_state_begin_forward first")
        if forward.stale:
            raise Refused("sequences changed in the forward pass; call kv_state_begin_forward again")
        return forward

    def add(self, name: int) -> None:
        """Add a sequence with the first value of each state."""
        self._check_new(name)
        unset = tuple(np.zeros_like(value) for value in self.sizes.initial)
        slots = [(values,) * self.sizes.layers for values in (self.sizes.initial, unset)]
        sequence = _Sequence((slots[0], *[slots[1]] * (self.sizes.history - 1)))
        self.state = self.state.changed({**self.state.sequences, name: sequence})

    def remove(self, name: int) -> None:
        """Remove a sequence."""
        self.sequence(name)
        self.state = self.state.changed({k: v for k, v in self.state.sequences.items() if k != name})

    def fork(self, parent: int, child: int, position: int) -> None:
        """Add a copy of a sequence. Its history is copied, too."""
        own = self.sequence(parent)
        self._check_new(child)
        if position not in (-1, own.length):
            text = f"sequence {parent} has {own.length} tokens, a fork at {position} is asked for"
            raise Refused(f"{text}; a recurrent state can be forked at its end only")
        self.state = self.state.changed({**self.state.sequences, child: own})

    def pop(self, name: int, count: int) -> None:
        """Return to the state before the last tokens of a sequence."""
        own = self.sequence(name)
        if not 0 <= count <= own.returns:
            raise Refused(
                f"sequence {name} keeps {own.returns} earlier states, {count} tokens can't be dropped"
            )
        current = (own.current - count) % len(own.slots)
        earlier = replace(own, current=current, returns=own.returns - count, length=own.length - count)
        self.state = self.state.changed({**self.state.sequences, name: earlier})

    def clear(self) -> None:
        """Remove all sequences."""
        self.state = self.state.changed({})

    def begin(self, names: tuple[int, ...], added: tuple[int, ...], parents: tuple[int, ...] | None) -> None:
        """Begin a forward pass: sequences, and their numbers of new tokens. Trees must be chains."""
        if len(names) != len(added):
            raise Refused(f"{len(names)} sequences have {len(added)} numbers of tokens")
        if len(set(names)) < len(names):
            raise Refused("a sequence is named twice in a forward pass")
        if not names or min(added) < 1:
            raise Refused("a forward pass needs a sequence, and each sequence a new token")
        if parents is not None and list(parents) != [n - 1 for size in added for n in range(size)]:
            raise Refused("a recurrent state takes chains of tokens only, no trees")
        for name in names:
            self.sequence(name)
        self.state = replace(self.state, forward=_Pass(names, added))

    def end(self) -> None:
        """End the forward pass: the states that it set are now current."""
        forward = self.state.forward
        if forward is None:
            raise Refused("no forward pass was begun; call kv_state_begin_forward first")
        sequences = dict(self.state.sequences)
        for name, added in zip(forward.names, forward.added, strict=True):
            own = self.sequence(name)
            returns = min(own.returns + 1, self.sizes.history - 1) if added == 1 else 0
            sequences[name] = replace(own, current=own.next, returns=returns, length=own.length + added)
        self.state = _Held(sequences)

    def value(self, name: int, layer: int, index: int) -> Array:
        """The current value of a state of a sequence."""
        own = self.sequence(name)
        return own.slots[own.current][layer][index]

    def set(self, layer: int, index: int, data: Array) -> None:
        """Set the next value of a state, for each sequence of the forward pass."""
        sequences = dict(self.state.sequences)
        for name, value in zip(self.forward.names, data.copy(), strict=True):
            own = sequences[name]
            slot = _with(own.slots[own.next], layer, _with(own.slots[own.next][layer], index, value))
            sequences[name] = replace(own, slots=_with(own.slots, own.next, slot))
        self.state = replace(self.state, sequences=sequences)

    def _check_new(self, name: int) -> None:
        """Refuse a sequence that exists, or has no room."""
        if name in self.state.sequences:
            raise Refused(f"sequence {name} is already in the state")
        if len(self.state.sequences) == self.sizes.most_sequences:
            raise Refused(f"the state is full: it has room for {self.sizes.most_sequences} sequences")


def _with(items: tuple[_Item, ...], place: int, item: _Item) -> tuple[_Item, ...]:
    return (*items[:place], item, *items[place + 1 :])


@builtin(_RNN + "create", 6)
def create(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """A state: layers, sequences, history, kernels that read and write, first value of each state of a layer."""
    names = ("the layers", "the sequences", "the history")
    layers, sequences, history = [
        count(machine, at, value, name, 1) for value, name in zip(args[:3], names, strict=True)
    ]
    gets, sets, initial = args[3:6]
    if not all(type(part) is tuple for part in (gets, sets, initial)) or not initial:
        raise wrong(
            machine, at, "rnn_state_create takes tuples of kernels that read, kernels that write, and tensors"
        )
    if not len(gets) == len(sets) == len(initial):
        text = f"{len(initial)} states need as many kernels to read and to write"
        raise wrong(machine, at, f"{text}, {len(gets)} and {len(sets)} are given")
    values = tuple(tensor(machine, at, value).copy() for value in initial)
    if layers * sequences * history * sum(value.nbytes for value in values) > MEMORY_LIMIT:
        raise wrong(machine, at, f"a state of these sizes is over {MEMORY_LIMIT >> 30} GiB")
    return RnnState(Sizes(layers, sequences, history, values))


@builtin(_RNN + "get", 4)
def get(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Copy the current value of a state for the sequences of a pass: state, layer, index, result."""
    state, layer, index = _place(machine, at, args)
    names = state.forward.names
    target = _checked(machine, at, state, index, args[3])
    target[...] = np.stack([state.value(name, layer, index) for name in names])
    return ()


@builtin(_RNN + "set", 4)
def set_(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """Set the next value of a state for the sequences of a pass: state, layer, index, values. Returns the state."""
    state, layer, index = _place(machine, at, args)
    state.set(layer, index, _checked(machine, at, state, index, args[3]))
    return state


@builtin(_RNN + "debug_get", 4)
def debug_get(machine: Running, at: Instruction, args: list[Value]) -> Value:
    """The current value of a state: state, layer, index, sequence."""
    state, layer, index = _place(machine, at, args)
    if isinstance(args[3], bool) or not isinstance(args[3], (int, np.integer)):
        raise wrong(machine, at, f"a sequence has a number, this is {describe(args[3])}")
    return state.value(int(args[3]), layer, index).copy()


def _place(machine: Running, at: Instruction, args: list[Value]) -> tuple[RnnState, int, int]:
    """The state, the layer, and the index of a state in a layer."""
    state = args[0]
    if not isinstance(state, RnnState):
        raise wrong(machine, at, f"{describe(state)} is not a state made by rnn_state_create")
    layer, index = (
        count(machine, at, args[1], "the layer"),
        count(machine, at, args[2], "the index of the state"),
    )
    if layer >= state.sizes.layers:
        raise wrong(machine, at, f"layer {layer} is not one of the {state.sizes.layers} layers of the state")
    if index >= len(state.sizes.initial):
        raise wrong(
            machine, at, f"a layer has {len(state.sizes.initial)} states, number {index} is asked for"
        )
    return state, layer, index


def _checked(machine: Running, at: Instruction, state: RnnState, index: int, value: Value) -> Array:
    """A tensor with the values of a state for each sequence of the pass."""
    first = state.sizes.initial[index]
    lengths = (len(state.forward.names), *first.shape)
    given: Array = tensor(machine, at, value)
    if given.shape != lengths or given.dtype != first.dtype:
        raise wrong(machine, at, f"{describe(given)} is given, {lengths} of {first.dtype.name} is needed")
    return given
