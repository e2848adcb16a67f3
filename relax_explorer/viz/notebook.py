"""Values as HTML for notebooks: modules, functions, stages, sessions, differences, graphs and runs.

A fragment holds its own style, follows the light or dark theme of the notebook, and needs no script and no network. Every text
is escaped. What is too long is cut, and a sentence tells how much is hidden. A session is the page of `rxe report` in a frame, which
can neither see nor change the notebook, and a table for readers that show no frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from itertools import islice

from relax_explorer.core.check.normalize import normalize_with
from relax_explorer.core.exec.debugger import Debugger
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import any_expr
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.align import ModuleDiff
from relax_explorer.core.session.run_log import RunLog
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.tir.stmt import PrimFunc
from relax_explorer.viz.debug_text import binding_text
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.ir_table import IrTable
from relax_explorer.viz.problem import render
from relax_explorer.viz.pygmented import code_pieces
from relax_explorer.viz.report import (
    asset,
    picture_html,
    pipeline_table,
    report,
    row_html,
    safe,
    step_text,
    table_row,
)
from relax_explorer.viz.table_diff import lines, stat_line
from relax_explorer.viz.tokens import notebook_theme, role_rules
from relax_explorer.viz.value_table import value_columns, value_row
from relax_explorer.viz.visible import counted, visible, visible_lines

MOST_ROWS = 200
MOST_NODES = 200
MOST_VALUES = 50
MOST_PROBLEMS = 5
MOST_BINDINGS = 12_000  # of all stages of a session whose page is shown: it takes about a second
MOST_PAGE = 1_500_000  # characters of the page of a session: a notebook keeps them
_SCOPE = ".rxe"
_WIDTH = 110  # cells of a row of values


def html(value: object) -> str:
    """The value as HTML. Raises TypeError for a value that is none of the project's.

    >>> page = rxe.html(module)
    """
    maker = next((_MAKERS[base] for base in type(value).__mro__ if base in _MAKERS), None)
    if maker is None:
        raise TypeError(f"there is no view of {type(value).__name__} in HTML")
    style = f"{notebook_theme(_SCOPE)}\n{role_rules(_SCOPE)}\n{asset('notebook.css')}"
    return f'<div class="rxe"><style>{style}</style>\n{"".join(maker(value))}</div>'


def mime_bundle(value: object) -> dict[str, str]:
    """The value for Jupyter; a graph also as SVG, for documents on paper."""
    shown = {"text/html": html(value)}
    return shown | {"image/svg+xml": _scoped(value).svg()} if isinstance(value, Drawing) else shown


# -- programs -------------------------------------------------------------------------------------------------------


def _module(module: IRModule) -> Iterator[str]:
    count = len(module.functions)
    yield _title(module.name, counted(count, "function"))
    yield from _program(Snapshot(0, "", normalize_with(module)[0]), "print(module.script())")


def _function(fn: e.Function | PrimFunc) -> Iterator[str]:
    kind = "PrimFunc" if isinstance(fn, PrimFunc) else "Relax function"
    name = fn.attrs.get("global_symbol")
    shown = name if isinstance(name, str) else "function"
    yield _title(shown, kind)
    module = IRModule({shown: fn})
    if isinstance(fn, e.Function) and not any_expr(fn, lambda expr: type(expr) is e.GlobalVar):
        module, _ = normalize_with(
            module
        )  # else the functions that it calls stand in a module that is not here
    yield from _program(Snapshot(0, "", module), "the module's script()")


def _stage(stage: Snapshot) -> Iterator[str]:
    yield _title(f"{stage.label} {stage.made_by}", stage.phase)
    yield from _program(stage, "print(stage.module.script())")


def _program(stage: Snapshot, whole: str) -> Iterator[str]:
    functions = list(stage.module.functions.values())
    is_kernel = len(functions) == 1 and isinstance(functions[0], PrimFunc)
    table = IrTable(stage, opened=None if is_kernel else ())
    yield '<div class="rxe-scroll"><table class="rxe-code">'
    for row in table[:MOST_ROWS]:
        is_inferred = row.right != "?"  # nothing is before normalizing
        yield row_html(row if is_inferred else replace(row, right=""), "line", "info")
    yield "</table></div>"
    if not len(table):
        yield _muted("The module has no function.")
    yield from _hidden(len(table) - MOST_ROWS, len(table), "lines", whole)


def _session(session: Session) -> Iterator[str]:
    changed = sum(stage.changed for stage in session.stages[1:])
    yield _title(session.filename or "session", f"{len(session.stages)} stages, {changed} changed the module")
    page = report(session) if _is_small(session) else ""
    has_page = 0 < len(page) <= MOST_PAGE
    if has_page:
        yield f'<iframe title="{safe(session.filename or "session")}" sandbox="allow-scripts allow-downloads" srcdoc="{escape(page)}"></iframe>'
        yield "<details><summary>The stages as a table</summary>"
    else:
        yield _muted("The page of this session is too large for a notebook; relax-explorer report writes it.")
    yield from _stages(session)
    yield "</details>" * has_page


def _is_small(session: Session) -> bool:
    """True if the page of a session is made while a reader waits."""
    modules = {id(stage.module): stage.module for stage in session.stages}.values()
    functions = [fn for module in modules for fn in module.relax_functions.values()]
    return sum(len(block.bindings) for fn in functions for block in fn.body.blocks) <= MOST_BINDINGS


def _stages(session: Session) -> Iterator[str]:
    yield '<div class="rxe-scroll">'
    yield from pipeline_table(session)
    yield "</div>"
    found = session.problems
    for stage, problem in found[:MOST_PROBLEMS]:
        yield _muted(f"stage {stage.label} {stage.made_by}")
        yield f"<pre>{escape(visible_lines(render(problem)))}</pre>"
    yield from _hidden(len(found) - MOST_PROBLEMS, len(found), "problems", "session.problems")


def _difference(diff: ModuleDiff) -> Iterator[str]:
    yield _title("Difference", stat_line(diff))
    total, shown = 0, 0
    for fn in diff.functions:
        total += sum(pair.kind != "same" for pair in fn.pairs)
    yield '<div class="rxe-scroll"><table class="rxe-code">'
    for line in islice(lines(diff), MOST_ROWS):
        shown += line.kind != "same" and not (line.mark == "-" and line.kind in ("changed", "type"))
        text = visible(line.text)
        yield row_html(replace(line, text=text, pieces=tuple(code_pieces(text))), "glyph", "line")
    yield "</table></div>"
    yield from _hidden(total - shown, total, "changes", "relax_explorer.viz.table_diff.lines(diff)")


# -- graphs ---------------------------------------------------------------------------------------------------------


def _scoped(drawing: Drawing) -> Drawing:
    return drawing.scoped(MOST_NODES)


def _graph(drawing: Drawing) -> Iterator[str]:
    shown = _scoped(drawing)
    name = f"{visible(shown.title)} with {len(shown.nodes)} nodes"
    yield f'<div class="rxe-scroll">{picture_html(shown.svg().encode(), name)}</div>'
    yield _muted("; ".join(shown.notes)) if shown.notes else ""


# -- runs -----------------------------------------------------------------------------------------------------------


def _run(debugger: Debugger) -> Iterator[str]:
    where = "at the end" if debugger.done else f"before {binding_text(debugger.next_binding)}"
    yield _title(f"Run of {debugger.frame.name}", f"step {debugger.position}, {where}")
    if debugger.frame.shape_vars:
        yield _muted(", ".join(f"{name} = {length}" for name, length in debugger.frame.shape_vars.items()))
    held = list(debugger.frame.values.items())
    if debugger.done:
        held.append(("result", debugger.result))
    width = max([min(len(name), 24) for name, _ in held[-MOST_VALUES:]], default=6)
    rows = [value_columns(_WIDTH, width).heading]
    rows += [value_row(name, value, _WIDTH, width) for name, value in held[-MOST_VALUES:]]
    yield f'<pre class="rxe-scroll">{escape(visible_lines(chr(10).join(rows)))}</pre>'
    yield from _hidden(len(held) - MOST_VALUES, len(held), "values", "debugger.frame.values")


def _log(log: RunLog) -> Iterator[str]:
    lengths = ", ".join(f"{name} = {length}" for name, length in log.shape)
    yield _title(f"Run of {log.function}", f"{len(log.steps)} steps{', ' * bool(lengths)}{lengths}")
    yield _muted(f"inputs made up: {log.note}") if log.note else ""
    yield '<div class="rxe-scroll"><table class="rxe-code">'
    for step in log.steps[:MOST_ROWS]:
        yield table_row(("number", str(step.position)), ("line", safe(step_text(step), 300)))
    yield "</table></div>"
    yield from _hidden(len(log.steps) - MOST_ROWS, len(log.steps), "steps", "log.steps")
    for problem in log.problems:
        yield f"<pre>{escape(visible_lines(render(problem)))}</pre>"


# -- parts ----------------------------------------------------------------------------------------------------------


def _title(name: str, remark: str) -> str:
    return f'<p><b>{safe(name)}</b> <span class="muted">{safe(remark, 400)}</span></p>'


def _muted(text: str) -> str:
    return f'<p class="rxe-muted">{safe(text, 600)}</p>'


def _hidden(count: int, total: int, what: str, whole: str) -> Iterator[str]:
    if count > 0:
        yield _muted(f"{count:,} of {total:,} {what} are hidden; {whole} has all of them.")


_MAKERS: dict[type, Callable[..., Iterator[str]]] = {
    IRModule: _module,
    e.Function: _function,
    PrimFunc: _function,
    Snapshot: _stage,
    Session: _session,
    ModuleDiff: _difference,
    Drawing: _graph,
    Debugger: _run,
    RunLog: _log,
}
