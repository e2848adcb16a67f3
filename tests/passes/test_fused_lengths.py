"""A group of FuseOps gets the lengths that no other parameter tells: the one that is read last comes first."""

from __future__ import annotations

import numpy as np
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


BY_PATTERN = 'FuseOpsByPattern{patterns="my.two: sin(exp(_))"}'
MERGED = f"{BY_PATTERN},MergeCompositeFunctions"


@pytest.mark.parametrize(
    ("shape", "lengths"),
    [('("n * m",)', "[m, n]"), ('("k + n", "m * 2")', "[m, n, k]"), ('("n * m", "n")', "[m]")],
)
@pytest.mark.parametrize("steps", ["LegalizeOps,AnnotateTIROpPattern,FuseOps", BY_PATTERN, MERGED])
def test_the_length_that_is_read_last_comes_first(shape: str, lengths: str, steps: str) -> None:
    result = rxe.run_pipeline(rxe.parse(TEXT.replace("SHAPE", shape)), steps)
    assert f": R.Shape({lengths})" in result.script()


BOUND = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 5), "float32"), v: R.Tensor((1, 5), "float32"), u: R.Tensor(ndim=2, dtype="float32")):
        n = T.int64()
        BEFORE
        with R.dataflow():
            p = R.exp(x)
            MIDDLE
            q = R.broadcast_to(v, R.shape([n, 5]))
            s = R.add(p, R.sum(q))
            r = R.sin(c)
            R.output(s, r)
        return (s, r)
"""
CAST = 'c = R.match_cast(u, R.Tensor((n, 5), "float32"))'
HELD = "h = R.match_cast(R.shape_of(u), R.Shape([n, 5]))"


@pytest.mark.parametrize(
    ("before", "middle"),
    [
        ("k = u", CAST),
        (CAST, "k = u"),
        (CAST, f"{CAST.replace('c = ', 'd = ')}"),
        ("c = R.exp(u)", HELD),
        ("k = u", f"j = u\n            {CAST.replace('u,', 'j,')}"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "pattern", ["", "my.s: sum(broadcast_to(_, _))", "my.a: add(exp(_), sum(broadcast_to(_, _)))"]
)
def test_the_call_of_a_group_comes_behind_the_cast_that_binds_its_lengths(
    before: str, middle: str, pattern: str
) -> None:
    module = rxe.normalize(rxe.parse(BOUND.replace("BEFORE", before).replace("MIDDLE", middle)))
    if pattern:
        result = rxe.apply_pass(module, "FuseOpsByPattern", patterns=[pattern])
    else:
        result = rxe.run_pipeline(module, "LegalizeOps,AnnotateTIROpPattern,FuseOps")
    assert len(result.relax_functions) > 1
    assert [str(item) for item in rxe.check(result) if item.is_error] == []
    inputs = [np.ones((3, 5), "float32"), np.ones((1, 5), "float32"), np.zeros((2, 5), "float32")]
    for wanted, found in zip(rxe.run(module, "main", inputs), rxe.run(result, "main", inputs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
