"""Children that hear ctrl+c, also when the suite runs in the background, where a shell has it ignored."""

from __future__ import annotations

import signal


def hearing() -> None:
    """What a child does before its program starts: take SIGINT as a program in a terminal does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
