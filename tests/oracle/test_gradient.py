"""Gradient gives TVM's functions, and has a rule for each operator for which TVM has one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from relax_explorer.core.ops import find
from relax_explorer.core.passes.derivatives import RULES
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs

ROWS = (Path(__file__).parent / "differences.md").read_text(encoding="utf-8")
TEXTS = {
    name.split(": ", 1)[1].rsplit(" #", 1)[0]: text
    for name, text in programs().items()
    if name.startswith("gradients: ")
}
DIFFERENT = {
    "A choice with a scalar": "Gradient of `where`",
    "The operator cumsum, exclusive": "Gradient of an exclusive `cumsum`",
    "An integer that is cast": "Gradient with respect to an integer",
    "The operator take of several axes of indices": "Gradient of `take` with several axes of indices",
}
NOT_ASKED = {
    "The operator triu",
    "The operator nn.conv2d with padding, strides and dilation",
    "Symbolic lengths",
    "A check in the dataflow block",
}
"""Headings of programs for which TVM's pass ends with an error."""


def test_the_functions_are_tvms(oracle: Oracle) -> None:
    outcomes = {t: compare(oracle, x, ("Gradient", {"func_name": "main"})) for t, x in TEXTS.items()}
    different = {t: item.details for t, item in outcomes.items() if item.kind not in ("agree", "not asked")}
    assert different.keys() == DIFFERENT.keys(), different
    assert all(f"| {reason}" in ROWS for reason in DIFFERENT.values())
    not_asked = {title for title, item in outcomes.items() if item.kind == "not asked"}
    assert not_asked == NOT_ASKED
    for title in not_asked:
        oracle.could_not_ask(f"Gradient: {title}")


@pytest.mark.parametrize(
    ("title", "options"),
    [
        ("A value that is read often", {"require_grads": ["y"]}),
        ("A value that is read often", {"require_grads": ["y", "x"]}),
        ("A layer of a network", {"require_grads": ["w", "b"]}),
        ("Several results", {"target_index": 2}),
        ("Dead bindings", {"require_grads": ["y"]}),
    ],
    ids=str,
)
def test_options_mean_what_they_mean_in_tvm(oracle: Oracle, title: str, options: dict[str, Any]) -> None:
    outcome = compare(oracle, TEXTS[title], ("Gradient", {"func_name": "main", **options}))
    assert outcome.kind == "agree", outcome.details


def test_every_operator_with_a_gradient_in_tvm_has_a_rule(oracle: Oracle) -> None:
    theirs = {name for name in oracle.operators_with("FPrimalGradient").get() if find(name) is not None}
    assert theirs - RULES.keys() == set()
    marks = {f"relax.grad.{name}" for name in ("no_grad", "start_checkpoint", "end_checkpoint")}
    assert RULES.keys() - theirs == marks
