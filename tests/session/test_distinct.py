"""A problem that passes hand on is told once, at the first stage that has it."""

from __future__ import annotations

import relax_explorer as rxe
from relax_explorer.core.session.session import Session

WARNED = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 3), "float32"):
        a = R.add(x, y)
        return x

    @R.function
    def other(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 3), "float32"):
        a = R.add(x, y)
        return x
"""


def test_stages_that_hand_a_problem_on_are_listed_behind_it() -> None:
    session = Session(rxe.parse(WARNED), "Normalize,Normalize")
    session.run_all()
    assert len(session.stages) == 3
    every = session.problems
    found = session.distinct_problems
    assert len(every) == 3 * len(found)
    assert all(stage.number == 0 for stage, _, _ in found)
    assert all([item.number for item in later] == [1, 2] for _, _, later in found)
    assert len(found) == 2, "one for each function, though sentence and line are the same"


def test_another_pipeline_has_its_own_list() -> None:
    session = Session(rxe.parse(WARNED), "Normalize,Normalize")
    session.run_all()
    assert session.distinct_problems
    shorter = session.with_pipeline("Normalize")
    assert [len(later) for _, _, later in shorter.distinct_problems] == [1, 1]
    empty = session.with_pipeline("")
    assert [len(later) for _, _, later in empty.distinct_problems] == [0, 0]
    assert [len(later) for _, _, later in session.distinct_problems] == [2, 2]
