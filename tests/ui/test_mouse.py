"""What a click does: on tabs, keys in the footer, stages, tables, and beside a popup."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from rich.text import Text
from textual.pilot import Pilot

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.screens.popup import Popup
from relax_explorer.ui.tui.widgets.framed import Button, ButtonLine, FixedText, pressed
from relax_explorer.viz.visible import columns
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_looks import BROKEN, CONTRACTS, LAYER
from tests.ui.test_screens import idle, press


async def start(pilot: Pilot[object], app: Explorer) -> None:
    await wait(pilot, lambda: app.state.session is not None)
    await idle(pilot, app)


async def click(pilot: Pilot[object], app: Explorer, word: str, line: int | None = None) -> None:
    """Click the first cell of a word: in a line, or in the first one that has it."""
    lines = screen_text(app).split("\n")
    row = next(n for n, text in enumerate(lines) if word in text) if line is None else line % len(lines)
    await pilot.click(offset=(columns(lines[row][: lines[row].index(word)]), row))
    await idle(pilot, app)


@pytest.mark.parametrize(
    ("size", "word", "screen"),
    [
        ((120, 40), "2 Debug", "debug"),
        ((120, 40), "6 Checks", "checks"),
        ((80, 24), "3", "graph"),
        ((80, 24), "[1", "passes"),
    ],
)
async def test_a_click_on_a_tab_shows_the_screen(size: tuple[int, int], word: str, screen: str) -> None:
    app = Explorer(LAYER)
    async with app.run_test(size=size) as pilot:
        await start(pilot, app)
        await click(pilot, app, word, 0)
        assert app.screen_name == screen


async def test_tabs_behind_a_wide_name_are_where_they_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "模型模型.py"
    shutil.copy(SAMPLES[0], path)
    app = Explorer(str(path))
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, app)
        await click(pilot, app, "4", 0)
        assert app.screen_name == "problems"


async def test_a_click_on_a_key_of_the_footer_presses_it() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, app)
        await click(pilot, app, "] next", -1)
        assert app.state.selection.stage == 1
        await click(pilot, app, "? help", -1)
        assert isinstance(app.screen, Popup)
        await press(pilot, app, "escape", "colon")
        await pilot.click(offset=(2, 23))  # where the first key stood
        await idle(pilot, app)
        assert app.state.selection.stage == 1


async def test_a_notice_hides_the_keys_of_the_footer() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, app)
        await idle(pilot, app)
        app.say("a notice that is longer than the first key")
        await pilot.pause()
        await click(pilot, app, "otice", -1)
        assert app.state.selection.stage == 0


async def test_clicks_on_the_line_of_stages() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, app)
        await press(pilot, app, "right_square_bracket", "right_square_bracket")
        assert app.state.selection.stage == 2
        await click(pilot, app, "12 Fuse", 1)
        assert app.state.selection.stage == 3
        await click(pilot, app, "4 FuseOps", 1)
        await click(pilot, app, "‹", 1)
        assert app.state.selection.stage == 1
        await click(pilot, app, "›", 1)
        assert app.state.selection.stage == 2
        assert app.frame.view.id == "ir"
        await click(pilot, app, "4 FuseOps", 1)
        assert app.frame.view.id == "stages"


async def test_one_click_shows_a_stage_of_the_list_and_selects_a_binding() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(120, 40)) as pilot:
        await start(pilot, app)
        await click(pilot, app, "12 FuseTIRInner")
        assert app.state.selection.stage == 3
        await click(pilot, app, "rms_norm ")
        assert app.state.selection.stage == 3
        assert app.state.selection.variable == "rms_norm"
        await click(pilot, app, "12 FuseTIRInner")  # it is there
        assert app.state.selection.stage == 3


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_click_on_a_tab_shows_a_table(size: tuple[int, int]) -> None:
    app = Explorer(LAYER)
    async with app.run_test(size=size) as pilot:
        await start(pilot, app)
        await press(pilot, app, "2", "s")
        await wait(pilot, lambda: app.state.run is not None)
        if size[0] < 100:
            await click(pilot, app, "Calls 1")
            assert app.state.options.lower == "calls"
            await click(pilot, app, "v next table")
            assert app.state.options.lower == "points"
        await press(pilot, app, "0")
    app = Explorer(CONTRACTS)
    async with app.run_test(size=size) as pilot:
        await wait(pilot, lambda: app.screen_name == "solver")
        await idle(pilot, app)
        if size[0] < 100:
            await click(pilot, app, "Desugared")
            assert "[Desugared" in screen_text(app)


async def test_a_click_beside_a_popup_closes_it() -> None:
    app = Explorer(LAYER)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, app)
        await press(pilot, app, "question_mark")
        frame = app.screen.query_one("#popup_frame").region
        for inside in ((frame.x, frame.y), (frame.right - 1, frame.bottom - 1), (frame.x + 4, frame.y + 3)):
            await pilot.click(offset=inside)
            assert isinstance(app.screen, Popup)
        await pilot.click(offset=(frame.x - 1, frame.y))
        assert not isinstance(app.screen, Popup)


async def test_the_first_click_in_a_popup_puts_the_cursor_there_and_the_second_one_chooses() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(120, 40)) as pilot:
        await start(pilot, app)
        await press(pilot, app, "j", "j", "j", "w")
        await wait(pilot, lambda: isinstance(app.screen, Popup))
        await click(pilot, app, "12 ≈ Fuse")
        assert isinstance(app.screen, Popup)
        await click(pilot, app, "12 ≈ Fuse")
        assert not isinstance(app.screen, Popup)
        assert app.state.selection.stage == 3


async def test_the_help_tells_of_the_mouse() -> None:
    app = Explorer(LAYER)
    async with app.run_test(size=(80, 24)) as pilot:
        await start(pilot, app)
        await press(pilot, app, "question_mark", "G")
        assert "selects text" in screen_text(app)


def test_another_text_has_no_words_to_click() -> None:
    line, shown = ButtonLine(), FixedText("x")
    line.write("go", "go()")
    shown.show_line(line)
    assert [*shown.buttons] == [Button(0, 2, "go()")]
    shown.show(Text("go"))
    assert not shown.buttons


def test_words_have_the_cells_that_they_are_drawn_in() -> None:
    line, end = ButtonLine(), ButtonLine()
    line.write("模 ")
    line.write("go", "go()")
    end.write(" ")
    end.write("é", "end()")
    line.add(end)
    assert line.buttons == [Button(3, 5, "go()"), Button(6, 7, "end()")]
    assert [pressed(line.buttons, column) for column in (2, 3, 4, 5, 6, 7)] == [
        "",
        "go()",
        "go()",
        "",
        "end()",
        "",
    ]
