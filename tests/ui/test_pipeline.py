"""The pipeline in the explorer: passes off and on, the editor, undo, and what cannot be edited."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from textual.widgets import Static

from relax_explorer.core import passes as registry
from relax_explorer.core.passes.pipeline import Verdict, normalized, run_step, steps, verdicts
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.session import Session
from relax_explorer.core.syntax.parser import parse
from relax_explorer.ui import history
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.pass_trials import NoVerdicts, Question, Trier, answer, step_completions
from relax_explorer.ui.tui.screens.pipeline_editor import PipelineEditor, TextEditor
from relax_explorer.ui.tui.twins import command_line
from relax_explorer.ui.tui.widgets.line_view import LineView
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import LLAMA, screen_text, wait
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
        await typed(pilot, app, "profile tvm")
        assert made_by(app) == ["FoldConstant{profile='tvm'}"]
        await typed(
            pilot, app, "passes DeadCodeElimination,LegalizeOps"
        )  # what is typed now is in this profile, too
        assert made_by(app) == ["DeadCodeElimination{profile='tvm'}", "LegalizeOps{profile='tvm'}"]
        await typed(pilot, app, "profile strict")
        assert "profile takes spec or tvm" in screen_text(app)
        await typed(pilot, app, "profile spec")
        assert made_by(app) == ["DeadCodeElimination", "LegalizeOps"]
        await typed(pilot, app, "passes FoldConstant")
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
        await press(pilot, app, "u", "a", *"cOnvertT", "tab", "enter")
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


async def test_the_editor_tells_which_passes_would_change_the_program_where_the_cursor_is() -> None:
    app = Explorer(LLAMA, "LegalizeOps,ToNonDataflow")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        assert not app.pass_trials.children
        await press(
            pilot, app, "E", "J", "g"
        )  # another order is tried, too, without running it in the explorer
        editor = app.screen
        assert isinstance(editor, PipelineEditor)
        choices = editor.choices
        await wait(pilot, lambda: len(choices.verdicts) == len(registry.names()))
        expected = {item.name: item for item in verdicts(parsed_after(app, "ToNonDataflow"))}
        assert choices.verdicts == expected
        assert {"LegalizeOps", "RemovePurityChecking"} <= {
            item.name for item in expected.values() if item.changes
        }
        shown = screen_text(app)
        assert "behind 1 · ● would change" in shown
        assert "○ FoldConstant" in shown
        await press(pilot, app, "tab", "slash", *"vmsh", "enter")
        assert [row.text for row in editor.view.rows] == ["✗ VMShapeLower", "> tvm:VMShapeLower"]
        assert "behind 1 · /vmsh" in screen_text(app)
        assert "✗ VMShapeLower can't run here: it needs PURITY_ERASED" in screen_text(app)
        assert (
            "NO_HIGH_LEVEL_OPS ✗, BUILTINS_LOWERED ✗, NO_NESTED_FUNCTIONS ✓, NO_DATAFLOW ✓, PURITY_ERASED"
            in screen_text(app)
        )
        await press(pilot, app, "enter")  # adds it
        await press(pilot, app, "escape", "i")
        assert editor.plan.text == (
            "ToNonDataflow,LegalizeOps,RemovePurityChecking,CallTIRRewrite,LowerAllocTensor,LowerRuntimeBuiltin,VMShapeLower,"
            "LegalizeOps"
        )
        assert "inserted LegalizeOps, RemovePurityChecking, CallTIRRewrite" in screen_text(app)
        await press(pilot, app, "i")
        assert "VMShapeLower lacks nothing here" in screen_text(app)
        await press(pilot, app, "slash", *["backspace"] * 4, "enter", "U")
        await wait(pilot, lambda: len(choices.verdicts) == len(registry.names()))
        assert {choices.glyph(row.node) for row in editor.view.rows} == {"●"}
        await press(pilot, app, "U", "escape", "enter")
        assert made_by(app)[-2:] == ["VMShapeLower", "LegalizeOps"]


def parsed_after(app: Explorer, pipeline: str) -> IRModule:
    """The module that the child tries passes on."""
    assert app.state.session is not None
    module = normalized(parse(app.state.session.stages[0].module.script()))[0]
    for step in steps(pipeline):
        module = run_step(step, module).module
    return module


async def test_trials_are_cancelled_and_a_dead_child_is_told() -> None:
    app = Explorer(LLAMA, "LegalizeOps,ToNonDataflow")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        trials = app.pass_trials
        await press(pilot, app, "E")
        await wait(pilot, lambda: trials.children)
        (child,) = trials.children
        await press(pilot, app, "j")  # another place: the first trial ends
        await wait(pilot, lambda: child.process.returncode is not None)
        await wait(pilot, lambda: trials.children and child not in trials.children)
        trials.children[0].kill()
        await wait(pilot, lambda: app.screen.choices.trouble)
        await press(pilot, app, "tab")
        assert "not tried: the process that tries passes was killed" in screen_text(app)
        await press(pilot, app, "escape", "k")
        await wait(pilot, lambda: trials.children)
        last = trials.children
        await press(pilot, app, "escape")
        assert app.screen is app.frame
        await wait(pilot, lambda: all(item.process.returncode is not None for item in last))
        assert not trials.children


def test_steps_that_fail_leave_no_verdicts() -> None:
    trier = Trier()
    text = Session.open(SAMPLES[0], "").stages[0].module.script()
    try:
        with pytest.raises(NoVerdicts, match="VMShapeLower can't run here"):
            list(trier.verdicts(Question(text, ("VMShapeLower",), ("Normalize",)), lambda: False))
        found = list(trier.verdicts(Question(text, (), ("Normalize", "LegalizeOps")), lambda: False))
        assert [(item.name, item.changes) for item in found] == [("Normalize", False), ("LegalizeOps", True)]
        assert list(trier.verdicts(Question(text, (), ("Normalize",)), lambda: True)) == []
    finally:
        trier.close()


def test_a_pass_that_breaks_is_named_and_the_others_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    text = Session.open(SAMPLES[0], "").stages[0].module.script()

    def broken(module: IRModule, name: str) -> Verdict:
        if name == "FoldConstant":
            raise ZeroDivisionError("by a pass from outside")
        return Verdict(name, True)

    monkeypatch.setattr("relax_explorer.ui.tui.pass_trials.verdict", broken)
    monkeypatch.setattr("os.nice", lambda _: None)  # the process of the tests is no child
    monkeypatch.setattr("relax_explorer.ui.process.own", lambda: None)
    answers = StringIO()
    answer(StringIO(json.dumps(Question(text, (), ("FoldConstant", "Normalize"))) + "\n"), answers)
    first, second, end = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert first == [
        "FoldConstant",
        False,
        "FoldConstant fails here: ZeroDivisionError: by a pass from outside",
    ]
    assert (second, end) == (["Normalize", True, ""], "")


async def test_the_list_of_edits_leads_back_and_forth() -> None:
    app = Explorer(str(SAMPLES[0]), PIPELINE)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "alt+u")
        assert "the pipeline was not edited yet" in screen_text(app)
        await typed(pilot, app, "toggle LegalizeOps")
        await typed(pilot, app, "passes FoldConstant,ToNonDataflow")
        await typed(pilot, app, "passes ToNonDataflow,FoldConstant")
        await press(pilot, app, "u", "alt+u")
        assert [(row.mark, row.text.split(None, 1)[1], row.right) for row in app.view.rows] == [
            (" ", "as opened", "3 passes"),
            (" ", "LegalizeOps off", "2 passes"),
            ("▶", "without CanonicalizeBindings, LegalizeOps, with FoldConstant", "2 passes"),
            (" ", "another order: ToNonDataflow, FoldConstant", "2 passes"),
        ]
        await press(pilot, app, "g", "enter")
        assert made_by(app) == PIPELINE.split(",")
        await press(pilot, app, "ctrl+r")
        assert made_by(app) == ["CanonicalizeBindings", "ToNonDataflow"]
        await typed(pilot, app, "edits")
        await press(pilot, app, "G", "enter")
        assert made_by(app) == ["ToNonDataflow", "FoldConstant"]
        await press(pilot, app, "u")
        assert made_by(app) == ["FoldConstant", "ToNonDataflow"]


async def test_recorded_stages_have_no_pipeline() -> None:
    app = Explorer(str(SAMPLES[0].parent / "broken_build"))
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        for key in ("x", "u", "ctrl+r", "alt+u"):
            app.say("")
            await press(pilot, app, key)
            assert "recorded by a build; E goes on from this one" in screen_text(app), key
        await typed(pilot, app, "passes LegalizeOps")
        assert made_by(app) == ["LegalizeOps"]
        assert "broken_build@0" in screen_text(app)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Leg", "LegalizeOps"),
        ("FoldConstant,ToN", "FoldConstant,ToNonDataflow"),
        ("dead", "DeadCodeElimination"),
        ("LegalizeOps{s", "LegalizeOps{skip="),
        ("Normalize,VMBuiltinLower{", None),
        ("nothing", None),
    ],
)
def test_names_of_passes_are_completed(text: str, first: str | None) -> None:
    assert next(iter(step_completions(text)), None) == first


def test_each_key_of_the_editor_has_its_action() -> None:
    found = keys.keys_of("pipeline")
    assert len({key.key for key in found}) == len(found)
    assert all(hasattr(PipelineEditor, f"action_{key.action.partition('(')[0]}") for key in found)


async def test_the_text_of_a_stage_is_edited_and_the_rest_runs_again() -> None:
    app = Explorer(str(SAMPLES[0]), PIPELINE)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        before = app.state.session
        assert before is not None
        await press(pilot, app, "E", "t")
        assert isinstance(app.screen, TextEditor)
        assert "Text behind 1" in screen_text(app)
        area = app.screen.area
        given = area.text
        area.load_text(given.replace("R.nn.relu(", "R.exp("))
        await press(pilot, app, "ctrl+s")
        assert isinstance(app.screen, PipelineEditor)
        assert [step.of.name for step in app.screen.plan.steps][:2] == [
            "CanonicalizeBindings",
            "ReplaceModule",
        ]
        assert "the edited text is a step of its own" in screen_text(app)
        await press(pilot, app, "t")  # the step has not run
        assert "this step has not run like this" in screen_text(app)
        await press(pilot, app, "enter")
        assert len(made_by(app)) == 4
        session = app.state.session
        assert session is not None
        assert session.stages[1] is before.stages[1]
        assert "R.exp" in session.stages[2].module.script()
        await press(pilot, app, "u")
        assert made_by(app) == PIPELINE.split(",")


async def test_a_text_that_cannot_be_read_stays_in_the_editor() -> None:
    app = Explorer(str(SAMPLES[0]), PIPELINE)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "edit")
        assert isinstance(app.screen, TextEditor)
        area = app.screen.area
        given = area.text
        area.load_text(given.replace("R.nn.relu(shifted)", "R.nn.relu(shifte)"))
        await press(pilot, app, "ctrl+s")
        assert isinstance(app.screen, TextEditor)
        assert "'shifte'" in screen_text(app)
        area.load_text(given.replace("R.nn.relu(", "R.cos("))
        await press(pilot, app, "ctrl+s")
        await idle(pilot, app)
        assert made_by(app)[0].startswith("ReplaceModule")
        await typed(pilot, app, "edit")
        await press(pilot, app, "escape")
        assert app.screen is app.frame
        assert len(made_by(app)) == 4


async def test_files_of_options_are_read_in_the_explorer_too(tmp_path: Path) -> None:
    path, weights = tmp_path / "p.py", tmp_path / "w.npz"
    path.write_text(FIRST)
    np.savez(weights, nothing=np.zeros(2, "float32"))
    pipeline = f"BindParams{{params='{weights}'}},LegalizeOps"
    app = Explorer(str(path), pipeline)
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        assert app.state.plan is not None
        assert app.state.plan.text == pipeline
        assert app.pipeline_control.text == pipeline
        await press(pilot, app, "E", "G", "space", "enter")
        assert len(made_by(app)) == 1


@pytest.mark.parametrize("columns", [80, 100, 200])
async def test_sentences_of_the_editor_are_wrapped_and_no_key_is_cut(columns: int) -> None:
    app = Explorer(str(SAMPLES[0]), "LegalizeOps,VMShapeLower,FuseOps")
    async with app.run_test(size=(columns, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "E")
        for number in range(3):
            shown = " ".join(screen_text(app).replace("┃", " ").split())
            of = app.screen.plan.entries[number].step.of  # type: ignore[attr-defined]  # the editor
            assert " ".join(of.doc.splitlines()[0].split()) in shown
            assert "Tab passes" in shown
            assert "Esc leaves" in shown
            hints = next(line for line in screen_text(app).splitlines() if "Space on/off" in line)
            assert "…" not in hints
            if number == 1:  # several warnings have a row each, with the end cut, so that the command stays
                lines = screen_text(app).splitlines()
                rows = [n for n, line in enumerate(lines) if re.search(r"┃ ! \d run \w+ before it: ", line)]
                assert rows == [rows[0], rows[0] + 1, rows[0] + 2], "what to do comes first, in one row each"
                assert "opt" in shown
            await press(pilot, app, "j")
        await pilot.resize_terminal(120, 40)
        await idle(pilot, app)
        wide = " ".join(screen_text(app).replace("┃", " ").split())
        assert "Y copy u undo" in wide


async def test_home_tells_the_whole_sentence_of_a_sample_and_the_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("a_long_name" * 10 + ".py")
    long.write_text(SAMPLES[0].read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(history, "recent", lambda: [str(long)])
    app = Explorer(None)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        about = app.screen.query_one("#home_about", Static)
        assert str(about.content) == str(long)
        view = app.screen.query_one("#home", LineView)
        line = next(n for n, row in enumerate(view.rows) if "03_match_cast" in row.text)
        view.move(line)
        await idle(pilot, app)
        told = " ".join(screen_text(app).split())
        assert "the cast checks the value when the program runs, and `m` gets its value there." in told
        await press(pilot, app, "G")
        assert str(about.content) == ""
