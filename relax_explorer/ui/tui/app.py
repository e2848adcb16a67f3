"""The explorer: panes over one session and one selection. Work runs in workers, which answer by messages."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from relax_explorer.ui.tui.graphing import Graphing

PATIENCE = 1.0  # seconds that work gets to end after the screen is gone


class Explorer(Graphing):
    """The application: the shell, and what each pane does."""


def run_app(
    path: str | None, pipeline: str = "default", screen: str = "passes", profile: str = "spec"
) -> int:
    """Open the explorer; the exit status. An error of its own ends with 70, and the terminal is as it was."""
    app = Explorer(path, pipeline, screen, profile)
    workers = ThreadPoolExecutor()
    loop = asyncio.new_event_loop()  # of our own: asyncio.run would wait for work that nothing can end
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
    """End the process here when some work does not end by itself: Python would wait for its thread."""
    end = time.monotonic() + PATIENCE
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, end - time.monotonic()))
    if time.monotonic() >= end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
