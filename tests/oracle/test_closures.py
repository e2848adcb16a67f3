"""TVM's machine runs closures that we lower."""

from __future__ import annotations

import numpy as np

import relax_explorer as rxe
from tests.support.oracle import Oracle

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
