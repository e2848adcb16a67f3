"""Gradient gives TVM's functions, and has a rule for each operator for which TVM has one."""

from __future__ import annotations

from typing import Any

import pytest

from relax_explorer.core.ops import find
from relax_explorer.core.passes.derivatives import RULES
from tests.support.oracle import Oracle
from tests.support.pass_agreement import compare, programs

TEXTS = {
    name.split(": ", 1)[1].rsplit(" #", 1)[0]: text
    for name, text in programs().items()
    if name.startswith("gradients: ")
}


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
