"""Calls of a file in the explorer: Debug steps through all of them, and the other screens run them, too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from textual.widgets import Input

from relax_explorer.core.session.call_inputs import CallInputs
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.debug_rows import CallView, bar, call_line
from relax_explorer.ui.tui.twins import command_line
from relax_explorer.viz.visible import columns
from tests.session.test_call_runs import CACHE, STEPS, WRONG
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle, press


def files(folder: Path, calls: str = STEPS) -> tuple[str, str]:
    (folder / "p.py").write_text(CACHE)
    (folder / "calls.txt").write_text(calls)
    return str(folder / "p.py"), str(folder / "calls.txt")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_debug_steps_through_all_calls(tmp_path: Path, size: tuple[int, int]) -> None:
    program, calls = files(tmp_path)
    app = Explorer(program, "", screen="debug", call=CallInputs(calls=calls))
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        assert " call 1 of 3  begin()" in screen_text(app)
        await press(pilot, app, "right_parenthesis", "right_parenthesis")
        assert " call 3 of 3  step(x=[[3, 4]], cache)" in screen_text(app)
        assert ("┼" in screen_text(app).split("\n")[1]) == (size[0] > 100)
        await press(pilot, app, "s", "s")
        assert app.state.run is not None
        assert (app.state.run.function, app.state.run.call and app.state.run.call.number) == ("step", 3)
        await press(pilot, app, "left_parenthesis", "left_parenthesis")
        assert " call 2 of 3" in screen_text(app)
        await press(pilot, app, "left_parenthesis", "S")
        assert " call 1 of 3" in screen_text(app)
        assert f"--calls {calls}" in command_line(app)
        await press(pilot, app, "dollar_sign")
        assert "call 3 of 3" in screen_text(app)


async def test_one_call_has_no_line_of_calls(tmp_path: Path) -> None:
    program, _ = files(tmp_path)
    app = Explorer(program, "", screen="debug", call=CallInputs("begin"))
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        assert " call " not in screen_text(app)
        await press(pilot, app, "right_parenthesis")
        assert "this run is one call" in screen_text(app)


async def test_the_dialog_opens_a_file_of_calls_and_writes_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program, calls = files(tmp_path)
    app = Explorer(program, "", screen="debug", call=CallInputs("begin"))
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "I")
        *_, field = app.screen.query(Input)
        field.value = str(tmp_path / "new.txt")
        await press(pilot, app, "ctrl+s")
        assert (tmp_path / "new.txt").read_text() == "result = begin()\n"
        field.value = calls
        await wait(pilot, lambda: "3 calls: begin" in screen_text(app))  # what was typed is looked at first
        await press(pilot, app, "ctrl+s")
        assert "it exists" in screen_text(app)
        assert Path(calls).read_text() == STEPS
        field.value = "none.txt"
        await press(pilot, app, "enter")
        await wait(pilot, lambda: "none.txt: No such file" in screen_text(app))
        field.value = calls
        await press(pilot, app, "enter")
        await wait(pilot, lambda: " call 1 of 3  begin()" in screen_text(app))
        await press(pilot, app, "I")
        *_, field = app.screen.query(Input)
        assert field.value == calls
        field.value = ""
        await press(pilot, app, "enter")
        assert " call " not in screen_text(app)


async def test_a_file_of_calls_is_known_next_time(tmp_path: Path) -> None:
    program, calls = files(tmp_path)
    app = Explorer(program, "", screen="debug")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "I")
        *_, field = app.screen.query(Input)
        field.value = calls
        await press(pilot, app, "enter")
        assert " call 1 of 3" in screen_text(app)
    for text, shown in ((STEPS, True), ("cache = nowhere()\n", False)):
        Path(calls).write_text(text)
        app = Explorer(program, "", screen="debug")
        async with app.run_test(size=(100, 30)) as pilot:
            await idle(pilot, app)
            assert (" call 1 of 3" in screen_text(app)) == shown
            assert ("those of last time do not fit" in screen_text(app)) != shown


async def test_stages_are_compared_and_tested_on_calls(tmp_path: Path) -> None:
    (tmp_path / "stages").mkdir()
    for number, text in enumerate((CACHE, WRONG)):
        (tmp_path / "stages" / f"{number:02}_stage.py").write_text(text)
    _, calls = files(tmp_path)
    app = Explorer(str(tmp_path / "stages"), call=CallInputs(calls=calls))
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "B")
        assert "First bad stage: 1" in screen_text(app)
        assert "in call 3 (step)" in screen_text(app)
        assert "row 1 is wrong" in screen_text(app)
        await press(pilot, app, "escape", "right_square_bracket", "5")
        assert "DIFFERENT, in call 3 (step)" in screen_text(app)


async def test_a_wrong_file_of_calls_is_a_problem(tmp_path: Path) -> None:
    program, calls = files(tmp_path, "cache = nowhere()\n")
    app = Explorer(program, "", screen="debug", call=CallInputs(calls=calls))
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        assert "no Relax function 'nowhere'" in screen_text(app)


@pytest.mark.parametrize("width", [20, 60, 80, 99, 100, 120, 200])
@pytest.mark.parametrize("total", [1, 5, 300])
def test_the_line_of_calls_fits(width: int, total: int) -> None:
    view = CallView(
        min(3, total), "decode(ids=[[8]], total=4, effects, packed_params)", ("decode",) * total, (0,)
    )
    assert columns(call_line(view, 97, 214, width)) <= width
    if width >= 60:
        assert columns(bar(view, width)) <= width
        assert bar(view, width).count("▶") == 1


async def test_a_file_fills_the_inputs_that_are_left_empty(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        '@R.function\ndef main(x: R.Tensor((2,), "float32"), w: R.Tensor((2,), "float32")):\n    y = R.add(x, w)\n    return y\n'
    )
    np.savez(tmp_path / "w.npz", w=np.full(2, 7, np.float32))
    app = Explorer(str(tmp_path / "p.py"), "", screen="debug")
    async with app.run_test(size=(100, 30)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "I")
        x, _, rest, _ = app.screen.query(Input)
        x.value, rest.value = "ones", str(tmp_path / "w.npz")
        await press(pilot, app, "enter")
        run = app.run_control.session
        assert run is not None
        assert {name: float(value[0]) for name, value in run.debugger.frame.values.items()} == {
            "x": 1,
            "w": 7,
        }
        await press(pilot, app, "I")
        assert [line.value for line in app.screen.query(Input)] == ["ones", "", str(tmp_path / "w.npz"), ""]
