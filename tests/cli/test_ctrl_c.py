"""Ctrl+c at a moment when Python would drop it."""

from __future__ import annotations

import subprocess
import sys

LIMIT = 30  # seconds
DROPPED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have told this process to ignore it
from relax_explorer.ui.cli import streams
if {keep}:
    streams.keep_interrupts()
class Freed:
    def __del__(self):
        raise {error}
try:
    Freed()
    time.sleep({seconds})
except KeyboardInterrupt:
    sys.exit(130)
"""


def run(keep: bool, error: str, seconds: float) -> tuple[int, str]:
    code = DROPPED.format(keep=keep, error=error, seconds=seconds)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    return done.returncode, done.stderr


def test_an_interruption_while_an_object_is_freed_comes_again() -> None:
    assert run(True, "KeyboardInterrupt", 2 * LIMIT) == (130, "")  # and ends the wait


def test_it_waits_until_the_hook_is_left() -> None:
    """As on a busy machine: the main thread is long in the hook, where an interruption is dropped."""
    slow = "import threading; start = threading.Timer.start\n"
    slow += "threading.Timer.start = lambda self: (start(self), time.sleep(0.2 if threading.current_thread() is threading.main_thread() else 0))[0]"
    code = DROPPED.replace("class Freed", f"{slow}\nclass Freed").format(
        keep=True, error="KeyboardInterrupt", seconds=LIMIT
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT / 2, check=False
    )
    assert (done.returncode, done.stderr) == (130, "")


def test_python_alone_drops_it() -> None:
    status, errors = run(False, "KeyboardInterrupt", 0.1)
    assert status == 0
    assert "KeyboardInterrupt" in errors


def test_other_errors_are_shown_as_before() -> None:
    status, errors = run(True, "ValueError('here')", 0.1)
    assert status == 0
    assert "ValueError: here" in errors
