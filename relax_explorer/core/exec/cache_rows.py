"""Tables that grow by rows. A table never changes; adding rows makes another one, which shares the memory of the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class _Memory:
    """Memory for rows. The first `used` ones belong to tables, and are not written again."""

    __slots__ = ("data", "used")

    def __init__(self, data: Array, used: int) -> None:
        self.data, self.used = data, used


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The first `count` rows of a memory."""

    memory: _Memory
    count: int

    @property
    def data(self) -> Array:
        """The rows, as a view."""
        return self.memory.data[: self.count]

    @property
    def capacity(self) -> int:
        """The number of rows that fit without another allocation."""
        return len(self.memory.data)

    def added(self, values: Array) -> Rows:
        """These rows, and then `values`."""
        memory, end = self.memory, self.count + len(values)
        if memory.used != self.count or end > len(
            memory.data
        ):  # another table owns these places, or it is full
            memory = _Memory(_copied(self.data, max(end, self._grown(end))), self.count)
        memory.data[self.count : end] = values
        memory.used = end
        return Rows(memory, end)

    def _grown(self, end: int) -> int:
        size = max(self.capacity, 1)
        while size < end:
            size *= 2
        return size

    def first(self, count: int) -> Rows:
        """The first `count` rows, at most as many as fit."""
        return Rows(self.memory, count)

    def changed(self, count: int, places: Array, values: Array) -> Rows:
        """A copy of `count` rows, with `values` at `places`, in this order."""
        data = _copied(self.memory.data[:count], max(count, self.capacity))
        data[places] = values
        return Rows(_Memory(data, count), count)


def _copied(data: Array, capacity: int) -> Array:
    """A copy with memory for `capacity` rows. What was not filled is 0."""
    fresh = np.zeros((capacity, *data.shape[1:]), data.dtype)
    fresh[: len(data)] = data
    return fresh


def empty_rows(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Rows:
    """A table without rows; `shape` tells how many fit, and the shape of a row."""
    return Rows(_Memory(np.zeros(shape, dtype), 0), 0)
