"""A cast to a narrow float inside a kernel rounds, though the kernel computes such elements as float32."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import relax_explorer as rxe

KERNEL = """
@I.ir_module
class M:
    @T.prim_func(private=True, s_tir=True)
    def there_and_back(A: T.Buffer(({n},), "{source}"), B: T.Buffer(({n},), "float32")):
        for i in range({n}):
            with T.sblock("B"):
                v_i = T.axis.spatial({n}, i)
                B[v_i] = T.Cast("float32", T.Cast("{dtype}", A[v_i]))
    @R.function
    def main(x: R.Tensor(({n},), "{source}")):
        y = R.call_tir(M.there_and_back, (x,), out_sinfo=R.Tensor(({n},), "float32"))
        return y
"""
NARROW = ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]


def numbers(dtype: str) -> np.ndarray:  # type: ignore[type-arg]
    """Neighbours of all kinds: limits, halves between two elements, subnormal and random ones."""
    form = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    most, tiny = float(form.max), float(form.smallest_subnormal)
    edges = [
        0.0,
        1.0,
        1 + float(form.eps) / 2,
        1 + 1.5 * float(form.eps),
        most,
        most * 1.01,
        most * 4,
        tiny,
        tiny / 2,
        tiny * 1.5,
    ]
    random = np.random.default_rng(0)
    spread = random.standard_normal(500) * np.exp2(random.uniform(-30, 20, 500))
    values = np.array([*edges, np.inf, np.nan, *spread])
    return np.concatenate([values, -values]).astype("float32")


@pytest.mark.parametrize("dtype", NARROW)
def test_a_cast_rounds_as_numpy_does(dtype: str) -> None:
    given = numbers(dtype)
    text = KERNEL.format(n=len(given), source="float32", dtype=dtype)
    result = rxe.run(rxe.parse(text), "main", [given])
    with np.errstate(all="ignore"):
        expected = given.astype(getattr(ml_dtypes, dtype, dtype)).astype("float32")
    assert np.array_equal(result, expected, equal_nan=True)


def test_a_cast_of_integers_rounds_too() -> None:
    given = np.array([0, 1, 2047, 2049, 2051, 65504, 65519, 65520, -70000, 2**30], "int32")
    text = KERNEL.format(n=len(given), source="int32", dtype="float16")
    with np.errstate(all="ignore"):
        expected = given.astype("float16").astype("float32")
    assert np.array_equal(rxe.run(rxe.parse(text), "main", [given]), expected)
