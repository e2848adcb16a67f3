"""Reducing and exporting in the explorer: from a stage, a problem and a bisection; what is written, and that it opens."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from textual.events import Key

from relax_explorer.core import passes
from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.completion import completions
from relax_explorer.ui.tui.screens.popup import Popup
from relax_explorer.ui.tui.typed import twin_of_line
from tests.cli.test_commands import rxe_cli
from tests.perf.generate import transformer
from tests.session.test_reduction import (
    BIG,
    SQUARES,
    failing,
    function,
    lost_transposition,
    planted,
    wrong_axis,
)
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_exporting import typed
from tests.ui.test_screens import idle, press


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def wrong() -> Iterator[None]:
    """Passes with mistakes, by names that a pipeline takes."""
    steps = [planted("Lost", lost_transposition), planted("Failing", failing), planted("Axis", wrong_axis)]
    for step in steps:
        passes.register(step.of)
    yield
    for step in steps:
        passes.unregister(step.of.name)


def written(text: str, name: str = "squares.py") -> str:
    Path(name).write_text(text)
    return name


@pytest.mark.usefixtures("wrong")
async def test_the_smallest_program_of_a_stage_opens_with_its_passes() -> None:
    app = Explorer(written(SQUARES), "CanonicalizeBindings,Lost,DeadCodeElimination")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        twin = twin_of_line(app, "reduce")
        await press(pilot, app, "R")
        assert isinstance(app.screen, Popup)
        assert "2 bindings in 1 function; needed: permute_dims, matmul" in screen_text(app)
        assert "written: squares.reduced.py" in screen_text(app)
        assert "passes: Lost" in screen_text(app)
        await press(pilot, app, "enter")
        assert (app.state.path, app.stage_control.pipeline) == ("squares.reduced.py", "Lost")
        assert app.state.session is not None
        assert [stage.made_by for stage in app.state.session.stages] == ["input", "Lost"]
    shown = rxe_cli(*shlex.split(twin)[1:])
    assert shown.exit_code == 0, shown.output
    assert "written: squares.reduced.py" in shown.stdout


@pytest.mark.usefixtures("wrong")
async def test_from_a_bisection_and_from_a_problem() -> None:
    app = Explorer(written(SQUARES), "Lost,CanonicalizeBindings,Failing")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "4")  # the selected stage is another one
        row = next(n for n, row in enumerate(app.view.rows) if "Failing" in row.text)
        app.view.move(row)
        await press(pilot, app, "R")
        assert "fault: Lost" not in screen_text(app)
        assert "needed: sigmoid" in screen_text(app)
        await press(pilot, app, "escape", "1", "B")
        assert "First bad stage: 1 Lost" in screen_text(app)
        last = len(app.view.rows) - 1
        assert app.view.rows[last].text.startswith("Reduce: ")
        app.view.move(last)
        await press(pilot, app, "enter")
        await idle(pilot, app)
        assert "needed: permute_dims, matmul" in screen_text(app)
        assert app.state.selection.stage == 1


async def test_values_of_the_run_are_the_inputs_of_the_program_that_opens(tmp_path: Path) -> None:
    np.savez("io.npz", x=np.full((2, 6), 100, "float32"), w=np.eye(6, dtype="float32"))
    app = Explorer(written(BIG, "big.py"), "", call=CallInputs("", {"0": "io.npz"}))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "reduce --anonymous hidden.py")
        assert "needed: subtract" in screen_text(app)
        await press(pilot, app, "enter", "2", "c")
        run = app.run_control.session
        assert run is not None
        assert np.isnan(run.debugger.result).all()
    text = (tmp_path / "hidden.py").read_text()
    assert "main(v0: " in text
    assert (tmp_path / "hidden.values.npz").exists()


async def test_what_can_not_be_reduced_is_a_sentence(tmp_path: Path) -> None:
    Path("squares.reduced.py").write_text("mine\n")
    app = Explorer(written(SQUARES), "")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        assert "is not a file of reduce" in await typed(pilot, app, "reduce")
        assert "is not a file of reduce" in await typed(
            pilot, app, "reduce squares.py"
        )  # a name that was given
        assert "no fault: no-nan holds" in await typed(pilot, app, "reduce x.py")
        assert "no fault: well-formed holds" in await typed(pilot, app, "reduce well-formed x.py")
        assert "there is no folder" in await typed(pilot, app, "reduce nowhere/x.py")
        assert "not standard output" in await typed(pilot, app, "reduce -")
    assert Path("squares.reduced.py").read_text() == "mine\n"
    assert not (tmp_path / "x.py").exists()


@pytest.mark.usefixtures("wrong")
async def test_escape_ends_it_and_nothing_is_written(tmp_path: Path) -> None:
    app = Explorer(written(transformer(300)), "CanonicalizeBindings,Axis")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        app.post_message(
            Key("R", "R")
        )  # the pilot would come back when the work is done, on a machine that does nothing else
        await wait(pilot, lambda: any(job.detail.startswith("try ") for job in app.jobs.running))
        await pilot.press("escape")
        await idle(pilot, app)
        assert app.notice == "cancelled"
        assert not list(tmp_path.glob("*.reduced.py"))
        await press(pilot, app, "R")
        assert "needed: nn.softmax, matmul" in screen_text(app)


async def test_programs_for_tvm_and_for_issues(tmp_path: Path) -> None:
    app = Explorer(
        written(function("x: R.Tensor((4,), 'float32')", "a = R.exp(x); b = R.tanh(a)"), "model.py"),
        "LegalizeOps",
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        for key, passes_ in ((), "[]"), (("right_square_bracket",), "[\n    ('LegalizeOps', {}),\n]"):
            await press(pilot, app, *key)
            label = app.state.selection.stage
            assert (await typed(pilot, app, "export tvm")).startswith(
                f"wrote model-{label}.tvm.py; made up: "
            )
            text = (tmp_path / f"model-{label}.tvm.py").read_text()
            assert f"PASSES = {passes_}  #" in text
            assert "R.exp(x)" in text  # the program that the passes begin with
            compile(text, "model.tvm.py", "exec")
            twin = twin_of_line(app, "export tvm")
            shell = rxe_cli(*shlex.split(twin)[1:]).stdout
            assert f"PASSES = {passes_}  #" in shell
            assert "R.exp(x)" in shell
        assert "wrote secret.md" in await typed(pilot, app, "export issue --anonymous secret.md")
        issue = (tmp_path / "secret.md").read_text()
        assert issue.startswith("# program: results differ after `LegalizeOps`")
        assert not re.findall(r"\bmodel\b|\bR.exp\(x\)", issue)
        assert "there is no folder" in await typed(pilot, app, "export tvm nowhere/x.py")


async def test_a_recorded_stage_is_the_program_itself(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    for number, op in enumerate(("tanh", "log")):
        written(function("x: R.Tensor((4,), 'float32')", f"a = R.{op}(x)"), f"dumps/0{number}_Pass.py")
    app = Explorer("dumps")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket")
        twins = [twin_of_line(app, line) for line in ("reduce x.py", "export tvm")]
        await typed(pilot, app, "reduce x.py")
        assert "needed: log" in screen_text(app)
        await press(pilot, app, "escape")
        await typed(pilot, app, "export tvm")
        assert "R.log(x)" in (tmp_path / "dumps-1.tvm.py").read_text()
    for twin in twins:
        assert rxe_cli(*shlex.split(twin)[1:]).exit_code == 0, twin


async def test_the_words_complete() -> None:
    app = Explorer(written(SQUARES), "")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        assert set(completions(app.state, False, "reduce ")) >= {
            "reduce same-output",
            "reduce no-nan",
            "reduce --anonymous",
        }
        assert {"export tvm", "export issue"} <= set(completions(app.state, False, "export "))
