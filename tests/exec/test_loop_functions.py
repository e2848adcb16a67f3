"""Functions of float32 in loops: against mpmath over all exponents, at special values, and by both compilers."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.exec.compiled_kernel import compile_prim_func
from relax_explorer.core.exec.loop_functions import BY_NAME
from relax_explorer.core.tir.stmt import PrimFunc

TEXT = """
@T.prim_func
def f(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32")):
    n = T.int64()
    for i in range(n):
        B[i] = T.{op}(A[i])
"""
SPECIAL = {
    "exp": ([0.0, -0.0, np.inf, -np.inf, 89.0, -104.5, 1e-45], [1.0, 1.0, np.inf, 0.0, np.inf, 0.0, 1.0]),
    "tanh": ([0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45], [0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45]),
    "log": ([0.0, -0.0, 1.0, np.inf, -1.0, -np.inf], [-np.inf, -np.inf, 0.0, np.inf, np.nan, np.nan]),
    "erf": ([0.0, -0.0, np.inf, -np.inf, 7.0], [0.0, -0.0, 1.0, -1.0, 1.0]),
    "sigmoid": ([0.0, np.inf, -np.inf, 100.0], [0.5, 1.0, 0.0, 1.0]),
}


def computed(op: str, values: np.ndarray, by_numba: bool = False) -> np.ndarray:
    fn = rxe.parse(TEXT.replace("{op}", op))["f"]
    assert type(fn) is PrimFunc
    result = np.empty_like(values)
    compile_prim_func(fn, by_numba=by_numba)(values, result)
    return result


def samples() -> np.ndarray:
    """Numbers of all exponents and both signs, 8 for each, and denormal ones."""
    random = np.random.default_rng(7)
    bits = (np.arange(512, dtype=np.uint32) << 23).repeat(8) | random.integers(
        0, 1 << 23, 4096, dtype=np.uint32
    )
    values = bits.view(np.float32)
    return values[np.isfinite(values)]


def rounded(value: float) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(value)


def true_value(op: str, x: float) -> mpmath.mpf:
    if op == "sigmoid":
        return 1 / (1 + mpmath.exp(-mpmath.mpf(x)))
    return getattr(mpmath, op)(mpmath.mpf(x))


@pytest.mark.parametrize("op", BY_NAME)
def test_results_are_next_to_the_true_value(op: str) -> None:
    values = samples()
    if op == "log":
        values = np.abs(values)
    values = values[values != 0]
    with mpmath.workdps(60):
        for x, found in zip(values.tolist(), computed(op, values).tolist(), strict=True):
            wanted = true_value(op, x)
            nearest = rounded(float(wanted))
            is_next = np.isfinite(nearest) and abs(found - nearest) <= np.spacing(np.abs(nearest))
            assert found == nearest or is_next, (op, x, found, float(wanted))


@pytest.mark.parametrize("op", SPECIAL)
def test_special_values(op: str) -> None:
    given, wanted = [np.array(part, np.float32) for part in SPECIAL[op]]
    found = computed(op, np.append(given, np.float32(np.nan)))
    assert np.isnan(found[-1])
    np.testing.assert_array_equal(found[:-1], wanted)
    np.testing.assert_array_equal(np.signbit(found[:-1]), np.signbit(wanted))


@pytest.mark.parametrize("op", BY_NAME)
def test_both_compilers_give_the_same_bits(op: str) -> None:
    values = samples()
    one, two = computed(op, values), computed(op, values, by_numba=True)
    same = (one.view(np.uint32) == two.view(np.uint32)) | (np.isnan(one) & np.isnan(two))
    assert same.all(), values[~same][:5]
