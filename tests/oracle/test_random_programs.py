"""A hundred fixed random programs; `python -m tests.oracle.random_programs` asks about any number."""

from __future__ import annotations

import pytest

from tests.oracle.random_programs import UNEXPLAINED, compare
from tests.support.oracle import Oracle
from tests.support.random_programs import random_program


@pytest.mark.parametrize("start", range(0, 100, 20))
def test_random_programs_are_judged_and_typed_as_by_tvm(oracle: Oracle, start: int) -> None:
    outcomes = {seed: compare(oracle, random_program(seed)) for seed in range(start, start + 20)}
    assert not {seed: outcome for seed, outcome in outcomes.items() if outcome[0] in UNEXPLAINED}
    assert sum(kind == "agree" for kind, _ in outcomes.values()) >= 3
