"""Edits of a pipeline, the text of it, and sessions that take over stages."""

from __future__ import annotations

import pytest

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.passes.pipeline import steps
from relax_explorer.core.phases.module_properties import NORMAL_FORM
from relax_explorer.core.session.session import Plan, Session
from tests.support.roundtrip import SAMPLES

TEXT = (
    'CanonicalizeBindings,LegalizeOps{skip=("relax.matmul", "relax.add")},DeadCodeElimination,ToNonDataflow'
)


def names(plan: Plan) -> list[str]:
    return [step.of.name for step in plan.steps]


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "default,simplify",
        "LegalizeOps{skip=add,multiply},LegalizeOps",
        "LegalizeOps{skip='it\\'s {odd}, \"so\"'}",
        'LegalizeOps{skip="a\\", b"}',
        "",
    ],
)
def test_the_text_of_a_plan_is_read_as_the_same_plan(text: str) -> None:
    plan = Plan.of(text)
    assert Plan.of(plan.text) == plan
    assert steps(plan.text) == plan.steps


def test_each_edit_returns_another_plan() -> None:
    plan = Plan.of(TEXT)
    off = plan.toggled(1)
    assert names(plan)[1] == "LegalizeOps"
    assert names(off) == ["CanonicalizeBindings", "DeadCodeElimination", "ToNonDataflow"]
    assert off.toggled(1) == plan
    assert names(off.moved(1, 2)) == names(off)
    assert names(off.moved(1, 2).toggled(3))[-1] == "LegalizeOps"
    assert plan.moved(0, -1) is plan
    assert plan.moved(3, 1) is plan
    assert names(plan.without(0)) == names(plan)[1:]
    assert names(plan.with_text(1, "FoldConstant,Normalize"))[:3] == [
        "CanonicalizeBindings",
        "FoldConstant",
        "Normalize",
    ]
    assert names(plan.with_text(0, "FoldConstant", replaced=1))[:2] == ["FoldConstant", "LegalizeOps"]
    assert [off.number_of(stage) for stage in range(5)] == [None, 0, 2, 3, None]
    assert [off.stage_of(number) for number in range(4)] == [1, None, 2, 3]


@pytest.mark.parametrize("text", ["LegalizeOp", "LegalizeOps{skipp=1}", "LegalizeOps{"])
def test_a_wrong_text_is_a_diagnostic(text: str) -> None:
    with pytest.raises(Failure):
        Plan.of(TEXT).with_text(0, text)


def test_a_plan_tells_what_its_order_and_its_result_lack() -> None:
    plan = Plan.of("LegalizeOps,Normalize,ToNonDataflow,ConvertToDataflow")
    assert [number for number, _ in plan.remarks(())] == [0]
    assert [number for number, _ in plan.toggled(0).toggled(1).remarks(())] == [2, 3]
    assert plan.remarks({NORMAL_FORM}) == []
    before = Plan.of("LegalizeOps,ToNonDataflow")
    assert [item.name for item in plan.lost(before, ())] == ["NO_DATAFLOW"]
    assert plan.moved(3, -1).lost(before, ()) == []


def test_another_pipeline_takes_over_the_stages_before_the_first_difference() -> None:
    session = Session.open(SAMPLES[0], TEXT)
    session.diff(0, 1)
    session.diff(0, 3)
    plan = Plan.of(session.pipeline).without(2)
    other = session.with_pipeline(plan.steps)
    assert other.stages == session.stages[:3]
    assert other.diff(0, 1) is session.diff(0, 1)
    assert other.diff(0, 2) is not session.diff(0, 3)
    other.run_all()
    assert [stage.made_by for stage in other.stages] == ["input", *map(str, plan.steps)]
    assert len(session.stages) == 5
    alone = Session.open(SAMPLES[0], plan.text)
    assert [stage.module.script() for stage in other.stages] == [
        stage.module.script() for stage in alone.stages
    ]
    assert other.properties == alone.properties
    assert other.with_pipeline("").stages == session.stages[:1]
    half = Session.open(SAMPLES[0], TEXT)
    del half.stages[2:], half.properties[2:]  # as while passes still run
    assert half.with_pipeline(TEXT).stages == half.stages
