"""`topk` of few elements of long rows does not sort them, and takes the same ones in the same order."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer.core.ops.tensor.sort as module
from relax_explorer.core.ops.tensor.sort import first_of_order, order


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32", "float16", "bool"])
@pytest.mark.parametrize("shape", [(64,), (5, 40), (40, 5), (3, 0, 16), (0, 16), (2, 3, 24)])
def test_few_elements_are_the_first_ones_of_a_sort(
    shape: tuple[int, ...], dtype: str, descending: bool
) -> None:
    random = np.random.default_rng(len(shape))
    for trial in range(20):
        x = random.integers(0, 4 if trial % 2 else 1000, shape).astype(
            dtype
        )  # with many equal ones, and with few
        if dtype.startswith("float") and trial % 3:
            for odd in (np.nan, np.inf, -np.inf, -0.0):
                x[random.random(shape) < 0.1 * (trial % 3)] = odd
        for axis in range(-len(shape), len(shape)):
            for count in {0, 1, x.shape[axis] // 8, x.shape[axis]}:
                if count <= x.shape[axis]:
                    sorted_ = np.take(order(x, axis, descending), range(count), axis)
                    np.testing.assert_array_equal(first_of_order(x, axis, descending, count), sorted_)


def test_long_rows_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, sort = [], order
    monkeypatch.setattr(
        module, "order", lambda x, axis, descending: (sizes.append(x.shape), sort(x, axis, descending))[1]
    )
    x = np.random.default_rng(0).permutation(4000).reshape(4, 1000).astype("float32")
    x[1, :20] = 5000  # equal ones: their order counts
    first_of_order(x, 1, True, 7)
    assert sizes == [(3, 7), (1, 1000)]
