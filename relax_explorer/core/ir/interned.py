"""Tables that keep nothing alive: interned values, and facts about nodes. An entry goes when its value or its node goes.

A process that stays open reads many texts. Values that only an old text used must not stay in memory, nor the text with them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import ref

_K = TypeVar("_K", bound=Hashable)
_N = TypeVar("_N", bound=object)
_T = TypeVar("_T", bound=object)


class _Entry(ref[_T], Generic[_K, _T]):
    """A weak reference that knows the key of its value."""

    __slots__ = ("key",)
    key: _K


class InternTable(dict[_K, _Entry[_K, _T]], Generic[_K, _T]):
    """The one value for each key, as long as somebody uses it.

    `find` is what `get` and a call of the entry do; hot constructors write that out.
    """

    __slots__ = ("_forget",)

    def __init__(self) -> None:
        super().__init__()

        def forget(entry: _Entry[_K, _T]) -> None:
            if self.get(entry.key) is entry:  # another value may have taken the key
                del self[entry.key]

        self._forget = forget

    def find(self, key: _K) -> _T | None:
        """The value for `key`, None when there is none."""
        entry = self.get(key)
        return None if entry is None else entry()

    def add(self, key: _K, value: _T) -> _T:
        """The one for `key`: `value`, unless another thread was faster."""
        entry = _Entry(value, self._forget)
        entry.key = key
        while (held := self.setdefault(key, entry)) is not entry:
            other = held()
            if other is not None:
                return other
            self._forget(held)
        return value


class PerNode(dict[int, _T], Generic[_T]):
    """One fact for each node, such as its plan. A fact must not hold its node, or neither ever goes.

    Hot code looks up with `get(id(node))`.
    """

    __slots__ = ("_entries", "_forget")

    def __init__(self) -> None:
        super().__init__()
        self._entries: dict[int, _Entry[int, object]] = {}

        def forget(entry: _Entry[int, object]) -> None:
            del self[entry.key], self._entries[entry.key]

        self._forget = forget

    def of(self, node: _N, make: Callable[[_N], _T]) -> _T:
        """The fact about `node`, made by `make(node)` when it is first asked for."""
        number = id(node)
        return self[number] if number in self else self.add(node, make(node))

    def add(self, node: object, fact: _T) -> _T:
        """Keep a fact as long as `node` lives; gives the fact."""
        number = id(node)
        if number not in self._entries:
            entry = self._entries[number] = _Entry(node, self._forget)
            entry.key = number
        self[number] = fact
        return fact
