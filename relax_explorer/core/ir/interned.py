"""Tables that keep nothing alive: interned values, and facts about nodes. An entry is dropped with its value or node.

A long-running process reads many texts. When a text is closed, its values and the text itself must leave memory.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import ref

_K = TypeVar("_K", bound=Hashable)
_N = TypeVar("_N", bound=object)
_T = TypeVar("_T", bound=object)


class _Entry(ref[_T], Generic[_K, _T]):
    """A weak reference with the key of its value."""

    __slots__ = ("key",)
    key: _K


class InternTable(dict[_K, _Entry[_K, _T]], Generic[_K, _T]):
    """The one value for each key, as long as it is in use.

    Hot constructors write `find` out: `get`, then a call of the entry.
    """

    __slots__ = ("_forget",)

    def __init__(self) -> None:
        super().__init__()

        lock = RLock()  # a value may end while this thread forgets another one

        def forget(entry: _Entry[_K, _T]) -> None:
            with lock:  # else another thread could add a value between the look and the deletion
                if self.get(entry.key) is entry:  # another value may have taken the key
                    del self[entry.key]

        self._forget = forget

    def find(self, key: _K) -> _T | None:
        """The value for `key`, or None."""
        entry = self.get(key)
        return None if entry is None else entry()

    def add(self, key: _K, value: _T) -> _T:
        """Add `value` for `key`, and return it. If another thread was faster, return that thread's value."""
        entry = _Entry(value, self._forget)
        entry.key = key
        while (existing := self.setdefault(key, entry)) is not entry:
            winner = existing()
            if winner is not None:
                return winner
            self._forget(existing)
        return value


def make_interned(table: InternTable[tuple[Any, ...], Any], key: tuple[Any, ...], **fields: object) -> Any:
    """A value of the class that begins its key, with these fields, added to a table."""
    new = object.__new__(key[0])
    for name, value in fields.items():
        setattr(new, name, value)
    return table.add(key, new)


class PerNode(dict[int, _T], Generic[_T]):
    """One fact for each node, such as its plan. A fact must not refer to its node, or neither is ever freed.

    Hot code looks up with `get(id(node))`.
    """

    __slots__ = ("_entries", "_forget")

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[int, _Entry[int, object]] = {}

        def forget(entry: _Entry[int, object]) -> None:
            if self._entries.get(entry.key) is entry:
                del self[entry.key], self._entries[entry.key]

        self._forget = forget

    def of(self, node: _N, make: Callable[[_N], _T]) -> _T:
        """The fact about `node`. `make(node)` makes it at the first request."""
        number = id(node)
        return self[number] if number in self else self.add(node, make(node))

    def add(self, node: object, fact: _T) -> _T:
        """Keep a fact as long as `node` lives, and return it."""
        number = id(node)
        if number not in self._entries:
            entry = self._entries[number] = _Entry(node, self._forget)
            entry.key = number
        self[number] = fact
        return fact

    def drop(self, node: object) -> None:
        """Forget the fact about a node, to save its memory; it can be made again."""
        if self._entries.pop(id(node), None) is not None:
            self.pop(id(node), None)
