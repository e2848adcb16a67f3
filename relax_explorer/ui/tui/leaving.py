"""Signals that end the explorer: the terminal is restored first."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from functools import partial

PATIENCE = 1.0  # seconds to wait for work after the screen is closed


def take_signals(leave: Callable[[int], None]) -> None:
    """Have signals call `leave` with an exit status. Without this the process would end with the terminal in the alternate screen."""
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
        if hasattr(signal, name):
            sent = getattr(signal, name)
            loop.add_signal_handler(sent, partial(_leave, leave, 128 + sent))


def _leave(leave: Callable[[int], None], status: int) -> None:
    """A terminal that is gone takes no output, so that the process ends by itself soon."""
    last = threading.Timer(3 * PATIENCE, os._exit, (status,))
    last.daemon = True
    last.start()
    leave(status)
