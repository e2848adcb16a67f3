"""Lines that are made when they are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class LazyLines(Sequence[T]):
    """A number of lines, each made by a function of its number whenever it is asked for."""

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> T: ...
    @overload
    def __getitem__(self, number: slice) -> list[T]: ...
    def __getitem__(self, number: int | slice) -> T | list[T]:
        if isinstance(number, slice):
            return [self._make(n) for n in range(*number.indices(self._count))]
        if not -self._count <= number < self._count:
            raise IndexError(number)
        return self._make(number % self._count)
