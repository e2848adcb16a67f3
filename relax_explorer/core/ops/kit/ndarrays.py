"""Arrays of evaluation: their types, memory of large ones, and work by rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache, cached_property
from math import prod
from typing import Any, TypeAlias
from weakref import finalize

import numpy as np

from relax_explorer.core.ir.node import CHECKS

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"  # a text, since types are named before numpy is needed
Number: TypeAlias = "int | float | np.number[Any]"
Scalar: TypeAlias = "np.number[Any]"


def dense(matrix: Array) -> Array:
    """A matrix, or several, that BLAS takes: one dimension is contiguous, and rows do not overlap. Otherwise a copy."""
    (rows, columns), (down, across), size = matrix.shape[-2:], matrix.strides[-2:], matrix.itemsize
    by_rows = across == size and down >= columns * size
    return matrix if by_rows or (down == size and across >= rows * size) else np.ascontiguousarray(matrix)


# -- large arrays ----------------------------------------------------------------------------------------------------
# Memory of large arrays, used again when nobody refers to it: the system takes as long to clear new memory as a loop
# to fill it.
#
# The allocator of C does that for arrays up to 32 MB, and returns larger ones to the system at once.


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
    """An array with any content: with checks, numbers that show where they are read."""
    array = _empty(shape, dtype)
    if CHECKS:
        array.reshape(-1).view(np.uint8).fill(0xFF)  # NaN, -1
    return array


def _empty(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
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


# -- by rows ---------------------------------------------------------------------------------------------------------
# Evaluation of large arrays some rows at a time: intermediate arrays stay in the cache, and threads share the rows.


_ELEMENTS = (
    1 << 18
)  # of a block: 1 MB of float32; the threads take turns at the interpreter once for each block
_SHARED = 1 << 20  # elements from which on threads share the work


class OfNumpy:
    """A function of numpy by its name, looked up when it is called first: operators are declared and checked without numpy."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def function(self) -> np.ufunc:
        """The function. Few are reductions, which take other options."""
        found: np.ufunc = getattr(np, self.name)
        return found

    def __call__(self, *operands: object, **options: object) -> Array:
        """Call it."""
        result: Array = self.function(*operands, **options)
        return result


# The ufunc that an `evaluate` calls if all dtypes are equal, and neither bool nor narrow floats: it can write into a given array.
UFUNCS: dict[Callable[..., Array], OfNumpy] = {}


def by_rows(function: Callable[[Array, Array], object], x: Array, axes: Sequence[int]) -> Array:
    """What `function(x, out)` writes into `out`, of the shape and dtype of `x`.

    It combines elements along `axes` only, so others can be divided.
    """
    result = empty(x.shape, x.dtype)

    def fill(start: int, end: int) -> None:
        function(x[start:end], result[start:end])

    if x.size <= 2 * _ELEMENTS or any(n % x.ndim == 0 for n in axes):
        function(x, result)
    else:
        in_blocks(fill, len(x), rows_of(x.shape, x.size), x.size)
    return result


def rows_of(shape: Sequence[int], size: int) -> int:
    """The rows of a block of an array of this shape and number of elements."""
    return max(1, _ELEMENTS * shape[0] // size)


def are_shared(size: int) -> bool:
    """True if threads share the work on so many elements."""
    return size >= _SHARED and _threads() > 1


def in_blocks(fill: Callable[[int, int], None], length: int, rows: int, size: int) -> None:
    """Call `fill(start, end)` for blocks of rows, on several threads if the array of `size` elements is large."""

    def some(first: int, last: int) -> None:
        for start in range(first, last, rows):
            fill(start, min(start + rows, last))

    if not are_shared(size):
        some(0, length)
        return
    part = -(-length // _threads())
    # Each thread works under the numpy error state of this one, which belongs to the context.
    works = [
        _pool().submit(copy_context().run, some, first, min(first + part, length))
        for first in range(0, length, part)
    ]
    wait(works)  # also after a failure: no thread goes on with arrays of the caller
    for work in works:
        work.result()


@cache
def _threads() -> int:
    return os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_threads(), "rows")
