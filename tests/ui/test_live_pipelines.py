"""Passes of TVM in the explorer: offered apart in the editor, run from the `:` line, ended by Esc, and their faults are problems of a stage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Input

from relax_explorer.core.passes import bridge
from relax_explorer.ui import live_settings
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.screens.pipeline_editor import PipelineEditor
from tests.support.oracle import Oracle
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle, press, typed

PROGRAM = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            y = R.exp(x)
            z = R.nn.relu(y)
            R.output(z)
        return z
"""
OWN = "import time\ndef sleeps(mod):\n    open('began', 'w').close()\n    time.sleep(100)\ndef fails(mod):\n    raise ValueError('not today')\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a program and a module of the user, in which live passes may run."""
    if not Oracle.is_installed():
        pytest.skip("TVM is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "mine.py").write_text(OWN)
    live_settings.allow(live_settings.Live(seconds=90))
    yield tmp_path
    live_settings.allow(live_settings.Live())  # ends the child
    bridge.use_bridge(bridge.NoBridge)


def made_by(app: Explorer) -> list[str]:
    assert app.state.session is not None
    return [stage.made_by for stage in app.state.session.stages]


async def test_a_pipeline_of_tvm_runs_stage_by_stage() -> None:
    app = Explorer("program.py", "")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "passes tvm:zero,mine:fails,LegalizeOps")
        await wait(pilot, lambda: len(made_by(app)) == 14, 60)
        await idle(pilot, app)
        assert made_by(app)[1:3] == ["tvm:zero/LegalizeOps", "tvm:zero/AnnotateTIROpPattern"]
        await press(pilot, app, "4")
        assert "RX0705" in screen_text(app)
        assert "mine:fails raised ValueError: not today" in screen_text(app)


async def test_the_editor_offers_passes_of_tvm_apart() -> None:
    app = Explorer("program.py", "CanonicalizeBindings")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "E", "tab", "slash", *"tvm", "colon", *"zero", "enter")
        editor = app.screen
        assert isinstance(editor, PipelineEditor)
        assert [row.text for row in editor.view.rows] == ["> tvm:zero"]
        assert "in a process of its own" in screen_text(app)
        await press(pilot, app, "enter")
        await wait(pilot, lambda: len(editor.plan.entries) == 12, 60)
        assert str(editor.plan.entries[1].step) == "tvm:zero/LegalizeOps"
        await press(pilot, app, "slash", *["backspace"] * 8, "enter", "U")
        assert not any(row.text.startswith(">") for row in editor.view.rows)


async def test_escape_ends_a_pass(folder: Path) -> None:
    app = Explorer("program.py", "")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await pilot.press("colon")
        app.screen.query_one("#command", Input).value = "passes mine:sleeps,LegalizeOps"
        await pilot.press("enter")
        await wait(pilot, (folder / "began").exists)
        await pilot.press("escape")
        await wait(pilot, lambda: len(made_by(app)) == 3, 30)
        await idle(pilot, app)
        await press(pilot, app, "4")
        assert "mine:sleeps was cancelled" in screen_text(app)
