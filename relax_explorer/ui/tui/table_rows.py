"""The rows of a table for a view: with marks or changes in place, with two stages side by side, and with folds; and what a search finds in them.

A row has a number, which counts all rows, and a line, which counts those that no fold hides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.layer_names import is_in_layer, layer_by_binding, layer_of
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.table_diff import UNMARKED, TableDiff
from relax_explorer.viz.table_folds import CHECKS, LAYER, Fold, Folded, FoldKey, Place, around
from relax_explorer.viz.tables import WIDEST_INFO, LazyRows, Row, colored_row, side
from relax_explorer.viz.visible import columns, counted, fit, visible

if TYPE_CHECKING:
    from relax_explorer.core.exec.values import Value

SEPARATOR = " │  "
_POINTS = frozenset("●◆○")


class Beside(Protocol):
    """What stands at the right of rows."""

    def beside(self, row: Row) -> str:
        """The text at the right of a row, with its StructInfo if there is room."""
        ...


class TableRows(LazyRows[Row]):
    """The rows of a table, each made when it is drawn. `marks` are glyphs of nodes, by identity, and `values` what they made.

    `layers` is the number of cells for the layer of the model of each binding and its StructInfo; 0 shows no layers.
    """

    def __init__(
        self,
        table: IrTable,
        diff: TableDiff | None = None,
        marks: Mapping[int, str] | None = None,
        values: Mapping[int, Value] | None = None,
        layers: int = 0,
    ) -> None:
        super().__init__()
        self.table, self.diff, self.values, self.layers = table, diff, values, layers
        self.marks = {} if marks is None else marks
        self.columns: Beside | None = None
        self._with: tuple[Folded, TableRows] | None = None  # these rows with folds
        self._before: TableRows | None = None  # the rows of the step before

    def __len__(self) -> int:
        return len(self.table if self.diff is None else self.diff)

    def with_columns(self, found: Beside | None) -> TableRows:
        """The same rows with columns of costs at the right."""
        if found is None:
            return self
        rows = TableRows(self.table, self.diff, self.marks, self.values, self.layers)
        rows.columns = found
        return rows

    def _made(self, number: int) -> Row:
        row = self._without_columns(number)
        return row if self.columns is None else replace(row, right=self.columns.beside(row))

    def _without_columns(self, number: int) -> Row:
        if self.diff is not None:
            row = self._with_layer(_shown(self.diff[number]))
            is_binding = isinstance(row.node, (e.VarBinding, e.MatchCast))
            return (
                row
                if self.values is None
                else _beside(row, self.values.get(id(row.node)) if is_binding else None)
            )
        kept = self._kept(number)
        if kept is not None:
            return kept
        place = self.table.places[number]
        row = _shown(self.table[number], self._mark(place))
        row = self._with_layer(row)
        return row if self.values is None else _beside(row, _value(self, place))

    def _with_layer(self, row: Row) -> Row:
        """The row with the layer of its binding before the StructInfo, if layers are shown."""
        fn = self.table.stage.module.relax_functions.get(row.function) if self.layers else None
        if fn is None or not isinstance(row.node, (e.VarBinding, e.MatchCast)):
            return row
        layer, room = layer_of(fn, row.node), self.layers - columns(row.right) - 2
        return replace(row, right=f"{fit(visible(layer), room)}  {row.right}") if layer and room > 0 else row

    def after(self, before: TableRows | None) -> TableRows:
        """These rows, which take those that look as before from the rows of another step."""
        if before is not None and before.table is self.table and before.diff is self.diff:
            before._before = None
            self._before = before
        return self

    def _kept(self, number: int) -> Row | None:
        """The row of the step before, if mark and value are the same."""
        before = self._before
        row = None if before is None else before._rows.get(number)
        if before is None or row is None or (before.values is None) != (self.values is None):
            return None
        place = self.table.places[number]
        if row.mark != self._mark(place):
            return None
        return row if _value(before, place) is _value(self, place) else None

    def _mark(self, place: Place) -> str:
        return self.marks.get(id(place.node), " ") if place.kind != "else" else " "

    def without_values(self) -> TableRows:
        """The same rows where values have no room beside them."""
        return self if self.values is None else TableRows(self.table, self.diff, self.marks)

    def with_values(self, values: Mapping[int, Value]) -> TableRows:
        """The same rows with the values that a run has made so far."""
        return TableRows(self.table, self.diff, self.marks, values, self.layers)

    def noted(self, number: int, note: str) -> Row:
        """A row with a note behind its text."""
        return replace(self[number], note=note)

    # -- numbers of all rows --------------------------------------------------------------------------------------

    def row_of(self, node: object) -> int | None:
        """The row that shows a node; None if there is none."""
        place = self.table.row_of.get(id(node))
        return None if place is None else self.row_at(place)

    def row_at(self, place: int) -> int:
        """The row that shows a row of the table."""
        return place if self.diff is None else self.diff.row_of(place)

    def row_called(self, function: str, name: str) -> int | None:
        """The row of the binding of a variable of a function."""
        for number, place in enumerate(self.table.places):
            var = getattr(place.node, "var", None)
            if (
                place.kind == "binding"
                and var is not None
                and var.name == name
                and place.function == function
            ):
                return self.row_at(number)
        return None

    def start_of(self, function: str) -> int:
        """The first row of a function; 0 if it has none."""
        for number, place in enumerate(self.table.places):
            if place.function == function:
                return self.row_at(number)
        return 0

    def starts(self) -> list[int]:
        """The first row of each function."""
        names = (
            [place.function for place in self.table.places]
            if self.diff is None
            else [row.function for row in self.everything]
        )
        return [n for n, name in enumerate(names) if name and (n == 0 or names[n - 1] != name)]

    def changes(self) -> list[int]:
        """The first row of each run of changed rows."""
        return [] if self.diff is None else self.diff.changes()

    def in_table(self, number: int) -> int | None:
        """The row of the table that a row shows; None for a row of the stage before."""
        return number if self.diff is None else self.diff.in_new(number)

    # -- folds ----------------------------------------------------------------------------------------------------

    @property
    def everything(self) -> Sequence[Row]:
        """All rows, those that a fold hides too."""
        return self

    def number_of(self, line: int) -> int:
        """The number of the row in a line."""
        return line

    def line_of(self, number: int) -> int:
        """The line of a row, or of the fold that hides it."""
        return number

    def hiding(self, number: int) -> frozenset[FoldKey]:
        """The closed folds that hide a row."""
        return frozenset()

    def fold_at(self, line: int) -> Fold | None:
        """The fold whose head is in a line, else the innermost one around it."""
        number = self.number_of(line)
        row = self.in_table(number)
        heads = [fold for fold in self.table.folds if fold.head == row]
        if row is None and self.diff is not None:
            row = self.diff.places()[number]  # a removed row belongs to the fold of the next one
        return next(reversed([*around(self.table.folds, row or 0), *heads]), None)

    def with_folds(self, closed: Folded) -> TableRows:
        """The same rows with folds. The last answer is remembered: each step of a run asks twice."""
        if self._with is None or self._with[0] != closed:
            self._with = (closed, self._folded_by(closed))
        return self._with[1]

    def _folded_by(self, closed: Folded) -> TableRows:
        possible = self.table.folds if closed.turned else self.table.check_folds
        found = [fold for fold in possible if fold.key in closed]
        return FoldedRows(self, found) if found else self


class FoldedRows(TableRows):
    """Rows of which closed folds hide some. The head of a fold tells what it hides."""

    def __init__(self, base: TableRows, closed: Iterable[Fold]) -> None:
        super().__init__(base.table, base.diff, base.marks)
        self.base = base
        self.closed = {fold.head: fold for fold in closed}
        is_hidden = bytearray(len(base.table) + 1)
        for fold in self.closed.values():
            is_hidden[fold.head + 1 : fold.end] = b"\1" * (fold.end - fold.head - 1)
        self._places = range(len(base)) if base.diff is None else base.diff.places()
        self._numbers = [n for n, row in enumerate(self._places) if not is_hidden[row]]
        self._lines: list[int] | None = None

    def __len__(self) -> int:
        return len(self._numbers)

    def _made(self, line: int) -> Row:
        number = self._numbers[line]
        row, place = self.base[number], self.in_table(number)
        fold = self.closed.get(place) if place is not None else None
        if fold is None:
            return row
        end = self._numbers[line + 1] if line + 1 < len(self._numbers) else len(self.base)
        text = f"  … {self._hidden(fold, range(number + 1, end))}"
        return self.base.noted(number, text)

    def _hidden(self, fold: Fold, numbers: range) -> str:
        """What a fold hides: `12 bindings, 3 changed`."""
        hidden = fold.bindings - (fold.key.kind == LAYER)  # the head of a layer is one of its bindings
        kind = "more check" if fold.key.kind == CHECKS else "binding"
        parts = [f"{fold.name}: {counted(hidden, kind)}" if fold.name else counted(hidden, kind)]
        if self.diff is not None:
            changed = sum(self.diff.kind(number) not in UNMARKED for number in numbers)
            parts += [f"{changed} changed"] if changed else []
        elif self.marks:
            points = sum(self.base[number].mark in _POINTS for number in numbers)
            parts += [counted(points, "breakpoint")] if points else []
        return ", ".join(parts)

    @property
    def everything(self) -> Sequence[Row]:
        """All rows, those that a fold hides too."""
        return self.base

    def number_of(self, line: int) -> int:
        """The number of the row in a line."""
        return self._numbers[line] if line < len(self._numbers) else len(self.base)

    def line_of(self, number: int) -> int:
        """The line of a row, or of the fold that hides it."""
        if self._lines is None:
            self._lines = list(_last_lines(self._numbers, len(self.base)))
        return self._lines[number] if 0 <= number < len(self._lines) else 0

    def hiding(self, number: int) -> frozenset[FoldKey]:
        """The closed folds that hide a row."""
        row = self._places[number]
        return frozenset(fold.key for fold in around(self.closed.values(), row))


def _beside(row: Row, value: Value | None) -> Row:
    """A row with the value of its binding at the right; without one, with as much room."""
    if not row.right:
        return row
    from relax_explorer.viz.value_table import INLINE, inline_value  # the machine, only once something ran

    inline = inline_value(value) if value is not None else " " * INLINE
    return replace(row, right=f"{row.right} {inline}")


def _value(rows: TableRows, place: Place) -> Value | None:
    """The value of a binding; None if it has none yet."""
    return None if rows.values is None or place.kind != "binding" else rows.values.get(id(place.node))


def folds_around(folded: Folded, table: IrTable, node: object) -> frozenset[FoldKey]:
    """The folds of these that hide a node."""
    row = table.row_of.get(id(node))
    return frozenset() if row is None else TableRows(table).with_folds(folded).hiding(row)


def _last_lines(numbers: Sequence[int], count: int) -> Iterator[int]:
    """For each row the last line that starts at it or before."""
    line = 0
    for number in range(count):
        if line + 1 < len(numbers) and numbers[line + 1] <= number:
            line += 1
        yield line


class BesideRows(TableRows):
    """Two stages side by side in `width` cells. `shift` is the number of cells that both sides are scrolled."""

    def __init__(self, table: IrTable, diff: TableDiff, width: int, shift: int = 0) -> None:
        super().__init__(table, diff)
        self.pairs, self.width, self.shift = diff, width, shift

    def _made(self, number: int) -> Row:
        return self.noted(number, "")

    def noted(self, number: int, note: str) -> Row:
        """A row with a note in each of its sides."""
        old, new = self.pairs.sides(number)
        kind, marked = self.pairs.kind(number), self.pairs[number]
        left = (self.width - len(SEPARATOR)) // 2
        right = self.width - len(SEPARATOR) - left
        pieces = (
            *side(old, left, self.shift, "removed" if kind == "removed" else "", note),
            ("muted", SEPARATOR[:2]),
            ("added", "+") if kind == "added" else ("muted", " "),
            ("muted", SEPARATOR[3:]),
            *side(new, right, self.shift, note=note),
        )
        return colored_row(pieces, marked.mark, marked.node, marked.function)

    def widest(self, numbers: Iterable[int]) -> int:
        """The cells of the longest side among some rows."""
        sides = [row for n in numbers for row in self.pairs.sides(n) if row is not None]
        return max([columns(row.text) for row in sides], default=0)


def _shown(row: Row, mark: str = "") -> Row:
    """A row of a table in a terminal."""
    mark, right = mark or row.mark, visible(row.right, WIDEST_INFO)
    if mark == row.mark and right == row.right:
        return row
    return Row(row.text, mark, row.node, row.function, right, row.pieces, row.note, row.kind)


# -- search ----------------------------------------------------------------------------------------------------------
# What a search finds: text anywhere, with a prefix `op:`, `ty:` or `var:` in one column, with `pat:` the bindings
# that a dataflow pattern matches, and with `layer:` those of a layer. `all:` is for all stages.


EVERYWHERE = "all:"
PATTERN = "pat:"
OF_LAYER = "layer:"
SCOPES = ("op:", "ty:", "var:", PATTERN, OF_LAYER, EVERYWHERE)


def found_in(shown: TableRows, text: str) -> Iterator[Row]:
    """The rows that match."""
    return (shown[number] for number in rows_with(shown, text))


def mistake(text: str) -> str:
    """The mistake in the pattern of a search; empty if there is none."""
    text = text.removeprefix(EVERYWHERE).strip()
    if not text.startswith(PATTERN):
        return ""
    from relax_explorer.core.patterns.pattern_text import read_pattern

    try:
        read_pattern(text.removeprefix(PATTERN))
    except Failure as failure:
        found = failure.diagnostics[0]
        return f"{found.message} (character {found.span.column + 1 if found.span else 1} of the pattern)"
    return ""


def rows_with(shown: Sequence[Row], text: str) -> list[int]:
    """The numbers of the rows that match, those in folds too. Nothing matches an empty text. Raises Failure for a wrong pattern."""
    if not text:
        return []
    if text.startswith(PATTERN):
        return _rows_matched(shown, text.removeprefix(PATTERN))
    if text.startswith(OF_LAYER):
        return _rows_of_layer(shown, text.removeprefix(OF_LAYER).strip())
    if not isinstance(shown, TableRows):
        return [number for number, row in enumerate(shown) if matches(row, text)]
    everything = shown.everything
    return [n for n, row in enumerate(everything) if matches(row, text) or _inside(shown, n, text)]


def _rows_matched(shown: Sequence[Row], text: str) -> list[int]:
    """The numbers of the rows of bindings that a pattern matches."""
    from relax_explorer.core.patterns.matches import module_occurrences
    from relax_explorer.core.patterns.pattern_text import read_pattern

    pattern = read_pattern(text)
    if not isinstance(shown, TableRows):
        return []
    found = module_occurrences(shown.table.stage.module, pattern)
    chosen = {binding for _, one in found for binding in one.bindings}
    return [number for number, row in enumerate(shown.everything) if row.node in chosen]


def _rows_of_layer(shown: Sequence[Row], layer: str) -> list[int]:
    """The numbers of the rows of bindings in a layer of the model, as the names of weights tell it."""
    if not isinstance(shown, TableRows) or not layer:
        return []
    inside = {
        binding
        for fn in shown.table.stage.module.relax_functions.values()
        for binding, name in layer_by_binding(fn).items()
        if is_in_layer(name, layer)
    }
    return [number for number, row in enumerate(shown.everything) if row.node in inside]


def _inside(shown: TableRows, number: int, text: str) -> bool:
    """True if a folded kernel has a text in its lines."""
    row = shown.in_table(number)
    place = shown.table.places[row] if row is not None else None
    if place is None or place.kind != "kernel" or text.startswith(SCOPES):
        return False
    return any(_has(line.text, text) for line in shown.table.lines_of(place.function))


def matches(row: Row, text: str) -> bool:
    """True if a row matches. Upper case counts only if the text has some. Of a pattern or a layer, only the kind of the row counts."""
    if text.startswith((PATTERN, OF_LAYER)):
        return isinstance(row.node, (e.VarBinding, e.MatchCast))
    for scope, part in _PARTS.items():
        if text.startswith(scope):
            wanted = text.removeprefix(scope).strip()
            return bool(wanted) and _has(part(row), wanted)
    return _has(f"{row.text} {row.right}", text)


def _has(text: str, wanted: str) -> bool:
    return wanted in text if wanted != wanted.lower() else wanted in text.lower()


def _operation(row: Row) -> str:
    from relax_explorer.core.session.recording import operation_of

    return operation_of(row.node.value) if isinstance(row.node, (e.VarBinding, e.MatchCast)) else ""


def _type(row: Row) -> str:
    return row.right


def _variable(row: Row) -> str:
    var = getattr(row.node, "var", None) if isinstance(row.node, (e.VarBinding, e.MatchCast)) else None
    return "" if var is None else str(var.name)


_PARTS = {"op:": _operation, "ty:": _type, "var:": _variable}
