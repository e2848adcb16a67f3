"""Prepare the standard streams, which may be closed, full, or in an encoding that lacks characters."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any


class _Closed(io.RawIOBase):
    """A stream that was closed before the program began."""

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, _: Any) -> int:
        raise OSError(errno.EBADF, "it is closed")

    def write(self, _: Any) -> int:
        raise OSError(errno.EBADF, "it is closed")


def prepare() -> None:
    """Replace closed streams, and make every character printable."""
    for number in range(3):  # otherwise the next opened file becomes a standard stream
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(_Closed(), encoding="utf-8")  # stdin is closed
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed(), encoding="utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # stays open until exit
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def drop(stream: Any) -> None:
    """Redirect an unwritable stream to the null device, so that Python does not flush it again at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # a stream without a file
        return
