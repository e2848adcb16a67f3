"""`why` and `what-if` of the command line of the explorer: where lengths come from, and what a condition makes of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.shapes.why import Why, what_if, why, why_at
from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.selection import room
from relax_explorer.ui.tui.widgets.line_view import Row
from relax_explorer.viz.length_text import Line, what_if_lines, why_lines
from relax_explorer.viz.visible import visible

if TYPE_CHECKING:
    from relax_explorer.core.program.module import IRModule
    from relax_explorer.ui.tui.jobs import Job


def show_why(app: Controls, text: str) -> None:
    """Show where the lengths of a value come from: that of the text, or the selected one."""
    selection = app.state.selection
    if text:
        _show_why(app, text, lambda module, function: why(module, function, text))
    elif selection.binding is not None:
        show_why_at(app, selection.function, selection.binding)
    else:
        app.say("why takes a value, such as y, y[0] or main.y[0]")


def show_why_at(app: Controls, function: str, place: e.Binding | e.Function) -> None:
    """Show where the lengths of a binding come from, or those of the result of a function."""
    var = None if isinstance(place, e.Function) else place.var
    value = "the result" if isinstance(place, e.Function) else "" if var is None else var.name
    _show_why(app, value or "the value", lambda module, _: why_at(module, function, place))


def _show_why(app: Controls, value: str, explain: Callable[[IRModule, str], Why]) -> None:
    """Show why the lengths of a value are what they are."""

    def ask(module: IRModule, function: str) -> tuple[str, list[Line]]:
        found = explain(module, function)
        return found.function, why_lines(found)

    _show(app, f"Where the lengths of {visible(value, 60)} come from", ask)


def show_what_if(app: Controls, text: str) -> None:
    """Show what the lengths of the selected function become under a condition."""
    if not text:
        app.say("what-if takes a condition, such as n = 7, m <= 2 * n or layer.n = 7")
        return

    def ask(module: IRModule, function: str) -> tuple[str, list[Line]]:
        found = what_if(module, function, text)
        return found.function, what_if_lines(found, text)

    _show(app, f"What lengths become if {visible(text, 60)}", ask)


def _show(app: Controls, title: str, ask: Callable[[IRModule, str], tuple[str, list[Line]]]) -> None:
    """List an answer, found off the UI thread. Enter goes to the binding of a line."""
    stage = app.state.stage
    if stage is None:
        app.say("no program is open")
        return
    number, module, width = stage.number, stage.module, room(app.size.width)
    function = app.run_control.function()

    def work(job: Job) -> list[Row]:
        name, lines = ask(module, function)
        return _rows(module, name, lines, width)

    def done(rows: list[Row]) -> None:
        app.show_rows(f"{title}, stage {stage.label}", rows, 0, go)

    def go(row: Row) -> None:
        app.stage_control.go_to(number, row.function, row.node if isinstance(row.node, e.Binding) else None)
        app.show_screen("passes")

    app.jobs.start("checks", "looking at lengths", work, done)


def _rows(module: IRModule, function: str, lines: Sequence[Line], width: int) -> list[Row]:
    """The lines with their bindings; long ones are wrapped below their beginning."""
    fn = module.relax_functions.get(function)
    by_span = {id(item.span): item for item in (() if fn is None else bindings(fn)) if item.span is not None}
    rows = []
    for text, place in lines:
        node = place if isinstance(place, e.Binding) else by_span.get(id(place))
        inner = " " * (len(text) - len(text.lstrip()) + 4)
        rows += [
            Row(part, " ", node, function)
            for part in wrap(visible(text, 600), width, subsequent_indent=inner, drop_whitespace=False)
        ]
    return rows
