"""A session as one HTML file: pipeline, changes side by side, graphs, problems, and a recorded run with a scrubber.

The file needs no server and no network, and every text of the program is escaped. Its policy allows no script but its own.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import escape
from importlib.resources import files

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.session.align import ModuleDiff
from relax_explorer.core.session.compiled_beside import BesideOurs
from relax_explorer.core.session.run_log import LoggedStep, RunLog
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.syntax.node_text import binding_text
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.version import __version__
from relax_explorer.viz.cost_page import cost_section
from relax_explorer.viz.ir_graph import graph
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.lexer import Piece
from relax_explorer.viz.marked_graph import amount_text
from relax_explorer.viz.pair_table import distance_text
from relax_explorer.viz.problem import render
from relax_explorer.viz.short import short_value
from relax_explorer.viz.stage_line import change_counts
from relax_explorer.viz.stage_sentence import stage_sentence
from relax_explorer.viz.table_diff import TableDiff
from relax_explorer.viz.tables import MAX_WIDTH, Row, apart
from relax_explorer.viz.tokens import DARK, ELEMENTS, LIGHT, notebook_theme, role_rules, variables
from relax_explorer.viz.value_table import sparkline, summary
from relax_explorer.viz.visible import visible, visible_lines

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


def beside_row(diff: TableDiff, number: int) -> str:
    """The old row beside the new one."""
    if skipped := diff.skipped(number):
        return f'<tr><td></td><td class="muted" colspan="2">… {skipped} unchanged</td></tr>'
    glyph = escape(diff.mark(number))
    if note := diff.note(number):
        glyph = f'<abbr title="{safe(note, 400)}">{glyph}</abbr>'
    before, after = ("" if row is None else _line(row) for row in diff.sides(number))
    cells = ("", glyph), ("before", before), ("after", after)
    return table_row(*cells, classes=diff.kind(number))


def _line(row: Row) -> str:
    return _line_html(row.pieces, row.right)


@lru_cache(maxsize=1 << 14)  # an unchanged line stands on both sides, and beside the next stages
def _line_html(pieces: tuple[Piece, ...], right: str) -> str:
    return pieces_html(pieces) + (f"  {_span('dimension', right)}" if right else "")


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


# -- report ----------------------------------------------------------------------------------------------------------


MOST_ROWS = 3_000  # of one stage
MOST_NODES = 200
CONTEXT = 3


def report(
    session: Session, log: RunLog | None = None, title: str = "", compiled: BesideOurs | None = None
) -> str:
    """The page of a session whose passes have run. `log` is a run of its first stage, `compiled` one of the compiled program."""
    style, script = f"{_theme()}\n{asset('report.css')}", asset("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"; script-src 'sha256-{digest}'"
    name = escape(visible(title or session.filename or "program", 200))
    body = "\n".join(
        [
            *_pipeline(session),
            *_run(session, log),
            *_compiled(compiled),
            *_stages(session),
            *_graphs(session),
            *cost_section(session),
            *_problems(session),
        ]
    )
    content = f"""<header><h1>{name}</h1><p class="muted">Relax Explorer {escape(__version__)} · {_stage_count(session)}</p></header>
<nav>{_links(log, compiled)}</nav>
<main>
{body}
</main>
<script>{script}</script>"""
    return _document(name, policy, style, content)


def _document(title: str, policy: str, style: str, content: str, classes: str = "") -> str:
    """A page, from parts that are HTML. `policy` allows more than styles and pictures."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body{classes}>
{content}
</body>
</html>
"""


def _links(log: RunLog | None, compiled: BesideOurs | None) -> str:
    runs = ["Run"] * (log is not None) + ["Compiled"] * (compiled is not None)
    names = ["Pipeline", *runs, "Stages", "Graphs", "Cost", "Problems"]
    return " · ".join(f'<a href="#{name.lower()}">{name}</a>' for name in names)


def _theme() -> str:
    """The colours of the page, as light or dark as the reader's system."""
    dark = f"@media (prefers-color-scheme: dark) {{ :root {{ {variables(DARK)} }} }}"
    return f":root {{ {variables(LIGHT)} }}\n{dark}\n{role_rules('')}"


def asset(name: str) -> str:
    """A style sheet or script that lies beside this file."""
    return (files("relax_explorer.viz") / name).read_text(encoding="utf-8").replace("</", "<\\/")


def _stage_count(session: Session) -> str:
    changed = sum(stage.changed for stage in session.stages[1:])
    return f"{len(session.stages)} stages, {changed} changed the module"


# -- parts ----------------------------------------------------------------------------------------------------------


def _pipeline(session: Session) -> Iterator[str]:
    yield '<section id="pipeline"><h2>Pipeline</h2><div class="scroll">'
    yield from pipeline_table(session)
    yield "</div></section>"


def pipeline_table(session: Session, has_links: bool = True) -> Iterator[str]:
    """The stages as a table: number, pass, changes, time, phase."""
    yield '<table class="plain">'
    yield '<tr><th class="number">#</th><th>pass</th><th>changes</th><th class="number wide">ms</th><th>phase</th></tr>'
    for stage in session.stages:
        is_changed = stage.number and stage.changed
        counts = change_counts(session.diff(stage.number - 1, stage.number)) if is_changed else ""
        wrong = len([item for item in stage.problems if item.is_error])
        counts += f"{' · ' if counts else ''}{wrong} errors" if wrong else ""
        name = safe(stage.made_by)
        link = f'<a href="#stage-{stage.number}">{name}</a>' if has_links and is_changed else name
        time = f"{stage.seconds * 1000:.1f}" if stage.seconds else ""
        yield table_row(
            ("number", str(stage.label)),
            ("", link),
            ("", escape(counts)),
            ("number wide", time),
            ("", escape(stage.phase)),
        )
    yield "</table>"


def _stages(session: Session) -> Iterator[str]:
    yield '<section id="stages"><h2>Stages</h2>'
    table = None
    for stage in session.stages[1:]:
        if stage.changed:
            diff = session.diff(stage.number - 1, stage.number)
            opened = {fn.name for fn in diff.functions if fn.status == "changed"}
            before = _table(session.stages[stage.number - 1], opened, table)
            table = _table(stage, opened)
            told = stage_sentence(session, stage, width=MAX_WIDTH)
            yield from _changes(stage, TableDiff(before, table, diff, CONTEXT), diff, told)
    if not any(stage.changed for stage in session.stages[1:]):
        yield '<p class="muted">No stage changed the module.</p>'
    yield "</section>"


def _table(stage: Snapshot, opened: set[str], made: IrTable | None = None) -> IrTable:
    """The table of a stage with the lines of some kernels. Mostly it was made already, with all rows, beside the stage before."""
    functions = stage.module.functions
    kernels = {name for name in opened if isinstance(functions.get(name), PrimFunc)}
    if made is None or made.opened != kernels:
        return IrTable(stage, opened=kernels)
    is_shown = made.stage.module is stage.module and made.stage.text == stage.text
    return made if is_shown else IrTable(stage, opened=kernels)


def _changes(stage: Snapshot, table: TableDiff, diff: ModuleDiff, told: str) -> Iterator[str]:
    """What a stage did as a sentence, and the changed rows of a stage beside those of the stage before."""
    counts = escape(change_counts(diff))
    is_open = " open" if stage.number == 1 else ""
    name = safe(stage.made_by)
    yield f'<details id="stage-{stage.number}"{is_open}><summary><b>{stage.label} {name}</b> <span class="muted">{counts}</span></summary>'
    if told:
        yield f"<p>{safe(told, MAX_WIDTH)}</p>"
    yield '<div class="scroll"><table class="code pair">'
    yield from (beside_row(table, number) for number in range(min(len(table), MOST_ROWS)))
    yield "</table></div>"
    if len(table) > MOST_ROWS:
        yield f'<p class="muted">{len(table) - MOST_ROWS} more lines are not shown.</p>'
    yield "</details>"


def _graphs(session: Session) -> Iterator[str]:
    yield '<section id="graphs"><h2>Graphs</h2>'
    shown = [session.stages[0]]
    if session.stages[-1].module is not session.stages[0].module:
        shown.append(next(stage for stage in reversed(session.stages) if stage.changed))
    for stage in shown:
        yield f"<h3>{stage.label} {safe(stage.made_by)}</h3>"
        try:
            drawing = graph(stage.module, stage.entry).scoped(MOST_NODES)
        except Failure as failure:
            yield f'<p class="muted">{safe(failure.diagnostics[0].message)}</p>'
            continue
        notes = escape("; ".join(drawing.notes))
        size = f"{visible(drawing.title)} with {len(drawing.nodes)} nodes"
        picture = picture_html(drawing.draw("svg").data, size, ' class="graph"')
        yield f'<div class="scroll">{picture}</div><p class="muted">{notes}</p>'
    yield "</section>"


def _problems(session: Session) -> Iterator[str]:
    yield '<section id="problems"><h2>Problems</h2>'
    found = session.problems
    for stage, problem in found:
        yield f"<h3>stage {stage.label} {safe(stage.made_by)}</h3><pre>{escape(visible_lines(render(problem)))}</pre>"
    if not found:
        yield '<p class="muted">None: syntax, well-formedness, StructInfo, purity and the contracts of the passes were checked.</p>'
    yield "</section>"


def _compiled(found: BesideOurs | None) -> Iterator[str]:
    """What each call of the compiled program took, and how far its value is from ours."""
    if found is None:
        return
    pairs = () if found.verdict is None else found.verdict.pairs
    apart = {pair.b.name: pair for pair in pairs if pair.b is not None}
    names = {filler: var.name for var, filler in found.run.fillers.items()}
    yield f'<section id="compiled"><h2>Compiled program, {safe(found.label)}</h2><div class="scroll"><table class="plain">'
    yield '<tr><th>call</th><th>value</th><th>distance from ours</th><th class="number">time</th></tr>'
    for binding, seconds in list(found.run.times.items())[:MOST_ROWS]:
        name = names.get(binding, binding.var.name)
        pair = apart.get(name)
        distance = "" if pair is None or pair.delta is None else distance_text(pair.delta)
        yield table_row(
            ("code", safe(binding_text(binding), 120)),
            ("", safe(name) if pair is not None else ""),
            ("", escape(distance)),
            ("number", amount_text(seconds, "machine")),
        )
    yield "</table></div></section>"


# -- the recorded run -----------------------------------------------------------------------------------------------


def _run(session: Session, log: RunLog | None) -> Iterator[str]:
    if log is None:
        return
    stage = session.stages[0]
    table = IrTable(stage, log.function)
    steps = [step_data(step, table) for step in log.steps]
    yield f'<section id="run"><h2>Run of {safe(log.function)}</h2>'
    given = ", ".join(f"{name} = {length}" for name, length in log.shape)
    parts = [
        given,
        f"inputs made up: {log.note}" if log.note else "",
        "cut: it had more steps" if log.is_cut else "",
    ]
    yield f'<p class="muted">{escape(visible("; ".join(part for part in parts if part), 600))}</p>'
    for problem in log.problems:
        yield f"<pre>{escape(visible_lines(render(problem)))}</pre>"
    if steps:
        yield '<div class="run"><label for="step" id="step-number">step</label>'
        yield f'<input id="step" type="range" min="0" max="{len(steps) - 1}" value="0"><div class="code" id="step-value"></div></div>'
    yield '<div class="scroll"><table class="code" id="program">'
    for number, row in enumerate(table[:MOST_ROWS]):  # the script finds a row by its number
        marked = f' data-row="{number}" data-kind="{row.kind}"'
        yield row_html(row, "glyph", "line", "info", attributes=marked)
    yield "</table></div>"
    yield f'<script type="application/json" id="steps">{json_html(steps)}</script></section>'


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
    return _document(safe(title), "", style, f"<h1>{safe(title)}</h1>\n{body}", ' class="rxe"')


_PAGE = """body.rxe { border: none; margin: 0; } .rxe h1 { font-size: 20px; margin: 4px 0; }
.rxe h2 { font: 600 13px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; margin: 12px 0 2px; white-space: pre-wrap; }"""


def _section(title: str, rows: Sequence[Row]) -> str:
    head = f"<h2>{safe(title)}</h2>\n" if title else ""
    inner = "\n".join(row_html(row, "glyph", "line", "info") for row in rows)
    return f'{head}<table class="rxe-code">\n{inner}\n</table>'
