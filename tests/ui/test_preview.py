"""The text of a program is shown while it is being read."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from relax_explorer.core.session import snapshot
from relax_explorer.core.session.stages import Stage
from relax_explorer.core.syntax.printer import printed_module
from relax_explorer.ui.tui import keys, stage_control
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.screens.popup import Popup
from relax_explorer.ui.tui.table_rows import TableRows
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text, wait

LINES = "".join(f"        v{n} = R.add(v{n - 1}, v{n - 1})\n" for n in range(1, 60))
LAYER = str(next(path for path in SAMPLES if path.stem.startswith("12")))
PROGRAM = f"""# the first line
@R.function
def main(v0: R.Tensor((2,), "float32")):
    with R.dataflow():
{LINES}        R.output(v59)
    return v59


@R.function
def other(x: R.Object):
    y = x
    return y
"""


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Reading waits for this event."""
    event, read = threading.Event(), Stage.module.fget
    monkeypatch.setattr(Stage, "module", property(lambda stage: event.wait(30) and read(stage)))
    return event


def program(tmp_path: Path, text: str = PROGRAM) -> str:
    path = tmp_path / "program.py"
    path.write_text(text)
    return str(path)


async def test_the_text_is_shown_before_it_is_read(tmp_path: Path, reading: threading.Event) -> None:
    app = Explorer(program(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: "# the first line" in screen_text(app))
        assert app.state.session is None
        await pilot.press("2", "1", "t", "t", "t")  # the text has no tabs, and its keys wait for the program
        assert "# the first line" in screen_text(app)
        reading.set()
        await wait(pilot, lambda: app.state.session is not None)
        await pilot.pause()
        assert isinstance(app.view.rows, TableRows)
        assert "# the first line" not in screen_text(app)
        assert app.state.preview == ""
        assert app.state.selection.function == "main"
        assert app.state.selection.binding is None


@pytest.mark.parametrize("is_drawn", [True, False])
async def test_keys_typed_while_it_is_read_are_obeyed(
    is_drawn: bool, tmp_path: Path, reading: threading.Event
) -> None:
    app = Explorer(LAYER, "zero")
    async with app.run_test(size=(80, 24)) as pilot:
        if is_drawn:  # else they come before the first picture
            await wait(pilot, lambda: "A transformer layer" in screen_text(app))
        await pilot.press(*["right_square_bracket"] * 3, "c", "d")
        assert app.state.session is None
        reading.set()
        await wait(pilot, lambda: app.state.options.diff == "only")
        assert app.state.selection.stage == 4, "three stages that changed something; stage 3 did not"
        assert app.state.selection.variable


async def test_the_place_in_the_text_stays(tmp_path: Path, reading: threading.Event) -> None:
    app = Explorer(program(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: "# the first line" in screen_text(app))
        await pilot.press("/", *"v40", "enter", "d")  # another option draws it again
        assert "v40 = R.add" in app.view.row.text
        reading.set()
        await wait(pilot, lambda: app.state.session is not None)
        await wait(pilot, lambda: bool(app.frame.query("#ir")) and isinstance(app.view.rows, TableRows))
        assert app.state.selection.variable == "v40"
        assert "v40" in app.view.row.text
        assert "v40" in screen_text(app)


async def test_the_place_may_be_in_another_function(tmp_path: Path, reading: threading.Event) -> None:
    app = Explorer(program(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: "# the first line" in screen_text(app))
        await pilot.press("G", "up", "up")
        reading.set()
        await wait(pilot, lambda: app.state.session is not None)
        await wait(pilot, lambda: bool(app.frame.query("#ir")) and isinstance(app.view.rows, TableRows))
        assert (app.state.selection.function, app.state.selection.variable) == ("other", "y")


async def test_a_text_that_cannot_be_read_gives_way_to_its_problems(
    tmp_path: Path, reading: threading.Event
) -> None:
    app = Explorer(program(tmp_path, PROGRAM.replace("R.output(v59)", "R.output(")))
    async with app.run_test(size=(100, 24)) as pilot:
        await wait(pilot, lambda: "# the first line" in screen_text(app))
        reading.set()
        await wait(pilot, lambda: "RX0007" in screen_text(app))
        assert "R.output(" in screen_text(app)
        assert "# the first line" not in screen_text(app), "the cursor is at the problem"


async def test_the_text_of_another_program_does_not_hide_the_open_one(
    tmp_path: Path, reading: threading.Event
) -> None:
    reading.set()
    app = Explorer(program(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        reading.clear()
        other = tmp_path / "other.py"
        other.write_text("# another\n" + PROGRAM)
        app.stage_control.open(str(other))
        await pilot.pause(0.2)
        assert isinstance(app.view.rows, TableRows)
        reading.set()
        await wait(pilot, lambda: app.state.path == str(other))


async def test_reading_waits_for_the_screen_but_not_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_control, "DRAWN", 0.01)
    app = Explorer(program(tmp_path))
    monkeypatch.setattr(Explorer, "when_drawn", lambda self, then: None)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)


async def test_no_key_waits_while_the_program_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printers = []

    def printed(*given: object, **options: object) -> object:
        printers.append(threading.current_thread())
        return printed_module(*given, **options)

    monkeypatch.setattr(snapshot, "printed_module", printed)
    app = Explorer(program(tmp_path), "DeadCodeElimination")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: app.state.stages == 2)
        await pilot.pause()
        assert isinstance(app.view.rows, TableRows)
    assert (
        len(printers) == 1
    )  # without StructInfo: the table has it; and a stage without problems needs no places
    assert printers[0] is not threading.main_thread()


async def test_a_line_typed_while_the_program_is_read_is_not_lost(
    tmp_path: Path, reading: threading.Event
) -> None:
    app = Explorer(program(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: "# the first line" in screen_text(app))
        await pilot.press("colon", "g", "o", "space", "v")
        reading.set()
        await wait(pilot, lambda: app.state.session is not None)
        await pilot.press("4", "0", "enter")
        await wait(pilot, lambda: app.screen_name == "passes")
        await wait(pilot, lambda: app.state.selection.variable == "v40")


async def test_a_popup_stays_open_when_the_program_is_read(tmp_path: Path, reading: threading.Event) -> None:
    app = Explorer(program(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: "# the first line" in screen_text(app))
        await pilot.press("question_mark")
        reading.set()
        await wait(pilot, lambda: app.state.session is not None)
        assert isinstance(app.screen, Popup)
        await pilot.press("escape")
        await wait(pilot, lambda: app.screen_name == "passes" and isinstance(app.view.rows, TableRows))


@pytest.mark.parametrize("screen", [name for name in keys.SCREENS if name not in ("home", "solver")])
async def test_the_screen_that_was_asked_for_follows(
    screen: str, tmp_path: Path, reading: threading.Event
) -> None:
    app = Explorer(program(tmp_path), screen=screen)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: "# the first line" in screen_text(app))
        title = next(line for line in screen_text(app).splitlines() if line)
        assert f"{screen.title()}]" in title
        reading.set()
        await wait(pilot, lambda: app.state.session is not None)
        await wait(pilot, lambda: app.screen_name == screen)
        await wait(pilot, lambda: "# the first line" not in screen_text(app))


async def test_the_first_stage_of_a_folder_is_shown_while_it_is_read(reading: threading.Event) -> None:
    app = Explorer(str(SAMPLES[0].parent / "broken_build"))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: "# from tvm.script" in screen_text(app))
        assert app.state.session is None
        reading.set()
        await wait(pilot, lambda: bool(app.frame.query("#ir")) and isinstance(app.view.rows, TableRows))
