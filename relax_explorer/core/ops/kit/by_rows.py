"""Evaluation of large arrays some rows at a time: intermediate arrays stay in the cache, and threads share the rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache

import numpy as np

from relax_explorer.core.ops.kit import large_arrays
from relax_explorer.core.ops.kit.array_types import Array

_ELEMENTS = (
    1 << 18
)  # of a block: 1 MB of float32; the threads take turns at the interpreter once for each block
_SHARED = 1 << 20  # elements from which on threads share the work


# The ufunc that an `evaluate` calls if all dtypes are equal, and neither bool nor narrow floats: it can write into a given array.
UFUNCS: dict[Callable[..., Array], np.ufunc] = {}


def by_rows(function: Callable[[Array, Array], object], x: Array, axes: Sequence[int]) -> Array:
    """What `function(x, out)` writes into `out`, of the shape and dtype of `x`.

    It combines elements along `axes` only, so others can be divided.
    """
    result = large_arrays.empty(x.shape, x.dtype)

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
