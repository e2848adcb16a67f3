"""A stage as a table with its changes against the stage before: marks, removed rows in place, and the pieces that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.align import FunctionDiff, Group, ModuleDiff, Pair, Unit
from relax_explorer.core.syntax.dialects import NEW
from relax_explorer.core.syntax.doc import Line
from relax_explorer.core.syntax.names import Names
from relax_explorer.core.syntax.printer import FunctionPrinter
from relax_explorer.core.syntax.printer_expr import Constants, ExprText
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.lexer import Piece
from relax_explorer.viz.tables import LazyRows, Row, colored_row, plain

# -- diff ------------------------------------------------------------------------------------------------------------
# Differences of two modules as lines: what was added, removed, changed, retyped, renamed or moved, binding by
# binding.


GLYPHS = {
    "added": "+",
    "removed": "-",
    "changed": "~",
    "type": "t",
    "kind": "k",
    "renamed": "r",
    "moved": ">",
    "same": " ",
}
GROUP_GLYPHS = {"merged": "⊞", "split": "⊟"}


def lines(diff: ModuleDiff, context: int = 3) -> Iterator[Row]:
    """The differences, with `context` unchanged bindings around each; unchanged functions give no lines.

    A row marked `-` shows a node of the old module. The note tells what a value was merged or split from.
    """
    for fn in diff.functions:
        if fn.status != "same":
            yield Row(_title(fn), kind="same")
            yield from _function(fn, context)


def _title(fn: FunctionDiff) -> str:
    counts = " ".join(
        f"{GLYPHS[kind]}{fn.count(kind)}" for kind in GLYPHS if kind != "same" and fn.count(kind)
    )
    return f"@@ {fn.name} {fn.status}{' ' + counts if counts else ''} @@"


def _function(fn: FunctionDiff, context: int) -> Iterator[Row]:
    old, new = Names(), Names()
    for number, skipped in _near_changes([pair.kind for pair in fn.pairs], context):
        if skipped:
            yield Row(f"  … {skipped} unchanged", kind="same")
        else:
            yield from _pair(fn, fn.pairs[number], old, new)


def _near_changes(kinds: Sequence[str], context: int) -> Iterator[tuple[int, int]]:
    """The numbers of changes and of `context` rows around each, with 0; of each run of other rows the end and the length."""
    near = bytearray(len(kinds))
    for number, kind in enumerate(kinds):
        if kind not in UNMARKED:
            start = max(0, number - context)
            near[start : number + context + 1] = b"\1" * (min(len(kinds), number + context + 1) - start)
    number = 0
    for is_near, run in groupby(near):
        length = sum(1 for _ in run)
        if is_near:
            yield from ((n, 0) for n in range(number, number + length))
        else:
            yield number + length, length
        number += length


def _pair(fn: FunctionDiff, pair: Pair, old: Names, new: Names) -> Iterator[Row]:
    before = fn.old[pair.a] if pair.a is not None else None
    after = fn.new[pair.b] if pair.b is not None else None
    if before is not None and (after is None or pair.kind in ("changed", "type")):
        yield Row(_text(before, old), GLYPHS["removed"], unit_node(before), kind=pair.kind)
    if after is not None:
        group = fn.groups.get(pair.b) if pair.b is not None else None
        note = group_text(fn, group) if group is not None else ""
        mark = GLYPHS["added" if pair.kind == "changed" else pair.kind]
        yield Row(_text(after, new), mark, unit_node(after), note=note, kind=pair.kind)


def group_text(fn: FunctionDiff, group: Group) -> str:
    """`merged from a, b` or `split from a into b, c`, by the names of the variables."""
    old, new = (
        ", ".join([_name(side[n]) for n in numbers])
        for side, numbers in ((fn.old, group.old), (fn.new, group.new))
    )
    return f"merged from {old}" if group.kind == "merged" else f"split from {old} into {new}"


def _name(unit: Unit) -> str:
    var = getattr(unit, "var", None)
    return "_" if var is None else var.name


def unit_node(unit: Unit) -> object:
    """The IR node that a unit of a difference prints."""
    return unit.node if isinstance(unit, Line) else unit


def _text(binding: Unit, names: Names) -> str:
    """A binding in one line; a line of a PrimFunc unchanged."""
    if isinstance(binding, Line):
        return binding.text
    printer = FunctionPrinter(ExprText(names, NEW, Constants()))
    printer.binding(binding, 1)
    return printer.lines[0].text + (" …" if len(printer.lines) > 1 else "")


def stat_line(diff: ModuleDiff) -> str:
    """`+40 −12 ~3`: the counts that are not zero."""
    parts = [f"{GLYPHS[kind]}{count}" for kind, count in diff.stat.items() if count]
    names = [f"{fn.name} {fn.status}" for fn in diff.functions if fn.status in ("added", "removed")]
    text = " ".join(parts) or ("no binding differs" if not diff.is_empty else "no difference")
    if len(names) > 4:
        names = [*names[:4], f"{len(names) - 4} more"]
    return f"{text} ({'; '.join(names)})" if names else text


# -- table diff ------------------------------------------------------------------------------------------------------


CONTEXT = 2
_HEAD = 2  # lines of the head of a kernel: decorator and signature
UNMARKED = frozenset({"same", "renamed"})  # kinds of change without a mark
COMPARED = frozenset({"changed", "type"})  # kinds of change whose pieces are compared


class _Shown(NamedTuple):
    """A row to show: its number in the new or the old table, and the number of its old row if that is known."""

    kind: str
    number: int
    is_old: bool = False
    before: int | None = None
    skipped: int = 0  # unchanged rows that this one stands for


class TableDiff(LazyRows[Row]):
    """The rows of a new table, marked, with the removed rows of the old one between them; with `context`, only so many around changes."""

    def __init__(self, old: IrTable, new: IrTable, diff: ModuleDiff, context: int | None = None) -> None:
        super().__init__()
        self.old, self.new = old, new
        plan = _Plan(old, new)
        for fn in diff.functions:
            plan.add(fn)
        self._shown = list(plan.rows())
        self._groups = plan.groups
        if context is not None:
            self._shown = list(_changed(self._shown, context))

    def __len__(self) -> int:
        return len(self._shown)

    def _made(self, number: int) -> Row:
        shown = self._shown[number]
        if shown.skipped:
            return colored_row([("muted", f"… {shown.skipped} unchanged")], kind="blank")
        if shown.is_old:
            row = self._unnumbered(self.old[shown.number])
            return replace(row, mark=GLYPHS["removed"], node=None, pieces=(("removed", row.text),))
        row = self.new[shown.number]
        if shown.before is not None and shown.kind in COMPARED:
            row = _compared(self.old[shown.before], row)
        return replace(row, mark=self.mark(number))

    def mark(self, number: int) -> str:
        """The mark of a row: that of its change, or that of a value that was merged or split."""
        group = self.group(number)
        if group is not None:
            return GROUP_GLYPHS[group[1].kind]
        kind = self._shown[number].kind
        return GLYPHS[kind] if kind not in UNMARKED else " "

    def note(self, number: int) -> str:
        """What the value of a row was merged or split from; empty for others."""
        group = self.group(number)
        return "" if group is None else group_text(*group)

    def group(self, number: int) -> tuple[FunctionDiff, Group] | None:
        """The values that became the one of a row, or that it became, with the difference that numbers them."""
        shown = self._shown[number]
        return None if shown.is_old or shown.skipped else self._groups.get(shown.number)

    def skipped(self, number: int) -> int:
        """The number of unchanged rows that a row stands for."""
        return self._shown[number].skipped

    def sides(self, number: int) -> tuple[Row | None, Row | None]:
        """The old and the new row of a row. An unchanged row stands on both sides."""
        shown = self._shown[number]
        if shown.is_old:
            return self.old[shown.number], None
        row = self.new[shown.number]
        if shown.kind == "added":
            return None, row
        if shown.before is None:
            name = row.function
            is_new = name in self.new.stage.module.functions and name not in self.old.stage.module.functions
            return None if is_new else self._as_before(row), row
        old = self.old[shown.before]
        return _told_apart(old, row) if shown.kind in COMPARED else (old, row)

    def _as_before(self, row: Row) -> Row:
        """An unchanged row as the stage before has it. Its number there is left out if it is not known."""
        if row.kind != "binding":
            return row
        number = self.old.row_of.get(id(row.node))
        return self._unnumbered(row) if number is None else self.old[number]

    def _unnumbered(self, row: Row) -> Row:
        """A row of the stage before, without its number, which would mislead, and in the columns of the new stage."""
        if row.kind != "binding":
            return row
        pieces = list(row.pieces)
        at = next(n for n, (role, _) in enumerate(pieces) if role == "var")
        pieces[0] = ("muted", " " * len(pieces[0][1]))
        pieces[at] = ("var", f"{pieces[at][1].rstrip():<{self.new.width_of(row.function)}}")
        return replace(row, text=plain(pieces), pieces=tuple(pieces))

    def kind(self, number: int) -> str:
        """The kind of change of a row."""
        return self._shown[number].kind

    def in_old(self, number: int) -> int | None:
        """The row of the old table that a removed row shows, or that a row is compared with; None if nothing tells one."""
        shown = self._shown[number]
        return shown.number if shown.is_old else shown.before

    def in_new(self, number: int) -> int | None:
        """The row of the new table that a row shows; None for a removed row and for one that stands for skipped ones."""
        shown = self._shown[number]
        return None if shown.is_old or shown.skipped else shown.number

    def places(self) -> list[int]:
        """For each row its row of the new table; for one that has none, the next row that has one."""
        found: list[int] = []
        following = len(self.new)
        for number in range(len(self._shown) - 1, -1, -1):
            row = self.in_new(number)
            following = following if row is None else row
            found.append(following)
        return found[::-1]

    def changes(self) -> list[int]:
        """The first row of each run of changed rows."""
        marked = [shown.kind not in UNMARKED for shown in self._shown]
        return [n for n, is_marked in enumerate(marked) if is_marked and not (n and marked[n - 1])]

    def row_of(self, number: int) -> int:
        """The row that shows this row of the new table; the last one before it if it is not shown."""
        rows = [
            n
            for n, shown in enumerate(self._shown)
            if not shown.is_old and not shown.skipped and shown.number <= number
        ]
        return rows[-1] if rows else 0


class _Plan:
    def __init__(self, old: IrTable, new: IrTable) -> None:
        self.old, self.new = old, new
        self.kinds: dict[int, tuple[str, int | None]] = {}  # kind and old row of rows of the new table
        self.removed: dict[int, list[int]] = {}  # old rows that stand before a row of the new table
        self.groups: dict[int, tuple[FunctionDiff, Group]] = {}  # by rows whose values were merged or split
        self.tail: list[int] = []
        self.starts = old.starts, new.starts
        self.sizes = _sizes(old), _sizes(new)

    def add(self, fn: FunctionDiff) -> None:
        """Take the pairs of one function."""
        first = self.starts[1].get(fn.name)
        if fn.status == "removed":
            self.tail += [self.starts[0][fn.name]] if fn.name in self.starts[0] else []
        elif fn.status == "added" and first is not None:
            self.kinds[first] = ("added", None)
        elif fn.status == "changed" and first is not None and self.new.places[first].kind == "kernel":
            self.kinds[first] = ("changed", None)
            return
        if fn.status != "removed":
            self._pairs(fn)

    def _pairs(self, fn: FunctionDiff) -> None:
        waiting: list[int] = []
        for pair in fn.pairs:
            before = None if pair.a is None else self._row(0, fn, pair.a)
            after = None if pair.b is None else self._row(1, fn, pair.b)
            if after is None:
                waiting += [] if before is None else [before]
                continue
            if waiting:
                self.removed[after] = [*self.removed.get(after, ()), *waiting]
                waiting = []
            if (
                self.kinds.get(after, ("same", None))[0] == "same"
            ):  # a head's row has the lengths below it, too
                self.kinds[after] = (pair.kind, before)
            if pair.b is not None and pair.b in fn.groups:
                self.groups[after] = fn, fn.groups[pair.b]
        last = self._last(fn.name)
        if waiting and last is not None:
            self.removed[last] = [*self.removed.get(last, ()), *waiting]

    def _row(self, side: int, fn: FunctionDiff, number: int) -> int | None:
        table = (self.old, self.new)[side]
        units: Sequence[Unit] = (fn.old, fn.new)[side]
        unit = units[number]
        if not isinstance(unit, Line):
            return table.row_of.get(id(unit))
        start = self.starts[side].get(fn.name)
        if start is not None and table.places[start].kind == "text":
            # A diff declares the dimensions of a kernel below its head, where a module has declared them once for all.
            declared = len(units) - self.sizes[side][fn.name]
            return start + (number if number < _HEAD else max(_HEAD - 1, number - declared))
        return table.row_of.get(id(unit.node))

    def _last(self, name: str) -> int | None:
        fn = self.new.stage.module.functions.get(name)
        return self.new.row_of.get(id(fn.body)) if isinstance(fn, e.Function) else self.starts[1].get(name)

    def rows(self) -> Iterator[_Shown]:
        """The rows in the order of the new table; removed functions at the end."""
        for number in range(len(self.new)):
            yield from [_Shown("removed", gone, True) for gone in self.removed.get(number, ())]
            kind, before = self.kinds.get(number, ("same", None))
            yield _Shown(kind, number, before=before)
        yield from [_Shown("removed", gone, True) for gone in self.tail]


def _sizes(table: IrTable) -> dict[str, int]:
    """The number of rows of each function."""
    return Counter(place.function for place in table.places)


def _changed(rows: list[_Shown], context: int) -> Iterator[_Shown]:
    """The changed rows with some rows around them; runs of other rows become one row."""
    for number, skipped in _near_changes([row.kind for row in rows], context):
        if not skipped:
            yield rows[number]
        else:
            following = rows[number].number if number < len(rows) else len(rows)
            yield _Shown("same", following, skipped=skipped)


def _runs(old: Row, new: Row) -> Iterator[tuple[bool, Sequence[Piece], Sequence[Piece]]]:
    """The pieces of two rows in runs that are the same, blanks at the end aside, or differ. Numbers of bindings always differ."""
    head = 1 if old.kind == new.kind == "binding" else 0
    yield True, old.pieces[:head], new.pieces[:head]
    left, right = old.pieces[head:], new.pieces[head:]
    before, after = ([text.rstrip() for _, text in pieces] for pieces in (left, right))
    for tag, i0, i1, j0, j1 in SequenceMatcher(None, before, after, False).get_opcodes():
        yield tag == "equal", left[i0:i1], right[j0:j1]


def _told_apart(old: Row, new: Row) -> tuple[Row, Row]:
    """Two rows in which the pieces that differ have the roles old and new."""
    before: list[Piece] = []
    after: list[Piece] = []
    for is_same, left, right in _runs(old, new):
        before += left if is_same else [("old", text) for _, text in left]
        after += right if is_same else [("new", text) for _, text in right]
    return replace(old, pieces=tuple(before)), replace(new, pieces=tuple(after))


def _compared(old: Row, new: Row) -> Row:
    """A row in which pieces that differ are marked: `old→new` where one piece replaces one."""
    pieces: list[Piece] = []
    for is_same, left, right in _runs(old, new):
        if is_same:
            pieces += right
        elif len(left) == len(right) == 1:
            pieces += [("old", left[0][1].rstrip()), ("muted", "→"), ("new", right[0][1])]
        else:
            pieces += [("new", text) for _, text in right]
    info = _compared_info(old.right, new.right)
    return replace(new, text=plain(pieces), pieces=tuple(pieces), right=info)


def _compared_info(old: str, new: str) -> str:
    """Two types of one row. That of a function starts with an arrow, so no other one stands beside it."""
    if new == old or not old:
        return new
    return f"{new} (was {old.removeprefix('→ ')})" if new.startswith("→ ") else f"{old} → {new}"
