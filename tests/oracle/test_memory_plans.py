"""StaticPlanBlockMemory gives TVM's storages behind TVM's passes before it. The differences have reasons in `differences.md`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import relax_explorer as rxe
from tests.support.known_differences import reasons
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs, random_programs
from tests.support.pass_variants import variants

PLAN = variants("StaticPlanBlockMemory")[0]
LARGE = ("blocks", "gradients", "layouts", "mixed_precision", "patterns")
"""Files of many programs with the same few operators."""
WRITTEN = {
    title: text
    for title, text in programs().items()
    if ": " in title and not title.startswith(tuple(f"{file}: " for file in LARGE))
}
GROUPS = {"written": WRITTEN, "random": dict(random_programs(40, 5000))}
SEEN = {
    "written": {"operand of an operator", "operand of a packed", "branches", "nested functions"},
    "random": {"branches", "nested functions"},
}


@pytest.mark.parametrize("group", GROUPS)
def test_tensors_have_the_storages_of_tvm(oracle: Oracle, group: str) -> None:
    kinds, unexplained = Counter[str](), dict[str, str]()
    for title, text in GROUPS[group].items():
        ready = oracle.apply(text, PLAN.before)
        if not ready.ok:
            continue
        outcome = compare(oracle, ready.get(), (PLAN.name, PLAN.options))
        why = reasons(oracle, ready.get(), PLAN) if outcome.kind == "differ" else ()
        kinds.update(why or (outcome.kind,))
        if not why and outcome.kind not in ("same", "agree", "not asked"):
            unexplained[title] = outcome.details[:1000]
    assert unexplained == {}
    assert kinds["agree"] >= 25
    assert {
        f"StaticPlanBlockMemory of {'the ' * ('operand' in row)}{row}" for row in SEEN[group]
    } <= kinds.keys()


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
