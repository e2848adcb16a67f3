"""The graph as a real picture: what is written to terminals that speak kitty's protocol, sixel, nothing, or do not answer."""

from __future__ import annotations

import os
import pty
import select
import termios
import threading
import time

import pytest

from relax_explorer.ui.tui import pictures
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.pictures import ABSENT, SILENT, on_terminal
from relax_explorer.viz.terminal_picture import ASK
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import screen_text, wait
from tests.ui.test_screens import idle, press, typed
from tests.viz.test_terminal_picture import KITTY, NEITHER, SIXEL, encoded, noise

PNG = encoded(noise(20, 30, 3), [0], 2)


def shown_on(reply: bytes, png: bytes = PNG, ends: bool = True) -> tuple[str, bytes, bool]:
    """What is said and written on a terminal that answers so, and whether its mode is as before."""
    outer, inner = pty.openpty()
    written = b""
    stop = threading.Event()

    def terminal() -> None:
        nonlocal written
        has_answered = has_pressed = False
        while not stop.is_set():
            if not select.select([outer], [], [], 0.02)[0]:
                continue
            written += os.read(outer, 65536)
            if not has_answered and ASK in written:
                has_answered = True
                os.write(outer, reply)
            if ends and not has_pressed and b"any key goes back" in written:
                has_pressed = True
                os.write(outer, b"x")

    before = termios.tcgetattr(inner)
    thread = threading.Thread(target=terminal)
    thread.start()
    try:
        said = on_terminal(inner, inner, png, 80, 24)
        time.sleep(0.1)
        is_restored = termios.tcgetattr(inner) == before
    finally:
        stop.set()
        thread.join()
        os.close(outer)
        os.close(inner)
    return said, written, is_restored


@pytest.mark.parametrize(
    ("reply", "begins", "ends"),
    [(KITTY, b"\x1b_Ga=T,f=100,", b"\x1b_Ga=d,q=2\x1b\\"), (SIXEL, b"\x1bPq", b"")],
)
def test_a_picture_is_written_until_a_key_is_pressed(reply: bytes, begins: bytes, ends: bytes) -> None:
    said, written, is_restored = shown_on(reply)
    assert said == ""
    assert written.startswith(ASK + b"\x1b[2J\x1b[H" + begins)
    assert written.endswith(b"any key goes back" + ends)
    assert is_restored


@pytest.mark.parametrize("reply", [NEITHER, b"", b"\x1b[?62"])
def test_a_terminal_that_speaks_nothing_is_told(reply: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "PATIENCE", 0.2)
    said, written, is_restored = shown_on(reply)
    assert said == SILENT
    assert written == ASK, "nothing else is drawn"
    assert is_restored


def test_what_is_no_picture_is_told() -> None:
    said, written, is_restored = shown_on(SIXEL, b"<svg/>")
    assert said == "the picture is not a PNG"
    assert written == ASK
    assert is_restored


def test_what_is_no_terminal_is_told() -> None:
    reading, writing = os.pipe()
    try:
        assert on_terminal(reading, writing, PNG, 80, 24) == ABSENT
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize("keys", [("3", "i"), ()])
async def test_without_a_terminal_the_explorer_says_so(keys: tuple[str, ...]) -> None:
    app = Explorer(str(SAMPLES[0]), "")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *keys)
        if not keys:
            await typed(pilot, app, "picture")
        await wait(
            pilot,
            lambda: "pictures need a terminal" in screen_text(app) or "no picture: " in screen_text(app),
        )
        assert app.return_code is None
