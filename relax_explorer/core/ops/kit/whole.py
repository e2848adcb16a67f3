"""Floats converted to integers, with the same numbers on every processor and in compiled kernels."""

from __future__ import annotations

import numpy as np

from relax_explorer.core.ir.dtype import DType
from relax_explorer.core.ops.kit.array_types import Array


def whole(x: Array, dtype: DType) -> Array:
    """Floats truncated towards zero. One that does not fit, or NaN, becomes the least int32 or int64, which then wraps around.

    Numpy and C leave these cases to the processor. int64 stands behind int64 and the large unsigned dtypes, int32 behind the others.
    """
    values = x if x.dtype.itemsize > 2 else x.astype(np.float32)
    wide = np.int64 if dtype.bits == 64 or dtype.name == "uint32" else np.int32
    limit = -float(np.iinfo(wide).min)
    fits = (values >= -limit) & (values < limit)
    if fits.all():
        return values.astype(wide).astype(dtype.to_numpy())
    number = np.where(fits, values, 0).astype(wide)
    number[~fits] = np.iinfo(wide).min
    result: Array = number.astype(dtype.to_numpy())
    if dtype.name == "uint64":
        large = (values >= limit) & (values < 2 * limit)
        result[large] = values[large].astype(np.uint64)
    return result
