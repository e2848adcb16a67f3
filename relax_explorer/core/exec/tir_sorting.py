"""The sorting functions of TVM's runtime, for kernels. They are stable, as in TVM (src/runtime/contrib/sort)."""

from __future__ import annotations

import numpy as np
from numba import njit

from relax_explorer.core.ops.kit.array_types import Array


@njit(error_model="numpy")
def lanes(x: Array, axis: int) -> Array:
    """A tensor reshaped to three axes: before `axis`, `axis`, after `axis`."""
    before, after = 1, 1
    for k in range(axis):
        before *= x.shape[k]
    for k in range(axis + 1, x.ndim):
        after *= x.shape[k]
    return x.reshape((before, x.shape[axis], after))


@njit(error_model="numpy")
def alike(rows: Array, result: Array, count: int) -> None:
    """Raise ValueError unless the output has the same number of rows, each of length `count`."""
    if result.shape[0] != rows.shape[0] or result.shape[2] != rows.shape[2] or result.shape[1] != count:
        raise ValueError("lengths differ")
    if count > rows.shape[1]:
        raise ValueError("lengths differ")


@njit(error_model="numpy")
def order(row: Array, ascending: bool) -> Array:
    """The indices that sort a row, stable."""
    if ascending:
        return np.argsort(row, kind="mergesort")
    return (len(row) - 1 - np.argsort(row[::-1], kind="mergesort"))[::-1]


@njit(error_model="numpy")
def sort(data: Array, out: Array, axis: int, ascending: bool) -> None:
    """Sort the elements along an axis."""
    rows, result = lanes(data, axis), lanes(out, axis)
    alike(rows, result, rows.shape[1])
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            row = rows[i, :, j].copy()
            result[i, :, j] = row[order(row, ascending)]


@njit(error_model="numpy")
def argsort(data: Array, out: Array, axis: int, ascending: bool) -> None:
    """The indices that sort the elements along an axis."""
    rows, result = lanes(data, axis), lanes(out, axis)
    alike(rows, result, rows.shape[1])
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            result[i, :, j] = order(rows[i, :, j].copy(), ascending)


@njit(error_model="numpy")
def argsort_valid(data: Array, counts: Array, out: Array, axis: int, ascending: bool) -> None:
    """`argsort` of the first `counts` elements. The others keep their places."""
    rows, result = lanes(data, axis), lanes(out, axis)
    alike(rows, result, rows.shape[1])
    if counts.size != rows.shape[0] * rows.shape[2]:
        raise ValueError("lengths differ")
    valid = counts.reshape((rows.shape[0], rows.shape[2]))
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            count = max(0, min(valid[i, j], rows.shape[1]))
            result[i, :count, j] = order(rows[i, :count, j].copy(), ascending)
            for k in range(count, rows.shape[1]):
                result[i, k, j] = k


@njit(error_model="numpy")
def top_values(data: Array, out: Array, count: int, axis: int, ascending: bool) -> None:
    """The first elements of the sorted axis."""
    rows, result = lanes(data, axis), lanes(out, axis)
    alike(rows, result, result.shape[1])
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            row = rows[i, :, j].copy()
            result[i, :, j] = row[order(row, ascending)[: result.shape[1]]]


@njit(error_model="numpy")
def top_indices(data: Array, out: Array, count: int, axis: int, ascending: bool) -> None:
    """The indices of the first elements of the sorted axis."""
    rows, result = lanes(data, axis), lanes(out, axis)
    alike(rows, result, result.shape[1])
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            result[i, :, j] = order(rows[i, :, j].copy(), ascending)[: result.shape[1]]


@njit(error_model="numpy")
def top_both(data: Array, values: Array, indices: Array, count: int, axis: int, ascending: bool) -> None:
    """The values and the indices of the first elements of the sorted axis."""
    top_values(data, values, count, axis, ascending)
    top_indices(data, indices, count, axis, ascending)
