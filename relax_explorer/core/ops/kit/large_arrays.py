"""Memory of large arrays, used again when nobody refers to it: the system takes as long to clear new memory as a loop to fill it.

The allocator of C does that for arrays up to 32 MB, and returns larger ones to the system at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any
from weakref import finalize

import numpy as np

from relax_explorer.core.ops.kit.array_types import Array

LARGE = 1 << 25  # bytes from which an array has memory of this kind
KEPT = 1 << 27  # bytes that nobody refers to; the oldest memory is given back first
_FREE: dict[int, Array] = {}  # by identity, the oldest first


class _Lent:
    """The owner of the memory of an array and all its views: numpy keeps it as long as one of them lives."""

    __slots__ = ("__array_interface__", "__weakref__")

    def __init__(self, memory: Array) -> None:
        self.__array_interface__ = memory.__array_interface__
        finalize(self, _give_back, memory).atexit = False


def empty(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """An array with any content."""
    size = prod(shape) * dtype.itemsize
    if size < LARGE:
        return np.empty(shape, dtype)
    memory = _taken(size)
    lent = np.asarray(_Lent(np.empty(size, np.uint8) if memory is None else memory))
    return lent.view(dtype).reshape(shape)


def _taken(size: int) -> Array | None:
    """Free memory of this size; None if there is none."""
    for memory in list(_FREE.values()):
        if memory.size == size and _FREE.pop(id(memory), None) is not None:  # no other thread took it
            return memory
    return None


def _give_back(memory: Array) -> None:
    """Keep memory for the next array. The thread that drops the last reference calls this, at any moment: no lock is safe here."""
    _FREE[id(memory)] = memory
    while sum([item.size for item in list(_FREE.values())]) > KEPT:
        _FREE.pop(next(iter(list(_FREE))), None)
