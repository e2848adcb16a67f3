"""A forward pass over sequences of a paged cache: its new tokens, their positions, and the tokens that each attends to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relax_explorer.core.exec.cache_rows import Array
from relax_explorer.core.exec.cached_sequence import ancestors


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The tokens of one sequence in a forward pass."""

    name: int
    before: int  # the length of the sequence before the pass
    first: int  # the range of its tokens in the pass
    last: int
    tree: tuple[int, ...]  # the parents of the last tokens of the sequence, if they form a tree

    @property
    def base(self) -> int:
        """The number of tokens before the tree."""
        return self.before + self.last - self.first - len(self.tree)

    @property
    def positions(self) -> list[int]:
        """The position of each new token: in the sequence, or behind its ancestors."""
        end = self.before + self.last - self.first
        if not self.tree:
            return list(range(self.before, end))
        nodes = range(self.before - self.base, len(self.tree))
        return [self.base + len(ancestors(self.tree, node)) - 1 for node in nodes]

    def seen(self, window: int | None) -> Array:
        """Which tokens of the sequence (columns) each new token (rows) attends to, in a layer with a window.

        As in TVM, a window hides tokens of earlier passes only.
        """
        end = self.before + self.last - self.first
        keys, queries = np.arange(end)[None, :], np.arange(self.before, end)[:, None]
        seen: Array = keys <= queries
        if window is not None:
            seen &= (keys >= self.before) | (keys > queries - window)
        if self.tree:
            seen[:, self.base :] = False
            for row, token in enumerate(range(self.before, end)):
                seen[row, [self.base + node for node in ancestors(self.tree, token - self.base)]] = True
        return seen


@dataclass(frozen=True, slots=True, eq=False)
class Forward:
    """A forward pass: the parts of its sequences, one after the other."""

    parts: tuple[Part, ...]

    @property
    def stores_first(self) -> bool:
        """True if TVM stores new keys before it attends: each sequence has one new token, or a tree grows further."""
        return all(part.last - part.first == 1 for part in self.parts) or any(
            len(part.tree) > part.last - part.first for part in self.parts
        )

    @property
    def count(self) -> int:
        """The number of new tokens."""
        return self.parts[-1].last if self.parts else 0

    @property
    def positions(self) -> Array:
        """The position of each new token."""
        return np.array([n for part in self.parts for n in part.positions], np.int32)
