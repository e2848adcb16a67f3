"""The memory of a function over its bindings: which tensors and storages live when, how much that is at most, and who holds it.

A step is a binding, numbered from 1 in the order of the text. A value has memory from the step that makes it to the last one that reads it
or a view of it; what the function returns stays to the end. Parameters and constants have memory of their caller, and count apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from relax_explorer.core.arith.polynomial import Polynomial, combine
from relax_explorer.core.cost import amounts
from relax_explorer.core.cost.amounts import PROBE, Lengths
from relax_explorer.core.ir import expr as e

Span = tuple[int, int]
"""The first and the last step of a life."""


@dataclass(frozen=True, slots=True)
class Life:
    """Memory with its size in bytes, None if that is not known, and the spans of steps in which it is needed.

    A span is left out where the other branch of an If runs. `storage` is the one that a tensor lies in, or "". A choice is what one of two
    branches has made, behind the If.
    """

    name: str
    size: Polynomial | None
    spans: tuple[Span, ...]
    storage: str = ""
    is_choice: bool = False


class Peak(NamedTuple):
    """The step at which most memory is held, its amount and value, and what holds it, the largest first."""

    step: int
    amount: Polynomial
    value: int | None
    holders: tuple[Life, ...]


@dataclass(frozen=True)
class MemoryUse:
    """The memory of one call of a function.

    `owners` have memory of their own: storages, and tensors outside of storages. `tensors` are all tensors that the function makes.
    `inside` is what called functions need at a step beyond their results.
    """

    function: str
    bindings: tuple[e.Binding, ...]
    owners: tuple[Life, ...]
    tensors: tuple[Life, ...]
    inside: tuple[tuple[int, Polynomial], ...]
    scratch: tuple[tuple[int, Polynomial], ...]  # of kernels while they run
    inputs: Polynomial
    parameters: Polynomial
    unknown: tuple[str, ...] = ()

    @property
    def is_planned(self) -> bool:
        """True if tensors lie in storages."""
        return any(tensor.storage for tensor in self.tensors)

    @property
    def allocated(self) -> Polynomial:
        """The bytes of all tensors, each with memory of its own: those of a program without a plan that frees nothing."""
        return _sum(self.tensors)

    @property
    def owned(self) -> Polynomial:
        """The bytes of all storages and of tensors outside of them: those of the planned program if it frees nothing."""
        return _sum(self.owners)

    @cached_property
    def held(self) -> tuple[Polynomial, ...]:
        """The bytes that are held at each step."""
        return _over_steps(self.owners, self.inside, len(self.bindings))

    @cached_property
    def alive(self) -> tuple[Polynomial, ...]:
        """The bytes of the tensors that are needed at each step: no plan holds less."""
        return _over_steps(self.tensors, self.inside, len(self.bindings))

    def peak(self, lengths: Lengths) -> Peak:
        """The step at which most is held for these lengths; variables without one count as `PROBE`."""
        return _peak(self.held, self.owners, lengths)

    def bound(self, lengths: Lengths) -> Peak:
        """The step at which most is needed."""
        return _peak(self.alive, self.tensors, lengths)


def _sum(lives: Iterable[Life]) -> Polynomial:
    return amounts.total([life.size for life in lives if life.size is not None and not life.is_choice])


def _over_steps(
    lives: Sequence[Life], inside: Iterable[tuple[int, Polynomial]], steps: int
) -> tuple[Polynomial, ...]:
    """The sum of the lives at each step."""
    changes: list[Polynomial] = [{} for _ in range(steps + 2)]
    for life in lives:
        for first, last in life.spans if life.size else ():
            assert life.size is not None  # as the loop asks
            changes[first] = combine(changes[first], life.size)
            changes[last + 1] = combine(changes[last + 1], life.size, -1)
    for step, more in inside:
        changes[step] = combine(changes[step], more)
        changes[step + 1] = combine(changes[step + 1], more, -1)
    found: list[Polynomial] = []
    now: Polynomial = {}
    for step in range(1, steps + 1):
        now = combine(now, changes[step]) if changes[step] else now
        found.append(now)
    return tuple(found)


def _peak(held: Sequence[Polynomial], lives: Sequence[Life], lengths: Lengths) -> Peak:
    if not held:
        return Peak(0, {}, 0, ())
    chosen = probed(held, lengths)
    values: dict[int, int] = {}  # of amounts that are one object over several steps
    for poly in held:
        if id(poly) not in values:
            values[id(poly)] = amounts.value(poly, chosen) or 0
    number = max(range(len(held)), key=lambda index: values[id(held[index])])
    step = number + 1
    holders = [
        life for life in lives if life.size and any(first <= step <= last for first, last in life.spans)
    ]
    holders.sort(key=lambda life: -(amounts.value(life.size or {}, chosen) or 0))
    return Peak(step, held[number], amounts.value(held[number], lengths), tuple(holders))


def probed(polys: Iterable[Polynomial], lengths: Lengths) -> Lengths:
    """The given lengths, and `PROBE` for each other variable of some amounts."""
    names = {var for poly in polys for var in amounts.variables(poly)}
    return dict.fromkeys(names, PROBE) | dict(lengths)
