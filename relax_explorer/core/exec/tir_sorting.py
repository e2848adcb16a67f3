"""The sorting functions of TVM's runtime, for kernels. They are stable, as in TVM (src/runtime/contrib/sort).

They are loops over elements: numba compiles slices, fancy indices and `np.argsort` in five times as long.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from relax_explorer.core.ops.kit.ndarrays import Array

# Only called by compiled code, and so without an entry for Python, which takes longer to compile than the function.
_inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


@_inner
def lanes(x: Array, axis: int) -> Array:
    """A tensor reshaped to three axes: before `axis`, `axis`, after `axis`."""
    before, after = 1, 1
    for k in range(axis):
        before *= x.shape[k]
    for k in range(axis + 1, x.ndim):
        after *= x.shape[k]
    return x.reshape((before, x.shape[axis], after))


@_inner
def alike(rows: Array, result: Array, count: int) -> None:
    """Raise ValueError unless the output has the same number of rows, each of length `count`."""
    if result.shape[0] != rows.shape[0] or result.shape[2] != rows.shape[2] or result.shape[1] != count:
        raise ValueError("lengths differ")
    if count > rows.shape[1]:
        raise ValueError("lengths differ")


@_inner
def follows(a: float, b: float, ascending: bool) -> bool:
    """True if `a` stands behind `b`. A NaN is larger than every number, as in numpy."""
    if ascending:
        return b < a or (a != a and b == b)
    return a < b or (b != b and a == a)


@_inner
def order(row: Array, count: int, ascending: bool, taken: Array, spare: Array) -> None:
    """Write the indices that sort the first `count` elements of a row to `taken`, stable."""
    for k in range(count):
        taken[k] = k
    width = 1
    while width < count:
        for start in range(0, count, 2 * width):
            left, middle, end = start, min(start + width, count), min(start + 2 * width, count)
            right = middle
            for k in range(start, end):
                if left < middle and (
                    right >= end or not follows(row[taken[left]], row[taken[right]], ascending)
                ):
                    spare[k] = taken[left]
                    left += 1
                else:
                    spare[k] = taken[right]
                    right += 1
        for k in range(count):
            taken[k] = spare[k]
        width *= 2


@njit(error_model="numpy")
def sort(data: Array, out: Array, axis: int, ascending: bool) -> None:
    """Sort the elements along an axis."""
    if out.shape[axis] != data.shape[axis]:
        raise ValueError("lengths differ")
    top_values(data, out, data.shape[axis], axis, ascending)


@njit(error_model="numpy")
def argsort(data: Array, out: Array, axis: int, ascending: bool) -> None:
    """The indices that sort the elements along an axis."""
    if out.shape[axis] != data.shape[axis]:
        raise ValueError("lengths differ")
    top_indices(data, out, data.shape[axis], axis, ascending)


@njit(error_model="numpy")
def argsort_valid(data: Array, counts: Array, out: Array, axis: int, ascending: bool) -> None:
    """`argsort` of the first `counts` elements. The others keep their places."""
    rows, result = lanes(data, axis), lanes(out, axis)
    alike(rows, result, rows.shape[1])
    if counts.size != rows.shape[0] * rows.shape[2]:
        raise ValueError("lengths differ")
    valid = counts.reshape((rows.shape[0], rows.shape[2]))
    length = rows.shape[1]
    row, taken, spare = np.empty(length, rows.dtype), np.empty(length, np.int64), np.empty(length, np.int64)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            count = max(0, min(valid[i, j], length))
            for k in range(length):
                row[k] = rows[i, k, j]
            order(row, count, ascending, taken, spare)
            for k in range(length):
                result[i, k, j] = taken[k] if k < count else k


@njit(error_model="numpy")
def top_values(data: Array, out: Array, count: int, axis: int, ascending: bool) -> None:
    """The first elements of the sorted axis."""
    rows, result = lanes(data, axis), lanes(out, axis)
    alike(rows, result, result.shape[1])
    length = rows.shape[1]
    row, taken, spare = np.empty(length, rows.dtype), np.empty(length, np.int64), np.empty(length, np.int64)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            for k in range(length):
                row[k] = rows[i, k, j]
            order(row, length, ascending, taken, spare)
            for k in range(result.shape[1]):
                result[i, k, j] = row[taken[k]]


@njit(error_model="numpy")
def top_indices(data: Array, out: Array, count: int, axis: int, ascending: bool) -> None:
    """The indices of the first elements of the sorted axis."""
    rows, result = lanes(data, axis), lanes(out, axis)
    alike(rows, result, result.shape[1])
    length = rows.shape[1]
    row, taken, spare = np.empty(length, rows.dtype), np.empty(length, np.int64), np.empty(length, np.int64)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[2]):
            for k in range(length):
                row[k] = rows[i, k, j]
            order(row, length, ascending, taken, spare)
            for k in range(result.shape[1]):
                result[i, k, j] = taken[k]


@njit(error_model="numpy")
def top_both(data: Array, values: Array, indices: Array, count: int, axis: int, ascending: bool) -> None:
    """The values and the indices of the first elements of the sorted axis."""
    top_values(data, values, count, axis, ascending)
    top_indices(data, indices, count, axis, ascending)
