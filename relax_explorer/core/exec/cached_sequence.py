"""A sequence of a paged cache: its tokens and pages, its window, and its tree of tokens that are not accepted yet.

A window keeps the first tokens (the sinks) and the last ones. A sequence that outgrows it drops the tokens after the sinks, and gives
back pages without tokens. Pages that were shared with another sequence at a fork never slide, so their tokens are sinks too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from relax_explorer.core.exec.cache_rows import Array, Rows
from relax_explorer.core.exec.need import Refused


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A window: the number of tokens that it keeps, and which of them are sinks. Places count from the own pages of the sequence."""

    size: int
    sinks: int
    pinned: int = 0  # the sinks, once a token was dropped
    offset: int = 0  # the place of the first token that may be dropped


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """The tokens of a sequence: how many, on which pages, and the keys and values of each layer."""

    length: int
    pages: tuple[int, ...]
    rows: tuple[tuple[Rows, Rows], ...]
    start: int = 0  # the first token on pages of its own
    window: Window | None = None
    dropped: int = 0  # tokens after the sinks which this forward pass still attends to, and later ones don't
    tree: tuple[
        int, ...
    ] = ()  # the parents of the last tokens, as long as they are not accepted (-1: the tokens before)

    @property
    def has_slid(self) -> bool:
        """True if its tokens don't lie one after the other, because others were dropped."""
        return self.window is not None and (self.window.pinned > 0 or self.window.offset > 0)

    @property
    def sinks(self) -> int:
        """The number of first tokens that stay."""
        return self.start + (self.window.sinks if self.window is not None else 0)

    def settled(self) -> Sequence:
        """This sequence without the rows of dropped tokens."""
        if not self.dropped:
            return self
        rows = tuple((self._kept(keys), self._kept(values)) for keys, values in self.rows)
        return replace(self, rows=rows, dropped=0)

    def _kept(self, rows: Rows) -> Rows:
        end = self.sinks + self.dropped
        return rows.first(min(rows.count, self.sinks)).added(rows.data[end:])

    def first(self, length: int, pages: tuple[int, ...], start: int) -> Sequence:
        """The first tokens, on other pages."""
        return replace(self, length=length, pages=pages, start=start, rows=cut(self.rows, length))

    def grown(self, count: int, page_size: int, fresh: int) -> tuple[Sequence, int]:
        """This sequence with room for more tokens, and the next fresh page."""
        window = self.window or Window(0, 0)
        places = self.length - self.start - window.pinned + window.offset + count
        missing = -(-places // page_size) - (len(self.pages) - self.start // page_size)
        pages = (*self.pages, *range(fresh, fresh + missing))
        return replace(self, length=self.length + count, pages=pages), fresh + missing

    def slid(self, name: int, page_size: int) -> Sequence:
        """This sequence after dropping the tokens that are over its window, and pages without tokens."""
        window = self.window
        if window is None or self.length <= window.size:
            return self
        if window.size < self.start + window.sinks:
            text = f"the first {self.start} tokens of sequence {name} were shared and can't slide"
            raise Refused(f"{text}; its window keeps {window.size} tokens")
        over = self.length - window.size
        offset = max(window.offset, window.sinks) + over
        pinned_pages = -(-window.sinks // page_size)
        gone, first = max(offset // page_size - pinned_pages, 0), self.start // page_size + pinned_pages
        return replace(
            self,
            length=window.size,
            pages=self.pages[:first] + self.pages[first + gone :],
            window=replace(window, pinned=window.sinks, offset=offset - gone * page_size),
            dropped=over,
        )

    def accepted(self, leaf: int, page_size: int) -> Sequence:
        """This sequence with the tokens from the root of its tree to a leaf (-1: none), and without the others."""
        base, path = self.length - len(self.tree), [*ancestors(self.tree, leaf)][::-1]
        length, rows = base + len(path), self.rows
        if path != list(range(len(path))):
            places = base + np.array(path)
            rows = tuple((_moved(keys, base, places), _moved(values, base, places)) for keys, values in rows)
        pages = self.pages[: -(-length // page_size)]
        return replace(self, length=length, pages=pages, rows=cut(rows, length), tree=())


def cut(rows: tuple[tuple[Rows, Rows], ...], length: int) -> tuple[tuple[Rows, Rows], ...]:
    """At most the first `length` keys and values of each layer."""
    return tuple((k.first(min(k.count, length)), v.first(min(v.count, length))) for k, v in rows)


def placed(rows: Rows, start: int, data: Array) -> Rows:
    """Rows with `data` from `start` on. What was never stored is 0."""
    if rows.count < start:
        rows = rows.added(np.zeros((start - rows.count, *data.shape[1:]), data.dtype))
    return rows.first(start).added(data)


def _moved(rows: Rows, start: int, places: Array) -> Rows:
    """Rows with those at `places` from `start` on. A layer without the last tokens stays as it is."""
    return rows.first(start).added(rows.data[places]) if rows.count > places.max() else rows


def ancestors(parents: tuple[int, ...], node: int) -> list[int]:
    """A node of a tree (-1: none), its parent, and so on up to the root."""
    path = []
    while node != -1:
        path.append(node)
        node = parents[node]
    return path
