"""Floats become integers in the same way wherever a program runs, NaN and numbers that do not fit included."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import relax_explorer as rxe

LEAST32, LEAST64 = -(2**31), -(2**63)
ODD = [np.nan, np.inf, -np.inf, 1e30, -1e30]


def converted(values: list[float], kind: str, dtype: str) -> list[Any]:
    """The results of the operator, of its kernel, and of the reference evaluator, which are equal."""
    text = f'@R.function\ndef main(x: R.Tensor(({len(values)},), "{kind}")):\n    return R.astype(x, "{dtype}")\n'
    module = rxe.normalize(rxe.parse(text))
    lowered, x = (
        rxe.apply_pass(module, "LegalizeOps"),
        np.array(values, getattr(ml_dtypes, kind, None) or kind),
    )
    found = rxe.run(module, "main", [x])
    assert found.dtype == dtype
    for engine in ("fused", "reference"):
        np.testing.assert_array_equal(rxe.run(lowered, "main", [x], engine=engine), found)
    return list(found.tolist())


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize(
    ("dtype", "least"),
    [
        ("int8", 0),
        ("uint8", 0),
        ("int16", 0),
        ("int32", LEAST32),
        ("int64", LEAST64),
        ("uint32", 0),
        ("uint64", 2**63),
    ],
)
def test_what_does_not_fit_becomes_the_least_integer(kind: str, dtype: str, least: int) -> None:
    assert converted(ODD, kind, dtype) == [least] * len(ODD)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_what_fits_is_truncated_and_wraps_around(dtype: str) -> None:
    values = [1.9, -1.9, 100.5, -0.0, 300.0]
    info = np.iinfo(dtype)
    size = int(info.max) - int(info.min) + 1
    expected = [(int(value) - int(info.min)) % size + int(info.min) for value in values]
    assert converted(values, "float32", dtype) == expected
    assert converted([*values, np.nan], "float32", dtype)[:-1] == expected


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_narrow_floats_are_widened_first(kind: str) -> None:
    assert converted([2.5, -2.5, np.nan, np.inf], kind, "int32") == [2, -2, LEAST32, LEAST32]


def test_the_ends_of_the_dtypes() -> None:
    assert converted([2147483647.0, 2147483648.0, -2147483648.0, -2147483649.0], "float64", "int32") == [
        2**31 - 1, LEAST32, LEAST32, LEAST32,
    ]  # fmt: skip
    assert converted([2.0**63, 2.0**64 - 2048, 2.0**64, 4e9, -1.0], "float64", "uint64") == [
        2**63, 2**64 - 2048, 2**63, 4_000_000_000, 2**64 - 1,
    ]  # fmt: skip
    assert converted([4e9, 5e9, -3e9, 2.0**63], "float64", "uint32") == [
        4_000_000_000,
        705032704,
        1294967296,
        0,
    ]
