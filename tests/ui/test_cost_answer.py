"""What the explorer tells of costs: a row for each binding, Enter goes there, and the same stands on a command line."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.cost_rows import lengths_in
from relax_explorer.ui.tui.screens.popup import Popup
from relax_explorer.ui.tui.typed import twin_of_line
from tests.cli.test_commands import rxe_cli
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_length_answers import listed
from tests.ui.test_screens import idle

SAMPLE = str(Path(__file__).resolve().parent.parent.parent / "samples" / "12_transformer_layer.py")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_cost_lists_the_bindings_and_enter_goes_to_one(size: tuple[int, int]) -> None:
    app = Explorer(SAMPLE, "")
    async with app.run_test(size=size) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        lines = await listed(pilot, app, "cost s=128 b=1")
        assert lines[0].startswith("main: 88·b·s² + 4,370·b·s FLOPs")
        assert "for b = 1, s = 128" in lines
        assert "What main costs, stage 0" in screen_text(app)
        row = next(number for number, line in enumerate(lines) if line.startswith("scores "))
        # 4 heads of 128 · 128 scores, each multiplied once; 4·128·128·4 bytes read and written
        assert lines[row].split()[1:5] == ["65.5", "k", "3", "%"]
        assert any("peak 520 KiB at 14" in line for line in lines)
        app.view.move(row)
        await pilot.press("enter")
        await idle(pilot, app)
        assert app.state.selection.variable == "scores"
        assert app.screen_name == "passes"


async def test_the_key_asks_for_lengths_and_its_command_line_says_the_same() -> None:
    app = Explorer(SAMPLE, "")
    async with app.run_test(size=(120, 40)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        await pilot.press("alt+c", "enter")
        await idle(pilot, app)
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        shown = [row.text for row in app.view.rows]
        await pilot.press("escape")
        line = twin_of_line(app, "cost b=64 s=64")
        words = shlex.split(line)
        assert words[1] == "cost"
        printed = rxe_cli(*words[1:]).stdout.splitlines()
        assert printed[0] == shown[0]
        name = next(text for text in shown if text.startswith("lv6 ")).split()[:3]
        assert next(text for text in printed if text.startswith("lv6 ")).split()[:3] == name


@pytest.mark.parametrize("text", ["cost n", "cost q=1", "cost n=-1", "cost =", "cost s=1 b"])
async def test_wrong_lengths_are_said_and_open_nothing(text: str) -> None:
    app = Explorer(SAMPLE, "")
    async with app.run_test(size=(120, 40)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await idle(pilot, app)
        app.frame.ask(text)
        await pilot.press("enter")
        await idle(pilot, app)
        assert not isinstance(app.screen, Popup)
        said = screen_text(app)
        assert "cost takes lengths" in said or "no shape variable" in said


def test_lengths_are_read_in_any_spelling() -> None:
    assert lengths_in("") == {}
    assert lengths_in("n=3, m = 4") == {"n": 3, "m": 4}
    assert lengths_in("größe=3") == {"größe": 3}
    assert [lengths_in(text) for text in ("n", "n=x", "n=3 4", "=3", "n=1000000000000000000000")] == [
        None
    ] * 5
