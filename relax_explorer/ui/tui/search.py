"""What a search finds: text anywhere, with a prefix `op:`, `ty:` or `var:` in one column, with `pat:` the bindings that a
dataflow pattern matches. `all:` is for all stages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.ui.tui.table_rows import TableRows
from relax_explorer.viz.tables import Row

EVERYWHERE = "all:"
PATTERN = "pat:"
SCOPES = ("op:", "ty:", "var:", PATTERN, EVERYWHERE)


def found_in(shown: TableRows, text: str) -> Iterator[Row]:
    """The rows that match."""
    return (shown[number] for number in rows_with(shown, text))


def problem(text: str) -> str:
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


def _inside(shown: TableRows, number: int, text: str) -> bool:
    """True if a folded kernel has a text in its lines."""
    row = shown.in_table(number)
    place = shown.table.places[row] if row is not None else None
    if place is None or place.kind != "kernel" or text.startswith(SCOPES):
        return False
    return any(_has(line.text, text) for line in shown.table.lines_of(place.function))


def matches(row: Row, text: str) -> bool:
    """True if a row matches. Upper case counts only if the text has some. Of a pattern, only the kind of the row counts."""
    if text.startswith(PATTERN):
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
