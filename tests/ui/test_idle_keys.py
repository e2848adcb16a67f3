"""The footer names no key that would do nothing."""

from __future__ import annotations

from pathlib import Path

from relax_explorer.ui.tui.app import Explorer
from tests.support.roundtrip import SAMPLES
from tests.ui.test_debugging import typed
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press

ONE = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.add(x, x)\n    z = R.add(y, R.const(0.0, "float32"))\n    return y\n'


def footer(app: Explorer) -> str:
    """The last line of the screen."""
    return screen_text(app).rstrip("\n").split("\n")[-1]


async def test_the_first_stage_has_no_changes(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(ONE)
    app = Explorer(str(path), "DeadCodeElimination")
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        assert app.state.selection.stage == 0
        for named in ("] next stage", "w who", "B bisect", "E pipeline"):
            assert named in footer(app), named
        for unnamed in ("c change", "d diff"):
            assert unnamed not in footer(app), unnamed
        await press(pilot, app, "right_square_bracket", "escape")
        assert app.state.selection.stage == 1
        for named in ("c change", "d diff", "E pipeline"):
            assert named in footer(app), named


async def test_one_stage_leads_to_no_other(tmp_path: Path) -> None:
    path = tmp_path / "one.py"
    path.write_text(ONE)
    app = Explorer(str(path), "")
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        for unnamed in ("next stage", "bisect", "c change"):
            assert unnamed not in footer(app), unnamed
        assert "E pipeline" in footer(app)
        await press(pilot, app, "4", "escape")
        assert "next stage" not in footer(app)


async def test_recorded_stages_have_no_pipeline_and_pairs_need_a_comparison() -> None:
    app = Explorer(str(SAMPLES[0].parent / "broken_build"))
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        assert "B bisect" in footer(app)
        assert "E pipeline" not in footer(app)
        await typed(pilot, app, "compare 0")  # with itself
        await press(pilot, app, "5", "escape")
        assert "b other stage" in footer(app)
        for unnamed in ("p programs", "s step", "d worst", "c difference"):
            assert unnamed not in footer(app), unnamed
