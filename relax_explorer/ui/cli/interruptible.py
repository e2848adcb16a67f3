"""Run work that ctrl+c can cancel. The work has its own thread; the main thread waits for signals."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from relax_explorer.core.exec.interrupt import Interrupt

PATIENCE = 2.0  # seconds to wait for cancelled work


def interruptible(work: Callable[[Interrupt], Any]) -> Any:
    """Run `work`; return its result or raise its error. KeyboardInterrupt cancels it, kernels included, and is raised after it ended."""
    interrupt = Interrupt()
    outcome: list[Any] = []
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
        is_done.wait(PATIENCE)
        raise
    if problem:
        raise problem[0]
    return outcome[0]
