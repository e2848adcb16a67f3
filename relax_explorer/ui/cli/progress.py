"""A line on the terminal that tells how far long work is: `stage 12/33`, `compiling 12/71 kernels`. Files and pipes get nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from relax_explorer.core.exec.kernels import Kernels

PATIENCE = 0.5  # seconds before the line appears
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
        if total > 1 and time.monotonic() - start >= PATIENCE:
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
