"""What the `:` line answers: pages that explain, where lengths come from, checks of lengths, and programs with shape contracts in other forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from textwrap import wrap

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.core.ir.walk import bindings
from relax_explorer.core.ops import find
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.shapes.contract_forms import FORMS, copy_of
from relax_explorer.core.shapes.why import Why, what_if, why, why_at
from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.state import room
from relax_explorer.viz.check_list import FILTERS, conditions_of
from relax_explorer.viz.explanations import page_of
from relax_explorer.viz.length_text import Line, what_if_lines, why_lines
from relax_explorer.viz.solver_steps import ContractSteps
from relax_explorer.viz.tables import Row
from relax_explorer.viz.visible import visible

_CODE = re.compile(r"\bRX[0-9]{4}\b")
_INDENT = re.compile(r" *(\S+ {2,})?")


def explain(app: Controls, text: str) -> None:
    """Show the page of a name, or of what is selected."""
    subject = text or _selected(app)
    if not subject:
        app.say("explain takes a name (matmul, FuseOps, RX0203); or select an operator")
        return
    width = room(app.size.width)

    def work(job: Job) -> list[str] | str:
        try:
            lines = _joined(page_of(subject).split("\n"))
        except KeyError as error:
            return str(error.args[0])
        return [part for line in lines for part in _wrapped(visible(line, 2_000), width)]

    def done(found: list[str] | str) -> None:
        if isinstance(found, str):
            app.say(found)
        else:
            app.show_text(visible(subject, 60), found)

    app.jobs.start("checks", f"explaining {visible(subject, 60)}", work, done)


def _selected(app: Controls) -> str:
    """The code of the problem under the cursor, else the operator of the selected binding, else the pass that made the stage."""
    row, stage = app.view.row, app.state.stage
    if app.screen_name == "problems":
        view = app.view
        above = [view.rows[n].text for n in range(view.cursor, -1, -1)]
        return next((hit[0] for line in above if (hit := _CODE.search(line))), "")
    binding = app.state.selection.binding
    if app.view.id == "stages" and row is not None and stage is not None:
        return stage.made_by if stage.number else ""
    call = binding.value if binding is not None else None
    op = call.op if isinstance(call, e.Call) else None
    return op.name if isinstance(op, e.OpRef) and find(op.name) is not None else ""


def _joined(lines: list[str]) -> list[str]:
    """Paragraphs as one line each: a docstring is cut at the width of a source file. Indented lines and lists stay."""
    found: list[str] = []
    for line in lines:
        before = found[-1] if found else ""
        is_text = bool(line) and not line.startswith((" ", "* "))
        goes_on = is_text and before and not before.startswith((" ", "* ")) and not before.endswith(":")
        if goes_on:
            found[-1] = f"{before} {line}"
        else:
            found.append(line)
    return found


def _wrapped(line: str, width: int) -> list[str]:
    """A line cut at words; what follows stands below its text, and that of a program deeper."""
    hit = _INDENT.match(line)
    deeper = 4 if line.startswith("    ") else 0
    inner = " " * min(len(hit[0]) + deeper if hit is not None else 0, width // 3)
    return wrap(line, width, subsequent_indent=inner) or [""]


# -- length answers --------------------------------------------------------------------------------------------------
# `why` and `what-if` of the command line of the explorer: where lengths come from, and what a condition makes of
# them.


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


# -- contract answers ------------------------------------------------------------------------------------------------
# What the `:` line answers about a program with shape contracts: its other forms, a copy for sizes, and its Relax
# module.


TITLES = {
    "desugared": "Contracts as assertions",
    "matches": "Contracts as match_shape statements",
    "split": "Shape functions apart from the data",
}
"""The forms that are shown as text, by the names of their commands."""


def answer(app: Controls, command: str, text: str) -> None:
    """Answer a command about the open program. If that has no contracts, a notice tells what the command needs."""
    contracts = app.state.solving
    if not isinstance(contracts, ContractSteps):
        back = "; 7 goes back to it" if app.stage_control.is_from_contracts else ""
        app.say(f"{command} needs shape contracts, a .shapes file{back}")
    elif command == "relax":
        app.stage_control.open_as_relax(contracts)
    elif (
        command == "keep-branches"
    ):  # look into the functions that are called, branch by branch, or no longer
        app.show_with(keep_branches=not app.state.options.keep_branches)
        app.stage_control.open(app.state.path)
    elif command in TITLES:
        program, terms, form = contracts.program, contracts.terms, FORMS[command]
        _show_form(app, TITLES[command], lambda: form(program, terms))
    elif text:
        program, terms = contracts.program, contracts.terms
        _show_form(app, f"Copy for {visible(text, 60)}", lambda: copy_of(program, terms, text))
    else:
        app.say("copy takes a function and sizes, such as ff: n=8, m=4")


def _show_form(app: Controls, title: str, form: Callable[[], Iterable[str]]) -> None:
    """Show text that is made off the UI thread."""

    def work(job: Job) -> list[str]:
        return [visible(line, 2_000) for line in form()]

    def done(lines: list[str]) -> None:
        app.show_text(title, lines or ["this program has no function with a contract"])

    app.jobs.start("checks", "looking at contracts", work, done)


# -- checks ----------------------------------------------------------------------------------------------------------


def show_checks(app: Controls, text: str) -> None:
    """Show the checks that a `:checks` line asks for."""
    word, _, condition = text.partition(" ")
    shown = word or "remaining"
    stage = app.state.stage
    if shown not in FILTERS or (shown == "given") != bool(condition):
        app.say("checks takes remaining, proved, all, costly, or given, such as given n == 7")
    elif stage is None:
        app.say("no program is open")
    else:
        given = (app.run_control.function(), condition) if condition else ("", "")
        try:
            asked = conditions_of(stage.module, *given)
        except Failure as failure:
            app.show_failures(failure.diagnostics)
            return
        if asked is not None and len(asked) == 1:  # it may name another function
            given = (next(iter(asked)), condition)
        app.show_with(checks=shown, given=given)
        app.show_screen("checks")
