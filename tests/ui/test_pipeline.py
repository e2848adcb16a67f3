"""The pipeline in the explorer: passes off and on, the editor, undo, and what cannot be edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.core.session.session import Session
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.dialogs.pipeline_editor import PipelineEditor, step_completions
from relax_explorer.ui.tui.typed import command_line
from relax_explorer.ui.tui.widgets.line_view import LineView
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import FIRST, idle, press, typed

PIPELINE = "CanonicalizeBindings,LegalizeOps,ToNonDataflow"


def made_by(app: Explorer) -> list[str]:
    assert app.state.session is not None
    return [stage.made_by for stage in app.state.session.stages[1:]]


async def test_a_pass_is_turned_off_and_on_where_it_stands() -> None:
    app = Explorer(str(SAMPLES[0]), PIPELINE)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        first = app.state.session
        await press(pilot, app, "x")
        assert "the input was made by no pass" in screen_text(app)
        await press(pilot, app, "right_square_bracket")
        assert app.state.selection.stage == 2
        await press(pilot, app, "x")
        assert made_by(app) == ["CanonicalizeBindings", "ToNonDataflow"]
        assert "LegalizeOps is off; u undoes" in screen_text(app)
        assert "✗ off LegalizeOps" in screen_text(app)
        assert app.state.session.stages[1] is first.stages[1]
        assert "--passes CanonicalizeBindings,ToNonDataflow --stage 2" in command_line(app)
        await press(pilot, app, "x")  # the same key again turns the same pass on
        assert made_by(app) == PIPELINE.split(",")
        await press(pilot, app, "u", "u")
        assert made_by(app) == PIPELINE.split(",")
        await press(pilot, app, "u")
        assert "nothing to undo" in screen_text(app)
        await press(pilot, app, "ctrl+r")
        assert made_by(app) == ["CanonicalizeBindings", "ToNonDataflow"]
        stages = app.frame.query_one("#stages", LineView)
        await press(pilot, app, "tab")
        stages.move(next(n for n, row in enumerate(stages.rows) if "off" in row.text))
        await press(pilot, app, "enter")
        assert made_by(app) == PIPELINE.split(",")
        await press(pilot, app, "escape")
        await typed(pilot, app, "passes FoldConstant,LegalizeOps{skip=add}")
        assert made_by(app) == ["FoldConstant", "LegalizeOps{skip=('add',)}"]
        await press(pilot, app, "ctrl+o")  # from the jump of no stage: nothing to go back to, and no error
        await typed(pilot, app, "toggle 2")
        assert made_by(app) == ["FoldConstant"]
        await typed(pilot, app, "toggle Nothing")
        assert "the pipeline has no pass 'Nothing'" in screen_text(app)
        await typed(pilot, app, "passes Nothing")
        assert "no pass 'Nothing'" in screen_text(app)
        await press(pilot, app, "escape")
        shown = app.state.session
    again = Session.open(SAMPLES[0], app.pipeline_control.text)
    assert [stage.module.script() for stage in again.stages] == [
        stage.module.script() for stage in shown.stages
    ]


async def test_the_editor_shows_what_is_wrong_before_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text(FIRST)
    app = Explorer(str(path), PIPELINE)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        before = app.state.session
        await press(pilot, app, "E", "G")
        assert isinstance(app.screen, PipelineEditor)
        assert "▌  [x]  3 ToNonDataflow" in screen_text(app)
        await press(pilot, app, "space")
        assert "[ ]  3 ToNonDataflow" in screen_text(app)
        assert "! the result lacks NO_DATAFLOW (no dataflow block is left)" in screen_text(app)
        assert "--passes CanonicalizeBindings,LegalizeOps" in app.screen.command_line
        await press(pilot, app, "u", "a", *"cOnvert", "tab", "enter")
        assert [row.text.split()[-1] for row in app.screen.view.rows][-1] == "ConvertToDataflow"
        assert app.screen.view.cursor == 3
        assert "the result lacks NO_DATAFLOW" in screen_text(app)
        await press(pilot, app, "K")
        assert "lacks NO_DATAFLOW" not in screen_text(app)
        await press(pilot, app, "a", *"Nonsense", "enter")
        assert "no pass 'Nonsense'" in screen_text(app)
        assert len(app.screen.view.rows) == 4
        await press(pilot, app, "escape", "g", "e", "end", *"{no=1}", "enter")
        assert "CanonicalizeBindings has no option 'no'" in screen_text(app)
        await press(pilot, app, "escape", "D")
        assert [step.of.name for step in app.screen.plan.steps] == [
            "LegalizeOps",
            "ConvertToDataflow",
            "ToNonDataflow",
        ]
        await press(pilot, app, "u", "ctrl+r", "y")
        assert app.clipboard == "LegalizeOps,ConvertToDataflow,ToNonDataflow"
        assert app.state.session is before
        await press(pilot, app, "enter")
        assert app.screen is app.frame
        assert made_by(app) == ["LegalizeOps", "ConvertToDataflow", "ToNonDataflow"]
        await press(pilot, app, "E", "D", "D", "D")
        assert "no passes; a adds one" in screen_text(app)
        await press(pilot, app, "D", "space", "J", "e", "a", *"simplify", "enter", "q")
        assert len(made_by(app)) == 3  # left without running


async def test_recorded_stages_have_no_pipeline() -> None:
    app = Explorer(str(SAMPLES[0].parent / "broken_build"))
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        for key in ("x", "E", "u", "ctrl+r"):
            app.say("")
            await press(pilot, app, key)
            assert "recorded by a build; there is no pipeline to edit" in screen_text(app), key
        await typed(pilot, app, "passes LegalizeOps")
        assert "there is no pipeline to edit" in screen_text(app)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Leg", "LegalizeOps"),
        ("FoldConstant,ToN", "FoldConstant,ToNonDataflow"),
        ("dead", "DeadCodeElimination"),
        ("LegalizeOps{s", "LegalizeOps{skip="),
        ("Normalize,CanonicalizeRelaxBindings{", None),
        ("nothing", None),
    ],
)
def test_names_of_passes_are_completed(text: str, first: str | None) -> None:
    assert next(iter(step_completions(text)), None) == first


def test_each_key_of_the_editor_has_its_action() -> None:
    found = keys.keys_of("pipeline")
    assert len({key.key for key in found}) == len(found)
    assert all(hasattr(PipelineEditor, f"action_{key.action.partition('(')[0]}") for key in found)
