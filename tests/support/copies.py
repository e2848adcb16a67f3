"""Copies of functions, of which no facts are known, and counts of the items copied into new collections, which counts of calls do not show."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import contextmanager
from copy import copy
from types import ModuleType
from typing import Any

import pytest

from relax_explorer.core.ir.expr import Function
from relax_explorer.core.ir.node import replace

_COLLECTIONS = (dict, set, frozenset, list, tuple)


def with_new_body(fn: Any) -> Any:
    """A copy of a function. That of a Relax function has another body, for facts may be known of the body."""
    return replace(fn, body=copy(fn.body)) if type(fn) is Function else copy(fn)


class Copies:
    """The number of copied items."""

    def __init__(self) -> None:
        self.items = 0

    def counting(self, kind: type) -> type:
        """A collection like `kind` that counts the items it is built from."""
        copies = self

        def make(cls: type, *args: Any, **named: Any) -> Any:
            copies.items += sum(len(arg) for arg in args if isinstance(arg, Sized))
            return kind(*args, **named)

        return type(kind.__name__, (kind,), {"__new__": make})


@contextmanager
def counted_copies(*modules: ModuleType) -> Iterator[Copies]:
    """Within this context, items that `modules` copy with `dict(…)`, `set(…)`, `list(…)` and similar calls are counted."""
    copies = Copies()
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            for kind in _COLLECTIONS:
                patch.setattr(module, kind.__name__, copies.counting(kind), raising=False)
        yield copies
