"""Evaluation of large arrays some rows at a time: intermediate arrays stay in the cache, and threads share the rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache

import numpy as np

from relax_explorer.core.ops.kit.array_types import Array

_ELEMENTS = 1 << 16  # of a block: 256 KB of float32
_SHARED = 1 << 20  # elements from which on threads share the work


def by_rows(function: Callable[[Array], Array], x: Array, axes: Sequence[int]) -> Array:
    """`function(x)` of the same shape and dtype as `x`. It combines elements along `axes` only, so others can be divided."""
    if x.size <= 2 * _ELEMENTS or any(n % x.ndim == 0 for n in axes):
        return function(x)
    rows = max(1, _ELEMENTS * len(x) // x.size)
    result = np.empty(x.shape, x.dtype)

    def fill(first: int, end: int) -> None:
        for start in range(first, end, rows):
            stop = min(start + rows, end)
            result[start:stop] = function(x[start:stop])

    if x.size < _SHARED:
        fill(0, len(x))
        return result
    part = -(-len(x) // _threads())
    # Each thread works under the numpy error state of this one, which belongs to the context.
    works = [
        _pool().submit(copy_context().run, fill, first, min(first + part, len(x)))
        for first in range(0, len(x), part)
    ]
    for work in works:
        work.result()
    return result


@cache
def _threads() -> int:
    return os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_threads(), "rows")
