"""Questions about lengths in the explorer: where they come from, and what a condition makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

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
        a = R.concat((x, y))
        b = R.match_cast(y, R.Tensor((n,), "float32"))
        c = R.add(x, b)
        return c
"""


async def listed(pilot: Pilot[object], app: Explorer, text: str) -> list[str]:
    """The lines that a command shows over the screen."""
    app.frame.ask(text)
    await pilot.press("enter")
    await idle(pilot, app)
    await wait(pilot, lambda: isinstance(app.screen, Popup))
    return [row.text for row in app.view.rows]


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "p.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_why_shows_the_steps_and_enter_goes_there(program: str, size: tuple[int, int]) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=size) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        lines = await listed(pilot, app, "why b")
        assert lines[0] == "main.b[0] = n"
        assert "  line 8    b[0] = n: checked by the match_cast" in lines
        assert any("m == n is left to the run" in line for line in lines)
        assert any("they have nothing in common" in line for line in lines)
        assert "Where the lengths of b come from" in screen_text(app)
        app.view.move(1)
        await pilot.press("enter")
        await idle(pilot, app)
        assert app.state.selection.variable == "b"
        lines = await listed(pilot, app, "why")
        assert lines[0] == "main.b[0] = n", "the selected value"


async def test_what_if_shows_what_lengths_become(program: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        lines = await listed(pilot, app, "what-if n = 7")
        assert lines[0] == "main, if n = 7:"
        assert any("a: R.Tensor((n + m,)" in line for line in lines)
        assert max(map(len, lines)) <= 72
        await pilot.press("escape")
        lines = await listed(pilot, app, "what-if n = 7, m = 8")
        assert any("then m == n always fails" in line for line in lines)


async def test_what_if_tells_lengths_that_divide_by_zero(tmp_path: Path) -> None:
    path = tmp_path / "divided.py"
    path.write_text(PROGRAM.replace("a = R.concat((x, y))", "a = R.zeros(R.shape([n // m]), 'float32')"))
    app = Explorer(str(path), "")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        lines = await listed(pilot, app, "what-if m = 0")
        assert "cannot be: n // m divides by m, which is 0" in " ".join(" ".join(lines).split())
        assert not any("// 0" in line for line in lines)


@pytest.mark.parametrize("text", ["why nothing", "why main.b.4", "what-if", "what-if q = 1", "what-if n ="])
async def test_mistakes_are_told(program: str, text: str) -> None:
    app = Explorer(program, "")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        app.frame.ask(text)
        await pilot.press("enter")
        await idle(pilot, app)
        said = screen_text(app)
        assert any(
            part in said
            for part in ("has no value", "is known", "takes a condition", "no shape variable", "is expected")
        )
