"""Panes of a screen as text and as one HTML page that needs no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from relax_explorer.viz.compact import Piece
from relax_explorer.viz.report import asset
from relax_explorer.viz.report_rows import pieces_html, safe, table_row
from relax_explorer.viz.theme_css import notebook_theme, role_rules
from relax_explorer.viz.visible import columns, visible

WIDTH = 100  # cells before the text at the right edge
_CLASSES = {"+": "added", "-": "removed"}


@dataclass(frozen=True, slots=True)
class PaneLine:
    """A line: the mark before it, its pieces, and a text at the right edge."""

    mark: str
    pieces: tuple[Piece, ...]
    right: str = ""


@dataclass(frozen=True, slots=True)
class Pane:
    """A pane: its title and its lines."""

    title: str
    lines: Sequence[PaneLine]


def panes_text(panes: Sequence[Pane]) -> str:
    """The panes one below the other."""
    return "\n".join(line for pane in panes for line in _text(pane)) + "\n"


def _text(pane: Pane) -> Iterator[str]:
    if pane.title:
        yield f"== {visible(pane.title)}"
    for line in pane.lines:
        left = f"{line.mark or ' '} " + visible("".join(text for _, text in line.pieces), 2_000)
        gap = " " * max(2, WIDTH - columns(left) - columns(line.right)) if line.right else ""
        yield f"{left}{gap}{visible(line.right)}".rstrip()


def panes_page(title: str, panes: Sequence[Pane]) -> str:
    """The panes as a page."""
    return html_page(title, "\n".join(_section(pane) for pane in panes))


def html_page(title: str, body: str) -> str:
    """A page with the style of the notebook views. Its policy allows no script and no network."""
    scope = ".rxe"
    style = f"{notebook_theme(scope)}\n{role_rules(scope)}\n{asset('notebook.css')}\n{_PAGE}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{safe(title)}</title>
<style>{style}</style>
</head>
<body class="rxe">
<h1>{safe(title)}</h1>
{body}
</body>
</html>
"""


_PAGE = """body.rxe { border: none; margin: 0; } .rxe h1 { font-size: 20px; margin: 4px 0; }
.rxe h2 { font: 600 13px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; margin: 12px 0 2px; white-space: pre-wrap; }"""


def _section(pane: Pane) -> str:
    rows = [
        table_row(
            ("glyph", escape(visible(line.mark))), ("line", pieces_html(line.pieces)), ("info", safe(line.right)),
            classes=_CLASSES.get(line.mark, ""),
        )
        for line in pane.lines
    ]  # fmt: skip
    head = f"<h2>{safe(pane.title)}</h2>\n" if pane.title else ""
    return f'{head}<table class="rxe-code">\n{chr(10).join(rows)}\n</table>'
