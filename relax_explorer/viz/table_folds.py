"""What can be folded in a table: functions, dataflow blocks, bodies of branches and nested functions, layers, and checks of arguments.

A function in virtual machine form opens with a check of each argument. These lines are folded until they are asked for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import NamedTuple

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.layer_names import layer_by_binding, numbered_layer
from relax_explorer.core.program.module import IRModule

# -- outline ---------------------------------------------------------------------------------------------------------
# The places of a function in the order of its text: heads, blocks, bindings, branches, nested functions.


class Place(NamedTuple):
    """What a row shows: its kind (head, block, binding, else, result, return, kernel, text, blank), its node, and where.

    A table makes one for each of its rows at once, hence a tuple: a dataclass takes four times as long.
    """

    kind: str
    node: e.Binding | e.Function | e.BindingBlock | e.Expr | object | None
    function: str
    depth: int = 0
    number: int = 0  # of a binding, from 1
    text: str = ""  # of a line of a kernel


def outline(name: str, fn: e.Function) -> Iterator[Place]:
    """The places of a function, in the order of its text; nested functions and branches to any depth."""
    numbers = count(1)
    yield Place("head", fn, name)
    stack = [_places(name, fn.body, 0, "return", numbers)]
    while stack:
        place = next(stack[-1], None)
        if place is None:
            stack.pop()
            continue
        yield place
        binding = place.node
        if place.kind == "binding" and isinstance(binding, e.VarBinding):
            value = binding.value
            if type(value) is e.Function:
                stack.append(_places(name, value.body, place.depth + 1, "return", numbers))
            elif type(value) is e.If:
                stack.append(_branches(place, value, numbers))


def _places(name: str, body: e.Expr, depth: int, last: str, numbers: Iterator[int]) -> Iterator[Place]:
    """The places of a body, without those of inner bodies."""
    if isinstance(body, e.SeqExpr):
        for block in body.blocks:
            if type(block) is e.DataflowBlock:
                yield Place("block", block, name, depth)
            for binding in block.bindings:
                yield Place("binding", binding, name, depth, next(numbers))
    yield Place(last, body, name, depth)


def _branches(place: Place, value: e.If, numbers: Iterator[int]) -> Iterator[Place]:
    yield from _places(place.function, value.true_branch, place.depth + 1, "result", numbers)
    yield Place("else", place.node, place.function, place.depth)
    yield from _places(place.function, value.false_branch, place.depth + 1, "result", numbers)


# -- table folds -----------------------------------------------------------------------------------------------------


class FoldKey(NamedTuple):
    """The name of a fold in every stage: the number `ordinal` of its kind in a function."""

    function: str
    kind: str  # function, block, body, layer or checks
    ordinal: int


CHECKS = "checks"
LAYER = "layer"
LEAST_CHECKS = 3  # lines that are folded together
_BEFORE = 3  # rows between the head of a function and its checks: the shape heap, a dataflow block
_CHECKING = re.compile(r"vm\.builtin\.(check_\w+_info|match_shape|match_prim_value)")


@dataclass(frozen=True, slots=True)
class Folded:
    """Which folds are closed: of checks all but those in `turned`, of other folds those in `turned`."""

    turned: frozenset[FoldKey] = frozenset()

    def __contains__(self, key: FoldKey) -> bool:
        return (key in self.turned) != (key.kind == CHECKS)

    @property
    def hides_code(self) -> bool:
        """True if more than checks is closed."""
        return any(key in self for key in self.turned)

    def opened(self, keys: Collection[FoldKey]) -> Folded:
        """With some folds open."""
        return Folded(self.turned ^ {key for key in keys if key in self})

    def toggled(self, key: FoldKey) -> Folded:
        """With a fold closed, or open again."""
        return Folded(self.turned ^ {key})


@dataclass(frozen=True, slots=True)
class Fold:
    """The rows behind row `head` up to row `end`, which hold this number of bindings."""

    key: FoldKey
    head: int
    end: int
    bindings: int
    name: str = ""  # of a layer

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


def check_folds(places: Sequence[Place], heads: Iterable[int]) -> list[Fold]:
    """The checks that open functions; `heads` are the rows of the functions."""
    found = []
    for head in heads:
        opening = range(head + 1, min(head + 2 + _BEFORE, len(places)))
        first = next((n for n in opening if is_check(places[n].node)), None)
        if first is None:
            continue
        end = next((n for n in range(first, len(places)) if not is_check(places[n].node)), len(places))
        if end - first >= LEAST_CHECKS:
            found.append(Fold(FoldKey(places[head].function, CHECKS, 0), first, end, end - first - 1))
    return found


def layer_folds(places: Sequence[Place], module: IRModule) -> list[Fold]:
    """The numbered layers of a model, as the names of weights tell them: bindings that follow each other in one.

    All parts of a layer in a function have one key, so that they fold together.
    """
    found: list[Fold] = []
    names: dict[tuple[str, str], int] = {}  # by function and layer, in the order in which they begin
    for (function, _, layer), rows in groupby(enumerate(places), _layer_at(module)):
        first, *others = [row for row, _ in rows]
        if layer and others:
            key = FoldKey(function, LAYER, names.setdefault((function, layer), len(names)))
            found.append(Fold(key, first, others[-1] + 1, 1 + len(others), layer))
    return found


def _layer_at(module: IRModule) -> Callable[[tuple[int, Place]], tuple[str, int, str]]:
    layers: dict[str, dict[int, str]] = {}  # of each binding that has one, by function and identity

    def at(numbered: tuple[int, Place]) -> tuple[str, int, str]:
        place = numbered[1]
        if place.kind != "binding":
            return place.function, place.depth, ""
        if place.function not in layers:
            named = layer_by_binding(module.relax_functions[place.function])
            layers[place.function] = {id(binding): numbered_layer(name) for binding, name in named.items()}
        return place.function, place.depth, layers[place.function].get(id(place.node), "")

    return at


def is_check(node: object) -> bool:
    """True for a call of the machine's builtins that compares an argument with its StructInfo."""
    value = node.value if type(node) is e.VarBinding else None
    op = value.op if type(value) is e.Call else None
    return type(op) is e.ExternFunc and _CHECKING.fullmatch(op.name) is not None
