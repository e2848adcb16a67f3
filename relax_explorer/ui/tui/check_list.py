"""The checks of lengths of the selected stage as a list; Enter goes to the binding of one. They are found off the UI thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from relax_explorer.core.arith.prove import Answer
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.check_costs import Costs, check_costs, spent_on
from relax_explorer.core.shapes.given import read_conditions
from relax_explorer.core.shapes.residual import PARAMETERS, ShapeCheck, shape_checks, shape_variables
from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.dialogs.popup import room
from relax_explorer.ui.tui.widgets.line_view import Row
from relax_explorer.viz.visible import visible

if TYPE_CHECKING:
    from relax_explorer.core.program.module import IRModule
    from relax_explorer.ui.tui.jobs import Job

FILTERS = ("remaining", "proved", "given", "all")
_GLYPHS = {Answer.YES: "✓", Answer.UNKNOWN: "·", Answer.NO: "✗"}
_WORDS = {Answer.YES: "proved", Answer.UNKNOWN: "left to the run", Answer.NO: "failing in every run"}


def show_checks(app: Controls, text: str) -> None:
    """List the checks of the selected stage, with what they cost in the run of Debug so far."""
    stage, run = app.state.stage, app.run_control.session
    word, _, condition = text.partition(" ")
    shown = word or "remaining"
    if shown not in FILTERS or (shown == "given") != bool(condition):
        app.say("checks takes remaining, proved, all, or given with a condition such as n == 7")
        return
    if stage is None:
        app.say("no program is open")
        return
    number, module, binding = stage.number, stage.module, app.state.selection.binding
    width = room(app.size.width)
    function = app.run_control.function()

    def work(job: Job) -> tuple[list[Row], int]:
        costs = None if run is None else check_costs(run.debugger.machine)
        by_function = _checks(module, function, condition)
        rows = [
            row
            for name, checks in by_function.items()
            for row in _function_rows(name, checks, shown, costs, width)
        ]
        here = (n for n, row in enumerate(rows) if binding is not None and _place(row) is binding)
        return rows, next(here, 0)

    def done(found: tuple[list[Row], int]) -> None:
        rows, cursor = found
        app.show_rows(
            f"Checks of lengths in stage {stage.label}: {visible(text or shown, 60)}", rows, cursor, go
        )

    def go(row: Row) -> None:
        place = _place(row)
        app.stage_control.go_to(number, row.function, place if isinstance(place, e.Binding) else None)
        app.show_screen("passes")

    # The lane of the run moves the debugger: nobody reads its machine meanwhile.
    app.jobs.start("checks" if run is None else "run", "looking for checks", work, done, replaces=run is None)


def _checks(module: IRModule, function: str, condition: str) -> dict[str, list[ShapeCheck]]:
    """The checks of each function; in `function`, the condition holds (none if it is empty)."""
    found: dict[str, list[ShapeCheck]] = {name: [] for name in module.relax_functions}
    fn = module.relax_functions.get(function)
    variables = {} if fn is None else shape_variables(fn)
    given = {function: read_conditions(condition, variables)} if condition else None
    for check in shape_checks(module, given):
        found[check.function].append(check)
    return found


def _place(row: Row) -> object:
    return row.node.place if isinstance(row.node, ShapeCheck) else None


def _function_rows(
    name: str, checks: Sequence[ShapeCheck], shown: str, costs: Costs | None, width: int
) -> Iterator[Row]:
    """A head with counts, then a line for each check that is shown, and lines with its reasons."""
    counts = [
        f"{number} {word}"
        for answer, word in _WORDS.items()
        if (number := sum(check.answer is answer for check in checks))
    ]
    yield Row(f"{visible(name, 60)}: {', '.join(counts) or 'nothing to check'}", " ", None, name)
    for check in checks:
        if shown == "all" or _is_shown(check, shown):
            yield from _check_rows(check, costs, width)


def _is_shown(check: ShapeCheck, shown: str) -> bool:
    """True for what remains or always fails, what is proved, or what a given condition decides."""
    if shown == "given":
        return any(fact.why == "given" for fact in check.proof)
    return (check.answer is Answer.YES) == (shown == "proved")


def _check_rows(check: ShapeCheck, costs: Costs | None, width: int) -> Iterator[Row]:
    span = getattr(check.place, "span", None)
    var = getattr(check.place, "var", None)
    where = [f"line {span.line}"] if span is not None else []
    where += [visible(var.name, 30)] if var is not None else []
    where += ["each call from outside"] if check.kind == PARAMETERS else []
    lines = [
        f"  {visible(check.text, 120)}  ({visible(f'{check.kind}: {check.subject}', 120)}) {', '.join(where)}"
    ]
    lines += [f"    because {'; '.join(map(str, check.proof))}"] if check.proof else []
    lines += [f"    why: {check.why}"] if check.why else []
    lines += [f"    to remove it: {check.remedy}"] if check.remedy else []
    spent = None if costs is None else spent_on(check, costs)
    lines += [f"    in this run: {spent}"] if spent is not None else []
    lines = [part for line in lines for part in wrap(visible(line, 600), width, subsequent_indent=" " * 6)]
    for number, line in enumerate(lines):
        yield Row(line, " " if number else _GLYPHS[check.answer], check, check.function)
