"""Scalars of every dtype: their values, missing values, and errors."""

from __future__ import annotations

from math import inf, isnan

import numpy as np
import pytest

from relax_explorer.core.exec.scalars import Undefined, evaluate
from relax_explorer.core.ir import prim as p
from relax_explorer.core.ir.dtype import BOOL, FLOAT32, FLOAT64, INT32, INT64, dtype

N, M = p.PrimVar("n"), p.PrimVar("m")
X = p.PrimVar("x", FLOAT32)
I32, U8 = p.PrimVar("i", INT32), p.PrimVar("u", dtype("uint8"))
ZERO = p.IntImm(0)


def test_a_variable_without_a_value_gives_none() -> None:
    unknown = [
        N + M,
        p.Not(p.GT(N, M)),
        p.Select(p.GT(M, ZERO), N, N),
        p.And(p.GT(M, ZERO), p.GT(N, ZERO)),
        p.Cast(INT32, M),
    ]
    assert [evaluate(expr, {N: 1}) for expr in unknown] == [None] * len(unknown)
    assert evaluate(p.PrimCall("ceildiv", (N, M), INT64), {N: 1}) is None
    assert evaluate(p.PrimCall("exp", (N,), INT64), {N: 1}) is None
    assert evaluate(p.Select(p.GT(N, ZERO), N, M), {N: 1}) == 1
    assert evaluate(p.Or(p.GT(N, ZERO), p.GT(M, ZERO)), {N: 1}) is True


@pytest.mark.parametrize(
    ("expr", "least", "most"),
    [
        (I32 + 1, -(2**31) - 1, 2**31 - 2),
        (U8 + 1, -1, 254),
        (p.Cast(dtype("int8"), N), -128, 127),
        (N * 1, -(2**63), 2**63 - 1),
    ],
)
def test_each_dtype_has_its_limits(expr: p.PrimExpr, least: int, most: int) -> None:
    (var,) = p.free_vars(expr)
    assert evaluate(expr, {var: least}) is not None
    assert evaluate(expr, {var: most}) is not None
    for beyond in (least - 1, most + 1):
        with pytest.raises(Undefined, match="overflows"):
            evaluate(expr, {var: beyond})


def test_floats_follow_their_own_rules() -> None:
    assert evaluate(X * p.FloatImm(2.0), {X: 1e30}) == float(np.float32(2e30))
    assert evaluate(X * p.FloatImm(2.0), {X: 3e38}) == inf
    assert evaluate(p.Div(p.Cast(FLOAT64, N), p.FloatImm(0.1, FLOAT64)), {N: 3}) == 3 / 0.1
    assert isnan(evaluate(X - X, {X: inf}))
    assert evaluate(p.Div(X, p.FloatImm(2.0)), {X: 3.0}) == 1.5
    assert evaluate(p.Cast(BOOL, N), {N: 3}) is True
    assert evaluate(p.Cast(INT64, X), {X: -2.5}) == -2
    for value in (inf, float("nan"), 1e19):
        with pytest.raises(Undefined):
            evaluate(p.Cast(INT64, X), {X: value})


@pytest.mark.parametrize(
    ("name", "value", "rounded"),
    [("ceil", 2.1, 3), ("floor", -2.1, -3), ("trunc", -2.9, -2), ("round", 2.5, 2), ("nearbyint", 3.5, 4)],
)
def test_floats_are_rounded_to_whole_ones(name: str, value: float, rounded: int) -> None:
    expr = p.PrimCall(name, (X,), X.dtype)
    assert evaluate(expr, {X: value}) == rounded
    assert evaluate(p.Cast(INT64, expr), {X: value}) == rounded
    assert evaluate(expr, {X: inf}) == inf
    assert evaluate(expr, {}) is None


def test_a_long_sum_needs_no_recursion() -> None:
    total: p.PrimExpr = N
    for _ in range(20_000):
        total = total + 1
    assert evaluate(total, {N: 1}) == 20_001


def test_the_message_names_the_part_that_failed_and_its_lengths() -> None:
    with pytest.raises(Undefined) as raised:
        evaluate((N // M + 1) * N, {N: 4, M: 0})
    assert str(raised.value) == "n // m divides by zero where n = 4, m = 0"
    assert raised.value.code.id == "RX0509"
