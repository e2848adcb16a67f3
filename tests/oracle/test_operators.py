"""What TVM infers for calls of operators must be what we infer, or there is a row in `op_calls` that says why not."""

from __future__ import annotations

import contextlib
from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from relax_explorer.core.ops import table
from relax_explorer.core.ops.decl import Op
from tests.oracle.operators import DIFFER, UNEXPLAINED, ask, tally
from tests.support.op_calls import Difference, calls, changed, differences, families, picked, words
from tests.support.oracle import Oracle

OPERATORS = [op for op in table().values() if calls(op)]
LEAST = 30
"""How many different calls of each operator TVM is asked about, at least."""


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name.removeprefix("relax."))
def test_calls_have_the_types_of_tvm(op: type[Op], oracle: Oracle, operator_counts: Counter[str]) -> None:
    outcomes = {words(call): ask(call, oracle) for call in calls(op)}
    written = [outcome.call for outcome in outcomes.values()]

    @settings(
        max_examples=max(1, LEAST - len(written)),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(random=st.randoms(use_true_random=False))
    def others(random: Random) -> None:
        call = changed(random.choice(written), random)
        seen = outcomes.get(words(call))
        outcome = outcomes[words(call)] = seen or ask(call, oracle)
        assert outcome.kind != UNEXPLAINED, str(outcome)
        assume(seen is None)  # another one, please

    # Of some operators nothing can be varied, or everything was asked.
    with contextlib.suppress(Unsatisfiable):
        others()
    operator_counts.update(tally(outcomes.values()))
    assert [str(outcome) for outcome in outcomes.values() if outcome.kind == UNEXPLAINED] == []


TYPES = [row for row in differences() if row.kind != "values"]


@pytest.mark.parametrize("row", TYPES, ids=lambda row: f"{row.names}:{row.form}")
def test_every_difference_is_seen(row: Difference, oracle: Oracle) -> None:
    shown = [call for name in families() for call in picked(name) if row.explains(call)]
    assert shown, "no call among those that were picked shows this difference"
    assert any(ask(call, oracle).kind == DIFFER for call in shown), "TVM does as we do"
