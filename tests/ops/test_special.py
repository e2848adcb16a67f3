"""The functions that numpy lacks are as accurate as their dtype."""

from __future__ import annotations

import math

import numpy as np
import pytest

from relax_explorer.core.ops.special import erf

PLACES = np.concatenate([np.linspace(-7, 7, 20_001), np.logspace(-320, 3, 2_000), [-0.0, np.inf, -np.inf]])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_erf_is_within_a_few_units_of_the_last_place(kind: type[np.floating]) -> None:
    x = PLACES.astype(kind)
    wanted = np.array([math.erf(v) for v in x.tolist()])
    made = erf(x)
    assert made.dtype == kind
    assert (np.abs(made - wanted) <= 4 * np.spacing(np.abs(wanted).astype(kind))).all()


def test_erf_keeps_the_sign_of_zero_and_what_is_no_number() -> None:
    made = erf(np.array([-0.0, 0.0, np.nan]))
    assert np.signbit(made).tolist()[:2] == [True, False]
    assert np.isnan(made[2])


@pytest.mark.parametrize("shape", [(), (0, 3), (3, 5), (20_000,)])
def test_erf_has_the_shape_of_its_operand(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape[::-1]).T
    wanted = np.vectorize(math.erf, otypes=[float])(x)
    assert np.allclose(erf(x), wanted, rtol=2e-15, atol=0)
    assert erf(x).shape == shape
