"""Children that receive ctrl+c even if the suite runs in the background, where the shell makes it ignored."""

from __future__ import annotations

import signal


def hearing() -> None:
    """Prepare a child before its program starts: handle SIGINT like a program in a terminal."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
