"""The paged cache of keys and values of a language model, as a reference model: what it holds, and how full it is.

Its sequences are identified by numbers. A forward pass names the sequences and their numbers of new tokens, and then attends in
each layer. Keys and values are kept for each sequence, in tables that a fork shares. Pages are only counted, as TVM counts them:
a fork shares full pages, and copies the last one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from relax_explorer.core.exec.cache_rows import Array, Rows, empty_rows
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.values import Value
from relax_explorer.core.tir.stmt import PrimFunc


class Refused(Exception):
    """A call that the state of a cache does not allow."""


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What never changes in a cache."""

    most_sequences: int  # in one forward pass
    most_tokens: int  # in one forward pass
    pages: int
    page_size: int
    first_layer: int
    layers: int
    heads: int
    kv_heads: int
    key_size: int
    value_size: int
    rope: int  # NO_ROPE, ROPE, INLINE_ROPE
    dtype: Value
    rotate: PrimFunc | None  # the kernel that splits queries, keys and values, and rotates them

    @property
    def no_rows(self) -> tuple[tuple[Rows, Rows], ...]:
        """The keys and values of an empty sequence, for each layer."""
        sizes = (self.key_size, self.value_size)
        empty = [empty_rows((0, self.kv_heads, size), self.dtype) for size in sizes]
        return ((empty[0], empty[1]),) * self.layers


NO_ROPE, ROPE, INLINE_ROPE = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """The tokens of a sequence: how many, on which pages, and the keys and values of each layer."""

    length: int
    pages: tuple[int, ...]
    rows: tuple[tuple[Rows, Rows], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Forward:
    """A forward pass: its sequences, the lengths they had before, and the numbers of new tokens."""

    names: tuple[int, ...]
    before: tuple[int, ...]
    added: tuple[int, ...]

    @property
    def positions(self) -> Array:
        """The position of each new token in its sequence."""
        spans = [np.arange(start, start + n) for start, n in zip(self.before, self.added, strict=True)]
        return np.concatenate(spans).astype(np.int32) if spans else np.zeros(0, np.int32)

    @property
    def parts(self) -> list[tuple[int, int, int, int]]:
        """For each sequence its name, its length before, and the range of its tokens in the pass."""
        ends = list(accumulate(self.added))
        return [
            (name, start, end - n, end)
            for name, start, n, end in zip(self.names, self.before, self.added, ends, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class Pages:
    """The state of a paged cache."""

    sequences: dict[int, Sequence]
    forward: Forward | None = None
    next_page: int = 0

    def with_sequence(self, name: int, sequence: Sequence) -> Pages:
        """This state with another content of one sequence."""
        return replace(self, sequences={**self.sequences, name: sequence})


class PagedCache(Stateful):
    """A paged cache. Calls that it refuses leave it as it was."""

    __slots__ = ("layout",)
    state: Pages

    def __init__(self, layout: Layout) -> None:
        super().__init__(Pages({}))
        self.layout = layout

    def __repr__(self) -> str:
        count, size = len(self.state.sequences), self.layout.page_size
        tokens = f"{self.total} token{'s' * (self.total != 1)}"
        pages = f"{self.free} of {self.layout.pages} pages of {size} free"
        forward = ", in a forward pass" if self.state.forward is not None else ""
        return f"<paged kv cache of {count} sequence{'s' * (count != 1)}, {tokens}, {pages}{forward}>"

    # -- what it holds --------------------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """The number of tokens of all sequences."""
        return sum(sequence.length for sequence in self.state.sequences.values())

    @property
    def free(self) -> int:
        """The number of free pages."""
        return _free(self.state, self.layout)

    def sequence(self, name: int) -> Sequence:
        """A sequence that exists."""
        found = self.state.sequences.get(name)
        if found is None:
            known = ", ".join(map(str, sorted(self.state.sequences))) or "none"
            raise Refused(f"sequence {name} is not in the cache; there are {known}")
        return found

    @property
    def forward(self) -> Forward:
        """The forward pass."""
        if self.state.forward is None:
            raise Refused("no forward pass was begun; call kv_state_begin_forward first")
        return self.state.forward

    # -- sequences ------------------------------------------------------------------------------------------------

    def add(self, name: int) -> None:
        """Add an empty sequence."""
        if name in self.state.sequences:
            raise Refused(f"sequence {name} is already in the cache")
        self.state = self.state.with_sequence(name, Sequence(0, (), self.layout.no_rows))

    def remove(self, name: int) -> None:
        """Remove a sequence."""
        self.sequence(name)
        rest = {key: value for key, value in self.state.sequences.items() if key != name}
        self.state = replace(self.state, sequences=rest)

    def fork(self, parent: int, child: int, position: int) -> None:
        """Add a sequence that starts with the first tokens of another one (-1: all)."""
        own = self.sequence(parent)
        if child in self.state.sequences:
            raise Refused(f"sequence {child} is already in the cache")
        length = own.length if position == -1 else position
        if not 0 <= length <= own.length:
            raise Refused(f"sequence {parent} has {own.length} tokens, a fork at {position} is asked for")
        full, rest = divmod(length, self.layout.page_size)
        pages, next_page = own.pages[:full], self.state.next_page
        if rest:
            _need_pages(self, 1)
            pages, next_page = (*pages, next_page), next_page + 1
        state = self.state.with_sequence(child, Sequence(length, pages, _cut(own.rows, length)))
        self.state = replace(state, next_page=next_page)

    def pop(self, name: int, count: int) -> None:
        """Drop the last tokens of a sequence."""
        own = self.sequence(name)
        if not 0 <= count <= own.length:
            raise Refused(f"sequence {name} has {own.length} tokens, {count} can't be dropped")
        length = own.length - count
        pages, next_page = own.pages[: -(-length // self.layout.page_size)], self.state.next_page
        if (
            length % self.layout.page_size and _holders(self.state)[pages[-1]] > 1
        ):  # others keep the full page
            _need_pages(self, 1)
            pages, next_page = (*pages[:-1], next_page), next_page + 1
        state = self.state.with_sequence(name, Sequence(length, pages, _cut(own.rows, length)))
        self.state = replace(state, next_page=next_page)

    def clear(self) -> None:
        """Remove all sequences."""
        self.state = Pages({})

    # -- a forward pass -------------------------------------------------------------------------------------------

    def begin(self, names: tuple[int, ...], added: tuple[int, ...]) -> None:
        """Begin a forward pass: sequences, and their numbers of new tokens."""
        layout = self.layout
        if len(names) != len(added):
            raise Refused(f"{len(names)} sequences have {len(added)} numbers of tokens")
        if len(set(names)) < len(names):
            raise Refused("a sequence is named twice in a forward pass")
        if min(added, default=1) < 1:
            raise Refused("each sequence of a forward pass needs a new token")
        if len(names) > layout.most_sequences:
            raise Refused(f"{len(names)} sequences are over the maximal batch size, {layout.most_sequences}")
        if sum(added) > layout.most_tokens:
            raise Refused(f"{sum(added)} tokens are over the prefill chunk size, {layout.most_tokens}")
        before = tuple(self.sequence(name).length for name in names)
        state = self.state
        for name, count in zip(names, added, strict=True):
            state = _extended(state, layout, name, count)
        if _free(state, layout) < 0:
            raise Refused(f"{self.free} pages are free, the forward pass needs {-_free(state, layout)} more")
        self.state = replace(state, forward=Forward(names, before, added))

    def end(self) -> None:
        """End the forward pass, if there is one."""
        self.state = replace(self.state, forward=None)

    def store(self, layer: int, keys: Array, values: Array) -> None:
        """Store the keys and values of the new tokens in a layer."""
        sequences = dict(self.state.sequences)
        for name, start, first, last in self.forward.parts:
            own = self.sequence(name)
            new = tuple(
                _placed(rows, start, data[first:last])
                for rows, data in zip(own.rows[layer], (keys, values), strict=True)
            )
            rows = (*own.rows[:layer], (new[0], new[1]), *own.rows[layer + 1 :])
            sequences[name] = replace(own, rows=rows)
        self.state = replace(self.state, sequences=sequences)


def _extended(state: Pages, layout: Layout, name: int, count: int) -> Pages:
    """A state with more tokens in a sequence. Only full pages are shared, so its last one can be filled."""
    own = state.sequences[name]
    length, pages, fresh = own.length + count, list(own.pages), state.next_page
    missing = -(-length // layout.page_size) - len(pages)
    pages += range(fresh, fresh + missing)
    sequence = Sequence(length, tuple(pages), own.rows)
    return replace(state.with_sequence(name, sequence), next_page=fresh + missing)


def _holders(state: Pages) -> Counter[int]:
    """For each page the number of sequences that hold it."""
    return Counter(page for sequence in state.sequences.values() for page in sequence.pages)


def _free(state: Pages, layout: Layout) -> int:
    return layout.pages - len(_holders(state))


def _need_pages(cache: PagedCache, count: int) -> None:
    if cache.free < count:
        raise Refused(f"the cache is full: {cache.free} of its {cache.layout.pages} pages are free")


def _cut(rows: tuple[tuple[Rows, Rows], ...], length: int) -> tuple[tuple[Rows, Rows], ...]:
    return tuple((k.first(min(k.count, length)), v.first(min(v.count, length))) for k, v in rows)


def _placed(rows: Rows, start: int, data: Array) -> Rows:
    """Rows with `data` from `start` on. What was never stored is 0."""
    if rows.count < start:
        rows = rows.added(np.zeros((start - rows.count, *data.shape[1:]), data.dtype))
    return rows.first(start).added(data)
