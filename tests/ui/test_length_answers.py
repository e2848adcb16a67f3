"""Questions about lengths in the explorer: where they come from, and what a condition makes of them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from textual.pilot import Pilot

from relax_explorer.core.ir.walk import bindings
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.screens.popup import Popup
from relax_explorer.ui.tui.typed import twin_of_line
from tests.cli.test_commands import rxe_cli
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


TWO = """@R.function
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("k",), "float32")) -> R.Tensor(("n", 4), "float32"):
    n, m, k = T.int64(), T.int64(), T.int64()
    @R.function
    def inner(a: R.Tensor(("p", "m"), "float32")) -> R.Tensor(("p", 5), "float32"):
        p, m = T.int64(), T.int64()
        c = R.match_cast(a, R.Tensor((p, m), "float32"))
        return c
    c = R.match_cast(y, R.Tensor((m + 1,), "float32"))
    return x
"""


async def test_checks_explains_the_selected_check_and_asks_what_if(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(TWO)
    app = Explorer(str(path), screen="checks")
    shown = {}
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        for number in range(1, len(app.view.rows)):
            app.view.move(number)
            name = " ".join(app.view.row.text.split()[:4])
            await pilot.press("K")
            await idle(pilot, app)
            if isinstance(app.screen, Popup):
                shown[name] = [row.text.strip() for row in app.view.rows]
                assert "Where the lengths of" in screen_text(app)
                await pilot.press("escape")
            else:
                assert "choose a check of a binding" in screen_text(app)
        await pilot.press("w")
        await pilot.press(*"m")
        await pilot.press("space", "equals_sign", "space", "4", "enter")
        await idle(pilot, app)
        lines = [row.text for row in app.view.rows]
    assert list(shown) == ["5 m == 5", "9 c k ==", "2 m == 4"], (
        "a result in a nested function, a binding, a result"
    )
    assert shown["5 m == 5"][0] == "main.inner.c[0] = p"
    assert shown["9 c k =="][0] == "main.c[0] = m + 1"
    assert shown["2 m == 4"][0] == "main.x[0] = n"
    assert "m == 5 is left to the run (result: the result)" in shown["5 m == 5"]
    assert any("then m == 4 is proved" in line for line in lines)


async def test_why_is_about_the_selected_binding_not_about_another_of_its_name(tmp_path: Path) -> None:
    path = tmp_path / "two.py"
    path.write_text(TWO)
    app = Explorer(str(path), "")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        found = []
        for binding in bindings(app.state.stage.module.relax_functions["main"]):
            app.stage_control.go_to(app.state.stage.number, "main", binding)
            await idle(pilot, app)
            if binding.var.name == "c":
                twin = twin_of_line(app, "why")
                found.append((await listed(pilot, app, "why"))[0])
                assert rxe_cli(*shlex.split(twin)[1:]).stdout.splitlines()[0] == found[-1]
            await pilot.press("escape")
    assert [line for line in found if line] == ["main.inner.c[0] = p", "main.c[0] = m + 1"]
