"""Runs the explorer from its first picture to its exit status."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from relax_explorer.ui.files import CannotWrite
from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.leaving import PATIENCE
from relax_explorer.ui.tui.turns import event_loop

if TYPE_CHECKING:
    from textual.pilot import Pilot

NOT_WRITTEN = 3  # the exit status


def run_app(
    app: Explorer,
    pilot: Callable[[Pilot[object]], Coroutine[object, object, None]] | None = None,
    mouse: bool = True,
) -> int:
    """Open the explorer and return the exit status: 70 after an internal error. The terminal is restored.

    `pilot` presses keys first. Without `mouse` the terminal keeps it, to select text.
    """
    result = app.run(
        auto_pilot=pilot, mouse=mouse, loop=event_loop()
    )  # asyncio.run would wait for work that cannot be cancelled
    status = result or 0
    if app.recorder is not None:
        try:
            app.recorder.finish()
        except CannotWrite as error:
            sys.stderr.write(f"relax-explorer: {error}\n")
            status = status or NOT_WRITTEN
    if app.return_code and not result:
        sys.stderr.write("relax-explorer: the explorer failed; the session's file is untouched\n")
        status = 70
    _leave_work(app, status)
    return status


def _leave_work(app: Explorer, status: int) -> None:
    """Exit the process at once if some work does not stop, since Python can't end with threads inside compiled code."""
    end = time.monotonic() + PATIENCE
    while any(job.is_working for job in app.jobs.all_jobs) and time.monotonic() < end:
        threading.Event().wait(0.02)
    if any(job.is_working for job in app.jobs.all_jobs):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
