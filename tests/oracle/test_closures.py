"""TVM's machine runs closures that we lower."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from tests.support.judged import Asker
from tests.support.oracle import Oracle
from tests.support.pass_agreement import as_module
from tests.support.pass_variants import variants

CLOSURES = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        @R.function
        def g(z: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            q = R.add(z, y)
            return q
        @R.function
        def h(z: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            q = g(z)
            r = R.multiply(q, x)
            return r
        a = g(x)
        b = h(a)
        return b
"""


def test_tvm_runs_the_closures_that_we_lower(oracle: Oracle) -> None:
    """Its own lowering makes the results of closures objects, which its kernels do not take; see `differences.md`."""
    module = rxe.normalize(rxe.parse(CLOSURES))
    values = [np.arange(3, dtype="float32"), np.array([2, 5, 7], "float32")]
    lowered = rxe.run_pipeline(module, "LegalizeOps,LambdaLift,default_build")
    answer = oracle.run(lowered.script(), "main", values)
    assert answer.ok, answer.error
    np.testing.assert_array_equal(answer.get(), rxe.run(module, "main", values))
    np.testing.assert_array_equal(answer.get(), rxe.run(lowered, "main", values))


NESTED = """
@R.function
def main(n: T.int64, x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
    u = R.zeros((4,), "float32")
"""
INNER = {
    "computes with a scalar, behind a tensor of this length": """
    @R.function
    def inner(k: T.int64) -> R.Tensor((n, k), "float32"):
        q = R.add(x, x)
        r = R.zeros((n, k), "float32")
        return r
    w = inner(n)""",
    "computes with a scalar, before a tensor of this length": """
    @R.function
    def inner(k: T.int64) -> R.Tensor((n, k), "float32"):
        r = R.zeros((n, k), "float32")
        q = R.add(x, x)
        return r
    w = inner(n)""",
    "has a length of its own": """
    @R.function
    def inner(z: R.Tensor(("k",), "float32")) -> R.Tensor((k, n), "float32"):
        k = T.int64()
        r = R.zeros((k, n), "float32")
        return r
    w = inner(x)""",
    "its parameter has the length": """
    @R.function
    def inner(z: R.Tensor((m,), "float32")) -> R.Tensor((m, m), "float32"):
        r = R.zeros((m, m), "float32")
        return r
    w = inner(y)""",
    "a parameter and a captured tensor have the length": """
    @R.function
    def inner(z: R.Tensor((m,), "float32")) -> R.Tensor((m,), "float32"):
        r = R.add(z, y)
        return r
    w = inner(y)""",
    "computes with the length of a tensor": """
    @R.function
    def inner(z: R.Tensor((4,), "float32")) -> R.Tensor((m, m), "float32"):
        r = R.zeros((m, m), "float32")
        return r
    w = inner(u)""",
    "a function in it computes with lengths": """
    @R.function
    def inner(z: R.Tensor((4,), "float32")) -> R.Tensor((m,), "float32"):
        @R.function
        def deep(z: R.Tensor((4,), "float32")) -> R.Tensor((m, n), "float32"):
            r = R.zeros((m, n), "float32")
            return r
        v = deep(z)
        return y
    w = inner(u)""",
    "calls itself": """
    @R.function
    def inner(z: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor("float32", ndim=1):
        if c:
            q = R.zeros((m,), "float32")
        else:
            q = inner(z, c)
        return q
    d = R.const(True, "bool")
    w = inner(u, d)""",
    "says less of a captured tensor than its parameter": """
    @R.function
    def inner(z: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        p: R.Tensor("float32", ndim=1) = y
        if c:
            q: R.Tensor("float32", ndim=1) = p
        else:
            q: R.Tensor("float32", ndim=1) = y
        return z
    d = R.const(True, "bool")
    w = inner(u, d)""",
}
WHOLE = {
    "has effects": """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")):
    @R.function(pure=False)
    def inner() -> R.Tensor((2,), "float32"):
        _ = R.call_packed("test.inc_inplace", x)
        return x
    w = inner()
    return w
""",
    "is a result that had a length around it": """
@R.function
def main(x: R.Tensor("float32", ndim=1), y: R.Tensor(("n",), "float32")):
    k = T.int64()
    z = R.match_cast(x, R.Tensor((k,), "float32"))
    @R.function
    def inner(q: R.Tensor((k,), "float32")) -> R.Tensor((k,), "float32"):
        return q
    return (inner, y)
""",
    "is in a tuple with a packed function": """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")):
    @R.function
    def inner(z: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        r = R.add(z, x)
        return r
    t = (inner, R.ExternFunc("test.triple"))
    w = R.call_packed("test.apply", t, x)
    return w
""",
}


@pytest.mark.parametrize("case", INNER)
def test_a_nested_function_takes_the_lengths_that_tvm_gives_it(case: str, oracle: Oracle) -> None:
    text = as_module(f"{NESTED}{INNER[case]}\n    return w\n")
    verdict = Asker(oracle).verdict(text, variants("LambdaLift")[0])
    assert verdict.kind == "equal", verdict.details


@pytest.mark.parametrize("case", WHOLE)
def test_a_nested_function_is_lifted_as_by_tvm(case: str, oracle: Oracle) -> None:
    verdict = Asker(oracle).verdict(as_module(WHOLE[case]), variants("LambdaLift")[0])
    assert verdict.kind == "equal", verdict.details
