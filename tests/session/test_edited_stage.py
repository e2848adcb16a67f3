"""The text of a stage is edited, and only the passes behind it run again."""

from __future__ import annotations

import numpy as np
import pytest

import relax_explorer as rxe
from relax_explorer.core.passes.pipeline import FromFile, Step, run_step, steps
from relax_explorer.core.passes.replace_module import edited_text
from relax_explorer.core.session.session import Plan, Session
from tests.support.roundtrip import SAMPLES

PIPELINE = "CanonicalizeBindings,LegalizeOps,ToNonDataflow"
TEXT = """
@I.ir_module
class M:
    @R.function
    def other(x: R.Tensor((2,), "float32")):
        y = R.sin(x)
        return y
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            c = R.add(a, R.const([1.0, 2.0], "float32"))
            R.output(c)
        return c
"""


def opened(pipeline: str = PIPELINE) -> Session:
    session = Session(rxe.parse(TEXT), pipeline)
    session.run_all()
    return session


def edited(session: Session, stage: int, old: str, new: str) -> Session:
    text = edited_text(session.stages[stage].module)
    assert old in text
    result = session.with_text(stage, text.replace(old, new))
    result.run_all()
    return result


def test_only_the_tail_runs_again() -> None:
    before = opened()
    after = edited(before, 1, "R.exp(x)", "R.cos(x)")
    assert [stage.made_by.partition("{")[0] for stage in after.stages[1:]] == [
        "CanonicalizeBindings", "ReplaceModule", "LegalizeOps", "ToNonDataflow",
    ]  # fmt: skip
    assert after.stages[:2] == before.stages[:2]
    assert len(after.stages[2].made_by) < 100
    x = np.array([0, 0], "float32")
    assert rxe.run(after.stages[-1].module, "main", [x]).tolist() == [2, 3]
    assert not [problem for _, problem in after.problems if problem.is_error]


def test_functions_that_were_not_edited_stay_the_same_objects() -> None:
    before = opened()
    after = edited(before, 1, "R.exp(x)", "R.cos(x)")
    old, new = after.stages[1].module, after.stages[2].module
    assert new["other"] is old["other"]
    assert new["main"] is not old["main"]
    assert edited(before, 1, "R.exp(x)", "R.exp(x)").stages[2].module is old


def test_a_value_is_followed_through_an_edit() -> None:
    after = edited(opened(), 1, "R.exp(x)", "R.cos(x)")
    rewrites = after.stages[2].rewrites
    assert [item.before[0].var.name for item in rewrites if item.before] == ["a", "c"]


def test_the_input_is_edited_too_and_an_edit_is_edited_again() -> None:
    once = edited(opened(), 0, "R.exp(x)", "R.cos(x)")
    assert once.stages[1].made_by.startswith("ReplaceModule")
    twice = edited(once, 1, "R.cos(x)", "R.tanh(x)")
    assert len(twice.stages) == len(once.stages)
    assert "R.tanh" in twice.stages[1].module.script()
    assert twice.stages[0] is once.stages[0]


def test_problems_of_the_edited_program_are_told() -> None:
    session = opened()
    head = 'def main(x: R.Tensor((2,), dtype="float32"))'
    wrong = edited(session, 1, head, head.replace("(2,", "(3,"))
    assert any(item.is_error for item in wrong.stages[2].problems)
    assert len(wrong.stages) == len(session.stages) + 1


@pytest.mark.parametrize("wrong", ["R.exp(", "metadata[", "R.exp(zzz)"])
def test_a_text_that_cannot_be_read_is_refused(wrong: str) -> None:
    session = opened()
    text = edited_text(session.stages[1].module)
    with pytest.raises(rxe.Failure) as caught:
        session.with_text(1, text.replace("R.exp(x)", wrong))
    assert caught.value.diagnostics[0].span is not None
    step = Step(steps("ReplaceModule")[0].of, {"text": text.replace("R.exp(x)", wrong)})
    with pytest.raises(rxe.Failure):
        run_step(step, session.stages[1].module)


def test_properties_are_those_of_the_edited_program() -> None:
    after = edited(opened("LegalizeOps,AnnotateTIROpPattern,FuseOps"), 2, '"op_pattern": 0, ', "")
    names = {item.name for item in after.properties[3]}
    assert "NO_HIGH_LEVEL_OPS" in names
    assert "PATTERNS_ANNOTATED" not in names


@pytest.mark.parametrize("path", SAMPLES, ids=[path.stem for path in SAMPLES])
@pytest.mark.parametrize("pipeline", ["", "LegalizeOps", "zero,default_build"])
def test_an_unedited_text_is_the_same_module(path: object, pipeline: str) -> None:
    module = Session.open(str(path), pipeline or ()).stages[-1].module
    assert rxe.apply_pass(module, "ReplaceModule", text=edited_text(module)) is module
    assert rxe.apply_pass(module, "ReplaceModule") is module


def test_plans_with_arrays_and_texts_are_compared_and_read_back() -> None:
    bind = steps("BindParams")[0].of
    w, same, other = (np.array(values, "float32") for values in ([1, 2], [1, 2], [1, 3]))
    assert Step(bind, {"params": {"w": w}}) == Step(bind, {"params": {"w": same}})
    for value in (other, w.astype("float64"), w.reshape(1, 2)):
        assert Step(bind, {"params": {"w": w}}) != Step(bind, {"params": {"w": value}})
    assert Step(bind, {"params": {"w": w}}) != Step(bind, {"params": {"v": w}})
    assert str(Step(bind, {"params": FromFile("w.npz", {"w": w})})) == "BindParams{params='w.npz'}"
    plan = Plan((*Plan.of("LegalizeOps").entries,)).with_edit(0, "a = \"x\"\n{b}, 'c'\n")
    assert Plan.of(plan.text) == plan
    session = Session(
        rxe.parse(
            TEXT.replace(
                'x: R.Tensor((2,), "float32")):\n        with',
                'x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):\n        with',
            )
        ),
        [Step(bind, {"params": {"w": w}}), *steps("LegalizeOps")],
    )
    session.run_all()
    again = session.with_pipeline([Step(bind, {"params": {"w": same}}), *steps("LegalizeOps,ToNonDataflow")])
    assert again.stages == session.stages
