"""The values of ranks beside each other, as rows of a table, as lines, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir.prim_text import tuple_text
from relax_explorer.core.session.difference import Delta
from relax_explorer.core.session.ranked import APART, EQUAL, PARTS, Ranked, RankRow, relation
from relax_explorer.viz.lexer import Piece
from relax_explorer.viz.pair_table import distance_number
from relax_explorer.viz.short import short_dtype, short_value
from relax_explorer.viz.tables import Column, Columns
from relax_explorer.viz.value_table import inline_value
from relax_explorer.viz.visible import columns, fit, visible

WIDEST = 44
"""Cells of a value, where lines may be long."""
LEAST = 12
"""Cells of a value at least."""
_NAME, _TOGETHER = 14, 14


@dataclass(frozen=True, slots=True)
class RankTable:
    """The columns for some ranks in some cells; without a limit each value has room."""

    count: int
    is_compared: bool
    width: int = 0

    @property
    def value_width(self) -> int:
        """The cells of each value."""
        if not self.width:
            return WIDEST
        left = (self.width - _NAME - _TOGETHER - 2) // self.count - 1
        return min(max(left, LEAST), WIDEST)

    @property
    def columns(self) -> Columns:
        """The columns, with the roles name, distance, and value."""
        told = "together" if self.is_compared else "ranks"
        values = [Column(f"rank {number}", self.value_width, role="value") for number in range(self.count)]
        return Columns(
            [Column("binding", _NAME, role="name"), Column(told, _TOGETHER, role="distance"), *values]
        )

    def texts(self, row: RankRow) -> tuple[str, ...]:
        """The name, how the values belong together, and each value."""
        shown = [cell_text(value, self.value_width) for value in row.parts]
        return visible(row.name, 60), self.together(row), *shown

    def together(self, row: RankRow) -> str:
        """How the values make that of the program that is not divided; without one, whether they are equal."""
        if not self.is_compared:
            return "equal" if _are_equal(row) else "differ"
        return row.relation.text if row.relation is not None else ""

    def row(self, row: RankRow) -> str:
        """A row as text."""
        return self.columns.line(*self.texts(row))

    def pieces(self, row: RankRow) -> list[Piece]:
        """The row with roles: what parts stands out, and what has nothing to be compared with is muted."""
        is_alone = self.is_compared and row.relation is None
        distance = "breakpoint" if row.is_apart else "muted"
        return self.columns.pieces(
            *self.texts(row), name="muted" if is_alone else "text", distance=distance, value="text"
        )

    def glyph(self, row: RankRow) -> str:
        """`≠` for what parts, `=` for what makes the whole value, `?` for what has nothing to be compared with."""
        if row.is_apart:
            return "≠"
        if not self.is_compared:
            return "=" if _are_equal(row) else " "
        return "=" if row.relation is not None else "?"


def cell_text(value: Value, width: int) -> str:
    """An array in some cells: without its mean, then without its shape, where that has no room. A number that is cut is marked."""
    whole = short_value(value, 10 * WIDEST)
    range_ = whole.partition(", mean ")[0]
    bare = range_.removeprefix(f"{tuple_text(value.shape)} {short_dtype(value.dtype.name)} ")
    return next((text for text in (whole, range_, bare) if columns(text) <= width), fit(bare, width))


def _are_equal(row: RankRow) -> bool:
    found = relation(row.parts[0], row.parts)
    return found is not None and found.kind == EQUAL


def reason(apart: Delta) -> str:
    """Where and how far a value of a rank is wrong."""
    if not apart.left:
        return apart.reason
    place = f"[{', '.join(map(str, apart.index))}]" if apart.index else "it"
    return f"{place} is {apart.right}, not {apart.left}; {apart.count} of {apart.size} elements differ, by at most {apart.max_abs:.3g}"


def verdict(found: Ranked) -> Iterator[str]:
    """What all ranks together came to, in one or two lines."""
    count, is_compared = found.ranks[0].meetings, found.whole is not None
    met = f"{len(found.ranks)} ranks met {'once' if count == 1 else f'{count} times'}"
    first = found.apart
    if found.failed:
        yield f"{met}; rank {found.failed[0][0]} stopped"
    elif first is not None and first.relation is not None:
        yield f"{met}; {first.name} is the first value that parts from the undivided program"
        yield f"rank {first.relation.rank}: {reason(first.relation.delta)}"
    elif is_compared:
        compared = sum([row.relation is not None for row in found.rows])
        yield f"{met}; all {compared} values of the same name make those of the undivided program"
    else:
        yield f"{met}; --unsharded FILE compares them with the undivided program"


def detail(row: RankRow) -> list[str]:
    """The values of a row in lines: each rank with its distribution, the whole value, and how far they are apart."""
    lines = [f" rank {number}  {_look(value)}" for number, value in enumerate(row.parts)]
    if row.whole is not None:
        lines.append(f" whole   {_look(row.whole)}")
    if row.relation is None:
        told = (
            "no value of this name and dtype in the undivided program"
            if row.whole is None
            else "shapes do not fit"
        )
        return [*lines, f" {told}"]
    if row.relation.kind != APART:
        return [*lines, f" {row.relation.text}"]
    far = distance_number(row.relation.delta.max_abs)
    return [*lines, f" apart, max|Δ| {far}: rank {row.relation.rank}, {reason(row.relation.delta)}"]


def _look(value: Value) -> str:
    return f"{tuple_text(value.shape)} {value.dtype}  {inline_value(value)}"


def data(found: Ranked) -> dict[str, object]:
    """The values as JSON."""
    return {
        "ranks": len(found.ranks),
        "meetings": found.ranks[0].meetings,
        "bindings": [_row_data(row) for row in found.rows],
        "apart": None if found.apart is None else found.apart.name,
        "failed": [number for number, _ in found.failed],
    }


def _row_data(row: RankRow) -> dict[str, object]:
    told: dict[str, object] = {"name": row.name, "ranks": [short_value(value, WIDEST) for value in row.parts]}
    if row.relation is not None:
        told["relation"] = row.relation.kind
        if row.relation.kind == APART:
            told |= {"rank": row.relation.rank, "reason": reason(row.relation.delta)}
        elif row.relation.kind == PARTS:
            told["axis"] = row.relation.axis
    return told


def outputs(found: Ranked) -> Sequence[str]:
    """What each rank printed."""
    return [f"rank {number}: {line}" for number, run in enumerate(found.ranks) for line in run.output]
