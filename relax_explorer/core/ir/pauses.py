"""Places between two bindings where long work may pause, since something else is urgent: a terminal answers a key.

Python's threads share one interpreter, so work on a large program takes half of it from every other thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar, TypeVar

_Item = TypeVar("_Item")


class Pauses:
    """What long work does at the next place: it goes on at once if this is None. Whoever sets it ends the pause."""

    pause: ClassVar[Callable[[], None] | None] = None


def with_pauses(items: Iterable[_Item]) -> Iterator[_Item]:
    """The same items, with a place for a pause before each one."""
    for item in items:
        if Pauses.pause is not None:
            Pauses.pause()
        yield item
