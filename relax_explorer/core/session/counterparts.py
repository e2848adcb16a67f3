"""Finds for each value of one recorded run its counterpart in another run.

Equal values are paired first: passes rename, number, fuse and lower bindings, but keep most values. Between such pairs the
values that differ are paired: by provenance, else by name, else by operation and shape, else by shape, always in order.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from relax_explorer.core.exec.interrupt import Interrupt, polled
from relax_explorer.core.exec.values import UNKNOWN, Shape, Value, kind_of
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.session.binding_matches import base_name, common_run
from relax_explorer.core.session.difference import Tolerance, distance, is_float, leaves_of, same_bits
from relax_explorer.core.session.recording import Production

Origins = Mapping[e.Binding, e.Binding]
"""Maps a binding of the new side to the binding that it came from, where that is recorded."""

_NEAR = 8  # candidates with nearly equal sums that are compared element by element


@dataclass(frozen=True, slots=True)
class Match:
    """Production `a` of the old run and `b` of the new; None where one side has none. `by` tells how they were matched."""

    a: int | None
    b: int | None
    equal: bool
    by: str


def counterparts(
    a: Sequence[Production],
    b: Sequence[Production],
    links: Origins,
    tolerance: Tolerance,
    interrupt: Interrupt | None = None,
) -> list[Match]:
    """The matches in the order of the new run, then the values that only the old run has. Raises Cancelled if it was interrupted."""
    known = _Labels(tolerance)
    labels = (
        [known.label(item.value) for item in polled(a, interrupt)],
        [known.label(item.value) for item in polled(b, interrupt)],
    )
    origins = _origins(a, links)
    search = _Search(a, b, interrupt)
    for by, key in _EQUAL:
        search.refine(f"{by}, equal value", key, origins, labels)
    search.moved(labels)
    for by, key in _UNEQUAL:
        search.refine(by, key, origins, None)
    search.copied(labels[1])
    found = search.found
    copies = _Copies(a, labels[0])
    matches = [
        Match(found[j][0], j, labels[0][found[j][0]] == labels[1][j], found[j][1])
        if j in found
        else copies.match(j, b[j], labels[1][j])
        for j in range(len(b))
    ]
    taken = {i for i, _ in found.values()}
    return [*matches, *[Match(i, None, False, "") for i in range(len(a)) if i not in taken]]


def _origins(a: Iterable[Production], links: Origins) -> Callable[[Production], Hashable]:
    known = {item.binding for item in a}

    def origin(item: Production) -> Hashable:
        source = links.get(item.binding, item.binding)
        return id(source) if source in known else None

    return origin


def _form(value: Value) -> Hashable:
    return tuple([getattr(part, "shape", kind_of(part)) for part in leaves_of(value)])


def _form_and_dtype(value: Value) -> Hashable:
    return _form(value), tuple([str(getattr(part, "dtype", "")) for part in leaves_of(value)])


_Part = Callable[[Production, Callable[[Production], Hashable]], Hashable]


def _named(item: Production, origin: Callable[[Production], Hashable]) -> Hashable:
    return (item.function, item.name) if item.name != "_" else None


def _operated(item: Production, origin: Callable[[Production], Hashable]) -> Hashable:
    return base_name(item.operation), _form(item.value)


_EQUAL: tuple[tuple[str, _Part], ...] = (
    ("provenance", lambda item, origin: origin(item)),
    ("name", _named),
    ("operation", lambda item, origin: base_name(item.operation)),
    ("order", lambda item, origin: ()),
)
_UNEQUAL: tuple[tuple[str, _Part], ...] = (
    ("provenance", lambda item, origin: origin(item)),
    ("name", _named),
    ("operation", _operated),
    ("order", lambda item, origin: _form_and_dtype(item.value)),
)


class _Search:
    """Matches found so far. Those in order are anchors: later ones are searched between them."""

    def __init__(self, a: Sequence[Production], b: Sequence[Production], interrupt: Interrupt | None) -> None:
        self.a, self.b, self.interrupt = a, b, interrupt
        self.found: dict[int, tuple[int, str]] = {}  # number in b → number in a, and how
        self.taken: set[int] = set()
        self.anchors: list[tuple[int, int]] = []

    def refine(
        self,
        by: str,
        part: _Part,
        origin: Callable[[Production], Hashable],
        labels: tuple[Sequence[Hashable], Sequence[Hashable]] | None,
    ) -> None:
        """Match in each gap between anchors what has equal keys, in order."""
        borders = [(-1, -1), *self.anchors, (len(self.a), len(self.b))]
        for (i0, j0), (i1, j1) in polled(pairwise(borders), self.interrupt):
            left = [i for i in range(i0 + 1, i1) if i not in self.taken]
            right = [j for j in range(j0 + 1, j1) if j not in self.found]
            if not left or not right:
                continue
            keys = [
                [
                    _joined(part(items[n], origin), None if labels is None else labels[side][n])
                    for n in numbers
                ]
                for side, (items, numbers) in enumerate(((self.a, left), (self.b, right)))
            ]
            for x, y in common_run(keys[0], keys[1]):
                self._add(left[x], right[y], by)
        self.anchors.sort()

    def moved(self, labels: tuple[Sequence[Hashable], Sequence[Hashable]]) -> None:
        """Match equal values of one operation that are not in order. They are no anchors."""
        places: dict[Hashable, list[int]] = {}
        for i in range(len(self.a) - 1, -1, -1):
            if i not in self.taken:
                places.setdefault((base_name(self.a[i].operation), labels[0][i]), []).append(i)
        for j in polled(range(len(self.b)), self.interrupt):
            waiting = (
                places.get((base_name(self.b[j].operation), labels[1][j])) if j not in self.found else None
            )
            if waiting:
                i = waiting.pop()
                self.found[j] = i, "moved, equal value"
                self.taken.add(i)

    def copied(self, labels: Sequence[Hashable]) -> None:
        """Match a value too whose copy is matched: a lowered program fills a tensor, and names it afterwards."""
        for j, (i, _) in list(self.found.items()):
            item = self.b[j]
            if item.operation in ("copy", "Tuple") and len(item.reads) == 1 and item.reads[0] >= 0:
                source = item.reads[0]
                if source not in self.found and labels[source] == labels[j]:
                    self.found[source] = i, "copy"

    def _add(self, i: int, j: int, by: str) -> None:
        self.found[j] = i, by
        self.taken.add(i)
        self.anchors.append((i, j))


class _Copies:
    """Matches bindings that only pass on a value. The old run may have the value without such a binding."""

    def __init__(self, a: Sequence[Production], labels: Sequence[Hashable]) -> None:
        self._labels = labels
        self._by_label = {label: i for i, label in reversed(list(enumerate(labels)))}
        self._by_name = {(item.function, item.name): i for i, item in enumerate(a)}

    def match(self, j: int, item: Production, label: Hashable) -> Match:
        """The match of a value without a counterpart of its own: the variable of its name, else an equal value."""
        if item.operation not in ("copy", "TupleGetItem"):
            return Match(None, j, False, "")
        named = self._by_name.get((item.function, item.name))
        if named is not None:
            return Match(named, j, self._labels[named] == label, "name")
        equal = self._by_label.get(label)
        return Match(equal, j, equal is not None, "" if equal is None else "copy, equal value")


def _joined(key: Hashable, label: Hashable) -> Hashable:
    """A key that equals no other when its part is unknown."""
    return object() if key is None else (key, label)


class _Labels:
    """Gives equal values equal labels. Floats are equal within the tolerance."""

    def __init__(self, tolerance: Tolerance) -> None:
        self._tolerance = tolerance
        self._exact: dict[Hashable, int] = {}
        self._groups: dict[Hashable, list[tuple[float, int, Any]]] = {}
        self._weights: dict[int, Array] = {}
        self._floats: dict[int, list[tuple[Array, int]]] = {}  # arrays with labels, by their bytes
        self._count = 0

    def label(self, value: Value) -> Hashable:
        """The label of a value: a number for each of its parts."""
        return tuple(map(self._leaf, leaves_of(value)))

    def _leaf(self, value: Value) -> Hashable:
        if value is UNKNOWN:
            return object()
        if isinstance(value, (np.ndarray, np.generic)):
            array = np.asarray(value)
            if is_float(array.dtype):
                return self._float(array)
            return self._named((array.dtype.str, array.shape, array.tobytes()))
        if isinstance(value, Shape):
            return self._named(("shape", tuple(value)))
        return self._named((type(value).__name__, str(value)))

    def _named(self, key: Hashable) -> int:
        number = self._exact.get(key)
        if number is None:
            number = self._exact[key] = self._new()
        return number

    def _new(self) -> int:
        self._count += 1
        return self._count

    def _float(self, array: Array) -> int:
        """The label of a tensor. Equal bytes have one label."""
        same = self._floats.setdefault(hash(array.tobytes()), [])
        for known, number in same:
            if known.dtype == array.dtype and known.shape == array.shape and same_bits(known, array):
                return number
        same.append((array, self._near(array)))
        return same[-1][1]

    def _near(self, array: Array) -> int:
        """The label of the known tensor that is equal within the tolerance, else a new one.

        Weighted sums of equal tensors are near each other, so only tensors with near sums are compared.
        """
        numbers = array.astype(np.float64)
        allowed = self._tolerance.allowed(numbers, array.dtype)
        finite = np.where(np.isfinite(numbers), numbers, 0.0).reshape(-1)
        weights = self._weights.get(finite.size)
        if weights is None:
            weights = self._weights[finite.size] = _weights(finite.size)
        total, margin = float(weights @ finite), float(weights @ allowed.reshape(-1)) * 1.01
        group = self._groups.setdefault((array.dtype.name, array.shape), [])
        place = bisect_left(group, (total - margin,))
        near = group[place : bisect_left(group, (total + margin, math.inf), place)]
        near.sort(key=lambda entry: abs(entry[0] - total))
        for _, number, known in near[:_NEAR]:
            if not (distance(known.astype(np.float64), numbers) > allowed).any():
                return number
        number = self._new()
        insort(group, (total, number, array))
        return number


def _weights(size: int) -> Array:
    """Fixed weights between 0.5 and 1.5. They tell a tensor from its permutations."""
    return 0.5 + (np.arange(1, size + 1) * 0.6180339887498949) % 1.0
