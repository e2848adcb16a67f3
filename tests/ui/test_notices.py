"""How long a notice stays in the footer: until the next key or click, which may make another one."""

from __future__ import annotations

import threading

import pytest

from relax_explorer.ui.tui.app import Explorer
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import wait
from tests.ui.test_idle_keys import footer
from tests.ui.test_screens import idle, press

BROKEN = str(SAMPLES[0].parent / "broken_build")
LAYER = str(SAMPLES[0].parent / "12_transformer_layer.py")


@pytest.mark.parametrize("key", ["j", "F12", "escape", "m", "question_mark"])
async def test_the_next_key_ends_a_notice(key: str) -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "w")
        assert "select a binding" in footer(app)
        await press(pilot, app, key)
        assert not app.notice
        await press(pilot, app, "escape")
        assert "] next stage" in footer(app)


async def test_a_click_ends_a_notice() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "w")
        await pilot.hover(offset=(30, 9))
        assert "select a binding" in footer(app)
        await pilot.click(offset=(30, 8))
        await idle(pilot, app)
        assert "] next stage" in footer(app)


async def test_the_key_that_makes_a_notice_does_not_end_it() -> None:
    """Also if it makes the same one again, opens a prompt, or closes a popup."""
    app = Explorer(BROKEN)
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        for keys, said in (
            ("w", "select a binding"),
            ("w", "select a binding"),
            (("right_square_bracket",), ""),
            ("c", "change 2 of"),
            ("ma", "mark a:"),
            ((":", *"go nothing", "enter"), "no variable 'nothing'"),
        ):
            await press(pilot, app, *keys)
            assert said in app.notice
            assert said in footer(app)


async def test_a_notice_of_a_job_stays_until_a_key_behind_it() -> None:
    app, goes_on = Explorer(LAYER), threading.Event()
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        app.jobs.start("export", "waiting", lambda job: goes_on.wait(), lambda _: app.say("it is done"))
        await pilot.press("j", "j")
        goes_on.set()
        await wait(pilot, lambda: app.notice)
        await idle(pilot, app)
        await pilot.pause(0.3)
        assert "it is done" in footer(app)
        await press(pilot, app, "j")
        assert "it is done" not in footer(app)


async def test_a_notice_over_a_popup_ends_with_a_key_there() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(100, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "question_mark", "y")
        assert "copied" in footer(app)
        await press(pilot, app, "j")
        assert not app.notice
        assert "copied" not in footer(app)
