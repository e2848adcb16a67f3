"""`cost` of the `:` line: what the selected function costs at the selected stage, with a row for each binding."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap

from relax_explorer.core.cost.program_cost import Cost, ModuleCosts
from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.ir import expr as e
from relax_explorer.ui.tui.controls import Controls
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.state import room
from relax_explorer.viz.cost_text import (
    Part,
    StageCost,
    chart_lines,
    doubt_lines,
    part_table,
    parts_of,
    probed,
    summary,
    where_lines,
)
from relax_explorer.viz.tables import Row, cell
from relax_explorer.viz.visible import columns, fit, visible

_PAIR = re.compile(r"([^\W\d]\w*) *= *([0-9]{1,18})")
NUMBERS = frozenset({1, 2, 3, 4, 5, 6})  # columns of the table that are aligned to the right


def lengths_in(text: str) -> dict[str, int] | None:
    """The lengths in `n=16 m=4`; None if the text is anything else."""
    rest = _PAIR.sub("", text).strip(" ,")
    return None if rest else {name: int(length) for name, length in _PAIR.findall(text)}


def show_cost(app: Controls, text: str) -> None:
    """List what the bindings of the selected function cost; Enter goes to one. Found off the UI thread."""
    stage, lengths = app.state.stage, lengths_in(text)
    if stage is None or lengths is None:
        app.say("no program is open" if stage is None else "cost takes lengths, such as n=16 m=4")
        return
    module, function, width = stage.module, app.run_control.function(), room(app.size.width)
    if function not in module.relax_functions:
        app.say("only Relax functions are counted: choose one")
        return

    def work(job: Job) -> list[Row] | str:
        cost = ModuleCosts(module).of(function)
        try:
            return cost_rows(StageCost(stage.label, stage.made_by, cost.at(lengths)), width)
        except Failure as failure:
            problem = failure.diagnostics[0]
            return f"{problem.message}; {problem.help}"

    def done(found: list[Row] | str) -> None:
        if isinstance(found, str):
            app.say(found)
        else:
            app.show_rows(f"What {visible(function, 40)} costs, stage {stage.label}", found, 0, go)

    def go(row: Row) -> None:
        app.stage_control.go_to(stage.number, row.function, row.binding)
        app.show_screen("passes")

    app.jobs.start("checks", f"counting {visible(function, 40)}", work, done)


def cost_rows(stage: StageCost, width: int) -> list[Row]:
    """The rows of the answer: a summary, a row for each binding, the memory over them."""
    given = stage.cost
    named = {var.name: length for var, length in probed(given).items()}
    shown = StageCost(stage.label, stage.made_by, given.at(named))
    head = [summary(shown, shown)]
    if named:
        head.append(f"for {', '.join(f'{name} = {length:,}' for name, length in named.items())}")
    head += [*where_lines(shown, named), *doubt_lines(given)]
    rows = [Row(part, " ", None, given.function) for line in head for part in _wrapped(line, width)]
    parts = parts_of(shown.cost, "binding", ())
    bindings: list[e.Binding | None] = [None, *[row.binding for row in shown.cost.bindings]]
    lines = _table(shown.cost, parts, width)
    rows += [Row("", " ", None, given.function)]
    rows += [Row(line, " ", binding, given.function) for line, binding in zip(lines, bindings, strict=True)]
    chart = chart_lines(shown, named, width)
    return rows + [Row(line, " ", None, given.function) for line in (["", *chart] if chart else [])]


def _wrapped(line: str, width: int) -> list[str]:
    return wrap(visible(line, 600), width, subsequent_indent="    ") or [""]


def _table(cost: Cost, parts: Sequence[Part], width: int) -> list[str]:
    """The table as lines; the last columns are cut where the terminal is narrow."""
    table = list(part_table(cost, parts))
    widths = [max(map(columns, column)) for column in zip(*table, strict=True)]
    return [
        fit(
            "  ".join(
                cell(text, size, ">" if number in NUMBERS else "<")
                for number, (text, size) in enumerate(zip(row, widths, strict=True))
            ).rstrip(),
            width,
        )
        for row in table
    ]
