"""The sorting functions of TVM's runtime, for kernels that call them; equals keep their order, as there (src/runtime/contrib/sort)."""

from __future__ import annotations

import numpy as np
from numba import njit

from relax_explorer.core.ops.kit.array_types import Array


@njit(error_model="numpy")
def lanes(x: Array, axis: int) -> Array:
    """A tensor as [before the axis, along it, after it]."""
    before, after = 1, 1
    for k in range(axis):
        before *= x.shape[k]
    for k in range(axis + 1, x.ndim):
        after *= x.shape[k]
    return x.reshape((before, x.shape[axis], after))


@njit(error_model="numpy")
def alike(rows: Array, made: Array, count: int) -> None:
    """Refuse an output that has another number of rows, or rows of another length than `count`."""
    if made.shape[0] != rows.shape[0] or made.shape[2] != rows.shape[2] or made.shape[1] != count:
        raise ValueError("lengths differ")
    if count > rows.shape[1]:
        raise ValueError("lengths differ")


@njit(error_model="numpy")
def order(row: Array, ascending: bool) -> Array:
    """The order of a row; equals keep theirs."""
    if ascending:
        return np.argsort(row, kind="mergesort")
    return (len(row) - 1 - np.argsort(row[::-1], kind="mergesort"))[::-1]


@njit(error_model="numpy")
def sort(data: Array, out: Array, axis: int, ascending: bool) -> None:
    """The elements along an axis in order."""
    rows, made = lanes(data, axis), lanes(out, axis)
    alike(rows, made, rows.shape[1])
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            row = rows[i, :, j].copy()
            made[i, :, j] = row[order(row, ascending)]


@njit(error_model="numpy")
def argsort(data: Array, out: Array, axis: int, ascending: bool) -> None:
    """Where the elements in order come from."""
    rows, made = lanes(data, axis), lanes(out, axis)
    alike(rows, made, rows.shape[1])
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            made[i, :, j] = order(rows[i, :, j].copy(), ascending)


@njit(error_model="numpy")
def argsort_valid(data: Array, counts: Array, out: Array, axis: int, ascending: bool) -> None:
    """The same of the first `counts` elements; the others keep their places."""
    rows, made = lanes(data, axis), lanes(out, axis)
    alike(rows, made, rows.shape[1])
    if counts.size != rows.shape[0] * rows.shape[2]:
        raise ValueError("lengths differ")
    valid = counts.reshape((rows.shape[0], rows.shape[2]))
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            count = max(0, min(valid[i, j], rows.shape[1]))
            made[i, :count, j] = order(rows[i, :count, j].copy(), ascending)
            for k in range(count, rows.shape[1]):
                made[i, k, j] = k


@njit(error_model="numpy")
def top_values(data: Array, out: Array, count: int, axis: int, ascending: bool) -> None:
    """The first elements in order."""
    rows, made = lanes(data, axis), lanes(out, axis)
    alike(rows, made, made.shape[1])
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            row = rows[i, :, j].copy()
            made[i, :, j] = row[order(row, ascending)[: made.shape[1]]]


@njit(error_model="numpy")
def top_indices(data: Array, out: Array, count: int, axis: int, ascending: bool) -> None:
    """Where the first elements in order come from."""
    rows, made = lanes(data, axis), lanes(out, axis)
    alike(rows, made, made.shape[1])
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            made[i, :, j] = order(rows[i, :, j].copy(), ascending)[: made.shape[1]]


@njit(error_model="numpy")
def top_both(data: Array, values: Array, indices: Array, count: int, axis: int, ascending: bool) -> None:
    """Both."""
    top_values(data, values, count, axis, ascending)
    top_indices(data, indices, count, axis, ascending)
