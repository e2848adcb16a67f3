"""The terminal and long work take turns at Python's interpreter, so that a key is answered at once."""

from __future__ import annotations

import asyncio
import selectors
import sys
import threading
import time
from typing import ClassVar

from relax_explorer.core.ir.pauses import Pauses
from relax_explorer.ui import process

SHORT = 0.0005  # seconds after which a thread asks for its turn; Python takes 0.005
SELDOM = 0.02  # seconds between two polls of a loop that has work left
LONGEST = 0.1  # seconds of a pause: the terminal might wait for something that the paused thread has


def give_way() -> None:
    """Let long work go on, until the next poll or `keep_turn`."""
    Pauses.pause = None
    Turns.is_free.set()


def keep_turn() -> None:
    """Let long work of other threads pause."""
    if Turns.are_taken:
        Turns.is_free.clear()
        Pauses.pause = _pause


def take_turns() -> None:
    """Keep the interpreter from now on: a key came. Until then the user waits for the thread that reads the program."""
    Turns.are_taken = Turns.is_in_use


def _pause() -> None:
    if threading.current_thread() is not threading.main_thread():
        Turns.is_free.wait(LONGEST)


class Turns(selectors.DefaultSelector):
    """Polls only when nothing is left to do, or a while after the last poll, and gives the interpreter away only then."""

    is_in_use: ClassVar[bool] = False  # by the event loop of this process
    are_taken: ClassVar[bool] = False
    is_free: ClassVar[threading.Event] = threading.Event()  # the terminal has nothing to do

    def __init__(self) -> None:
        super().__init__()
        self._polled = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """The files that are ready within some seconds. Without time to wait the list may be empty though some are."""
        if not self.are_taken:
            return super().select(timeout)
        if timeout is not None and timeout <= 0 and time.perf_counter() - self._polled < SELDOM:
            return []
        give_way()
        try:
            return super().select(timeout)
        finally:
            keep_turn()
            self._polled = time.perf_counter()

    def close(self) -> None:
        """End the loop; work that is left goes on."""
        super().close()
        give_way()


def event_loop() -> asyncio.AbstractEventLoop:
    """The event loop of the explorer. That of Windows polls in its own way, so its threads take equal turns."""
    process.shorten_turns(SHORT)
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    Turns.is_in_use, Turns.are_taken = True, False
    return asyncio.SelectorEventLoop(Turns())
