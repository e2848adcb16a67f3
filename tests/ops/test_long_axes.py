"""Operators along long axes: `topk` of few elements does not sort, and scans take neighbours together, with the same results."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer.core.ops.tensor.sort as module
from relax_explorer.core.ops import table
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


@pytest.mark.parametrize("axis", [0, 1, -3])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("exclusive", [False, True])
def test_scans_of_many_elements_side_by_side_are_rounded_as_one_after_the_other(
    name: str, axis: int, exclusive: bool
) -> None:
    x = np.random.default_rng(0).standard_normal((7, 5, 300)).astype("float32")
    expected = getattr(np, name)(x, axis)
    if exclusive:
        start = np.full_like(np.take(expected, [0], axis), name == "cumprod")
        expected = np.concatenate([start, np.delete(expected, -1, axis)], axis)
    made = table()[f"relax.{name}"].evaluate(x, axis, None, exclusive)
    assert made.tobytes() == expected.tobytes()
