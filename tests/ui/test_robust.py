"""The explorer stays usable: on low terminals, with programs that drop results, and after failed work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.events import Paste, Resize
from textual.geometry import Size
from textual.screen import Screen

from relax_explorer.core.session.session import Session
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.jobs import Job, JobTold
from relax_explorer.ui.tui.screens.by_name import screen_class
from tests.support.roundtrip import SAMPLES
from tests.ui.random_events import clicks, pressed
from tests.ui.test_explorer import opened, screen_text, wait
from tests.ui.test_screens import press

PRINTS = str(next(path for path in SAMPLES if path.stem.startswith("09")))
WALK = (
    "right_square_bracket", "d", "d", "tab", "down", "pagedown", "pageup", "end", "pagedown", "escape", "0", "pagedown", "pageup",
    "2", "s", "S", "3", "4", "1", "tab", "pageup", "pagedown",
)  # fmt: skip


@pytest.mark.parametrize("size", [(120, 30), (120, 5), (100, 1), (61, 16)])
async def test_every_pane_at_every_height(size: tuple[int, int]) -> None:
    app = Explorer(PRINTS)
    async with app.run_test(size=size) as pilot:
        await opened(app, pilot)
        for key in WALK:
            await pilot.press(key)
            await pilot.pause()
        assert app.return_code in (None, 0)


@pytest.mark.parametrize("keys", [(), ("question_mark",), ("E",), ("m",), ("2", "I")], ids=str)
async def test_a_size_that_the_terminal_no_longer_has_is_dropped(keys: tuple[str, ...]) -> None:
    """Textual answers a change of size with an event, so that two sizes in a row could follow each other without end."""
    app = Explorer(PRINTS)
    async with app.run_test(size=(120, 30)) as pilot:
        await opened(app, pilot)
        await press(pilot, app, *keys)
        old, new = Size(90, 20), Size(100, 28)
        app.screen.post_message(Resize(old, old))
        await pilot.pause(0.05)
        assert app.screen._compositor.size == (120, 30)
        app.post_message(Resize(new, new))
        await wait(pilot, lambda: app.screen._compositor.size == new)


async def test_a_result_that_arrives_after_the_end_is_dropped() -> None:
    app = Explorer(PRINTS)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
    shown: list[Screen] = []
    app.on_job_told(JobTold(Job("session", "reading", app), lambda: shown.append(app.frame), is_end=False))
    assert shown == []


async def test_a_result_that_arrives_while_screens_are_closed_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[Screen] = []
    closing = Explorer._close_all

    async def close(app: Explorer) -> None:
        for is_end in (False, True):
            app.on_job_told(JobTold(Job("session", "reading", app), lambda: shown.append(app.frame), is_end))
        await closing(app)

    monkeypatch.setattr(Explorer, "_close_all", close)
    app = Explorer(PRINTS)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
    assert shown == []


async def test_after_a_parse_error_the_problems_pane_shows_it(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("@R.function\ndef f(x: R.Tensor((2,")
    app = Explorer(str(bad))
    async with app.run_test(size=(80, 24)) as pilot:
        await wait(pilot, lambda: "RX0007" in screen_text(app))
        await pilot.press("escape", "4")
        await pilot.pause()
        assert "RX0007" in screen_text(app)
        assert "no problems" not in screen_text(app)


@pytest.mark.parametrize("place", ["__init__", "advance"])
async def test_an_error_of_our_own_is_told_and_kept(
    place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object) -> None:
        raise LookupError("nobody \x1b]52;c;aGk=\x07 thought of it")

    monkeypatch.setattr("relax_explorer.ui.directories.state", lambda: tmp_path)
    monkeypatch.setattr(Session, place, broken)
    app = Explorer(PRINTS)
    async with app.run_test(size=(100, 24)) as pilot:
        await wait(pilot, lambda: "RX0902" in screen_text(app))
        assert "LookupError: nobody" in screen_text(app)
        assert "\x1b" not in screen_text(app)
        await pilot.press("escape", "4")
        await pilot.pause()
        assert "RX0902" in screen_text(app)
        assert list(tmp_path.glob("crash-*.txt"))
        assert app.return_code in (None, 0)


async def test_without_a_program_nothing_is_said_to_be_right() -> None:
    app = Explorer(None)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("4")
        await pilot.pause()
        assert "no program is open" in screen_text(app)


async def test_inputs_that_were_made_up_are_said(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text('@R.function\ndef main(x: R.Tensor(("n",), "float32")):\n    return x\n')
    app = Explorer(str(path))
    async with app.run_test(size=(100, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await pilot.press("2", "r")
        await wait(pilot, lambda: "inputs made up: n = 3, x by randn:0" in screen_text(app))


@pytest.mark.parametrize(("profile", "said"), [("spec", True), ("tvm", False)])
async def test_the_profile_of_the_explorer(tmp_path: Path, profile: str, said: bool) -> None:
    path = tmp_path / "p.py"
    path.write_text(
        '@R.function\ndef main(x: R.Object):\n    y: R.Tensor((2,), "float32") = x\n    return y\n'
    )
    app = Explorer(str(path), profile=profile)
    async with app.run_test(size=(100, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await pilot.press("4")
        await pilot.pause()
        assert ("RX0116" in screen_text(app)) is said


@pytest.mark.parametrize(("profile", "said"), [("auto", False), ("tvm", False), ("spec", True)])
async def test_the_stages_of_a_build_are_checked_by_the_rules_of_tvm(
    tmp_path: Path, profile: str, said: bool
) -> None:
    """Warnings that no rule of TVM gives would hide the others, since each stage repeats them."""
    text = '@R.function\ndef main(x: R.Object):\n    y: R.Tensor((2,), "float32") = x\n    return y\n'
    for name in ("00_input.py", "01_LegalizeOps.py"):
        (tmp_path / name).write_text(text)
    app = Explorer(str(tmp_path), profile=profile)
    async with app.run_test(size=(100, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await pilot.press("4")
        await wait(pilot, lambda: ("RX0116" if said else "--profile spec adds") in screen_text(app))
        assert ("RX0116" in screen_text(app)) is said


WARNED = """@R.function
def main(x: R.Object):
    y: R.Tensor((2,), "float32") = x
    return y
"""
NOTED = """@R.function
def main(x: R.Object):
    R.func_attr({"relax.force_pure": True})
    R.print(format="")
    return x
"""


@pytest.mark.parametrize(
    ("text", "width", "is_counted"),
    [(WARNED, 120, True), (WARNED, 80, True), (WARNED, 60, False), (NOTED, 120, False)],
)
async def test_the_header_counts_what_is_wrong(
    tmp_path: Path, text: str, width: int, is_counted: bool
) -> None:
    """Not notes: RX0119 stands in every build after RemovePurityChecking. Where the words don't fit, the stage comes first."""
    path = tmp_path / "longer_name.py"
    path.write_text(text)
    app = Explorer(str(path), pipeline="")
    async with app.run_test(size=(width, 24)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        await pilot.press("4")
        await pilot.pause()
        header = screen_text(app).splitlines()[0]
        assert ("1 problem  stage" in header) is is_counted
        assert "stage 0/0 input" in header
        assert ("RX0116" if text is WARNED else "RX0119") in screen_text(app)


async def test_a_popup_is_as_high_as_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "p.py"
    path.write_text('@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    return x\n')
    app = Explorer(str(path))
    async with app.run_test(size=(120, 40)) as pilot:
        await wait(pilot, lambda: app.state.session is not None)
        app.show_text("few", ["one"])
        await pilot.pause()
        assert app.screen.query_one("#popup_frame").size.height < 8
        await pilot.press("escape")
        app.show_text("many", [str(n) for n in range(100)])
        await pilot.pause()
        assert app.screen.query_one("#popup_frame").size.height == 30


@pytest.mark.parametrize("is_told", [True, False], ids=["exit", "shutdown"])
async def test_keys_and_clicks_behind_the_end_do_nothing(is_told: bool) -> None:
    """A fast typist presses more after `q`; Textual has no screen for it then."""
    app = Explorer(PRINTS)
    async with app.run_test(size=(100, 24)) as pilot:
        await opened(app, pilot)
        if is_told:
            app.exit(0)
        stack = app._screen_stacks[app._current_mode]
        held = [*stack]
        stack.clear()
        for event in (pressed("j"), *clicks(3, 3), pressed("ctrl+p"), Paste("x")):
            await app.on_event(event)
        stack.extend(held)  # for the end of the test
    assert not app.return_code


async def test_a_screen_that_closes_before_its_views_are_mounted() -> None:
    app = Explorer(PRINTS)
    async with app.run_test(size=(100, 24)) as pilot:
        await opened(app, pilot)
        frame = screen_class("problems")()
        frame.on_mount()  # nothing was composed
        frame.draw_bars()
        assert not hasattr(frame, "_drawn")


@pytest.mark.parametrize(
    "ask",
    [
        lambda app: app.show_text("few", ["one"]),
        Explorer.ask_inputs,
        Explorer.edit_pipeline,
        Explorer.edit_text,
    ],
    ids=["popup", "inputs", "pipeline", "text"],
)
async def test_a_dialog_behind_the_end_stays_empty(ask: Callable[[Explorer], None]) -> None:
    """Textual mounts nothing while the explorer leaves, but still tells the dialog that it is there."""
    app = Explorer(PRINTS)
    async with app.run_test(size=(100, 24)) as pilot:
        await opened(app, pilot)
        await wait(pilot, lambda: app.is_at_rest)
        app.exit(0)
        ask(app)
        dialog = app.screen
        await pilot.pause(0.1)
        assert not dialog.children
    assert app.return_code == 0
