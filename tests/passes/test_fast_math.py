"""FastMathTransform: kernels that approximate exp, erf, tanh and softmax."""

from __future__ import annotations

import math

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer import IRModule

PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "{dtype}")):
        with R.dataflow():
            y = R.{op}
            R.output(y)
        return y
"""
NEIGHBOURS = """
@I.ir_module
class Module:
    @R.function(private=True)
    def other(x: R.Tensor(("m", 3), "float32")) -> R.Tensor(("m", 3), "float32"):
        y: R.Tensor((m, 3), "float32") = R.exp(x)
        return y

    @R.function
    def main(x: R.Tensor(("n", 3), "float32"), u: R.Tensor("float32", ndim=2), c: R.Tensor((), "bool")):
        cls = Module
        n = T.int64()
        a = R.exp(x)
        b = cls.other(a)
        if c:
            r = R.exp(b)
        else:
            r = R.sin(b)
        @R.function
        def inner(k: R.Tensor((n, 3), "float32")) -> R.Tensor((n, 3), "float32"):
            w = R.tanh(k)
            return w
        v = inner(r)
        p = (v, R.nn.softmax(v, axis=-1))
        q = R.exp(u)
        return (p, q)
"""


def changed(text: str) -> IRModule:
    return rxe.apply_pass(rxe.normalize(rxe.parse(text)), "FastMathTransform")


@pytest.mark.parametrize(
    ("op", "exact", "least", "most", "absolute", "relative"),
    [
        ("exp(x)", np.exp, -87.3, 88.3, 0, 5e-6),
        ("tanh(x)", np.tanh, -20, 20, 5e-7, 0),
        ("erf(x)", np.vectorize(math.erf), -6, 6, 5e-7, 0),
    ],
)
def test_the_error_is_as_documented(
    op: str, exact: np.ufunc, least: float, most: float, absolute: float, relative: float
) -> None:
    x = np.linspace(least, most, 100_001).astype("float32")
    found = np.asarray(rxe.run(changed(PROGRAM.format(op=op, dtype="float32")), "main", [x])).astype(
        "float64"
    )
    wanted = exact(x.astype("float64"))
    error = np.abs(found - wanted)
    assert np.all(error <= absolute + relative * np.abs(wanted))
    assert np.any(
        error > (absolute + relative * np.abs(wanted)) / 20
    )  # it is the fast formula, not the exact one


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_exp_of_other_dtypes_is_exact(dtype: str) -> None:
    module = changed(PROGRAM.format(op="exp(x)", dtype=dtype))
    assert "T.exp(" in module.script()
    assert "T.reinterpret" not in module.script()


def test_exp_of_large_and_odd_numbers() -> None:
    x = np.array([-np.inf, -1000, -88, 0, 89, 1000, np.inf, np.nan], "float32")
    found = np.asarray(rxe.run(changed(PROGRAM.format(op="exp(x)", dtype="float32")), "main", [x]))
    assert found[:4].tolist() == [0, 0, 0, 1]
    assert np.isposinf(found[4:7]).all()
    assert np.isnan(found[7])


def test_all_functions_branches_and_nested_functions_are_changed() -> None:
    """Equal kernels are shared, whatever the shape variables are called. What has no known shape stays."""
    old = rxe.normalize(rxe.parse(NEIGHBOURS))
    new = rxe.apply_pass(old, "FastMathTransform")
    text = new.script()
    assert [name for name in new.functions if name.startswith("fast_")] == [
        "fast_exp",
        "fast_softmax",
        "fast_tanh",
    ]
    assert text.count("R.call_tir(cls.fast_exp, ") == 3
    assert (
        text.count("R.call_tir(cls.fast_tanh, (k,)") == text.count("R.call_tir(cls.fast_softmax, (v,)") == 1
    )
    assert "q = R.exp(u)" in text.replace(': R.Tensor(dtype="float32", ndim=2)', "")
    assert not [problem for problem in rxe.check(new) if problem.is_error]
    x = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3)
    for condition in (True, False):
        (v, share), q = rxe.run(old, "main", [x, x, np.array(condition)])
        (fast_v, fast_share), fast_q = rxe.run(new, "main", [x, x, np.array(condition)])
        for a, b in ((v, fast_v), (share, fast_share), (q, fast_q)):
            assert np.allclose(np.asarray(a), np.asarray(b), rtol=1e-5, atol=1e-6)


def test_a_call_of_unknown_shape_is_told() -> None:
    from relax_explorer.core.passes.pipeline import run_step, steps

    (step,) = steps("FastMathTransform")
    outcome = run_step(step, rxe.normalize(rxe.parse(NEIGHBOURS)))
    assert [problem.message for problem in outcome.problems] == [
        "relax.exp is kept: the shape of its operand is not known"
    ]


def test_a_module_without_such_calls_is_unchanged() -> None:
    module = rxe.normalize(rxe.parse(PROGRAM.format(op="sin(x)", dtype="float32")))
    assert rxe.apply_pass(module, "FastMathTransform") is module
