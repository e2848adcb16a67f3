"""What a search finds: text anywhere, or with a prefix `op:`, `ty:` or `var:` in one column. `all:` is for all stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.recording import operation_of
from relax_explorer.ui.tui.table_rows import TableRows
from relax_explorer.ui.tui.widgets.line_view import Row

EVERYWHERE = "all:"
SCOPES = ("op:", "ty:", "var:", EVERYWHERE)


def found_in(shown: Sequence[Row], text: str) -> Iterator[Row]:
    """The rows that match."""
    return (row for row in shown if matches(row, text))


def rows_with(shown: Sequence[Row], text: str) -> list[int]:
    """The numbers of the rows that match, those in folds too. Nothing matches an empty text."""
    if not text:
        return []
    if not isinstance(shown, TableRows):
        return [number for number, row in enumerate(shown) if matches(row, text)]
    everything = shown.everything
    return [n for n, row in enumerate(everything) if matches(row, text) or _inside(shown, n, text)]


def _inside(shown: TableRows, number: int, text: str) -> bool:
    """True if a folded kernel has a text in its lines."""
    row = shown.in_table(number)
    place = shown.table.places[row] if row is not None else None
    if place is None or place.kind != "kernel" or text.startswith(SCOPES):
        return False
    return any(_has(line.text, text) for line in shown.table.lines_of(place.function))


def matches(row: Row, text: str) -> bool:
    """True if a row matches. Upper case counts only if the text has some."""
    for scope, part in _PARTS.items():
        if text.startswith(scope):
            wanted = text.removeprefix(scope).strip()
            return bool(wanted) and _has(part(row), wanted)
    return _has(f"{row.text} {row.ghost}", text)


def _has(text: str, wanted: str) -> bool:
    return wanted in text if wanted != wanted.lower() else wanted in text.lower()


def _operation(row: Row) -> str:
    return operation_of(row.node.value) if isinstance(row.node, (e.VarBinding, e.MatchCast)) else ""


def _type(row: Row) -> str:
    return row.ghost


def _variable(row: Row) -> str:
    var = getattr(row.node, "var", None) if isinstance(row.node, (e.VarBinding, e.MatchCast)) else None
    return "" if var is None else str(var.name)


_PARTS = {"op:": _operation, "ty:": _type, "var:": _variable}
