"""What can be folded in a table: functions, dataflow blocks, and the bodies of branches and nested functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from relax_explorer.core.ir import expr as e
from relax_explorer.viz.outline import Place


class FoldKey(NamedTuple):
    """The name of a fold in every stage: the number `ordinal` of its kind in a function."""

    function: str
    kind: str  # function, block or body
    ordinal: int


@dataclass(frozen=True, slots=True)
class Fold:
    """The rows behind row `head` up to row `end`, which hold this number of bindings."""

    key: FoldKey
    head: int
    end: int
    bindings: int

    def hides(self, row: int) -> bool:
        """True if a closed fold hides a row."""
        return self.head < row < self.end


@dataclass(slots=True)
class _Open:
    """A fold whose end is not reached yet. `left` is the number of bindings that its block still has."""

    key: FoldKey
    head: int
    depth: int
    left: int = 0
    bindings: int = 0

    def ends_at(self, place: Place) -> bool:
        """True if a row is the first behind the fold."""
        if place.function != self.key.function:
            return True
        if self.key.kind == "function":
            return False
        is_beside = place.depth <= self.depth
        # The row `else` belongs to the binding above it, so that a block goes on behind it.
        return is_beside and (self.key.kind == "body" or (self.left == 0 and place.kind != "else"))


def folds(places: Sequence[Place]) -> list[Fold]:
    """The folds of a table, in the order of their heads. A fold with nothing to hide is left out."""
    found: list[Fold] = []
    stack: list[_Open] = []
    counts: Counter[tuple[str, str]] = Counter()
    for row, place in enumerate(places):
        while stack and stack[-1].ends_at(place):
            _close(stack, row, found)
        if place.kind == "binding":
            for item in stack:
                item.bindings += 1
            if stack and stack[-1].depth == place.depth:
                stack[-1].left -= 1
        kind = _kind(place)
        if kind:
            key = FoldKey(place.function, kind, counts[place.function, kind])
            counts[place.function, kind] += 1
            left = len(place.node.bindings) if isinstance(place.node, e.BindingBlock) else 0
            stack.append(_Open(key, row, place.depth, left))
    while stack:
        _close(stack, len(places), found)
    return sorted(found, key=lambda fold: fold.head)


def _close(stack: list[_Open], row: int, found: list[Fold]) -> None:
    item = stack.pop()
    if row > item.head + 1:
        found.append(Fold(item.key, item.head, row, item.bindings))


def _kind(place: Place) -> str:
    if place.kind in ("head", "block"):
        return "function" if place.kind == "head" else "block"
    value = place.node.value if isinstance(place.node, e.VarBinding) else None
    return "body" if isinstance(value, (e.If, e.Function)) and place.kind in ("binding", "else") else ""


def around(found: Iterable[Fold], row: int) -> list[Fold]:
    """The folds that would hide a row, the outermost first."""
    return [fold for fold in found if fold.hides(row)]
