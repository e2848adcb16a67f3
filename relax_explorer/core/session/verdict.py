"""Why runs are equal or not: judgements, and verdicts on pairs of runs with their values pair by pair and the first pair that differs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from relax_explorer.core.exec.interrupt import Interrupt, polled
from relax_explorer.core.exec.values import UNKNOWN, Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ops.kit.ndarrays import Array
from relax_explorer.core.session.binding_matches import base_name
from relax_explorer.core.session.counterparts import Match
from relax_explorer.core.session.difference import (
    Delta,
    Tolerance,
    delta,
    distance,
    is_float,
    leaves_of,
    scale_of,
)
from relax_explorer.core.session.recording import Production, Recording, differing
from relax_explorer.core.shown import Readable
from relax_explorer.core.syntax.node_text import binding_text

# -- growth ----------------------------------------------------------------------------------------------------------
# Where rounding grows: the values of a run beside those of its shadow, binding by binding.


_LEAST = 4.0  # growth that is worth a word
_MOST = 3  # kinds of operations that are named
_UNIT = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
_SUMS = ("add", "subtract", "sum", "mean", "matmul", "conv", "dense", "einsum")


@dataclass(frozen=True, slots=True)
class Growth:
    """A kind of operation at which the relative error grows: the binding with the greatest growth, and how many there are.

    `cancels` if terms of a sum cancel each other.
    """

    name: str
    operation: str
    factor: float
    count: int
    cancels: bool


def growth(run: Recording, shadow: Recording) -> tuple[Growth, ...]:
    """The operations at which rounding grows most on the way to the results, the greatest first.

    The relative error of a value is that of its worst element: an element near 0 is compared with a tenth of the median one, as by
    the fixed bound. Values that exist in one run only, because rounding decided a branch, are not compared.
    """
    if len(run.productions) != len(shadow.productions):
        return ()
    errors: dict[int, float] = {}
    found: dict[str, list[tuple[float, str, str]]] = {}
    wanted = _before(run)
    for item, wide in zip(run.productions, shadow.productions, strict=True):
        error = relative(item.value, wide.value)
        if error is None or item.number not in wanted:
            continue
        errors[item.number] = error
        before = max([errors[read] for read in item.reads if read in errors], default=0.0)
        factor = error / max(before, _unit(item.value))
        if factor >= _LEAST and item.operation not in ("copy", "TupleGetItem"):
            found.setdefault(base_name(item.operation), []).append((factor, item.name, item.operation))
    kinds = [(max(items), len(items)) for items in found.values()]
    kinds.sort(reverse=True)
    return tuple(
        [
            Growth(name, operation, factor, count, _adds(operation))
            for (factor, name, operation), count in kinds[:_MOST]
        ]
    )


def relative(value: Value, wide: Value) -> float | None:
    """The relative error of the worst element; None for values without floats or of other shapes."""
    found = []
    for a, b in zip(leaves_of(value), leaves_of(wide), strict=False):
        if (
            isinstance(a, np.ndarray)
            and isinstance(b, np.ndarray)
            and a.shape == b.shape
            and is_float(a.dtype)
        ):
            found.append(_relative(a.astype(np.float64), b.astype(np.float64)))
    return max(found, default=None)


def _relative(a: Array, b: Array) -> float:
    magnitudes = np.abs(b)
    finite = np.isfinite(magnitudes) & np.isfinite(a)
    if not finite.any():
        return 0.0
    return float((distance(a, b)[finite] / (magnitudes[finite] + 0.1 * scale_of(magnitudes))).max())


def _unit(value: Value) -> float:
    return max(
        [_UNIT.get(getattr(part, "dtype", np.dtype("f8")).name, 2.0**-53) for part in leaves_of(value)],
        default=1.0,
    )


def _adds(operation: str) -> bool:
    return any(word in operation for word in _SUMS) and "softmax" not in operation


def _before(run: Recording) -> set[int]:
    """The values that the results depend on."""
    seen: set[int] = set()
    stack: list[int] = [*run.ends_in]
    while stack:
        number = stack.pop()
        if number >= 0 and number not in seen:
            seen.add(number)
            stack.extend(run.productions[number].reads)
    return seen or set(_all(run))


def _all(run: Recording) -> Iterable[int]:
    return range(len(run.productions))


# -- judgement -------------------------------------------------------------------------------------------------------


class Decider(StrEnum):
    """What decided."""

    BITS = "the same bits"
    GIVEN = "the given bound"
    BOUND = "the bound"
    SHADOW = "float64"
    RANDOM = "random rounding"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Why two runs are equal or not (`is_fault`), and what decided.

    `in_wide` is their greatest distance in float64, `explained` the one that rounding explains, there or in random rounding.
    `flipped` are discrete results that rounding changed, `wrong` those that it does not explain. `off` tells how far each program
    is from its results in float64, `no_shadow` why there is no such run, as a part of a sentence. `grows` are the operations at
    which rounding grows, if the results are out of the fixed bound.
    """

    by: Decider
    is_fault: bool = False
    in_wide: float | None = None
    explained: float | None = None
    flipped: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    off: tuple[float, float] | None = None
    no_shadow: str = ""
    grows: tuple[Growth, ...] = ()

    @property
    def weight(self) -> tuple[bool, bool, int]:
        """Orders judgements: faults are greatest, then what is out of the bound, then what took the most work."""
        return self.is_fault, bool(self.grows or self.flipped), list(Decider).index(self.by)


# -- wrong rows ------------------------------------------------------------------------------------------------------
# Where two caches differ: the sequence and layer, and the first row.


def wrong_row(a: Production, b: Production, tolerance: Tolerance) -> str:
    """The first place where the contents of two caches differ: `row 3`, or `sequence 0, layer 1, keys, row 3`.

    Empty for values that are no caches, and for caches that hold different numbers of arrays.
    """
    left, right = list(leaves_of(a.value)), list(leaves_of(b.value))
    if not a.parts or a.parts != b.parts or not len(left) == len(right) == len(a.parts):
        return ""
    for part, x, y in zip(a.parts, left, right, strict=True):
        apart = delta(x, y, tolerance)
        if not apart.equal:
            row = f"row {apart.index[0]}" if apart.index else f"{len(x)} rows against {len(y)}"
            return f"{part}, {row}" if part else row
    return ""


# -- holders ---------------------------------------------------------------------------------------------------------
# Tells of a value that only one of two runs made which value of the other run holds its computation.
# A value inside of a call belongs to the result of the call. Outside of calls, fusion is known by its effect: every
# reader of the value ends in one value that both runs made, and the two are equal.


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


# -- verdict ---------------------------------------------------------------------------------------------------------


OTHER_LINES = "they print different lines"


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a pair: the function, the variable, its operation, its binding as text, and its line in its file (0: none).

    `stale` are operands that something overwrote after they were made, each with its writer. `shape` is that of an array.
    `call` is the number of the call of a file, from 1, and `place` that of the binding in its function.
    """

    function: str
    name: str
    operation: str = ""
    text: str = ""
    line: int = 0
    stale: tuple[str, ...] = ()
    shape: tuple[int, ...] | None = None
    call: int = 0
    place: int = 0


@dataclass(frozen=True, slots=True)
class Pairing:
    """A value of A beside its counterpart of B. `by` tells how they were matched.

    For a value that only A has, `within` names the value of B whose computation holds it, if there is one. `in_wide` is the distance
    of the values in float64, where it is known: it decides, because that of the values themselves may be rounding. `row` is the first
    place in a cache where they differ: `row 3`.
    """

    a: Side | None
    b: Side | None
    delta: Delta | None = None
    by: str = ""
    within: str = ""
    in_wide: Delta | None = None
    row: str = ""

    @property
    def equal(self) -> bool:
        """True if both sides have equal values, except for rounding."""
        apart = self.delta if self.in_wide is None else self.in_wide
        return apart is not None and apart.equal

    @property
    def is_rounding(self) -> bool:
        """True if the values are out of the bound, but equal in float64."""
        return self.equal and self.delta is not None and not self.delta.equal


@dataclass(frozen=True, slots=True, repr=False)
class Verdict(Readable):
    """The comparison of two runs on one sample.

    `reason` tells why they differ; it is empty if they are equal. `first` is the first binding where the values part, with
    the operands of B there. A run that stopped has its message in `stopped`. `kernel` are the lines in which the kernels called
    there differ, old ones with `-` and new ones with `+`, if both have one name. `judgement` tells what decided, if both runs ended.
    `call` is that of a file in which they part.
    """

    sample: str
    reason: str = ""
    results: tuple[tuple[str, Delta], ...] = ()
    stopped: tuple[str, str] = ("", "")
    first: Pairing | None = None
    operands: tuple[Pairing, ...] = ()
    pairs: tuple[Pairing, ...] = ()
    unkept: int = 0
    kernel: tuple[str, ...] = ()
    judgement: Judgement | None = None
    call: str = ""

    @property
    def equal(self) -> bool:
        """True if this sample shows no difference between the programs."""
        return not self.reason

    @property
    def unknown(self) -> bool:
        """True if one of the programs can't be run here, so that nothing tells whether they differ."""
        return self.equal and self.stopped[0] != self.stopped[1] and not all(self.stopped)

    @property
    def ran(self) -> bool:
        """True if both runs ended with a result."""
        return not any(self.stopped)


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Readable):
    """The comparison of two programs: one verdict for each sample."""

    a: str
    b: str
    function: str
    verdicts: tuple[Verdict, ...]

    @property
    def equal(self) -> bool:
        """True if no sample tells the programs apart."""
        return all(verdict.equal for verdict in self.verdicts)

    @property
    def ran(self) -> bool:
        """True if at least one sample has results on both sides, or a difference."""
        return any(verdict.ran or not verdict.equal for verdict in self.verdicts)

    @property
    def first(self) -> Verdict | None:
        """The first sample that tells the programs apart."""
        return next((verdict for verdict in self.verdicts if not verdict.equal), None)


def outcome(a: Recording, b: Recording, tolerance: Tolerance) -> tuple[str, tuple[tuple[str, Delta], ...]]:
    """Why two runs differ for their caller (empty if they do not), and the distances of their results.

    Compared are results, inputs that were overwritten, and printed lines. Two runs that both stop are equal, and nothing tells one
    that can't be made here from the other.
    """
    if a.not_here or b.not_here:
        return "", ()
    if a.failure is not None or b.failure is not None:
        if a.failure is not None and b.failure is not None:
            return f"A stops in call {a.call}, B in call {b.call}" if a.call != b.call else "", ()
        stopped = "A" if a.failure is not None else "B"
        return f"only {stopped} stops", ()
    left, right = list(leaves_of(a.result)), list(leaves_of(b.result))
    if len(left) != len(right):
        return f"{len(left)} results against {len(right)}", ()
    found = [(name, delta(x, y, tolerance)) for name, x, y in zip(b.labels, left, right, strict=True)]
    names = [*a.names, *[f"input {n}" for n in range(len(a.names), len(a.inputs))]]
    for name, x, y in zip(names, a.inputs, b.inputs, strict=False):
        apart = delta(x, y, tolerance)
        if not apart.equal:
            found.append((f"{name} (overwritten)", apart))
    wrong = [name for name, apart in found if not apart.equal]
    if not wrong and a.output != b.output:
        return OTHER_LINES, tuple(found)
    return differing(wrong) if wrong else "", tuple(found)


def plain_verdict(
    a: Recording, b: Recording, sample: str, reason: str, results: tuple[tuple[str, Delta], ...]
) -> Verdict:
    """A verdict without pairs."""
    a_stops, b_stops = ["" if run.failure is None else run.failure.message for run in (a, b)]
    return Verdict(sample, reason, results, (a_stops, b_stops), unkept=a.unkept + b.unkept)


@dataclass(frozen=True, slots=True, eq=False)
class WideRuns:
    """Two runs in float64, value by value those of a report, and the bound with which they are compared."""

    a: Recording
    b: Recording
    tolerance: Tolerance


class Report:
    """Turns matches of two runs into pairs with texts. `wide` are the same runs in float64."""

    def __init__(
        self, a: Recording, b: Recording, matches: Sequence[Match], tolerance: Tolerance,
        wide: WideRuns | None = None, interrupt: Interrupt | None = None,
    ) -> None:  # fmt: skip
        self.a, self.b, self.tolerance, self.wide, self.interrupt = a, b, tolerance, wide, interrupt
        self.matches = matches
        self.of_b = {match.b: match for match in matches if match.b is not None}
        self._within = Holders(a, b, matches)

    def pairing(self, match: Match) -> Pairing:
        """A match with the distance of its values."""
        left = None if match.a is None else self.a.productions[match.a]
        right = None if match.b is None else self.b.productions[match.b]
        sides = [None if item is None else side_of(item) for item in (left, right)]
        if left is None or right is None:
            within = "" if match.a is None else self._within.of(match.a)
            return Pairing(sides[0], sides[1], None, match.by, within)
        if left.value is UNKNOWN or right.value is UNKNOWN:  # beyond the memory limit
            return Pairing(sides[0], sides[1], None, "not kept")
        apart = delta(left.value, right.value, self.tolerance)
        in_wide = self._in_wide(left.number, right.number)
        pair = Pairing(sides[0], sides[1], apart, match.by, in_wide=in_wide)
        return pair if pair.equal else replace(pair, row=wrong_row(left, right, self.tolerance))

    def _in_wide(self, a: int, b: int) -> Delta | None:
        """The distance of two values in float64."""
        if self.wide is None:
            return None
        left, right = self.wide.a.productions[a].value, self.wide.b.productions[b].value
        return None if left is UNKNOWN or right is UNKNOWN else delta(left, right, self.wide.tolerance)

    def parted(self) -> tuple[Match, Pairing] | None:
        """The first values that differ among those that the wrong result depends on."""
        for number in polled(self._wrong(), self.interrupt):
            match = self.of_b[number]
            if match.a is None:
                match = self._namesake(number) or match
            pair = self.pairing(match)
            if pair.delta is not None and not pair.equal:
                return match, pair
        return None

    def _namesake(self, number: int) -> Match | None:
        """The value of A with the name, the operation and the form of a value that only B has: its own counterpart is another one."""
        item = self.b.productions[number]
        found = self._named.get((item.function, item.name, base_name(item.operation)))
        if found is None or item.name == "_" or np.shape(found.value) != np.shape(item.value):
            return None
        return Match(found.number, number, False, "name")

    @cached_property
    def _named(self) -> dict[tuple[str, str, str], Production]:
        items = reversed(self.a.productions)
        return {(item.function, item.name, base_name(item.operation)): item for item in items}

    def first(self) -> tuple[Pairing | None, tuple[Pairing, ...]]:
        """The first pair that differs among the values that the wrong result depends on, and its operands in B."""
        parted = self.parted()
        if parted is not None and parted[0].b is not None:
            return parted[1], self.operands(self.b.productions[parted[0].b].reads)
        wrong = self._wrong()
        for number in wrong:  # values that only B has
            if self.of_b[number].a is None and self.b.productions[number].value is not UNKNOWN:
                return self.pairing(self.of_b[number]), self.operands(self.b.productions[number].reads)
        if self.b.failure is not None and self.b.last is not None:
            return Pairing(None, _of_binding(self.b.last), None, "stopped"), self.operands(self.b.last_reads)
        if self.a.failure is not None and self.a.last is not None:
            return Pairing(_of_binding(self.a.last), None, None, "stopped"), ()
        return self._by_name() or self._results(), ()

    def _by_name(self) -> Pairing | None:
        """The first variable of B that had another value in A, if every wrong value has an equal one elsewhere in A."""
        named = {(item.function, item.name): item for item in reversed(self.a.productions)}
        for item in self.b.productions:
            before = named.get((item.function, item.name))
            if before is not None and not (apart := delta(before.value, item.value, self.tolerance)).equal:
                return Pairing(side_of(before), side_of(item), apart, "name")
        return None

    def _wrong(self) -> list[int]:
        """Numbers in B of the values without an equal one in A, from which the results or the stop of B follow."""
        start = self.b.last_reads if self.b.failure is not None else self.b.ends_in
        wrong = self._before(start)
        if wrong or self.b.failure is not None:
            return wrong
        inputs = set(self.b.names)
        found = [self.b.productions[n] for n, match in self.of_b.items() if not match.equal]
        return sorted([item.number for item in found if item.written and item.name in inputs])

    def _before(self, start: Iterable[int]) -> list[int]:
        seen: set[int] = set()
        stack = list(start)
        while stack:
            number = stack.pop()
            if number >= 0 and number not in seen and not self.of_b[number].equal:
                seen.add(number)
                stack.extend(self.b.productions[number].reads)
        return sorted(seen)

    def operands(self, reads: Sequence[int]) -> tuple[Pairing, ...]:
        """The operands of a value of B, as pairs."""
        found = []
        for number in polled(reads, self.interrupt):
            if number >= 0:
                found.append(self.pairing(self.of_b[number]))
            elif -number <= len(self.b.names):
                name = self.b.names[-number - 1]
                found.append(Pairing(Side("", name, "input"), Side("", name, "input"), Delta(), "input"))
        return tuple(found)

    def _results(self) -> Pairing | None:
        """The bindings that the results come from, when every value has an equal one but the results differ."""
        sides = [
            side_of(run.productions[run.ends_in[0]]) if run.ends_in and run.ends_in[0] >= 0 else None
            for run in (self.a, self.b)
        ]
        return Pairing(sides[0], sides[1], None, "result") if any(sides) else None


def side_of(item: Production) -> Side:
    """The names and texts of a recorded value."""
    side = _of_binding(item.binding)
    shape = item.value.shape if isinstance(item.value, np.ndarray) else None
    return Side(
        item.function, item.name, item.operation, side.text, side.line, item.stale, shape, item.call, item.place
    )  # fmt: skip


def _of_binding(binding: e.Binding) -> Side:
    span = binding.span
    name = binding.var.name if binding.var is not None else ""
    return Side("", name, "", binding_text(binding), span.line if span is not None else 0)
