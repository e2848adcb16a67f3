"""Shows the graph as a real picture, in terminals that speak kitty's protocol or sixel. Meanwhile the explorer waits."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from typing import cast

from textual.app import App, SuspendNotSupported

from relax_explorer.ui.tui.host import Host
from relax_explorer.viz.terminal_picture import ANSWERED, ASK, NoPicture, shown_picture, speech

PATIENCE = 1.0  # seconds for the answer of a terminal
SILENT = "neither kitty's graphics nor sixel in this terminal; e writes the graph as SVG"
ABSENT = "pictures need a terminal of their own; e writes the graph as SVG"
BACK = "any key goes back"


def show_image(app: Host, png: bytes) -> None:
    """Leave the screen to a picture until a key is pressed, or tell why there is none."""
    width, height = app.size
    reading, writing = sys.__stdin__, sys.__stdout__
    try:
        with cast("App[int]", app).suspend():
            said = ABSENT
            if reading is not None and writing is not None:
                said = on_terminal(reading.fileno(), writing.fileno(), png, width, height)
    except (SuspendNotSupported, OSError, ValueError):  # no terminal, or a closed one
        said = ABSENT
    app.say(said)


def on_terminal(reading: int, writing: int, png: bytes, width: int, height: int) -> str:
    """Show a picture in a terminal, by its file descriptors, until a key is pressed. Returns why there is none; empty if there is."""
    try:
        before = termios.tcgetattr(reading)
    except termios.error:
        return ABSENT
    try:
        tty.setraw(reading)
        spoken = speech(_answer(reading, writing))
        if not spoken.protocol:
            return SILENT
        try:
            shown = shown_picture(png, spoken, width, height - 2)
        except NoPicture as problem:
            return str(problem)
        _write(writing, b"\x1b[2J\x1b[H" + shown + f"\x1b[{height};1H {BACK}".encode())
        os.read(reading, 64)
        _write(writing, b"\x1b_Ga=d,q=2\x1b\\" if spoken.protocol == "kitty" else b"")
        return ""
    finally:
        termios.tcsetattr(reading, termios.TCSAFLUSH, before)  # a late answer is no key


def _answer(reading: int, writing: int) -> bytes:
    """What a terminal answers to `ASK`; what came until then if the answer is late."""
    _write(writing, ASK)
    found, end = b"", time.monotonic() + PATIENCE
    while not ANSWERED.search(found) and (left := end - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            part = os.read(reading, 1024)
            if not part:
                break
            found += part
    return found


def _write(writing: int, data: bytes) -> None:
    while data:
        data = data[os.write(writing, data) :]
