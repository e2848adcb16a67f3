"""Long work: ctrl+c cancels it, and a line tells how far it is."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from relax_explorer.core.exec.interrupt import Interrupt
from relax_explorer.core.exec.kernels import Kernels
from relax_explorer.ui import live_settings
from relax_explorer.ui.cli import output

_R = TypeVar("_R")
PATIENCE = 2.0  # seconds to wait for cancelled work


def interruptible(work: Callable[[Interrupt], _R], interrupt: Interrupt | None = None, stuck: str = "") -> _R:
    """Run `work`; return its result or raise its error. KeyboardInterrupt cancels it, kernels included, and is raised after it ended.

    With `stuck`, a remark for the case that the end takes long, cancelled work gives its result as well.
    """
    interrupt = interrupt or Interrupt()
    outcome: list[_R] = []
    problem: list[BaseException] = []
    is_done = threading.Event()  # join() of Python 3.11 takes an interrupted wait for the end of the thread

    def body() -> None:
        try:
            outcome.append(work(interrupt))
        except BaseException as raised:  # noqa: BLE001  # the caller raises it again
            problem.append(raised)
        finally:
            is_done.set()

    threading.Thread(target=body, name="run", daemon=True).start()
    try:
        is_done.wait()
    except KeyboardInterrupt:
        interrupt.cancel()
        live_settings.cancel()
        is_ended = is_done.wait(PATIENCE)
        if not stuck:
            raise
        if not is_ended:
            output.say(stuck, err=True)
            is_done.wait()
    if problem:
        raise problem[0]
    return outcome[0]


# -- progress --------------------------------------------------------------------------------------------------------
# A line on the terminal that tells how far long work is: `stage 12/33`, `compiling 12/71 kernels`. Files and pipes
# get nothing.


QUIET = 0.5  # seconds before the line appears
_CLEAR = "\r\x1b[K"


@contextmanager
def progress(unit: str = "") -> Iterator[Callable[[str, int, int], None]]:
    """What to call before each part of the work: with what it is, its number, and how many there are.

    The line goes at the end, and when there are 0 parts.
    """
    if not sys.stderr.isatty():
        yield lambda what, number, total: None
        return
    start = time.monotonic()
    is_shown = False

    def told(what: str, number: int, total: int) -> None:
        nonlocal is_shown
        if total > 1 and time.monotonic() - start >= QUIET:
            sys.stderr.write(f"{_CLEAR}{what} {number}/{total}{unit}")
            sys.stderr.flush()
            is_shown = True
        elif total == 0 and is_shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            is_shown = False

    try:
        yield told
    finally:
        if is_shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()


@contextmanager
def compiling(kernels: Kernels) -> Iterator[None]:
    """Tell how many kernels have been compiled, while it takes long."""
    with progress(" kernels") as told:
        kernels.told = partial(told, "compiling")
        try:
            yield
        finally:
            kernels.told = None
