"""Ranks: machines that run one program side by side, each with arguments of its own, and meet at collectives.

Elements are combined in the order of the ranks, in their dtype (MPI_Allreduce, NCCL), so that each run gives the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Condition
from typing import Any

import numpy as np

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.ops.kit.ndarrays import Array

_LOOK = 0.1  # seconds between two looks at the interrupt
_UFUNCS: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "avg": np.add,
}


class Apart(Exception):
    """The ranks do not meet, with the reason."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A rank at a collective: what it calls, as people read it, and its tensor."""

    name: str
    attrs: Mapping[str, Any]
    value: Array

    @property
    def call(self) -> str:
        """The call without its tensor, by which ranks are compared."""
        return f"{self.name}({', '.join([f'{name}={value}' for name, value in self.attrs.items()])})"


class Group:
    """Ranks that meet. Each of them calls `meet` on a thread of its own, and `leave` at its end."""

    def __init__(self, count: int, interrupt: Interrupt) -> None:
        self.count, self.interrupt = count, interrupt
        self.meetings = 0
        self._changed = Condition()
        self._here: dict[int, Arrival] = {}
        self._results: list[Array] = []
        self._left: dict[int, str] = {}  # why a rank comes no more
        self._apart = ""

    def meet(self, rank: int, arrival: Arrival) -> Array:
        """The tensor that a rank gets when all have arrived. Raises Apart if they never will, or call different collectives."""
        with self._changed:
            self._here[rank] = arrival
            meeting = self.meetings
            if len(self._here) == self.count:
                self._finish()
            self._look_for_absent()
            while self.meetings == meeting and not self._apart:
                self._changed.wait(_LOOK)
                self.interrupt.check()
            if self.meetings == meeting:
                raise Apart(self._apart)
            return self._results[rank]

    def leave(self, rank: int, why: str) -> None:
        """Let the others know that a rank comes no more."""
        with self._changed:
            self._left[rank] = why
            self._look_for_absent()

    def _look_for_absent(self) -> None:
        if self._left and self._here and not self._apart:
            (gone, why), (waiting, arrival) = next(iter(self._left.items())), next(iter(self._here.items()))
            self._apart = f"rank {waiting} waits at {arrival.call}, but rank {gone} {why}"
            self._changed.notify_all()

    def _finish(self) -> None:
        arrivals = [self._here[rank] for rank in range(self.count)]
        calls = {arrival.call: rank for rank, arrival in reversed(list(enumerate(arrivals)))}
        if len(calls) > 1:
            (one, first), (other, second) = sorted(calls.items(), key=lambda item: item[1])[:2]
            self._apart = f"rank {first} is at {one}, rank {second} at {other}"
        else:
            try:
                self._results = combined(
                    arrivals[0].name, [item.value for item in arrivals], arrivals[0].attrs
                )
                self.meetings += 1
                self._here.clear()
            except Apart as problem:
                self._apart = str(problem)
        self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class Rank:
    """The place of a machine in a group."""

    group: Group
    number: int


def combined(name: str, values: Sequence[Array], attrs: Mapping[str, Any]) -> list[Array]:
    """What each rank gets of a collective, given the tensors of all. Raises Apart."""
    count = attrs.get("num_workers", len(values))
    if count != len(values):
        raise Apart(f"{name} is for num_workers={count}, but {len(values)} ranks run")
    from_all = name in ("allreduce", "allgather")
    shapes = {(value.shape, value.dtype): rank for rank, value in reversed(list(enumerate(values)))}
    if from_all and len(shapes) > 1:
        told = [
            f"rank {rank} has {dtype.name} of shape {shape}"
            for (shape, dtype), rank in reversed(shapes.items())
        ]
        raise Apart(f"{name} needs tensors of one shape and dtype, but {' and '.join(told[:2])}")
    return _RULES[name](values, attrs)


def _allreduce(values: Sequence[Array], attrs: Mapping[str, Any]) -> list[Array]:
    kind, dtype = attrs["op_type"], values[0].dtype
    result = values[0].copy()
    with np.errstate(all="ignore"):
        for value in values[1:]:
            result = np.asarray(_UFUNCS[kind](result, value), dtype)
        if kind == "avg":
            result = np.asarray(_quotient(result, len(values)), dtype)
    return [result.copy() for _ in values]


def _quotient(total: Array, count: int) -> Array:
    """Integers are rounded towards zero, as in C."""
    if total.dtype.kind not in "iu":
        return np.asarray(total / count)
    return np.asarray(np.sign(total) * (np.abs(total) // np.asarray(count, total.dtype)))


def _allgather(values: Sequence[Array], attrs: Mapping[str, Any]) -> list[Array]:
    return [np.concatenate(values) for _ in values]


def _broadcast(values: Sequence[Array], attrs: Mapping[str, Any]) -> list[Array]:
    return [values[0].copy() for _ in values]


def _scatter(values: Sequence[Array], attrs: Mapping[str, Any]) -> list[Array]:
    """Lowered, the first axis of the tensor is that of the ranks, and there is no attribute."""
    axis = attrs.get("axis", 0)
    if values[0].ndim == 0 or values[0].shape[axis] % len(values):
        raise Apart(
            f"scatter_from_worker0: {len(values)} ranks can't share shape {values[0].shape} along axis {axis}"
        )
    return [np.ascontiguousarray(part) for part in np.split(values[0], len(values), axis)]


_RULES: dict[str, Callable[[Sequence[Array], Mapping[str, Any]], list[Array]]] = {
    "allreduce": _allreduce,
    "allgather": _allgather,
    "broadcast_from_worker0": _broadcast,
    "scatter_from_worker0": _scatter,
}
