"""The explorer: panes over one session and one selection. Work runs in workers, which answer with messages."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from relax_explorer.core.session.inputs import CallInputs
from relax_explorer.ui.tui.graphing import Graphing

PATIENCE = 1.0  # seconds to wait for work after the screen is closed


class Explorer(Graphing):
    """The application: the shell with all panes."""


def run_app(
    path: str | None, pipeline: str = "default", screen: str = "passes", profile: str = "spec", call: CallInputs | None = None,
    theme: str = "auto",
) -> int:  # fmt: skip
    """Open the explorer and return the exit status: 70 after an internal error. The terminal is restored."""
    app = Explorer(path, pipeline, screen, profile, call, theme)
    workers = ThreadPoolExecutor()
    loop = asyncio.new_event_loop()  # asyncio.run would wait for work that cannot be cancelled
    loop.set_default_executor(workers)
    result = app.run(loop=loop)
    workers.shutdown(wait=False, cancel_futures=True)
    status = result or 0
    if app.return_code and not result:
        sys.stderr.write("relax-explorer: the explorer failed; the session's file is untouched\n")
        status = 70
    _leave_work(status)
    return status


def _leave_work(status: int) -> None:
    """Exit the process at once if some work does not stop. Python would wait for its thread."""
    end = time.monotonic() + PATIENCE
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, end - time.monotonic()))
    if time.monotonic() >= end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
