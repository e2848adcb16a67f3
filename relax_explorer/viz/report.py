"""A session as one HTML file that shows it as the explorer does, and panes of a screen as a page without a script.

The file needs no server and no network, and every text of the program is escaped. Its policy allows no script but its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from importlib.resources import files
from itertools import chain

from relax_explorer.core.session.compiled_beside import BesideOurs
from relax_explorer.core.session.run_log import LoggedStep, RunLog
from relax_explorer.core.session.session import Session
from relax_explorer.viz.lexer import Piece
from relax_explorer.viz.page_document import document
from relax_explorer.viz.palette import DARK as DARK_PICTURE
from relax_explorer.viz.palette import LIGHT as LIGHT_PICTURE
from relax_explorer.viz.palette import Theme
from relax_explorer.viz.short import short_value
from relax_explorer.viz.stage_line import change_counts
from relax_explorer.viz.svg import rules_of
from relax_explorer.viz.tables import MAX_WIDTH, Row, apart
from relax_explorer.viz.tokens import DARK, ELEMENTS, LIGHT, notebook_theme, role_rules, variables
from relax_explorer.viz.value_table import sparkline, summary
from relax_explorer.viz.visible import visible

# -- report rows -----------------------------------------------------------------------------------------------------
# Rows of the HTML report. Every text is made visible and escaped here.


_PLAIN = frozenset({"text", "var", "name", "other"})  # roles that look like the text around them


def safe(text: str, limit: int = 200) -> str:
    """A text for HTML."""
    return escape(visible(text, limit))


def table_row(*cells: tuple[str, str], classes: str = "") -> str:
    """A row of (class, HTML)."""
    inner = "".join(
        [f'<td class="{name}">{html}</td>' if name else f"<td>{html}</td>" for name, html in cells]
    )
    return f'<tr class="{classes}">{inner}</tr>' if classes else f"<tr>{inner}</tr>"


def row_html(row: Row, *cells: str, attributes: str = "") -> str:
    """A row with some of the cells glyph, line and info. What was added or removed has a class."""
    shown = {
        "glyph": escape(visible(row.mark.strip())),
        "line": pieces_html(row.colored),
        "info": safe(row.right),
    }
    inner = "".join(f'<td class="{name}">{shown[name]}</td>' for name in cells)
    classes = {"+": ' class="added"', "-": ' class="removed"'}.get(row.mark, "")
    return f"<tr{attributes or classes}>{inner}</tr>"


def pieces_html(pieces: Sequence[Piece]) -> str:
    """Pieces as spans, or as the elements of frequent roles. A role is a class of the style sheet; neighbours of one role are one span."""
    runs: list[tuple[str, str]] = []
    for role, text in pieces:
        shown = "text" if role in _PLAIN else role
        if runs and runs[-1][0] == shown:
            runs[-1] = shown, runs[-1][1] + text
        else:
            runs.append((shown, text))
    return "".join([_span(role, text) for role, text in runs])


@lru_cache(maxsize=1 << 14)  # a page has the same pieces again and again
def _span(role: str, text: str) -> str:
    shown = safe(text, 400)
    if role in _PLAIN:
        return shown
    element = ELEMENTS.get(role)
    return f"<{element}>{shown}</{element}>" if element else f'<span class="{escape(role)}">{shown}</span>'


def picture_html(svg: bytes, name: str, attributes: str = "") -> str:
    """The picture of a graph as an element that holds it."""
    data, alt = base64.b64encode(svg).decode(), escape(f"dataflow graph of {name}")
    return f'<img{attributes} alt="{alt}" src="data:image/svg+xml;base64,{data}">'


def json_html(data: object) -> str:
    """JSON inside a script element: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def step_text(step: LoggedStep) -> str:
    """What a step bound, in one line: `lv = (2,) f32 [1 2] ▁█`."""
    name = step.binding.var.name if step.binding is not None and step.binding.var is not None else "result"
    found = summary(step.value)
    text = short_value(step.value, 120)
    if found is not None:
        bad = f"  ‼ nan {found.nan} inf {found.inf}" if found.nan or found.inf else ""
        text = f"{text}  {sparkline(found.counts)}{bad}"
    return f"{name} = {text}"


# -- report ----------------------------------------------------------------------------------------------------------
# The page: one file, made of the document of a session and of the scripts that show it.


SCRIPTS = (
    "document",
    "store",
    "elements",
    "lines",
    "state",
    "rail",
    "program",
    "views",
    "graph",
    "keys",
    "main",
)
"""The scripts of the page in the order in which they run; each knows those before it."""


def report(
    session: Session, log: RunLog | None = None, title: str = "", compiled: BesideOurs | None = None
) -> str:
    """The page of a session whose passes have run. `log` is a run of its first stage, `compiled` one of the compiled program."""
    found = document(session, log, title, compiled)
    static = "".join(pipeline_table(session))
    return page_html(str(found["program"]), found, static)


def page_html(title: str, found: Mapping[str, object] | None, static: str = "", source: str = "") -> str:
    """The page that shows a document, or the one that it gets from the address `source`.

    `static` is what stands in it where no script runs.
    """
    script = "\n".join(asset(f"page/{name}.js") for name in SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "policy": f"default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src 'sha256-{digest}'"
        + ("; connect-src 'self'" if source else ""),
        "source": f' data-from="{escape(source)}"' if source else "",
        "title": safe(title),
        "style": f"{_theme()}\n{asset('page/page.css')}",
        "graph-light": _graph_rules("", LIGHT_PICTURE),
        "graph-dark": _graph_rules('[data-theme="dark"] ', DARK_PICTURE),
        "static": static,
        "document": "" if found is None else json_html(found),
        "script": script,
    }
    return _SLOT.sub(lambda hit: parts[hit[1]], asset("page/page.html"))


_SLOT = re.compile(r"\{\{([a-z-]+)\}\}")


def _graph_rules(scope: str, theme: Theme) -> str:
    """The rules of graphs in a theme."""
    changed = theme.change("selected").stroke
    more = [
        f".node.selected .shape {{ stroke: {changed}; stroke-width: 2.8; }}",
        f".wire.near {{ stroke: {changed}; stroke-width: 2; }}",
    ]
    return "\n".join(f"{scope}.drawing {rule}" for rule in _single(chain(rules_of(theme), more)))


def _single(rules: Iterable[str]) -> Iterator[str]:
    """Rules with one selector each, so that a scope stands before all of them."""
    for rule in rules:
        selectors, _, body = rule.partition(" {")
        yield from (f"{selector.strip()} {{{body}" for selector in selectors.split(","))


def _document(title: str, style: str, content: str, classes: str = "") -> str:
    """A page without a script, from parts that are HTML."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body{classes}>
{content}
</body>
</html>
"""


def _theme() -> str:
    """The colours of the page: as the reader's system, until the page says which."""
    dark, light = variables(DARK), variables(LIGHT)
    return (
        f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f':root[data-theme="light"] {{ {light} }}\n:root[data-theme="dark"] {{ {dark} }}\n{role_rules("")}'
    )


def asset(name: str) -> str:
    """A file that lies beside this one, for use inside of an element of its own."""
    text = (files("relax_explorer.viz") / name).read_text(encoding="utf-8")
    return text if name.endswith(".html") else text.replace("</", "<\\/")


def pipeline_table(session: Session) -> Iterator[str]:
    """The stages as a table: number, pass, changes, time, phase."""
    yield '<table class="plain">'
    yield '<tr><th class="number">#</th><th>pass</th><th>changes</th><th class="number wide">ms</th><th>phase</th></tr>'
    for stage in session.stages:
        is_changed = stage.number and stage.changed
        counts = change_counts(session.diff(stage.number - 1, stage.number)) if is_changed else ""
        wrong = len([item for item in stage.problems if item.is_error])
        counts += f"{' · ' if counts else ''}{wrong} errors" if wrong else ""
        time = f"{stage.seconds * 1000:.1f}" if stage.seconds else ""
        yield table_row(
            ("number", str(stage.label)),
            ("", safe(stage.made_by)),
            ("", escape(counts)),
            ("number wide", time),
            ("", escape(stage.phase)),
        )
    yield "</table>"


# -- pane page -------------------------------------------------------------------------------------------------------
# Panes of a screen as text and as one HTML page that needs no network.


WIDTH = 100  # cells before the text at the right edge
Pane = tuple[str, Sequence[Row]]  # with its title


def panes_text(panes: Sequence[Pane]) -> str:
    """The panes one below the other."""
    return "\n".join(line for pane in panes for line in _text(*pane)) + "\n"


def _text(title: str, rows: Sequence[Row]) -> Iterator[str]:
    if title:
        yield f"== {visible(title)}"
    for row in rows:
        left = f"{row.mark.strip() or ' '} {visible(row.text, MAX_WIDTH)}"
        yield (apart(left, visible(row.right), WIDTH, 2) if row.right else left).rstrip()


def panes_page(title: str, panes: Sequence[Pane]) -> str:
    """The panes as a page."""
    return html_page(title, "\n".join(_section(*pane) for pane in panes))


def html_page(title: str, body: str) -> str:
    """A page with the style of the notebook views. Its policy allows no script and no network."""
    scope = ".rxe"
    style = f"{notebook_theme(scope)}\n{role_rules(scope)}\n{asset('notebook.css')}\n{_PAGE}"
    return _document(safe(title), style, f"<h1>{safe(title)}</h1>\n{body}", ' class="rxe"')


_PAGE = """body.rxe { border: none; margin: 0; } .rxe h1 { font-size: 20px; margin: 4px 0; }
.rxe h2 { font: 600 13px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; margin: 12px 0 2px; white-space: pre-wrap; }"""


def _section(title: str, rows: Sequence[Row]) -> str:
    head = f"<h2>{safe(title)}</h2>\n" if title else ""
    inner = "\n".join(row_html(row, "glyph", "line", "info") for row in rows)
    return f'{head}<table class="rxe-code">\n{inner}\n</table>'
