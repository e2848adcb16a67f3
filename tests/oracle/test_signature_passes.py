"""The results of passes that change signatures are TVM's, up to names. Differences have a reason in `differences.md`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs

VALUES = "Functions used as values"
DIFFERENT = {
    ("RemoveUnusedParameters", VALUES): "Private function that is also used as a value",
    ("RemoveUnusedOutputs", VALUES): "Private function that is also used as a value",
    ("ExpandTupleArguments", VALUES): "Private function that is also used as a value",
    ("RemoveUnusedParameters", "Two lengths of one dropped parameter"): "RemoveUnusedParameters: the order",
    ("RemoveUnusedParameters", "An unused argument that the call checks"): "RemoveUnusedParameters for an",
    ("RemoveUnusedOutputs", "An unused call with an effect"): "RemoveUnusedOutputs for a call with an effect",
    ("RemoveUnusedOutputs", "An unused call of a recursive function"): "Unread call of a recursive function",
    ("ExpandTupleArguments", "An unused call of a recursive function"): "Unread call of a recursive function",
}
"""(pass, heading of the program) → the first words of its row in `differences.md`."""
TEXTS = {
    name.split(": ", 1)[1].rsplit(" #", 1)[0]: text
    for name, text in programs().items()
    if name.startswith("signatures: ")
}


@pytest.mark.parametrize("name", ["RemoveUnusedParameters", "RemoveUnusedOutputs", "ExpandTupleArguments"])
def test_our_result_is_tvms(oracle: Oracle, name: str) -> None:
    outcomes = {title: compare(oracle, text, (name, {})).kind for title, text in TEXTS.items()}
    unequal = {title for title, kind in outcomes.items() if kind not in ("same", "agree")}
    assert unequal == {title for of, title in DIFFERENT if of == name}
    assert list(outcomes.values()).count("agree") >= 7


def test_each_difference_has_a_reason() -> None:
    rows = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
    assert [row for row in DIFFERENT.values() if f"| {row}" not in rows] == []
