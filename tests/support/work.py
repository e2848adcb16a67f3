"""How much Python does: calls and steps, counted. A time would depend on the machine and on what runs beside; these do not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def calls(work: Callable[[], object]) -> int:
    """The number of calls of functions, of Python and of C, while `work` runs; each value of a generator counts, too."""
    count = 0

    def notice(frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(notice)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def steps(work: Callable[[], object], folder: str) -> int:
    """The number of lines and calls that `work` executes in the modules of a folder; each step of a comprehension counts, too."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal count
        count += event in ("line", "call")
        return trace if folder in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]  # a trace function, as `trace` returns itself
    try:
        work()
    finally:
        sys.settrace(before)
    return count
