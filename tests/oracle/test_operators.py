"""Our inferred type of each operator call must equal TVM's, or a row in `op_calls` gives the reason."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from relax_explorer.core.ops import table
from relax_explorer.core.ops.kit.decl import Op
from tests.oracle.operators import NOT_ASKED, UNEXPLAINED, Outcome, another, ask, tally
from tests.support.op_calls import Difference, calls, differences, families, picked, words
from tests.support.op_examples import Example
from tests.support.oracle import Oracle

OPERATORS = list(table().values())
LEAST = 30
"""The least number of different calls of each operator in question."""
FINITE = {"relax.null_value": 1}
"""Operators with fewer calls: without operands and attributes there is only one."""


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name.removeprefix("relax."))
def test_calls_have_the_types_of_tvm(op: type[Op], oracle: Oracle, operator_counts: Counter[str]) -> None:
    outcomes = {words(call): ask(call, oracle) for call in calls(op)}
    written = [outcome.call for outcome in outcomes.values()]
    assert written, f"{op.name} has no example, and no call in tests/oracle/op_calls"

    led_to: dict[int, Example | None] = {}

    @settings(
        max_examples=max(1, LEAST - len(written)),
        deadline=None,
        database=None,
        phases=(Phase.generate,),  # shrinking is useless: a smaller seed does not give a smaller call
        suppress_health_check=list(HealthCheck),
    )
    @given(seed=st.integers(0, 2**63 - 1))
    def others(seed: int) -> None:
        # The set of known calls grows, so the call of each seed is kept: a repeated seed must give the same call.
        if seed not in led_to:
            led_to[seed] = another(written, set(outcomes), Random(seed))
        call = led_to[seed]
        assume(call is not None)
        assert call is not None
        outcome = outcomes.get(words(call)) or ask(call, oracle)
        outcomes[words(call)] = outcome
        assert outcome.kind != UNEXPLAINED, str(outcome)

    if op.name in FINITE:
        with pytest.raises(Unsatisfiable):
            others()
    else:
        others()
    operator_counts.update(tally(outcomes.values()))
    assert [str(outcome) for outcome in outcomes.values() if outcome.kind == UNEXPLAINED] == []
    assert len(answered(outcomes)) >= FINITE.get(op.name, LEAST)


def answered(outcomes: dict[str, Outcome]) -> list[str]:
    """The calls that TVM answered."""
    return [text for text, outcome in outcomes.items() if outcome.kind != NOT_ASKED]


TYPES = [row for row in differences() if row.kind != "values"]


@pytest.mark.parametrize("row", TYPES, ids=lambda row: f"{row.names}:{row.form}")
def test_every_difference_is_seen(row: Difference, oracle: Oracle) -> None:
    shown = [call for name in families() for call in picked(name) if row.explains(call)]
    assert shown, "no call among those that were picked shows this difference"
    assert any(ask(call, oracle).row is row for call in shown), "TVM does as we do"
