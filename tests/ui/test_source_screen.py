"""The source screen: a program that can't be shown keeps its source on screen, with its problems below their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.ui import directories
from relax_explorer.ui.tui.app import Explorer
from tests.ui.test_explorer import screen_text
from tests.ui.test_screens import idle, press, typed, under_cursor

GOOD = """@R.function
def main(x: R.Tensor((2, 3), "float32")):
    a = R.exp(x)
    b = R.nn.relu(a)
    return b
"""
BROKEN = GOOD.replace("R.exp(x)", "R.matmul(x, x)").replace("relu(a)", "relu(zz)")


@pytest.fixture(autouse=True)
def _fresh_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "state", lambda: tmp_path / "state")
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(BROKEN)
    Path("good.py").write_text(GOOD)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_a_broken_program_keeps_its_source_on_screen(size: tuple[int, int]) -> None:
    app = Explorer("model.py")
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        shown = screen_text(app)
        assert app.screen is app.frame  # no popup
        assert "[1 Passes]" in shown
        assert "model.py" in shown.split("\n")[0]
        assert "2 problems, not checked further" in shown
        assert all(line.strip() in shown for line in BROKEN.split("\n"))
        assert under_cursor(app).strip() == "a = R.matmul(x, x)"
        await press(pilot, app, "[")
        assert "no further problem above" in screen_text(app)
        await press(pilot, app, "]")
        assert under_cursor(app).strip() == "b = R.nn.relu(zz)"
        assert "problem 2 of 2" in screen_text(app)
        await press(pilot, app, "]")
        assert "no further problem below" in screen_text(app)
        await press(pilot, app, "[")
        assert under_cursor(app).strip() == "a = R.matmul(x, x)"
        await press(pilot, app, "4")
        assert "model.py:3:9" in screen_text(app)
        await press(pilot, app, "1", "]")
        assert app.screen_name == "source"
        assert "problem 2 of 2" in screen_text(app)


async def test_another_size_keeps_the_problem_under_the_cursor() -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(160, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "]")
        await pilot.resize_terminal(70, 24)
        await idle(pilot, app)
        assert under_cursor(app).strip() == "b = R.nn.relu(zz)"


async def test_what_can_be_read_takes_its_place_and_gives_it_back() -> None:
    app = Explorer("model.py")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        Path("model.py").write_text(GOOD)
        await typed(pilot, app, "open model.py")
        assert (app.screen_name, app.state.failures) == ("passes", ())
        Path("model.py").write_text(BROKEN)
        await typed(pilot, app, "open model.py")
        assert app.screen is not app.frame  # a popup tells it: the program that is open stays
        await press(pilot, app, "escape")
        assert app.screen_name == "passes"
        assert "not checked further" not in screen_text(app)


async def test_from_home_a_broken_program_shows_its_source_too() -> None:
    app = Explorer(None)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "open model.py")
        assert app.screen_name == "source"
        assert "not checked further" in screen_text(app)
        await press(pilot, app, "0", "1")
        assert app.screen_name == "source"
        await typed(pilot, app, "open missing.py")
        assert app.screen is not app.frame
        await press(pilot, app, "escape")
        await typed(pilot, app, "open good.py")
        assert app.screen_name == "passes"


async def test_every_kind_of_source_is_shown() -> None:
    Path("wrong.relay").write_text("def @f(%x : Tensor[(2,), float32]) {\n  add(%x, %y\n}\n")
    app = Explorer("wrong.relay")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        assert app.screen_name == "source"
        assert "add(%x, %y" in screen_text(app)
