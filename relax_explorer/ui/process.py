"""What only a process of our own may turn: Python's garbage collector, and how threads take turns. A host's stays as it is."""

from __future__ import annotations

import gc
import sys

from relax_explorer.core import collector


def own() -> None:
    """Say that this process belongs to us: the command line, or a child that it started."""
    collector.use_collector(OwnCollector())


def shorten_turns(seconds: float) -> None:
    """Let a thread ask for its turn after some seconds, if the process is ours."""
    if isinstance(collector.collector(), OwnCollector):
        sys.setswitchinterval(seconds)


class OwnCollector(collector.Collector):
    """Rests during work on large programs, which makes many objects and hardly any garbage: it would visit all again and again."""

    few = 5_000  # new objects that the collector may visit
    most = 500_000  # new objects between two full collections, or half as many as there are if that is more

    def __init__(self) -> None:
        self._made_old = 0
        self._alive = 0  # objects after the last full collection
        self._is_aside = False

    def rest(self) -> bool:
        """Pause it; True if it was at work."""
        was_enabled = gc.isenabled()
        gc.disable()
        return was_enabled

    def work(self, is_prompt: bool) -> None:
        """Let it go on. Many new objects count as old ones, for nearly all of them stay; garbage goes at a full collection."""
        new = gc.get_count()[0]
        if new >= self.few and not self._is_aside:
            self._made_old += new
            if self._made_old > max(self.most, self._alive // 2) and not is_prompt:
                self._made_old = 0
                gc.collect()
                self._alive = len(gc.get_objects())
            else:
                gc.freeze()
                gc.unfreeze()  # into the oldest generation
        gc.enable()

    def set_aside(self) -> None:
        """Hide all present objects from it."""
        self._is_aside = True  # to count them takes a walk through all
        gc.freeze()

    def take_back(self) -> bool:
        """Let it see all objects again; True if some were hidden."""
        was_aside, self._is_aside = self._is_aside, False
        gc.unfreeze()
        return was_aside
