"""The processor time of a key with what the explorer does in place of Textual, and without each part of it; `docs/textual.md` has a table."""

from __future__ import annotations

import sys
from functools import partial

from relax_explorer.ui.tui.shortcuts import NEEDED
from tests.perf.benchmark import Benchmark, Seconds, Work
from tests.perf.tui import STEPS, TEXT, Terminal, generated_file

PRESSES = 40
START = "first"  # no key: the work until the first picture
SESSIONS: dict[str, tuple[tuple[bytes, ...], tuple[bytes, ...]]] = {
    START: ((), ()),
    "down": ((), (b"j",)),
    "page": ((), (b"\x04",)),
    "step": (STEPS, (b"s",)),
    "stage": ((), (b"]", b"[")),
    "screen": ((), (b"2", b"1", b"4", b"1")),
}
"""Keys that are pressed before, and those whose work is measured, in turns."""


def _explorer(path: str, without: str) -> Terminal:
    """The explorer, in which one part is left to Textual."""
    program = (
        "from relax_explorer.ui.tui import shortcuts\n"
        f"rest = shortcuts.usable() - {{{without!r}}}\n"
        "shortcuts.usable = lambda: rest\n"
        f"import sys; sys.argv = ['rxe', 'tui', {path!r}, '-p', 'CanonicalizeBindings']\n"
        "from relax_explorer.ui.cli.main import main\n"
        "main()"
    )
    terminal = Terminal(path, (sys.executable, "-c", program))
    terminal.read_until(TEXT)
    return terminal


def _work_of(session: str, without: str) -> tuple[str, Work]:
    path = generated_file(1_000)
    before, keys = SESSIONS[session]

    def first() -> Seconds:
        terminal = _explorer(path, without)
        worked = terminal.work()
        terminal.close()
        return Seconds(worked)

    def press() -> Seconds:
        terminal = _explorer(path, without)
        terminal.rest()
        for key in (*before, *keys):
            terminal.press(key)
        start = terminal.work()
        for number in range(PRESSES):
            terminal.press(keys[number % len(keys)])
        worked = terminal.work() - start
        terminal.close()
        return Seconds(worked / PRESSES)

    return "", press if keys else first


SHORTCUTS = [
    Benchmark(
        f"work-{session}{f'-without-{part}' if part else ''}", partial(_work_of, session, part), repeat=3
    )
    for session in SESSIONS
    for part in ("", *(part for part in NEEDED if part != "keys"))
]
