"""The list of checks of lengths: UI-13."""

from __future__ import annotations

from pathlib import Path

import pytest

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.dialogs.popup import Popup
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle

PROGRAM = """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        m = T.int64()
        a = R.exp(x)
        b = R.match_cast(y, R.Tensor((n,), "float32"))
        c = R.add(a, b)
        return c
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    return str(path)


async def listed(pilot, app: Explorer, text: str) -> list[str]:  # type: ignore[no-untyped-def]  # Textual's Pilot
    app.frame.ask(text)
    await pilot.press("enter")
    await idle(pilot, app)
    await wait(pilot, lambda: isinstance(app.screen, Popup))
    return [row.text for row in app.view.rows]


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_ui_13_checks_say_why_and_enter_goes_there(program: str, size: tuple[int, int]) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=size) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        lines = await listed(pilot, app, "checks")
        assert lines[0].startswith("main: ")
        assert "left to the run" in lines[0]
        assert any("m == n" in line or "n == m" in line for line in lines)
        assert any("why: it fails with" in line for line in lines)
        assert any("to remove it: " in line for line in lines)
        assert "left to the run" in screen_text(app)
        assert not any("in this run" in line for line in lines)
        app.view.move(next(n for n, line in enumerate(lines) if "match_cast" in line))
        await pilot.press("enter")
        await idle(pilot, app)
        assert app.screen_name == "passes"
        assert app.state.selection.variable == "b"
        again = await listed(pilot, app, "checks")
        assert "match_cast" in again[app.view.cursor]  # the checks of the selected binding
        await pilot.press("escape")
        await pilot.press("6")
        await idle(pilot, app)
        assert [row.text for row in app.view.rows] == again
        assert "…" not in screen_text(app)  # sentences are wrapped, not cut
        await pilot.press("escape")
        proved = await listed(pilot, app, "checks proved")
        assert not any("why:" in line for line in proved)


async def test_ui_13_a_run_counts_checks(program: str) -> None:
    app = Explorer(program, "", screen="debug")
    async with app.run_test(size=(120, 40)) as pilot:
        await wait(pilot, lambda: app.state.run is not None)
        await pilot.press("n")
        await idle(pilot, app)
        await pilot.press("n")
        await idle(pilot, app)
        lines = await listed(pilot, app, "checks all")
        assert any("in this run: 1 time" in line for line in lines)


async def test_ui_13_a_wrong_filter_and_no_program_are_told(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        app.frame.ask("checks nothing")
        await pilot.press("enter")
        await idle(pilot, app)
        assert "checks takes remaining, proved" in screen_text(app)


async def test_ui_13_a_given_condition_shows_what_it_decides(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        lines = await listed(pilot, app, "checks given m == n")
        assert any("(given)" in line for line in lines)
        assert not any("each call from outside" in line for line in lines)  # those stay undecided
        assert not any("why:" in line for line in lines)
        await pilot.press("escape")
        wrong = await listed(pilot, app, "checks given k == 1")
        assert any("there is no shape variable k" in line for line in wrong)
