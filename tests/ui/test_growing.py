"""Keys that ask for a stage while passes still run: the explorer goes there once it is made."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import pytest

from relax_explorer.core.session.session import Session
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.typed import execute_typed
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle

LAYER = str(next(path for path in SAMPLES if path.stem.startswith("12")))


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Semaphore]:
    """Each pass waits for a release."""
    gate, advance = threading.Semaphore(0), Session.advance

    def advanced(self: Session) -> object:
        gate.acquire()
        return advance(self)

    monkeypatch.setattr(Session, "advance", advanced)
    yield gate
    gate.release(100)


async def begun(pilot: object, app: Explorer) -> None:
    """Wait for the first stage."""
    await wait(pilot, lambda: app.state.session is not None and app.screen_name == "passes")


async def test_a_key_goes_to_the_stage_that_is_being_made(gate: threading.Semaphore) -> None:
    app = Explorer(LAYER, "zero")
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, app)
        await pilot.press("right_square_bracket", "right_square_bracket")
        assert app.state.selection.stage == 0
        gate.release()
        await wait(pilot, lambda: app.state.selection.stage == 1)
        gate.release()
        await wait(pilot, lambda: app.state.selection.stage == 2)
        gate.release(10)
        await idle(pilot, app)
        assert app.state.selection.stage == 2, "two keys, two stages"


async def test_who_moves_meanwhile_stays_there(gate: threading.Semaphore) -> None:
    app = Explorer(LAYER, "zero")
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, app)
        await pilot.press("right_square_bracket", "j", "j")
        await wait(pilot, lambda: app.state.selection.binding is not None)
        gate.release(10)
        await idle(pilot, app)
        assert app.state.selection.stage == 0


async def test_a_key_that_waited_in_vain_is_told_so(gate: threading.Semaphore) -> None:
    app = Explorer(LAYER, "Normalize")
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, app)
        await pilot.press("right_square_bracket")
        gate.release(10)
        await idle(pilot, app)
        await wait(pilot, lambda: "no further stage that changed the module" in screen_text(app))
        assert app.state.selection.stage == 0


async def test_back_from_the_first_stage_waits_for_nothing(gate: threading.Semaphore) -> None:
    app = Explorer(LAYER, "zero")
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, app)
        await pilot.press("left_square_bracket")
        gate.release(10)
        await idle(pilot, app)
        assert app.state.selection.stage == 0
        assert "no further stage that changed the module" in screen_text(app)


async def test_keys_behind_one_that_waits_keep_their_order(gate: threading.Semaphore) -> None:
    app = Explorer(LAYER, "zero")
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, app)
        await pilot.press(*["right_square_bracket"] * 3, "c")
        assert app.state.selection.stage == 0
        assert "shows no change" not in screen_text(app)
        gate.release(2)
        await wait(pilot, lambda: app.state.selection.stage == 2)
        gate.release(20)
        await idle(pilot, app)
        await wait(pilot, lambda: re.search(r"change \d of \d", screen_text(app)) is not None)
        assert app.state.selection.stage == 4, "stage 3 changed nothing"


async def test_escape_forgets_the_keys_behind(gate: threading.Semaphore) -> None:
    app = Explorer(LAYER, "zero")
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, app)
        await pilot.press("right_square_bracket", "d", "escape")
        gate.release(20)
        await idle(pilot, app)
        assert app.state.options.diff == "inline"


async def test_who_moves_meanwhile_takes_the_other_keys_back(gate: threading.Semaphore) -> None:
    app = Explorer(LAYER, "zero")
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, app)
        await pilot.press("right_square_bracket", "d", "j", "j")
        await wait(pilot, lambda: app.state.selection.binding is not None)
        gate.release(20)
        await idle(pilot, app)
        assert (app.state.selection.stage, app.state.options.diff) == (0, "inline")
        await pilot.press("right_square_bracket", "d")
        assert (app.state.selection.stage, app.state.options.diff) == (1, "only")


async def test_a_line_names_a_stage_that_is_being_made(gate: threading.Semaphore) -> None:
    app = Explorer(LAYER, "zero")
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, app)
        execute_typed(app, "stage AnnotateTIROpPattern")
        assert app.state.selection.stage == 0
        assert app.notice == "the next stage is being made"
        gate.release(20)
        await wait(pilot, lambda: app.state.selection.stage > 0)
        assert app.state.stage is not None
        assert app.state.stage.made_by == "AnnotateTIROpPattern"


async def test_a_line_that_waited_for_no_stage_is_told_so(gate: threading.Semaphore) -> None:
    app = Explorer(LAYER, "Normalize")
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(pilot, app)
        execute_typed(app, "stage FuseOps")
        gate.release(10)
        await wait(pilot, lambda: "no stage 'FuseOps'" in app.notice)
        assert app.state.selection.stage == 0
        execute_typed(app, "stage FuseOps")
        assert "no stage 'FuseOps'" in app.notice
