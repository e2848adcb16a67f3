"""Rows of the HTML report. Every text is made visible and escaped here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

from relax_explorer.core.session.run_log import LoggedStep
from relax_explorer.viz.compact import Piece
from relax_explorer.viz.ir_table import IrTable, TableRow
from relax_explorer.viz.short import short_value
from relax_explorer.viz.side_by_side import Beside
from relax_explorer.viz.value_table import sparkline, summary
from relax_explorer.viz.visible import visible

_PLAIN = frozenset({"text", "var", "name", "other"})  # roles that look like the text around them


def safe(text: str, limit: int = 200) -> str:
    """A text for HTML."""
    return escape(visible(text, limit))


def table_row(*cells: tuple[str, str], classes: str = "") -> str:
    """A row of (class, HTML)."""
    inner = "".join(f'<td class="{name}">{html}</td>' for name, html in cells)
    return f'<tr class="{classes}">{inner}</tr>' if classes else f"<tr>{inner}</tr>"


def beside_row(pair: Beside) -> str:
    """The old row beside the new one."""
    if pair.skipped:
        return f'<tr><td class="glyph"></td><td class="line muted" colspan="2">… {pair.skipped} unchanged</td></tr>'
    cells = [
        (f"line {side}", "" if row is None else _line(row))
        for side, row in (("before", pair.old), ("after", pair.new))
    ]
    glyph = escape(pair.glyph)
    if pair.note:
        glyph = f'<abbr title="{safe(pair.note, 400)}">{glyph}</abbr>'
    return table_row(("glyph", glyph), *cells, classes=pair.kind)


def program_row(number: int, row: TableRow) -> str:
    """A row of the program that runs. The script finds it by its number."""
    cells = f'<td class="glyph"></td><td class="line">{pieces_html(row.pieces)}</td><td class="info">{safe(row.info)}</td>'
    return f'<tr data-row="{number}" data-kind="{row.place.kind}">{cells}</tr>'


def _line(row: TableRow) -> str:
    info = f'  <span class="dimension">{safe(row.info)}</span>' if row.info else ""
    return pieces_html(row.pieces) + info


def pieces_html(pieces: Sequence[Piece]) -> str:
    """Pieces as spans. A role is a class of the style sheet."""
    return "".join(
        safe(text, 400) if role in _PLAIN else f'<span class="{escape(role)}">{safe(text, 400)}</span>'
        for role, text in pieces
    )


def json_html(data: object) -> str:
    """JSON inside a script element: nothing in it can end the element."""
    return json.dumps(data).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def step_text(step: LoggedStep) -> str:
    """What a step bound, in one line: `lv = (2,) f32 [1 2] ▁█`."""
    name = step.binding.var.name if step.binding is not None and step.binding.var is not None else "result"
    found = summary(step.value)
    text = short_value(step.value, 120)
    if found is not None:
        bad = f"  ‼ nan {found.nan} inf {found.inf}" if found.nan or found.inf else ""
        text = f"{text}  {sparkline(found.counts)}{bad}"
    return f"{name} = {text}"


def step_data(step: LoggedStep, table: IrTable) -> dict[str, object]:
    """A step for the scrubber: its number, its row (-1 in another function), and its value in one line."""
    row = table.row_of.get(id(step.binding)) if step.binding is not None else len(table) - 1
    inner = f"{step.function} ▸ " if row is None else ""
    return {
        "step": step.position,
        "row": -1 if row is None else row,
        "text": visible(inner + step_text(step), 300),
    }
