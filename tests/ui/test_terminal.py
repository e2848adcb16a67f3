"""The explorer in a real terminal: it shows the program, and restores the terminal however it ends."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from tests.perf.tui import Terminal
from tests.support.roundtrip import DATA, SAMPLES

LEAVE = b"\x1b[?1049l"  # back from the alternate screen


def test_without_a_file_it_shows_samples() -> None:
    terminal = Terminal("", (sys.executable, "-m", "relax_explorer", "--ascii"))
    assert terminal.read_until(b"12_transformer_layer").isascii()
    os.write(terminal.fd, b"q")
    terminal.read_until(LEAVE)
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == 0
    os.close(terminal.fd)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("relations/waiting.relay", b"Broadcast waits"), ("shapes/fast_flatten.shapes", b"Left to the run")],
)
def test_a_program_in_another_notation_opens_its_solver(name: str, shown: bytes) -> None:
    path = str(SAMPLES[0].parent / name)
    terminal = Terminal("", (sys.executable, "-m", "relax_explorer", path))
    terminal.read_until(shown)
    os.write(terminal.fd, b"q")
    terminal.read_until(LEAVE)
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == 0
    os.close(terminal.fd)


@pytest.mark.parametrize("option", ["", "--no-mouse"])
def test_the_mouse_is_taken_unless_the_terminal_keeps_it(option: str) -> None:
    path = str(DATA / "mlp" / "00_input.py")
    terminal = Terminal("", (sys.executable, "-m", "relax_explorer", "tui", path, *option.split()))
    shown = terminal.read_until(b"matmul")
    assert (b"\x1b[?1000h" in shown) is not bool(option)
    terminal.close()


@pytest.mark.parametrize("ending", ["q", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_the_terminal_is_left_as_it_was(ending: str) -> None:
    terminal = Terminal(str(DATA / "mlp" / "00_input.py"))
    shown = terminal.read_until(b"matmul")
    assert b"\x1b[?1049h" in shown
    if ending == "q":
        os.write(terminal.fd, b"q")
    else:
        os.kill(terminal.pid, getattr(signal, ending))
    terminal.read_until(LEAVE)
    _, status = os.waitpid(terminal.pid, 0)
    expected = 0 if ending == "q" else 128 + getattr(signal, ending)
    assert os.waitstatus_to_exitcode(status) == expected
    os.close(terminal.fd)
