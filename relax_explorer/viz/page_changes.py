"""What each stage changed, by rows: which row of a stage was which of the stage before, and how they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relax_explorer.core.session.align import ModuleDiff
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.page_rows import Body
from relax_explorer.viz.table_diff import TableDiff, unit_node
from relax_explorer.viz.visible import visible

KINDS = ("same", "renamed", "added", "removed", "changed", "type", "kind", "moved")
"""The kinds of changes; the page has their numbers."""


@dataclass(frozen=True, slots=True)
class Side:
    """A stage with its table, in which some kernels show their lines, and its body."""

    table: IrTable
    body: Body

    def row(self, number: int) -> int:
        """The row of the body for a row of the table."""
        place = self.table.places[number]
        return (
            self.body.starts[place.function]
            + number
            - self.first(place.function)
            + self.is_open(place.function)
        )

    def is_open(self, function: str) -> bool:
        """True if the table has the lines of a kernel, which stand below a row of their own in the body."""
        return function in (self.table.opened or ()) and isinstance(
            self.table.stage.module.functions.get(function), PrimFunc
        )

    def first(self, function: str) -> int:
        """The first row of a function in the table."""
        return self.table.starts.get(
            function, 0
        )  # the text of a stage that could not be read is in no function


def opened_in(diff: ModuleDiff, *stages: Snapshot) -> frozenset[str]:
    """The kernels that changed: their lines are compared."""
    names = [fn.name for fn in diff.functions if fn.status == "changed"]
    return frozenset(
        [name for name in names if any(isinstance(at.module.functions.get(name), PrimFunc) for at in stages)]
    )


def changes_data(old: Side, new: Side, diff: ModuleDiff) -> dict[str, object]:
    """The changes for the page: runs of kind, old row, new row and length, and what was merged or split.

    -1 stands for a row that a side does not have.
    """
    table = TableDiff(old.table, new.table, diff)
    return {"runs": list(_runs(_pairs(table, old, new, diff))), "groups": list(_groups(table, old, new))}


def _pairs(table: TableDiff, old: Side, new: Side, diff: ModuleDiff) -> Iterator[tuple[int, int, int]]:
    """Kind, old row and new row of each row, in the order in which they are shown."""
    status = {fn.name: fn.status for fn in diff.functions}
    unpaired = _Unpaired(old, new, status)
    for number in range(len(table)):
        after, before, kind = table.in_new(number), table.in_old(number), table.kind(number)
        place = None if after is None else new.table.places[after]
        if place is not None and place.kind == "blank":
            continue
        if place is not None and new.is_open(place.function) and after == new.first(place.function):
            start = old.body.starts.get(place.function, -1)  # the row of the kernel, above its lines
            yield KINDS.index("changed" if start >= 0 else "added"), start, new.row(after) - 1
        if after is not None and before is None and kind != "added":
            found = unpaired.row(after)
            kind = "added" if found < 0 else kind
        else:
            found = -1 if before is None else old.row(before)
        yield KINDS.index(kind), found, -1 if after is None else new.row(after)
        if place is not None and place.kind == "kernel":
            lines = len(new.table.lines_of(place.function))
            both = found >= 0 and len(old.table.lines_of(place.function)) == lines
            for line in range(1, lines + 1):
                yield (
                    KINDS.index("same" if both else "added"),
                    found + line if both else -1,
                    new.row(after or 0) + line,
                )


class _Unpaired:
    """Old rows of rows that no pair of a difference names: those of unchanged functions, and heads, blocks and returns."""

    def __init__(self, old: Side, new: Side, status: dict[str, str]) -> None:
        self.old, self.new, self.status = old, new, status
        self._before = {key: number for number, key in enumerate(_ordinals(old.table))}
        self._keys = list(_ordinals(new.table))

    def row(self, number: int) -> int:
        """The old row; -1 if there is none."""
        place = self.new.table.places[number]
        if self.status.get(place.function) == "added" or place.function not in self.old.body.starts:
            return -1
        known = (
            None if place.node is None or place.kind == "else" else self.old.body.row_of.get(id(place.node))
        )
        before = self._before.get(self._keys[number])
        return known if known is not None else -1 if before is None else self.old.row(before)


def _ordinals(table: IrTable) -> Iterator[tuple[str, str, int]]:
    """The name of each row: its function, its kind, and how many of this kind stand before it."""
    counts: Counter[tuple[str, str]] = Counter()
    for place in table.places:
        yield place.function, place.kind, counts[place.function, place.kind]
        counts[place.function, place.kind] += 1


def _runs(pairs: Iterator[tuple[int, int, int]]) -> Iterator[int]:
    """Kind, old row, new row and length of each run of pairs that follow each other; four numbers each."""
    run: list[int] = []
    for kind, before, after in pairs:
        if run and kind == run[0] and _follows(run[1], run[3], before) and _follows(run[2], run[3], after):
            run[3] += 1
            continue
        yield from run
        run = [kind, before, after, 1]
    yield from run


def _follows(first: int, length: int, number: int) -> bool:
    return number == first + length if first >= 0 else number < 0


def _groups(table: TableDiff, old: Side, new: Side) -> Iterator[list[object]]:
    """The row of each value that was merged or split, its sentence, and the rows on both sides."""
    for number in range(len(table)):
        found = table.group(number)
        after = table.in_new(number)
        if found is not None and after is not None:
            fn, group = found
            yield [
                new.row(after),
                visible(table.note(number), 400),
                _numbers(old, [fn.old[n] for n in group.old]),
                _numbers(new, [fn.new[n] for n in group.new]),
            ]


def _numbers(side: Side, units: Sequence[object]) -> list[int]:
    """The rows of some bindings."""
    found = [side.body.row_of.get(id(unit_node(unit))) for unit in units]  # type: ignore[arg-type]  # groups have bindings only
    return [number for number in found if number is not None]
