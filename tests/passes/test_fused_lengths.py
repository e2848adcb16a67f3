"""A group of FuseOps gets the lengths that no other parameter tells: the one that is read last comes first."""

from __future__ import annotations

import pytest

import relax_explorer as rxe

TEXT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(SHAPE, "float32"), s: R.Shape(["k", "m", "n"])):
        k = T.int64()
        m = T.int64()
        n = T.int64()
        with R.dataflow():
            a = R.exp(x)
            b = R.sin(a)
            R.output(b)
        return b
"""


@pytest.mark.parametrize(
    ("shape", "lengths"),
    [('("n * m",)', "[m, n]"), ('("k + n", "m * 2")', "[m, n, k]"), ('("n * m", "n")', "[m]")],
)
@pytest.mark.parametrize("steps", ["LegalizeOps,AnnotateTIROpPattern,FuseOps", "FuseOpsByPattern"])
def test_the_length_that_is_read_last_comes_first(shape: str, lengths: str, steps: str) -> None:
    if steps == "FuseOpsByPattern":
        given = rxe.normalize(rxe.parse(TEXT.replace("SHAPE", shape)))
        result = rxe.apply_pass(given, steps, patterns=["my.two: sin(exp(_))"])
    else:
        result = rxe.run_pipeline(rxe.parse(TEXT.replace("SHAPE", shape)), steps)
    assert f"tir_vars: R.Shape({lengths})" in result.script()
