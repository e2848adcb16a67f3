"""Random rounding spreads what rounding spreads, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.check.normalize import normal_form_of
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.session.recording import machine_factory
from relax_explorer.core.session.shadows import Moment, rounded_runs, rounded_value, spread

UNIT = 2.0**-24


def program(body: str, dtype: str = "float32") -> rxe.IRModule:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return rxe.parse(f'@R.function\ndef main(x: R.Tensor(("n", 16), "{dtype}")):\n{lines}\n')


def spread_of(body: str, x: np.ndarray) -> np.ndarray:
    module = program(body, x.dtype.name)
    runs = rounded_runs(machine_factory(module, "main"), [x], UNIT if x.dtype == np.float32 else 2.0**-11)
    assert len(runs) == 4
    base = np.asarray(rxe.run(module, "main", [x])).astype(np.float64)
    return spread(base, [run[0].astype(np.float64) for run in runs])


X = np.random.default_rng(0).normal(size=(5, 16)).astype(np.float32)


@pytest.mark.parametrize(
    "body",
    [
        "y = R.permute_dims(x)\nreturn y",
        "y = R.maximum(x, R.negative(x))\nz = R.concat((x, y), axis=0)\nreturn z",
        "y = R.max(x, axis=[-1], keepdims=True)\nreturn R.astype(R.equal(x, y), 'float32')",
        "return R.nn.relu(x)",
    ],
)
def test_what_moves_or_selects_is_exact(body: str) -> None:
    assert not spread_of(body, X).any()


def test_an_element_moves_by_a_few_units() -> None:
    found = spread_of("y = R.exp(x)\nreturn y", X) / np.exp(X.astype(np.float64))
    assert (found > 0).all()
    assert found.max() < 16 * UNIT * 4


def test_a_sum_that_cancels_moves_by_its_terms() -> None:
    x = np.concatenate([X * 1e4, -X * 1e4], axis=1)[:, 8:24].copy()
    x[:, 8:] = -x[:, :8] + 1e-3
    found = spread_of("y = R.sum(x, axis=[1])\nreturn y", x)
    assert (found > np.abs(x).max() * UNIT / 4).all()
    assert (found > np.abs(x.astype(np.float64).sum(axis=1)) * 100 * UNIT).all()


def test_the_arguments_stay_what_they_were() -> None:
    x = X.copy()
    spread_of("y = R.exp(x)\nz = R.reshape(x, (16, 5))\nreturn R.matmul(y, z)", x)
    assert (x == X).all()


def test_float16() -> None:
    found = spread_of("y = R.exp(x)\nreturn y", X.astype(np.float16))
    assert 2.0**-12 < found.max() < 0.5


def test_one_evaluation() -> None:
    module = normal_form_of(program("y = R.exp(x)\nz = R.subtract(y, x)\nw = R.exp(z)\nreturn w"))
    made = list(bindings(module.relax_functions["main"]))
    origins = {binding: binding for binding in made}
    at = Moment(made[1], 0, origins)
    values = rounded_value(machine_factory(module, "main"), [X], UNIT, at)
    right = (np.exp(X) - X).astype(np.float64)
    assert len(values) == 4
    assert all(0 < np.abs(value - right).max() < 1e-4 for value in values)
    assert rounded_value(machine_factory(module, "main"), [X], UNIT, Moment(made[1], 1, origins)) == []


def test_a_run_that_stops_is_left_out() -> None:
    module = program('k = T.int64()\ny = R.match_cast(x, R.Tensor((3, k), "float32"))\nreturn y')
    assert rounded_runs(machine_factory(module, "main"), [X], UNIT) == []
