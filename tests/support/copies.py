"""Counts how many items are copied into new collections, which a count of calls or of steps does not see."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

_COLLECTIONS = (dict, set, frozenset, list, tuple)


class Copies:
    """How many items were copied."""

    def __init__(self) -> None:
        self.items = 0

    def counting(self, kind: type) -> type:
        """A collection like `kind` that counts what it is made from."""
        copies = self

        def make(cls: type, *args: Any, **named: Any) -> Any:
            copies.items += sum(len(arg) for arg in args if isinstance(arg, Sized))
            return kind(*args, **named)

        return type(kind.__name__, (kind,), {"__new__": make})


@contextmanager
def counted_copies(*modules: ModuleType) -> Iterator[Copies]:
    """Within it, what `modules` copy by `dict(…)`, `set(…)`, `list(…)` and the like is counted."""
    copies = Copies()
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            for kind in _COLLECTIONS:
                patch.setattr(module, kind.__name__, copies.counting(kind), raising=False)
        yield copies
