"""The functions that numpy lacks are as accurate as their dtype."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.ops import find
from relax_explorer.core.ops.kit.ndarrays import UFUNCS
from relax_explorer.core.ops.kit.special import erf

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


@pytest.mark.parametrize(
    ("kind", "x1", "x2", "wanted"),
    [
        ("uint64", [2**64 - 1, 2**64 - 1, 0, 2**53 + 1], [2**64 - 1, 0, 0, 5], [2**64 - 1, 2**64 - 1, 0, 2**53 + 1]),
        ("int64", [2**63 - 1, -(2**63), -1, -5], [2**63 - 1, 7, -1, -60], [2**63 - 1, 7, 0, -5]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("passes", [(), ("LegalizeOps",)], ids=["evaluated", "lowered"])
def test_log_add_exp_of_large_integers_is_the_larger_one(
    kind: str, x1: list[int], x2: list[int], wanted: list[int], passes: tuple[str, ...]
) -> None:
    tensor = f'R.Tensor((4,), "{kind}")'
    text = f"@R.function\ndef main(x: {tensor}, y: {tensor}):\n    return R.log_add_exp(x, y)\n"
    module = rxe.run_pipeline(rxe.normalize(rxe.parse(text)), list(passes))
    made = rxe.run(module, "main", [np.array(x1, kind), np.array(x2, kind)])
    assert made.dtype == kind
    assert made.tolist() == wanted


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("R.nn.avg_pool1d(x, pool_size=2)", [2**62 - 1, -(2**61) - 1, -(2**62) + 2]),
        ("R.nn.adaptive_avg_pool1d(x, output_size=2)", [2**62 - 1, -(2**62) + 2]),
        (
            'R.scatter_elements(x, i, x, axis=2, reduction="mean")',
            [2**61 + 1, -(2**61) - 1, -(2**61) - 1, 2**61 + 1],
        ),
    ],
)
@pytest.mark.parametrize("passes", [(), ("LegalizeOps",)], ids=["evaluated", "lowered"])
def test_means_of_large_integers_are_exact(call: str, wanted: list[int], passes: tuple[str, ...]) -> None:
    tensor = 'R.Tensor((1, 1, 4), "int64")'
    text = f"@R.function\ndef main(x: {tensor}, i: {tensor}):\n    return {call}\n"
    module = rxe.run_pipeline(rxe.normalize(rxe.parse(text)), list(passes))
    x = np.array([[[2**63 - 1, -1, -(2**62) - 1, -(2**62) + 4]]])
    made = rxe.run(module, "main", [x, np.arange(4).reshape(1, 1, 4)[..., ::-1].copy()])
    assert made.ravel().tolist() == wanted


def _evaluate(name: str) -> Callable[..., np.ndarray]:
    op = find(f"relax.{name}")
    assert op is not None
    assert op.evaluate is not None
    return op.evaluate


def test_functions_of_numpy_are_counted_once_however_often_they_run() -> None:
    x, before = np.array([0.5, 1, 2], np.float32), dict(UFUNCS)
    for _ in range(3):
        for name, function in (("exp", np.exp), ("sqrt", np.sqrt), ("tanh", np.tanh)):
            evaluate = _evaluate(name)
            assert evaluate(x).tobytes() == function(x).tobytes()
            assert UFUNCS[evaluate].function is function
    assert before == UFUNCS


def test_rounding_keeps_integers_so_no_ufunc_does_it() -> None:
    for name in ("floor", "ceil", "round", "trunc"):
        evaluate = _evaluate(name)
        assert evaluate(np.array([1, 2], np.int8)).dtype == np.int8
        assert evaluate not in UFUNCS
