"""A small run of `python -m tests.meaning`: every pass alone, and random orders of two for each program."""

from __future__ import annotations

import re
from itertools import product
from random import Random

import pytest

import relax_explorer as rxe
from tests.meaning.programs import Aliases, Program
from tests.meaning.trial import register, run, trial

GROUPS = 10
PROGRAMS = 12  # in each group; the fuzzers of CI go on from fresh seeds


@pytest.mark.parametrize("group", range(GROUPS))
def test_no_pass_changes_what_a_run_shows(group: int) -> None:
    register()
    names = rxe.passes.names()
    pairs = list(product(names, names))
    for seed in range(group * PROGRAMS, (group + 1) * PROGRAMS):
        orders = [*((name,) for name in names), *Random(seed).sample(pairs, 8)]
        count, findings = trial(seed, orders)
        assert count, f"program {seed} is refused"
        assert not findings, str(findings[0])


@pytest.mark.parametrize("group", range(4))
def test_no_pass_changes_what_a_run_with_aliases_shows(group: int) -> None:
    register()
    names = rxe.passes.names()
    pairs = list(product(names, names))
    for seed in range(group * 6, (group + 1) * 6):
        orders = [*((name,) for name in names), *Random(seed).sample(pairs, 8)]
        count, findings = trial(seed, orders, Aliases)
        assert count, f"program {seed} is refused"
        assert not findings, str(findings[0])


def test_programs_with_aliases_share_memory() -> None:
    """In many of them, a write to one value is seen through another one that a tuple, a view or a function gave."""
    register()
    texts = [Aliases(seed).text for seed in range(40)]
    for part in ("cls.pair0(", "cls.field0(", ")[0][1]", "R.memory.view(", "R.memory.ensure_zero_offset("):
        assert sum(part in text for text in texts) >= 3, part
    writers = [text for text in texts if re.search(r"= cls\.field\d\(", text) and '"increment", b' in text]
    assert len(writers) >= 10


@pytest.mark.parametrize(
    ("seed", "order"),
    [
        (
            31,
            ("LambdaLift", "InlinePrivateFunctions"),
        ),  # an unread closure in a branch names a function with an effect
        (73, ("VMShapeLower", "DeadCodeElimination")),
        (
            109,
            ("RemovePurityChecking", "TopologicalSort"),
        ),  # calls that were promised to be pure change places
        (9136, ("RemovePurityChecking", "RemoveUnusedOutputs")),  # an unread call of one in a branch
        # A call that may not end, which only an unread nested function reads, moved into a dataflow block.
        (20073, ("ConvertToDataflow", "RemoveRedundantReshape")),
    ],
)
def test_orders_that_went_wrong(seed: int, order: tuple[str, ...]) -> None:
    register()
    assert trial(seed, [order]) == (1, [])


def test_programs_do_what_they_are_for() -> None:
    """The random programs include runs that end, that stop in and outside of dataflow blocks, print, overwrite and return aliases."""
    register()
    seen = []
    for seed in range(60):
        module = rxe.normalize(rxe.parse(Program(seed).text))
        seen.append(run(module, (2, 3), condition=True))
    assert sum(not item.stopped for item in seen) >= 15
    assert any(item.stopped and item.in_dataflow for item in seen)
    assert any(item.stopped and not item.in_dataflow for item in seen)
    assert any(item.output for item in seen)
    assert {name for item in seen for name, _ in item.effects} == {"increment", "keep", "log"}
