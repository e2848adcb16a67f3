"""Reads short texts that are no programs: keys, scripts of commands, calls, settings. A file may be anybody's."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO, NoReturn

MOST_BYTES = 16 << 20
_SPECIAL = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))


class UnreadableText(Exception):
    """A short text that can't be read. The message is the reason, without the name of the file."""


def short_text(path: str | Path) -> str:
    """The text of a regular file with at most 16 MiB of UTF-8. Raises UnreadableText; it never waits for a pipe or a device."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as problem:  # ValueError: no file can have such a name
        raise UnreadableText(getattr(problem, "strerror", None) or str(problem)) from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        _refuse(number)
    with os.fdopen(number, "rb") as file:
        return short_stream(file)


def short_stream(stream: BinaryIO) -> str:
    """The text of a stream, such as standard input. Raises UnreadableText."""
    try:
        data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError) as problem:
        raise UnreadableText(getattr(problem, "strerror", None) or str(problem)) from None
    if len(data) > MOST_BYTES:
        raise UnreadableText(f"it is larger than {MOST_BYTES >> 20} MB")
    if b"\x00" in data:
        raise UnreadableText("it is a binary file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableText("it is not UTF-8 text") from None


def _refuse(number: int) -> NoReturn:
    """Close a file and raise UnreadableText."""
    mode = os.fstat(number).st_mode
    os.close(number)
    what = next((name for is_one, name in _SPECIAL if is_one(mode)), "a device")
    raise UnreadableText(f"it is {what}, not a regular file")
