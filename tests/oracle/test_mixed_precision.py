"""ToMixedPrecision gives TVM's results, and its table of policies is TVM's. Differences have reasons in `differences.md`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from relax_explorer.core.ops import find
from relax_explorer.core.passes.to_mixed_precision import ALWAYS, FOLLOW
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs

ROWS = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
TEXTS = {
    name.split(": ", 1)[1].rsplit(" #", 1)[0]: text
    for name, text in programs().items()
    if name.startswith("mixed_precision: ")
}
FP16_INPUTS = "fp16_input_names"


@pytest.mark.parametrize("names", [["x"], ["w"], ["x", "w"]], ids=str)
def test_named_parameters_become_float16_as_in_tvm(oracle: Oracle, names: list[str]) -> None:
    options: dict[str, Any] = {"out_dtype": "float16", FP16_INPUTS: names}
    titles = (
        "A chain of products",
        "A sum that a product and a sum read",
        "Products joined with float32",
        "A tensor of unknown rank",
    )
    for title in titles:
        outcome = compare(oracle, TEXTS[title], ("ToMixedPrecision", options))
        if outcome.kind == "not asked":
            oracle.could_not_ask(f"{title}: {outcome.details}")
        else:
            assert outcome.kind == "agree", outcome.details
    called = compare(oracle, TEXTS["A private function that is called"], ("ToMixedPrecision", options))
    assert called.kind == "differ"
    assert f"| {FP16_INPUTS} " in ROWS


def test_the_policies_are_tvms(oracle: Oracle) -> None:
    theirs = oracle.operators_with("TMixedPrecisionPolicy").get()
    ours = dict.fromkeys(ALWAYS, 0) | dict.fromkeys(FOLLOW, 1)
    assert {name: policy for name, policy in theirs.items() if find(name) is not None} == ours
