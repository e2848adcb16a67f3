"""The results of all passes but the last ones are TVM's for whole programs, which no generator makes, or a row explains them."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core import passes
from tests.support.known_differences import reasons
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs
from tests.support.pass_variants import variants

TEXTS = {title: text for title, text in programs().items() if title.startswith("whole: ")}
LAST = (
    *("LegalizeOps", "DispatchSampling", "DispatchSortScan", "StaticPlanBlockMemory", "LowerAllocTensor"),
    *("KillAfterLastUse", "LowerRuntimeBuiltin", "ComputePrimValue", "VMShapeLower", "AttachGlobalSymbol"),
)
"""Passes whose results have tests of their own, since they are compared by running them, or in a chain."""
ASKED = [name for name in passes.names() if name not in (*LAST, "BindParams", "ReplaceModule")]
DIFFERENT = {
    (
        "RewriteDataflowReshape",
        "Equal expressions that differ in an attribute or a length",
    ): "RewriteDataflowReshape of a kernel",
}
"""(pass, heading of the program) → the first words of its row in `differences.md`, where no test of the subject tells."""
REFUSED = {"RX0213", "RX0111", "RX0404"}
"""The codes of programs that a pass refuses by a row."""


@pytest.mark.parametrize("name", ASKED)
def test_whole_programs_become_tvms(oracle: Oracle, name: str) -> None:
    of, unexplained = variants(name)[0], []
    for title, text in TEXTS.items():
        ready = oracle.apply(text, of.before) if of.before else None
        if ready is not None and not ready.ok:
            continue
        given = text if ready is None else ready.get()
        outcome = compare(oracle, given, (name, of.options), of.in_tvm)
        if outcome.kind == "refused" and any(f"[{code}]" in outcome.details for code in REFUSED):
            continue
        heading = title.split(": ", 1)[1].rsplit(" #", 1)[0]
        if outcome.kind not in ("differ", "refused") or (name, heading) in DIFFERENT:
            continue
        if outcome.kind == "refused" or not reasons(oracle, given, of):
            unexplained.append(f"{heading}: {outcome.details[:300]}")
    assert unexplained == []


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
