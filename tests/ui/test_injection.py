"""No content of a program steers the terminal of the explorer: each pane, each line under the cursor, each popup."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.text import Text

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.screens.popup import Popup
from relax_explorer.ui.tui.themes import SAFE
from relax_explorer.ui.tui.widgets.framed import FixedText
from relax_explorer.ui.tui.widgets.line_view import LineView
from tests.support.injection import LATER, SHORT, program, unsafe
from tests.ui.test_explorer import screen_text, wait

KEYS = (
    "t",
    "d",
    "d",
    "w",
    "escape",
    "right_square_bracket",
    "d",
    "2",
    "s",
    "s",
    "c",
    "3",
    "4",
    "question_mark",
    "escape",
    "Y",
    "1",
)


async def seen(path: Path) -> tuple[str, str]:
    """All texts on the screen, and the details of each line, without the additional output filter."""
    app = Explorer(str(path), "default")
    screens, details = [], []
    async with app.run_test(size=(120, 30)) as pilot:
        await wait(
            pilot,
            lambda: (
                isinstance(app.screen, Popup)
                or app.state.broken is not None
                or (
                    app.state.session is not None
                    and len(app.state.session.stages) == len(app.state.session.pipeline) + 1
                )
            ),
        )
        if app.state.broken is not None:  # its source is shown
            await wait(pilot, lambda: bool(app.frame.query("#source")))
            view = app.frame.view
            for number in range(len(view.rows)):
                view.move(number)
                await pilot.pause(0)
                screens.append(screen_text(app))
            return "\n".join(screens), ""
        await wait(pilot, lambda: bool(app.frame.query("#ir")))
        view = app.frame.query_one("#ir", LineView)
        for number in range(len(view.rows)):
            view.move(number)
            await pilot.pause(0)
            details.append(str(app.frame.query_one("#details_text", FixedText).text))
        screens.append(screen_text(app))
        for key in KEYS:
            await pilot.press(key)
            await pilot.pause()
            screens.append(screen_text(app))
            screens.append(app.notice if unsafe(str(app.frame.query_one("#footer", FixedText).text)) else "")
        await wait(pilot, lambda: app.jobs.is_idle)
        await pilot.pause()
        screens.append(screen_text(app))
    return "".join(screens), "\n".join(details)


SOME = (
    "operator",
    "print format",
    "metadata",
    "module attribute",
    "body of a Python function",
    "kernel",
    "wrong syntax",
)


@pytest.mark.parametrize("place", SOME)  # `python -m tests.cli.injection` tries all
async def test_no_payload_reaches_a_pane(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SAFE, "enabled", False)
    path = tmp_path / "p.py"
    path.write_bytes(program(place, LATER if program(place, "") == program(place, "\ud800") else SHORT))
    screens, details = await seen(path)
    assert screens
    assert not unsafe(screens)
    assert not unsafe(details)


async def test_a_pane_that_forgets_is_filtered(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_bytes(program("string", "a"))
    app = Explorer(str(path))
    async with app.run_test(size=(100, 30)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        app.frame.query_one("#details_text", FixedText).show(Text("[\x9b\u202e\u2028]"))
        await pilot.pause()
        assert "[" in screen_text(app)
        assert not unsafe(screen_text(app))
