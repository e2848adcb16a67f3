"""A few random programs through every pass, each a test of its own; only `python -m tests.mutants` collects this file."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

import relax_explorer as rxe
from tests.meaning.trial import register, trial


@pytest.mark.parametrize("seed", range(12))
def test_no_pass_changes_what_a_run_shows(seed: int) -> None:
    register()
    names = rxe.passes.names()
    orders = [*((name,) for name in names), *Random(seed).sample(list(product(names, names)), 4)]
    assert not trial(seed, orders)[1]
