"""The explorer against bad input: random keys and clicks, sizes that change in a storm, files that are no text, change or vanish."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from textual import events
from textual.geometry import Size

from relax_explorer.ui.tui.app import Explorer
from tests.support.roundtrip import SAMPLES
from tests.ui.random_events import PROGRAMS, SIZES, own_folder, session
from tests.ui.test_explorer import opened, screen_text, wait
from tests.ui.test_screens import idle


@pytest.mark.parametrize("seed", range(len(PROGRAMS)))
async def test_random_events(seed: int) -> None:
    """`python -m tests.ui.random_events` plays many more."""
    with own_folder() as folder:
        sent, _ = await session(PROGRAMS[seed], 80, seed, folder)
    assert sent > 20  # a random key may leave


async def test_a_storm_of_sizes() -> None:
    choose = random.Random(0)
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        for screen in "1234560":
            await pilot.press(screen)
            for width, height in [*choose.choices(SIZES, k=40), (120, 40)]:
                app.post_message(events.Resize(Size(width, height), Size(width, height)))
                await pilot.pause(0 if choose.random() < 0.1 else None)
            await idle(pilot, app)
            await pilot.pause(0.1)
            lines = screen_text(app).split("\n")
            assert len(lines) == 40
            assert "needs 60×16" not in lines[0]
            assert "5 Compare" in lines[0]
            assert lines[-1].strip()


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"# \xff\xfe\n@R.function", "RX0004"), (b"\x7fELF\x00\x00", "RX0003"), (b"", "RX0002")],
)
async def test_a_file_that_is_no_program(data: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_bytes(data)
    app = Explorer(str(path))
    async with app.run_test(size=(100, 24)) as pilot:
        await wait(pilot, lambda: app.state.failures or app.state.session is not None)
        await idle(pilot, app)
        assert [item.code.id for item in app.state.failures] == [code]
        assert code in screen_text(app)
        for key in ("escape", "]", "2", "3", "4", "5", "1", "w", "d", "t"):
            await pilot.press(key)
        assert app.return_code in (None, 0)


@pytest.mark.parametrize("is_folder", [False, True])
async def test_a_file_that_changes_and_vanishes_while_it_is_open(is_folder: bool, tmp_path: Path) -> None:
    source = SAMPLES[0].parent / "broken_build" if is_folder else SAMPLES[0]
    path = tmp_path / source.name
    if is_folder:
        shutil.copytree(source, path)
        changed = path / "01_LegalizeOps.py"
    else:
        shutil.copy(source, path)
        changed = path
    app = Explorer(str(path))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait(
            pilot, lambda: app.state.session is not None and app.state.stages == app.state.session.total + 1
        )
        shown = app.state.session
        changed.write_text("@R.function\ndef f(")
        await pilot.press("]", "G", "w", "escape", "t", "t", "t")
        shutil.rmtree(path) if is_folder else path.unlink()
        await pilot.press("[", "2")
        await wait(pilot, lambda: app.state.run is not None)
        await pilot.press("s", "3", "4", "1")
        await idle(pilot, app)
        assert app.state.session is shown
        app.stage_control.open(str(path))
        await wait(pilot, lambda: "RX0001" in screen_text(app), 20)
        await pilot.press("escape")
        assert app.state.session is shown
        assert app.return_code in (None, 0)
