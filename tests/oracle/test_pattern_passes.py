"""The results of the passes with patterns are TVM's, up to names. Differences have a row here and a reason in `differences.md`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

import relax_explorer as rxe
from tests.support import mdtest
from tests.support.corpus import MODELS
from tests.support.oracle import Oracle

PROGRAMS = Path(__file__).parent / "pass_programs" / "patterns.md"
PASSES = (
    "RemoveRedundantReshape",
    "ExpandMatmulOfSum",
    "AdjustMatmulOrder",
    "ReorderPermuteDimsAfterConcat",
    "ReorderTakeAfterMatmul",
    "OptimizeLayoutTransform",
    "FoldBatchnormToConv2D",
)
ANY = "any pass"
SUMS = "Sums, concatenations and takes"
DIFFERENT = {
    ("ExpandMatmulOfSum", f"{SUMS}: e4"): "Products with `out_dtype`",
    (ANY, f"{SUMS}: e5"): "A branch of less precise StructInfo",
    ("RemoveRedundantReshape", "Reshapes: zeros"): "A tensor whose shape a variable holds",
    ("ReorderTakeAfterMatmul", f"{SUMS}: t5"): "ReorderTakeAfterMatmul with one index",
    ("OptimizeLayoutTransform", "Layout transforms: square"): "OptimizeLayoutTransform for maps",
}
"""(pass, heading of the program) → the first words of its row in `differences.md`."""


@cache
def programs() -> dict[str, str]:
    """Our print of each program, by its heading."""
    texts = {case.name.split(": ", 1)[1].rsplit(" #", 1)[0]: case.program for case in mdtest.read(PROGRAMS)}
    texts |= {model.name: model.input for model in MODELS}
    return {name: rxe.normalize(rxe.parse(text)).script() for name, text in texts.items()}


def compared(oracle: Oracle, text: str, name: str, options: dict[str, Any]) -> str:
    """`same` if neither changed the program, `agree`, `differ`, or `not asked`."""
    theirs = oracle.apply(text, [(name, options)])
    if not theirs.ok:
        oracle.could_not_ask(f"{name}: {theirs.error[-100:]}")
        return "not asked"
    before = rxe.normalize(rxe.parse(text))
    after = rxe.apply_pass(before, name, **options)
    assert rxe.well_formed(after)
    if not oracle.equal(after.script(), theirs.get().handle).get().mapped:
        return "differ"
    return "same" if after is before else "agree"


@pytest.mark.parametrize("name", PASSES)
def test_our_result_is_tvms(oracle: Oracle, name: str) -> None:
    outcomes = {title: compared(oracle, text, name, {}) for title, text in programs().items()}
    different = {title for title, outcome in outcomes.items() if outcome == "differ"}
    assert different == {title for of, title in DIFFERENT if of in (name, ANY)}
    assert list(outcomes.values()).count("agree") >= 2


def test_each_difference_has_a_reason() -> None:
    rows = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
    assert [row for row in DIFFERENT.values() if f"| {row}" not in rows] == []
