"""A line on the terminal that tells how far long work is: `stage 12/33`. Files and pipes get nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 0.5  # seconds before the line appears
_CLEAR = "\r\x1b[K"


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """What to call before each part of the work: with what it is, its number, and how many there are. The line goes at the end."""
    if not sys.stderr.isatty():
        yield lambda what, number, total: None
        return
    start = time.monotonic()
    is_shown = False

    def told(what: str, number: int, total: int) -> None:
        nonlocal is_shown
        if total > 1 and time.monotonic() - start >= PATIENCE:
            sys.stderr.write(f"{_CLEAR}{what} {number}/{total}")
            sys.stderr.flush()
            is_shown = True

    try:
        yield told
    finally:
        if is_shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
