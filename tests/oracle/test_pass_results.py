"""The results of passes are TVM's, up to names. A difference has a row here and its reason in `differences.md`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs

ROWS = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
HIGH = ("canonicalize", "constants", "dataflow")
PASSES = {
    "CanonicalizeBindings": HIGH,
    "ConvertToDataflow": HIGH,
    "DeadCodeElimination": HIGH,
    "EliminateCommonSubexpr": HIGH,
    "FoldConstant": HIGH,
    "InlinePrivateFunctions": HIGH,
    "ToNonDataflow": HIGH,
    "AnnotateTIROpPattern": ("lowering", "constants"),
    "FuseOps": ("lowering",),
    "FuseTIR": ("lowering",),
    "LambdaLift": ("lowering", "dataflow"),
    "KillAfterLastUse": ("lowering",),
    "VMShapeLower": ("lowering",),
}
UNREAD = "Unused binding outside of dataflow blocks"
LOST = "`match_cast` that compares two known lengths"
HEAP = "VMShapeLower"
DIFFERENT = {
    ("ConvertToDataflow", "A dead match_cast"): UNREAD,
    ("ConvertToDataflow", "A recursive private function"): "Recursive call in ConvertToDataflow",
    ("DeadCodeElimination", "Dead effects stay"): UNREAD,
    ("FoldConstant", "Dead effects stay"): UNREAD,
    (
        "InlinePrivateFunctions",
        "A private function with plain bindings called in a dataflow block",
    ): "Blocks of an inlined function",
    (
        "InlinePrivateFunctions",
        "A private function with lengths",
    ): "InlinePrivateFunctions of a function with lengths",
    (
        "InlinePrivateFunctions",
        "A private function as a value",
    ): "InlinePrivateFunctions of a function that is a value",
    ("FuseOps", "A result that is checked"): LOST,
    ("FuseTIR", "A result that is checked"): LOST,
    ("LambdaLift", "A result that is checked"): LOST,
    ("KillAfterLastUse", "A result that is checked"): LOST,
    ("KillAfterLastUse", "Lives 3"): "Copy of a variable that a kill ends",
    ("VMShapeLower", "Checks of parameters"): HEAP,
    ("VMShapeLower", "Casts that are implied"): HEAP,
    ("VMShapeLower", "Lives of objects 1"): HEAP,
}
"""(pass, heading of the program) → the first words of its row in `differences.md`."""


@pytest.mark.parametrize("name", PASSES)
def test_the_results_are_tvms(name: str, oracle: Oracle) -> None:
    unexplained, unseen = [], {heading for other, heading in DIFFERENT if other == name}
    for title, text in programs().items():
        if not title.startswith(tuple(f"{file}: " for file in PASSES[name])):
            continue
        heading = title.split(": ", 1)[1].rsplit(" #", 1)[0]
        outcome = compare(oracle, text, (name, {}))
        if outcome.kind == "not asked":
            oracle.could_not_ask(f"{name}: {outcome.details[-100:]}")
        elif outcome.kind in ("differ", "refused"):
            reason = DIFFERENT.get((name, heading), "")
            unseen.discard(heading)
            if not reason or f"| {reason}" not in ROWS:
                unexplained.append(f"{heading}: {outcome.details[:300]}")
    assert unexplained == []
    assert not unseen, "these agree now: drop their rows"
