"""StaticPlanBlockMemory gives TVM's storages behind TVM's passes before it. The differences have reasons in `differences.md`."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.program.module import IRModule
from tests.support.damages import damages
from tests.support.judged import Asker, Results, judge
from tests.support.oracle import Oracle
from tests.support.pass_agreement import as_module, random_programs
from tests.support.pass_variants import variants

PLAN = variants("StaticPlanBlockMemory")[0]


def test_tensors_of_random_programs_have_the_storages_of_tvm(oracle: Oracle) -> None:
    asker = Asker(oracle)
    found = [asker.verdict(text, PLAN) for _, text in random_programs(40, 5000)]
    assert [
        verdict.details for verdict in found if verdict.kind not in ("same", "equal", "row", "not asked")
    ] == []
    assert [verdict.kind for verdict in found].count("equal") >= 25


KEPT = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32")):
        a = R.add(x, x)
        pair = R.call_packed("vm.builtin.make_tuple", a, x, ty_args=(R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")),))
        b = R.negative(x)
        kept = pair[0]
        c = R.add(kept, b)
        return c
"""


def test_a_packed_function_may_return_its_operand(oracle: Oracle) -> None:
    x = np.arange(4, dtype="float32")
    lowered = rxe.run_pipeline(rxe.parse(KEPT), "default_build")
    np.testing.assert_array_equal(rxe.run(lowered, "main", [x]), x)
    np.testing.assert_array_equal(oracle.run(KEPT, "main", [x]).get(), -2 * x)  # b overwrote a


HEAD = """
@R.function
def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")):
"""
NESTED = """
    a = R.exp(x)
    b = R.negative(a)
    @R.function
    def g(z: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        BODY
        return z
    h = g(y)
    return x
"""
BRANCHES = """
        if c:
            d = R.exp(y)
            e = y
        else:
            d = R.sin(y)
            f = R.cos(y)
            e = y
"""
SCOPES = {
    "nested functions": NESTED.replace("BODY", "d = R.exp(y)"),
    "values that nested functions capture": NESTED.replace("BODY", "d = (b, x)"),
    "branches": NESTED.replace("BODY", BRANCHES.strip()).replace("b = R.negative(a)", "b = x"),
}


@pytest.mark.parametrize("of", SCOPES)
def test_storages_end_with_their_scope(oracle: Oracle, of: str) -> None:
    results = Asker(oracle).ask(as_module(HEAD + SCOPES[of]), PLAN)
    assert isinstance(results, Results)
    assert isinstance(results.ours, IRModule)
    verdict = judge(results)
    assert verdict.kind == "row", verdict.details
    assert f"StaticPlanBlockMemory of {of}" in verdict.rows
    lines = results.ours.script().replace("alloc_storage(R.shape([", "alloc_storage(R.shape([9", 1)
    larger = rxe.normalize(rxe.parse(lines))
    for wrong in (larger, *[damage.module for damage in islice(damages(results.ours, ("kernel",)), 8)]):
        assert judge(results.having(wrong), explains=False).kind == "unexplained"
