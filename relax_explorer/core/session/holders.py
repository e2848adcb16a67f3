"""Tells of a value that only one of two runs made which value of the other run holds its computation.

A value inside of a call belongs to the result of the call. Outside of calls, fusion is known by its effect: every reader of the value
ends in one value that both runs made, and the two are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from relax_explorer.core.session.counterparts import Match
from relax_explorer.core.session.recording import Recording


class Holders:
    """The holders of the values that only run `a` made, found when the first one is asked for."""

    def __init__(self, a: Recording, b: Recording, matches: Sequence[Match]) -> None:
        self._a, self._b, self._matches = a, b, matches

    def of(self, number: int) -> str:
        """The name of the value of B that holds value `number` of A; empty if there is none."""
        holder = self._found.get(number)
        return "" if holder is None else self._b.productions[holder].name

    @cached_property
    def _found(self) -> dict[int, int]:
        """The numbers of A that B lacks, with the number of B that holds them."""
        paired = {m.a: m for m in self._matches if m.a is not None and m.b is not None}
        found = self._in_calls(paired)
        ends: dict[
            int, set[int | None]
        ] = {}  # where the readers of a value end in B; None for none or for an unequal one
        for item in reversed(self._a.productions):
            match = paired.get(item.number)
            if match is not None:
                mine: set[int | None] = {match.b if match.equal else None}
            else:
                mine = ends.get(item.number, {None})
                holder = next(iter(mine))
                if len(mine) == 1 and holder is not None:
                    found.setdefault(item.number, holder)
            for read in item.reads:
                ends.setdefault(read, set()).update(mine)
        return found

    def _in_calls(self, paired: dict[int, Match]) -> dict[int, int]:
        """The values that a call made on the way to a result which both runs have."""
        found: dict[int, int] = {}
        around: list[
            tuple[int, int | None]
        ] = []  # the calls around a value: depth and number of the result in B
        for item in reversed(self._a.productions):
            while around and around[-1][0] >= item.depth:
                around.pop()
            holder = next((b for _, b in reversed(around) if b is not None), None)
            match = paired.get(item.number)
            if match is None and holder is not None:
                found[item.number] = holder
            around.append((item.depth, None if match is None else match.b))
        return found
