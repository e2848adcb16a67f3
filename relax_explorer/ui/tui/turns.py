"""Who has Python's interpreter: the thread of the terminal keeps it while it answers a key, and other threads work in between.

Threads take turns, and one that waits asks for its turn after the switch interval. With one short interval for all, a key takes
twice as long while a program of 100,000 bindings is read: each of some thirty polls of the event loop gives a turn away.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
import time
from typing import ClassVar

SHORT = 0.0005  # seconds after which a thread asks that the terminal waits for; Python takes 0.005
LONG = 0.02  # seconds after which other threads ask, while the terminal works


def give_way() -> None:
    """Let a thread that is woken now have the interpreter at once, until the next poll or `keep_turn`."""
    if Turns.are_taken:
        sys.setswitchinterval(SHORT)


def keep_turn() -> None:
    """Let other threads wait for a while."""
    if Turns.are_taken:
        sys.setswitchinterval(LONG)


def take_turns() -> None:
    """Keep the interpreter from now on: a key came. Until then the user waits for the thread that reads the program."""
    Turns.are_taken = Turns.is_in_use


class Turns(selectors.DefaultSelector):
    """Polls only when nothing is left to do, or a while after the last poll, and gives the interpreter away only then."""

    is_in_use: ClassVar[bool] = False  # by the event loop of this process
    are_taken: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self._polled = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """The files that are ready within some seconds. Without time to wait the list may be empty though some are."""
        if not self.are_taken:
            return super().select(timeout)
        if timeout is not None and timeout <= 0 and time.perf_counter() - self._polled < LONG:
            return []
        give_way()
        try:
            return super().select(timeout)
        finally:
            keep_turn()
            self._polled = time.perf_counter()


def event_loop() -> asyncio.AbstractEventLoop:
    """The event loop of the explorer. That of Windows polls in its own way, so all threads have the same interval there."""
    sys.setswitchinterval(SHORT)
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    Turns.is_in_use, Turns.are_taken = True, False
    return asyncio.SelectorEventLoop(Turns())
