"""What each stage changed, by rows: which row of a stage was which of the stage before, and how they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relax_explorer.core.session.align import FunctionDiff, ModuleDiff, Unit
from relax_explorer.core.syntax.doc import Line
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.page_rows import Body
from relax_explorer.viz.table_diff import TableDiff
from relax_explorer.viz.visible import visible

KINDS = ("same", "renamed", "added", "removed", "changed", "type", "kind", "moved")
"""The kinds of changes; the page has their numbers."""


_HEAD = 2  # lines of the head of a kernel: decorator and signature


@dataclass(frozen=True, slots=True)
class Side:
    """A stage as a table, in which kernels are one row each, and as a body, in which their lines stand below them."""

    table: IrTable
    body: Body

    def row(self, number: int) -> int:
        """The row of the body for a row of the table."""
        function = self.table.places[number].function
        first = self.table.starts.get(
            function, 0
        )  # the text of a stage that could not be read is in no function
        return self.body.starts[function] + number - first

    def unit_row(self, function: str, units: Sequence[Unit], number: int) -> int:
        """The row of a binding or a line of a function; -1 if there is none.

        A difference declares the dimensions of a kernel below its head, where a module has declared them once for all.
        """
        unit = units[number]
        if not isinstance(unit, Line):
            return self.body.row_of.get(id(unit), -1)
        lines = len(self.table.lines_of(function))
        place = number if number < _HEAD else max(_HEAD - 1, number - (len(units) - lines))
        return self.body.starts[function] + 1 + place


def changes_data(old: Side, new: Side, diff: ModuleDiff) -> dict[str, object]:
    """The changes for the page: runs of kind, old row, new row and length, and what was merged or split.

    -1 stands for a row that a side does not have. A stage that could not be read has nothing to compare.
    """
    if old.table.stage.text or new.table.stage.text:
        return {"runs": [KINDS.index("same"), -1, 0, len(new.body.rows)], "groups": []}
    table = TableDiff(old.table, new.table, diff)
    return {"runs": list(_runs(_pairs(table, old, new, diff))), "groups": list(_groups(table, old, new))}


def _pairs(table: TableDiff, old: Side, new: Side, diff: ModuleDiff) -> Iterator[tuple[int, int, int]]:
    """Kind, old row and new row of each row, in the order in which they are shown."""
    functions = {fn.name: fn for fn in diff.functions}
    unpaired = _Unpaired(old, new)
    for number in range(len(table)):
        after, before, kind = table.in_new(number), table.in_old(number), table.kind(number)
        place = None if after is None else new.table.places[after]
        if place is None or after is None:
            yield KINDS.index(kind), -1 if before is None else old.row(before), -1
        elif place.kind == "kernel":
            yield from _kernel(functions.get(place.function), kind, old, new, after)
        elif place.kind != "blank":
            found = (
                unpaired.row(after)
                if before is None and kind != "added"
                else -1
                if before is None
                else old.row(before)
            )
            yield KINDS.index("added" if found < 0 else kind), found, new.row(after)


def _kernel(
    fn: FunctionDiff | None, kind: str, old: Side, new: Side, number: int
) -> Iterator[tuple[int, int, int]]:
    """The row of a kernel and its lines; those of one that changed are compared."""
    name, row = new.table.places[number].function, new.row(number)
    start = -1 if kind == "added" else old.body.starts.get(name, -1)
    count = len(new.table.lines_of(name))
    is_whole = start >= 0 and len(old.table.lines_of(name)) == count
    yield KINDS.index(kind if start >= 0 else "added"), start, row
    if start >= 0 and kind == "changed" and fn is not None:
        yield from _kernel_lines(fn, old, new, range(row + 1, row + 1 + count))
        return
    for line in range(1, count + 1):
        yield KINDS.index("same" if is_whole else "added"), start + line if is_whole else -1, row + line


def _kernel_lines(fn: FunctionDiff, old: Side, new: Side, rows: range) -> Iterator[tuple[int, int, int]]:
    """The lines of a kernel that changed, with those that went before the lines that follow them."""
    known: dict[int, tuple[str, int]] = {}
    gone: dict[int, list[int]] = {}
    waiting: list[int] = []
    named = {-1}
    for pair in fn.pairs:
        before = -1 if pair.a is None else old.unit_row(fn.name, fn.old, pair.a)
        after = -1 if pair.b is None else new.unit_row(fn.name, fn.new, pair.b)
        if after in known:  # a declaration, which has no row of its own; the signature has its pair
            continue
        before = -1 if before in named else before
        named.add(before)
        if after < 0:
            waiting += [before] * (before >= 0)
            continue
        known[after] = pair.kind, before
        gone[after] = waiting
        waiting = []
    for row in rows:
        yield from [(KINDS.index("removed"), before, -1) for before in gone.get(row, ())]
        kind, before = known.get(row, ("same", -1))
        yield KINDS.index(kind), before, row
    yield from [(KINDS.index("removed"), before, -1) for before in waiting]


class _Unpaired:
    """Old rows of rows that no pair of a difference names: those of unchanged functions, and heads, blocks and returns."""

    def __init__(self, old: Side, new: Side) -> None:
        self.old, self.new = old, new
        self._before = {key: number for number, key in enumerate(_ordinals(old.table))}
        self._keys = list(_ordinals(new.table))

    def row(self, number: int) -> int:
        """The old row; -1 if there is none."""
        place = self.new.table.places[number]
        if place.function not in self.old.body.starts:
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


def _numbers(side: Side, units: Sequence[Unit]) -> list[int]:
    """The rows of some bindings."""
    found = [side.body.row_of.get(id(unit)) for unit in units]
    return [number for number in found if number is not None]
