"""DecomposeOpsForInference and DecomposeOpsForTraining give TVM's results, up to names."""

from __future__ import annotations

import pytest

from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs

TEXTS = {name: text for name, text in programs().items() if name.startswith("decompositions: ")}


@pytest.mark.parametrize("name", ["DecomposeOpsForInference", "DecomposeOpsForTraining"])
def test_operators_have_the_parts_that_tvm_gives_them(oracle: Oracle, name: str) -> None:
    outcomes = {title: compare(oracle, text, (name, {})) for title, text in TEXTS.items()}
    different = {
        title: item.details for title, item in outcomes.items() if item.kind not in ("same", "agree")
    }
    assert different == {}
    assert [item.kind for item in outcomes.values()].count("agree") >= 7
