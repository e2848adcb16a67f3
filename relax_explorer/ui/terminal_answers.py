"""Asks a terminal, by its file descriptors, which pictures it shows."""

from __future__ import annotations

import os
import select
import time

from relax_explorer.viz.terminal_picture import ANSWERED, ASK


def answer_of(reading: int, writing: int, patience: float) -> bytes:
    """What a terminal in raw mode answers to `ASK`; what came until then if the answer is late."""
    write_all(writing, ASK)
    found, end = b"", time.monotonic() + patience
    while not ANSWERED.search(found) and (left := end - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            part = os.read(reading, 1024)
            if not part:
                break
            found += part
    return found


def write_all(writing: int, data: bytes) -> None:
    """Write all bytes."""
    while data:
        data = data[os.write(writing, data) :]
