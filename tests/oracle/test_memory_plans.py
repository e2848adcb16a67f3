"""StaticPlanBlockMemory gives TVM's storages behind TVM's passes before it. The differences have reasons in `differences.md`."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

import relax_explorer as rxe
from tests.support.judged import Asker
from tests.support.oracle import Oracle
from tests.support.pass_agreement import random_programs
from tests.support.pass_variants import variants

PLAN = variants("StaticPlanBlockMemory")[0]
NESTED = re.compile(r"^ {8,}@R\.function", re.MULTILINE)
LIFTED = replace(PLAN, before=("LambdaLift", *PLAN.before))
"""As in a build. In a nested function TVM uses storages of the function around it, which may hold another tensor at the call."""


def test_tensors_of_random_programs_have_the_storages_of_tvm(oracle: Oracle) -> None:
    asker = Asker(oracle)
    found = [
        asker.verdict(text, LIFTED if NESTED.search(text) else PLAN) for _, text in random_programs(40, 5000)
    ]
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
