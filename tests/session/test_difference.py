"""Distances of values: bounds, units in the last place, directions, first elements."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from relax_explorer.core.exec.values import Shape
from relax_explorer.core.session.difference import BY_DTYPE, Tolerance, delta, ulps

FLOATS = [
    np.float64,
    np.float32,
    np.float16,
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
]


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: dtype.__name__)
def test_ulps_count_the_floats_between(dtype: Any) -> None:
    one = np.ones(1, dtype)
    bits = one.view(f"u{one.itemsize}")
    for steps in (0, 1, 3):
        assert ulps(one, (bits + steps).astype(bits.dtype).view(dtype)) == steps
    zero = np.zeros(1, dtype)
    least = np.ones(1, bits.dtype).view(dtype)
    assert ulps(zero, -zero) == 0
    assert ulps(least, -least) == 2
    assert ulps(zero, np.full(1, math.nan, dtype)) == 0


def test_the_ends_of_float64_are_far_apart() -> None:
    ends = np.array([np.finfo(np.float64).max]), np.array([-np.finfo(np.float64).max])
    assert ulps(*ends) == 2 * (0x7FF0000000000000 - 1)


def test_the_first_element_out_of_bounds() -> None:
    a = np.zeros((2, 3), np.float32)
    b = a.copy()
    b[0, 2], b[1, 1] = 1e-9, 0.5
    found = delta(a, b, BY_DTYPE)
    assert (found.reason, found.index, found.count, found.size) == ("values", (1, 1), 1, 6)
    assert (found.left, found.right, found.max_abs) == ("0", "0.5", 0.5)


def test_sums_in_another_order_are_equal_in_any_unit() -> None:
    numbers = np.random.default_rng(0).standard_normal((64, 500)).astype(np.float32)
    for unit in (1e-3, 1.0, 1e5):
        x = (numbers * unit).astype(np.float32)
        forward, back = x.cumsum(1)[:, -1], x[:, ::-1].cumsum(1)[:, -1]
        assert delta(forward, back, BY_DTYPE).equal, unit
        assert not delta(forward, (forward * 1.001).astype(np.float32), BY_DTYPE).equal


def test_a_mask_hides_nothing() -> None:
    a = np.full(100, -1e9, np.float32)
    a[:30] = 1.0
    b = a.copy()
    b[3] = 1.5
    assert delta(a, b, BY_DTYPE).index == (3,)
    most = np.full(100, np.finfo(np.float32).min, np.float32)  # more than half of the elements
    most[:30] = 1.0
    b = most.copy()
    b[3] = 1.5
    assert delta(most, b, BY_DTYPE).index == (3,)


def test_one_large_element_loosens_nothing() -> None:
    a = np.ones(100, np.float32)
    a[0] = 1000
    b = a.copy()
    b[3] += np.float32(5e-3)
    assert delta(a, b, BY_DTYPE).index == (3,)


def test_nan_and_infinities() -> None:
    a = np.array([math.nan, math.inf, -math.inf, 1.0])
    assert delta(a, a.copy(), BY_DTYPE).equal
    for place, other in ((0, 1.0), (1, -math.inf), (2, 1.0), (3, math.nan), (3, math.inf)):
        b = a.copy()
        b[place] = other
        found = delta(a, b, BY_DTYPE)
        assert (found.index, found.max_abs) == ((place,), math.inf)


def test_direction() -> None:
    a = np.array([3.0, 4.0])
    assert delta(a, -a, BY_DTYPE).cosine == pytest.approx(-1)
    assert delta(a, a * 2, BY_DTYPE).cosine == pytest.approx(1)
    assert delta(a, np.array([-4.0, 3.0]), BY_DTYPE).cosine == pytest.approx(0)
    assert delta(a * 1e200, a * 1e200, BY_DTYPE).cosine == pytest.approx(1)
    assert delta(a, a * 0, BY_DTYPE).cosine == 0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.zeros(3, np.float32), np.zeros(4, np.float32)),
        (np.zeros(3, np.float32), np.zeros(3, np.float64)),
        (np.arange(3), np.array([0, 1, 3])),
        (np.array([True]), np.array([False])),
        (np.array([2**63], np.uint64), np.array([2**63 + 1], np.uint64)),
        (Shape([2, 3]), Shape([3, 2])),
        (Shape([2, 3]), (2, 3)),
        (3, 4),
        (1.0, 1.5),
        (np.zeros(1), 3),
        ((np.zeros(1), np.zeros(2)), (np.zeros(1), np.ones(2))),
        ((np.zeros(1), np.zeros(2)), (np.zeros(1),)),
    ],
)
def test_values_that_differ(a: Any, b: Any) -> None:
    assert not delta(a, b, BY_DTYPE).equal
    assert delta(a, a, BY_DTYPE).equal
    assert delta(b, b, BY_DTYPE).equal


def test_given_bounds_are_taken_literally() -> None:
    a, b = np.full(2, 100.0), np.full(2, 100.5)
    assert delta(a, b, Tolerance(0, 0.5)).equal
    assert not delta(a, b, Tolerance(0, 0.49)).equal
    assert delta(a, b, Tolerance(0.005, 0)).equal
    assert not delta(a, b, Tolerance(0.0049, 0)).equal
    assert "|Δ| ≤ 0.0049·|a| + 0 (float64)" in delta(a, b, Tolerance(0.0049, 0)).bound
    assert delta(np.zeros((0, 3)), np.zeros((0, 3)), BY_DTYPE).equal
