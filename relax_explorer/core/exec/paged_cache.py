"""The paged cache of keys and values of a language model, as a reference model: what it holds, and how full it is.

Its sequences are identified by numbers. A forward pass names the sequences and their numbers of new tokens, and then attends in
each layer. Keys and values are kept for each sequence, in tables that a fork shares. Pages are only counted, as TVM counts them:
a fork shares full pages, and copies the last one.

A sequence can have a window, so that it keeps its first and last tokens only. Layers can have windows of their own: they see only the
last tokens, but keep all. New tokens can form a tree; each sees its ancestors, and one path of the tree is accepted later.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from relax_explorer.core.exec.faults import Refused
from relax_explorer.core.exec.kv_cache import Array, Rows, empty_rows
from relax_explorer.core.exec.memory import Stateful
from relax_explorer.core.exec.values import Shape, Value
from relax_explorer.core.tir.stmt import PrimFunc

# -- cached sequence -------------------------------------------------------------------------------------------------
# A sequence of a paged cache: its tokens and pages, its window, and its tree of tokens that are not accepted yet.
#
# A window keeps the first tokens (the sinks) and the last ones. A sequence that outgrows it drops the tokens after
# the sinks, and gives back pages without tokens. Pages that were shared with another sequence at a fork never slide,
# so their tokens are sinks too.


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


# -- forward pass ----------------------------------------------------------------------------------------------------
# A forward pass over sequences of a paged cache: its new tokens, their positions, and the tokens that each attends
# to.


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


# -- paged cache -----------------------------------------------------------------------------------------------------


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
    slides: bool  # sequences can have windows
    windows: tuple[int | None, ...]  # for each layer the number of tokens that it sees (None: all)
    latent: tuple[bool, ...]  # for each layer if it keeps one vector for each token, without values

    @property
    def has_sliding_layers(self) -> bool:
        """True if a layer sees the last tokens only."""
        return any(size is not None for size in self.windows)

    @property
    def no_rows(self) -> tuple[tuple[Rows, Rows], ...]:
        """The keys and values of an empty sequence, for each layer."""

        def empty(heads: int, size: int) -> Rows:
            return empty_rows((0, heads, size), self.dtype)

        heads, sizes = self.kv_heads, (self.key_size, self.value_size)
        return tuple(
            (empty(1, sizes[0]), empty(1, 0)) if latent else (empty(heads, sizes[0]), empty(heads, sizes[1]))
            for latent in self.latent
        )


NO_ROPE, ROPE, INLINE_ROPE = 0, 1, 2
LARGEST_TREE = 256
"""The number of tokens that TVM allows in a tree."""


@dataclass(frozen=True, slots=True, eq=False)
class Pages:
    """The state of a paged cache."""

    sequences: dict[int, Sequence]
    forward: Forward | None = None
    next_page: int = 0
    last: tuple[int, ...] = ()  # the sequences of the last forward pass

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

    def parts(self) -> tuple[tuple[str, Array], ...]:
        """The keys and values of each sequence and layer; of layers with one vector for each token only these."""
        first = self.layout.first_layer
        return tuple(
            [
                (f"sequence {name}, layer {first + layer}, {word}", rows.data)
                for name, own in sorted(self.state.sequences.items())
                for layer, pair in enumerate(own.rows)
                for word, rows in zip(("keys", "values"), pair, strict=True)
                if not (word == "values" and self.layout.latent[layer])
            ]
        )

    def seen(self) -> Value:
        """For each sequence its layers, each with the rows of keys and of values."""
        return {
            name: tuple([(keys.data, values.data) for keys, values in own.rows])
            for name, own in sorted(self.state.sequences.items())
        }

    @property
    def pages(self) -> dict[int, Shape]:
        """The pages of each sequence."""
        return {name: Shape(own.pages) for name, own in sorted(self.state.sequences.items())}

    @property
    def sequences(self) -> Shape:
        """The numbers of the sequences."""
        return Shape(sorted(self.state.sequences))

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
        own, size = self.sequence(parent).settled(), self.layout.page_size
        if child in self.state.sequences:
            raise Refused(f"sequence {child} is already in the cache")
        length = own.length if position == -1 else position
        _check_fork(self.layout, own, parent, length)
        full, rest = divmod(length, size)
        pages, next_page = own.pages[:full], self.state.next_page
        if rest:
            _need_pages(self, 1)
            pages, next_page = (*pages, next_page), next_page + 1
        forked = Sequence(length, pages, cut(own.rows, length), full * size)
        state = self.state.with_sequence(parent, _shared(own, length, size)).with_sequence(child, forked)
        self.state = replace(state, next_page=next_page)

    def pop(self, name: int, count: int) -> None:
        """Drop the last tokens of a sequence."""
        own, size = self.sequence(name).settled(), self.layout.page_size
        if not 0 <= count <= own.length:
            raise Refused(f"sequence {name} has {own.length} tokens, {count} can't be dropped")
        if own.tree:
            raise Refused(_not_committed(name))
        if count and own.has_slid:
            raise Refused(f"sequence {name} has slid over its window, so its last tokens can't be dropped")
        length, holders = own.length - count, _holders(self.state)
        pages, next_page = own.pages[: -(-length // size)], self.state.next_page
        if length % size and holders[pages[-1]] > 1:  # others keep the full page
            _need_pages(self, 1)
            pages, next_page = (*pages[:-1], next_page), next_page + 1
        start = min(own.start, length // size * size)
        while start and start < own.start and holders[pages[start // size - 1]] == 1:
            start -= size
        state = self.state.with_sequence(name, own.first(length, pages, start))
        self.state = replace(state, next_page=next_page)

    def limit(self, name: int, window: int, sinks: int) -> None:
        """Set the window of a sequence: how many tokens it keeps, and how many of them are its first ones."""
        own = self.sequence(name)
        if not self.layout.slides and not self.layout.has_sliding_layers:
            raise Refused("the cache was created without sliding windows")
        if own.window is not None:
            raise Refused(f"sequence {name} already has a window of {own.window.size} tokens")
        limited = replace(own, window=Window(window, max(sinks - own.start, 0)))
        self.state = self.state.with_sequence(name, limited)

    def clear(self) -> None:
        """Remove all sequences."""
        self.state = Pages({})

    # -- a forward pass -------------------------------------------------------------------------------------------

    def begin(self, names: tuple[int, ...], added: tuple[int, ...], parents: tuple[int, ...] | None) -> None:
        """Begin a forward pass: sequences, their numbers of new tokens, and the parents of tokens that form trees."""
        _check_forward(self.layout, names, added)
        owners = [self.sequence(name).settled() for name in names]
        trees = _trees(self.layout, names, owners, added, parents)
        state, parts, least, end = self.state, [], self.free, 0
        for name, own, count, tree in zip(names, owners, added, trees, strict=True):
            parts.append(Part(name, own.length, end, end + count, tree))
            grown, fresh = own.grown(count, self.layout.page_size, state.next_page)
            sequence = replace(grown, tree=tree)
            if self.layout.slides:
                sequence = sequence.slid(name, self.layout.page_size)
            state = replace(state.with_sequence(name, sequence), next_page=fresh)
            least, end = min(least, _free(state, self.layout)), end + count
        if least < 0:
            raise Refused(f"{self.free} pages are free, the forward pass needs {-least} more")
        self.state = replace(state, forward=Forward(tuple(parts)), last=names)

    def end(self) -> None:
        """End the forward pass, if there is one."""
        self.state = replace(self.state, forward=None)

    def store(self, layer: int, keys: Array, values: Array) -> None:
        """Store the keys and values of the new tokens in a layer."""
        sequences = dict(self.state.sequences)
        for part in self.forward.parts:
            own = self.sequence(part.name)
            new = tuple(
                placed(rows, part.before, data[part.first : part.last])
                for rows, data in zip(own.rows[layer], (keys, values), strict=True)
            )
            rows = (*own.rows[:layer], (new[0], new[1]), *own.rows[layer + 1 :])
            sequences[part.name] = replace(own, rows=rows)
        self.state = replace(self.state, sequences=sequences)

    def commit(self, names: tuple[int, ...], leaves: tuple[int, ...]) -> None:
        """End the trees of sequences: keep the tokens from the root to a leaf (-1: none), and drop the others."""
        if len(names) != len(leaves):
            raise Refused(f"{len(names)} sequences have {len(leaves)} leaves")
        if names != self.state.last:
            last = ", ".join(map(str, self.state.last)) or "none"
            raise Refused(f"the sequences must be those of the last forward pass, in its order: {last}")
        state = replace(self.state, forward=None)
        for name, leaf in zip(names, leaves, strict=True):
            own = self.sequence(name)
            if not own.tree:
                raise Refused(f"sequence {name} has no tree of tokens to accept")
            if not -1 <= leaf < len(own.tree):
                raise Refused(
                    f"the tree of sequence {name} has {len(own.tree)} tokens, {leaf} is not one of them"
                )
            state = state.with_sequence(name, own.accepted(leaf, self.layout.page_size))
        self.state = state


def _check_forward(layout: Layout, names: tuple[int, ...], added: tuple[int, ...]) -> None:
    """Refuse a forward pass that no cache of this layout can make."""
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


def _not_committed(name: int) -> str:
    call = "attention_kv_cache_commit_accepted_token_tree_nodes"
    return f"the tree of sequence {name} has no accepted tokens yet; call {call} first"


def _trees(
    layout: Layout,
    names: tuple[int, ...],
    owners: list[Sequence],
    added: tuple[int, ...],
    parents: tuple[int, ...] | None,
) -> list[tuple[int, ...]]:
    """For each sequence the parents of its tokens that are not accepted, the new ones included."""
    if parents is None:
        for name, own in zip(names, owners, strict=True):
            if own.tree:
                raise Refused(_not_committed(name))
        return [()] * len(names)
    if layout.slides or layout.has_sliding_layers:
        raise Refused("a cache with sliding windows takes no trees of tokens")
    if any(layout.latent):
        raise Refused("a cache with latent attention takes no trees of tokens")
    if layout.rope == INLINE_ROPE:
        raise Refused("a cache that rotates in its attention (rope_mode 2) takes no trees of tokens")
    if len(parents) != sum(added):
        raise Refused(f"{sum(added)} tokens have {len(parents)} parents")
    ends = list(accumulate(added))
    trees = [own.tree + parents[end - n : end] for own, n, end in zip(owners, added, ends, strict=True)]
    for name, tree in zip(names, trees, strict=True):
        _check_tree(name, tree)
    return trees


def _check_tree(name: int, tree: tuple[int, ...]) -> None:
    """Refuse parents that form no tree."""
    if len(tree) > LARGEST_TREE:
        raise Refused(f"the tree of sequence {name} has {len(tree)} tokens, the limit is {LARGEST_TREE}")
    for node, parent in enumerate(tree):
        if not -1 <= parent < node:
            raise Refused(f"token {node} in the tree of sequence {name} has the parent {parent}")


def _check_fork(layout: Layout, own: Sequence, name: int, length: int) -> None:
    """Refuse a fork that a sequence does not allow."""
    if not 0 <= length <= own.length:
        raise Refused(f"sequence {name} has {own.length} tokens, a fork at {length} is asked for")
    if own.tree:
        raise Refused(_not_committed(name))
    if own.window is not None and length > own.sinks:
        raise Refused(f"sequence {name} has a window, so it can be forked at {own.sinks} at most")
    if own.has_slid and length - own.start >= layout.page_size:
        text = f"sequence {name} has slid over its window, so the pages from {own.start} on can't be shared"
        raise Refused(text)
    if layout.has_sliding_layers and length >= layout.page_size:
        text = "a fork that shares a page can't be run here in a cache with sliding layers"
        raise Refused(f"{text}: TVM applies the window to each shared part")


def _shared(own: Sequence, length: int, page_size: int) -> Sequence:
    """A sequence after a fork at `length`. The full pages before it are not its own any more."""
    if length == own.length and length % page_size == 0:
        return replace(own, start=length)
    moved = max(length - own.start, 0) // page_size * page_size
    window = own.window
    if window is not None:
        window = replace(window, sinks=window.sinks - moved)
    return replace(own, start=own.start + moved, window=window)


def _holders(state: Pages) -> Counter[int]:
    """For each page the number of sequences that hold it."""
    return Counter(page for sequence in state.sequences.values() for page in sequence.pages)


def _free(state: Pages, layout: Layout) -> int:
    return layout.pages - len(_holders(state))


def _need_pages(cache: PagedCache, count: int) -> None:
    if cache.free < count:
        raise Refused(f"the cache is full: {cache.free} of its {cache.layout.pages} pages are free")
