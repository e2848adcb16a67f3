"""Pairs of values of two programs as rows of a table, and the words for their distance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log10

from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.session.compare import Pairing, Verdict
from relax_explorer.core.session.difference import Delta
from relax_explorer.core.session.verdict import Decider, Growth, Judgement
from relax_explorer.viz.lexer import Piece
from relax_explorer.viz.tables import Column, Columns, cell
from relax_explorer.viz.value_table import BLOCKS
from relax_explorer.viz.visible import visible

# -- judgement text --------------------------------------------------------------------------------------------------
# Judgements in words: what decided that two runs are equal or not.


_MUCH = 30.0
"""Times as far from float64 as another program: fewer are no news."""


def judgement_word(judgement: Judgement | None, is_within: bool) -> str:
    """`rounding` or `flipped` for results that are equal although they are out of the bound; else empty."""
    if judgement is None or judgement.is_fault:
        return ""
    if judgement.flipped:
        return "flipped"
    return "" if is_within else "rounding"


def judgement_text(judgement: Judgement, apart: Delta | None = None) -> str:
    """A judgement in one or two sentences. `apart` is the distance of the result that is out of the bound, if there is one."""
    if judgement.is_fault:
        return _fault_text(judgement)
    parts = []
    if judgement.flipped:
        parts.append(_flipped_text(judgement))
    elif apart is not None:
        parts.append(_rounding_text(judgement, apart))
    if judgement.no_shadow:
        parts.append(
            f"There is no run in float64: {visible(judgement.no_shadow, 200)}; {judgement.by} decided."
        )
    if apart is not None and judgement.off is not None and judgement.off[1] > _MUCH * judgement.off[0] > 0:
        times = _rounded(judgement.off[1] / judgement.off[0])
        parts.append(f"The second program is {times:,} times as far from float64 as the first.")
    if judgement.grows:
        parts.append(f"It grows {_joined(growth_text(item) for item in judgement.grows)}.")
    return " ".join(parts)


def _fault_text(judgement: Judgement) -> str:
    if judgement.by is Decider.SHADOW and judgement.in_wide is not None:
        explained = judgement.explained or 0.0
        return f"differs in float64, too: max |Δ| {judgement.in_wide:.2g}; rounding explains {explained:.2g}"
    if judgement.by is Decider.RANDOM:
        why = f" (no run in float64: {visible(judgement.no_shadow, 200)})" if judgement.no_shadow else ""
        return f"random rounding explains at most |Δ| {judgement.explained or 0.0:.2g}{why}"
    return f"{judgement.by} decided"


def _flipped_text(judgement: Judgement) -> str:
    names = ", ".join(visible(name, 60) for name in judgement.flipped)
    verb = "is" if len(judgement.flipped) == 1 else "are"
    if judgement.by is Decider.SHADOW:
        return f"{names} {verb} flipped by rounding: equal in float64."
    return f"{names} {verb} flipped by rounding: random rounding flips the same elements."


def _rounding_text(judgement: Judgement, apart: Delta) -> str:
    several = apart.count != 1
    counted = f"{apart.count:,} of {apart.size:,} elements differ{'' if several else 's'}"
    beyond = f"{counted} by more than the bound (max |Δ| {apart.max_abs:.2g})"
    if judgement.by is Decider.SHADOW:
        return f"{beyond}, but not in float64 ({judgement.in_wide or 0.0:.2g}): rounding."
    return f"{beyond}, but not by more than random rounding explains ({judgement.explained or 0.0:.2g})."


def growth_text(item: Growth) -> str:
    """Where rounding grows: `at add9 (a sum that cancels, ×1,900)`, or `in 3 softmax (×70 at p0)`."""
    factor = f"×{_rounded(item.factor):,}"
    name, operation = visible(item.name, 40), visible(item.operation, 40)
    if item.count > 1:
        return f"in {item.count} {operation} ({factor} at {name})"
    return f"at {name} ({'a sum that cancels' if item.cancels else operation}, {factor})"


def _rounded(factor: float) -> int:
    """A factor with two digits."""
    return int(float(f"{factor:.1e}"))


def _joined(texts: Iterable[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def deciders_text(judgements: Iterable[Judgement | None]) -> str:
    """What decided, and how often: `float64 (26), the same bits (13)`."""
    counts: dict[Decider, int] = {}
    for judgement in judgements:
        if judgement is not None:
            counts[judgement.by] = counts.get(judgement.by, 0) + 1
    return ", ".join(f"{decider} ({counts[decider]})" for decider in Decider if decider in counts)


# -- pair table ------------------------------------------------------------------------------------------------------


BAR = "▪"
_SHAPE, _DISTANCE = 14, 8  # cells of these columns


def distance_text(apart: Delta) -> str:
    """The distance of two values in one line."""
    if apart.equal:
        return f"equal, max |Δ| {apart.max_abs:.3g}" if apart.max_abs else "equal"
    if apart.reason != "values":
        return f"DIFFERENT, {visible(apart.reason, 200)}"
    index = ", ".join(map(str, apart.index))
    return (
        f"DIFFERENT, max |Δ| {apart.max_abs:.3g}, {apart.max_ulp} ulp, cos {apart.cosine:.6f}; "
        f"{apart.count} of {apart.size}, first [{index}]: A {apart.left}, B {apart.right}"
    )


def distance_lines(pair: Pairing) -> list[str]:
    """The distance of a pair, and that in float64 where it says something else."""
    if pair.delta is None:
        return []
    text, wide = distance_text(pair.delta), pair.in_wide
    if wide is None or wide.equal == pair.delta.equal:
        return [text]
    if wide.equal:
        return [text.replace("DIFFERENT", "rounding", 1), f"in float64: {distance_text(wide)}"]
    if wide.reason != "values":
        return [text, f"in float64: {distance_text(wide)}"]
    apart = f"max |Δ| {wide.max_abs:.3g}, relative {wide.relative:.2g}; {wide.count} of {wide.size}"
    return [text.replace("equal", "within the bound", 1), f"in float64: DIFFERENT, {apart}"]


def pair_names(pair: Pairing) -> str:
    """The name of both sides, or both names."""
    names = [visible(item.name, 40) if item is not None else "-" for item in (pair.a, pair.b)]
    return names[0] if names[0] == names[1] else f"{names[0]} | {names[1]}"


def pair_state(pair: Pairing) -> str:
    """How a pair compares, in one line."""
    if pair.delta is None:
        if pair.within:
            return f"inside {visible(pair.within, 40)}"
        return "only in A" if pair.b is None else "only in B" if pair.a is None else "not kept"
    return ", ".join(distance_lines(pair))


def pair_glyph(pair: Pairing) -> str:
    """`=` for equal values, `≠` for others, `a` or `b` for a value of one side, `?` for one that was not kept."""
    if pair.delta is None:
        return "a" if pair.b is None else "b" if pair.a is None else "?"
    return "=" if pair.equal else "≠"


@dataclass(frozen=True, slots=True)
class PairTable:
    """The columns of a table of pairs: the cells of each name, of the bar, and of what only wide tables show."""

    name: int
    bar: int
    operation: int = 0
    cosine: int = 0

    @staticmethod
    def of(width: int) -> PairTable:
        """The columns that fit in so many cells."""
        if width >= 150:
            return PairTable(30, 8, 24, 11)
        return PairTable(20, 8, 0, 11) if width >= 105 else PairTable(16 if width >= 74 else 13, 4)

    @property
    def columns(self) -> Columns:
        """The columns, with the roles name, dimension and distance."""
        sides = (
            Column("A", self.name, role="name"),
            Column("│", 1, role="name"),
            Column("B", self.name, role="name"),
        )
        what = (
            Column("shape", _SHAPE, role="dimension"),
            Column("operation", self.operation, role="dimension"),
        )
        size = Column("max|Δ|", _DISTANCE, ">", "distance"), Column("", self.bar, role="distance")
        return Columns(
            [*sides, *what, *size, Column("cos", self.cosine, role="distance"), Column("", role="distance")]
        )

    def texts(self, pair: Pairing) -> tuple[str, ...]:
        """Both names, the shape, the operation, the distance as a number and as a bar, the cosine, and how many elements differ."""
        a, b = [visible(item.name, 60) if item is not None else "·" for item in (pair.a, pair.b)]
        side, apart = pair.b or pair.a, _measured(pair)
        shape = "" if side is None or side.shape is None else tuple_text(side.shape)
        operation = "" if side is None else visible(side.operation.removeprefix("vm.builtin."), 60)
        what = (a, "│", b, shape, operation)
        if apart is None:
            return *what, "–", "", "", pair_state(pair)
        cosine = f"{apart.cosine:.6f}" if apart.max_abs else ""
        return (
            *what,
            distance_number(apart.max_abs),
            distance_bar(apart, self.bar),
            cosine,
            _state(pair, apart),
        )

    def row(self, pair: Pairing) -> str:
        """A pair as text."""
        return self.columns.line(*self.texts(pair))

    def pieces(self, pair: Pairing) -> list[Piece]:
        """The row with roles: what differs stands out, and what is equal, or has nothing to be compared with, is muted."""
        differs = pair.delta is not None and not pair.equal
        alone = pair.a is None or pair.b is None
        roles = {"name": "muted" if alone else "text", "distance": "breakpoint" if differs else "muted"}
        return self.columns.pieces(*self.texts(pair), **roles)

    def middle(self, pair: Pairing) -> str:
        """What stands between both programs: the distance as a number and as a bar, and how many elements differ."""
        apart = _measured(pair)
        if apart is None:
            return pair_state(pair)
        number = cell(distance_number(apart.max_abs), _DISTANCE, ">")
        return f"{number} {cell(distance_bar(apart, self.bar), self.bar)} {_state(pair, apart)}".rstrip()


def _measured(pair: Pairing) -> Delta | None:
    """The distance of two arrays of one shape."""
    apart = pair.delta
    return apart if apart is not None and (apart.equal or apart.reason == "values") else None


def _state(pair: Pairing, apart: Delta) -> str:
    """`rounding`, or how many elements differ, in float64 where that decides; empty for equal values, whose mark tells it."""
    if pair.equal:
        return "rounding" if pair.is_rounding else ""
    wrong = apart if pair.in_wide is None else pair.in_wide
    return f"{wrong.count} of {wrong.size}"


def distance_number(distance: float) -> str:
    """A distance in at most 8 cells: `0`, `1.79e−7`, `6.57e+12`."""
    text = f"{distance:.2e}" if distance and not 0.01 <= distance < 1000 else f"{distance:.3g}"
    return text.replace("e-0", "e−").replace("e-", "e−")


def distance_bar(apart: Delta, cells: int) -> str:
    """How large a distance is, on a logarithmic scale: `▪` at 1e-8, all cells from 1e-4 on; empty for none."""
    return BAR * _height(apart.max_abs, cells) if apart.max_abs else ""


def distances_line(pairs: Sequence[Pairing], width: int) -> str:
    """The distances along two runs: a block for each pair, higher on a logarithmic scale; the greatest one of neighbours in a long run.

    A pair without a distance is a space.
    """
    share = max(1, -(-len(pairs) // max(1, width)))
    groups = [pairs[n : n + share] for n in range(0, len(pairs), share)]
    return "".join(map(_block, groups))


def place_in_line(number: int, count: int, width: int) -> int:
    """The cell of a pair in `distances_line`."""
    return number // max(1, -(-count // max(1, width)))


def _block(pairs: Sequence[Pairing]) -> str:
    found = [pair.delta for pair in pairs if pair.delta is not None]
    if not found:
        return " "
    if any(not (apart.equal or apart.reason == "values") for apart in found):
        return BLOCKS[-1]
    most = max(apart.max_abs if apart.max_abs == apart.max_abs else inf for apart in found)
    return BLOCKS[_height(most, len(BLOCKS)) - 1] if most else BLOCKS[0]


def _height(distance: float, cells: int) -> int:
    """The share of some cells for a distance: one up to 1e-8, all from 1e-4 on, and for what is no finite number."""
    if not isfinite(distance):
        return cells
    return max(1, min(cells, round(cells * (log10(distance) + 8) / 4))) if distance > 0 else 1


def largest(pairs: Iterable[Pairing]) -> Pairing | None:
    """The pair of values that are furthest apart; None if all are the same."""
    apart = [pair for pair in pairs if pair.delta is not None and (pair.delta.max_abs or not pair.equal)]
    return max(
        apart, key=lambda pair: (not pair.equal, pair.delta.max_abs if pair.delta else 0.0), default=None
    )


def pair_detail(pair: Pairing) -> list[str]:
    """A pair in lines: the bindings of both sides, their distance, and how they were matched."""
    lines = []
    for letter, side in (("A", pair.a), ("B", pair.b)):
        if side is not None:
            lines.append(f" {letter} {visible(side.text or side.name, 300)}")
    by = f"   matched by {pair.by}" if pair.by else ""
    lines.append(f" {pair_state(pair)}{by}")
    side = pair.b or pair.a
    if side is not None and (pair.row or side.call):
        row = f"{pair.row} is wrong, " if pair.row else ""
        call = f" in call {side.call}" if side.call else ""
        lines.append(f" {row}binding {side.place} of {visible(side.function, 60)}{call}")
    if pair.b is not None:
        lines += [
            f" operand {visible(name, 100)} was overwritten before this binding reads it"
            for name in pair.b.stale
        ]
    return lines


def verdict_line(verdict: Verdict) -> str:
    """The verdict on a sample, and where the values part."""
    side = None if verdict.equal or verdict.first is None else verdict.first.b or verdict.first.a
    return verdict_word(verdict) + (f"; first in {visible(side.name, 60)}" if side is not None else "")


def verdict_word(verdict: Verdict) -> str:
    """The verdict on a sample in a few words."""
    if not verdict.equal:
        return f"DIFFERENT, {verdict.reason}"
    if verdict.judgement is not None and verdict.ran:
        word = judgement_word(verdict.judgement, all(apart.equal for _, apart in verdict.results))
        return {"": "equal", "rounding": "equal except for rounding", "flipped": "flipped by rounding"}[word]
    if verdict.ran:
        return "equal"
    a, b = verdict.stopped
    if a and b:
        return f"both stop: {visible(a, 200)}"
    return f"not compared, {'A' if a else 'B'} can't be run here: {visible(a or b, 200)}"
