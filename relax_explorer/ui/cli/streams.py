"""The standard streams as they are handed over: some may be closed, full, or of an encoding that lacks characters."""

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
    """Put something in the place of streams that are closed, and let no character be unwritable."""
    for number in range(3):  # else the next file that is opened would be taken for a standard stream
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(_Closed(), encoding="utf-8")  # when it is closed
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(_Closed(), encoding="utf-8", write_through=True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # for good
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def drop(stream: Any) -> None:
    """Lead a stream that can't be written to nowhere, so that the end of the program does not try again."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # a stream without a file
        return
