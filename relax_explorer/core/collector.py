"""Python's garbage collector as this program may use it: at rest during long work, in a process of our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Collector:
    """Python's garbage collector as this program may use it. In the process of a host it is the host's, and nothing happens.

    A process of our own replaces it (`ui/process.py`).
    """

    def rest(self) -> bool:
        """Pause it; True if it was at work, and has to go on."""
        return False

    def work(self, is_prompt: bool) -> None:
        """Let it go on after a pause."""

    def set_aside(self) -> None:
        """Let the collector pass over all objects that there are now."""

    def take_back(self) -> bool:
        """Let the collector visit all objects again; True if it passed over some."""
        return False


_collector = Collector()


def collector() -> Collector:
    """The collector that this process uses."""
    return _collector


def use_collector(own: Collector) -> None:
    """Use another collector from now on."""
    global _collector
    _collector = own


@contextmanager
def collector_at_rest(is_prompt: bool = False) -> Iterator[None]:
    """Pauses Python's garbage collector in a process of our own.

    Every entry point uses this if its work grows with the program. Work that a user may cancel is prompt: a full
    collection, which takes a second for ten million objects, waits for the next entry point.
    """
    own = _collector
    was_at_work = own.rest()
    try:
        yield
    finally:
        if was_at_work:
            own.work(is_prompt)


def set_aside() -> None:
    """Hide all present objects from the collector, until `take_back`. Garbage that refers to itself stays, too."""
    _collector.set_aside()


def take_back() -> bool:
    """Let the collector see all objects again; True if some were hidden."""
    return _collector.take_back()
