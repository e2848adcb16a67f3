"""What the page tells beside the programs: problems, shape variables, checks of lengths, cost, a run, and the compiled program.

Every sentence is made by the function that makes it for the explorer and the shell, so that they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from relax_explorer.core.diagnostics import Diagnostic
from relax_explorer.core.exec.shape_origins import binders
from relax_explorer.core.exec.values import Value
from relax_explorer.core.ir import expr as e
from relax_explorer.core.session.compiled_beside import BesideOurs
from relax_explorer.core.session.run_log import LoggedStep, RunLog
from relax_explorer.core.session.session import Session
from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.shapes.residual import ShapeCheck
from relax_explorer.core.syntax.node_text import binding_text
from relax_explorer.viz.check_list import CheckList, check_details, check_rows, checks_of, listed, place_of
from relax_explorer.viz.length_text import shape_lines
from relax_explorer.viz.marked_graph import amount_text
from relax_explorer.viz.page_rows import Body, marked
from relax_explorer.viz.pair_table import distance_text
from relax_explorer.viz.problem import place_in, render, stages_text
from relax_explorer.viz.short import short_value
from relax_explorer.viz.tables import MAX_WIDTH
from relax_explorer.viz.value_table import Summary, number_text, summary, value_page
from relax_explorer.viz.visible import counted, visible, visible_lines

MOST_CALLS = 3_000  # of the compiled program
MOST_CHECKS = 300  # of a stage
MOST_CHECKED = 3_000  # bindings of a stage whose checks are looked for: those of more would take seconds
MOST_ELEMENTS = 256  # of a value whose elements are on the page
MOST_TEXT = 200_000  # characters of the elements of all values
_WIDTH = 100  # cells


def problems_data(session: Session, body_of: Callable[[int], Body]) -> list[dict[str, object]]:
    """Remarks on the pipeline, then each problem once, with the stages that have it and its row there."""
    found = [_problem(note, "", 0, -1) for note in session.notes]
    for stage, problem, later in session.distinct_problems:
        _, function, binding = place_in(stage, problem.span)
        body = body_of(stage.number)
        row = body.row_of.get(id(binding), -1) if binding is not None else body.starts.get(function, -1)
        if stage.text and problem.span is not None:  # its rows are the lines of its file
            row = min(problem.span.line, len(body.rows)) - 1
        found.append(_problem(problem, stages_text(stage, later), stage.number, row))
    return found


def _problem(problem: Diagnostic, where: str, stage: int, row: int) -> dict[str, object]:
    return {
        "level": str(problem.level),
        "code": problem.code.id,
        "message": visible(problem.message, MAX_WIDTH),
        "where": visible(where),
        "stage": stage,
        "row": row,
        "text": visible_lines(render(problem)),
    }


# -- lengths ---------------------------------------------------------------------------------------------------------


def shapes_data(stage: Snapshot, log: RunLog | None) -> list[dict[str, object]]:
    """The shape variables of each function, with what binds them; those of the function that ran have values and constraints."""
    known = dict(log.shape) if log is not None and not stage.number else {}
    ran = log.function if log is not None and not stage.number else ""
    return [
        {
            "function": visible(name, 200),
            "variables": list(_variables(fn, known if name == ran else {})),
            "lines": _panel_lines(log) if log is not None and name == ran else [],
        }
        for name, fn in stage.module.relax_functions.items()
    ]


def _variables(fn: e.Function, known: Mapping[str, int]) -> Iterator[list[object]]:
    """Name, value in the run (or None), and the places that bind it."""
    for var, origins in binders(fn).items():
        yield [visible(var.name, 60), known.get(var.name), [visible(str(origin)) for origin in origins]]


def _panel_lines(log: RunLog) -> list[str]:
    return [] if log.panel is None else [visible(line) for line in shape_lines(log.panel, is_timed=False)]


def checks_data(stage: Snapshot, body: Body) -> dict[str, object]:
    """The checks of lengths of a stage: what is left to the run, and what is proved."""
    bindings = sum(
        len(block.bindings) for fn in stage.module.relax_functions.values() for block in fn.body.blocks
    )
    if bindings > MOST_CHECKED:
        return {
            "stage": stage.number,
            "lists": [],
            "note": f"{bindings:,} bindings: `rxe shapes` finds their checks.",
        }
    checks = checks_of(stage.module, "", "")
    shown = [(title, listed(checks, word, None)) for word, title in _CHECKS]
    rows = [
        {"title": title, "rows": list(_check_rows(found, body))}
        for title, found in shown
        if not found.is_empty
    ]
    return {"stage": stage.number, "lists": rows, "note": "" if rows else "There is no length to check."}


_CHECKS = (("remaining", "left to the run, or failing"), ("proved", "proved"))


def _check_rows(found: CheckList, body: Body) -> Iterator[list[object]]:
    """Mark, text, row of the program (or -1), and sentences about it."""
    rows = check_rows(found, _WIDTH)
    for row in rows[:MOST_CHECKS]:
        binding = place_of(row.node)
        place = body.starts.get(row.function, -1) if binding is None else body.row_of.get(id(binding), -1)
        mark = row.mark if isinstance(row.node, ShapeCheck) or row.mark.strip() else ""
        yield [
            mark,
            marked(row.colored).lstrip(),
            place,
            [visible(line, 600) for line in check_details(row, found)],
        ]
    if len(rows) > MOST_CHECKS:
        yield ["", f"{len(rows) - MOST_CHECKS} more are not shown", -1, []]


# -- run -------------------------------------------------------------------------------------------------------------


def run_data(log: RunLog | None, body: Body, with_values: bool = True) -> dict[str, object] | None:
    """A recorded run: its inputs, and what each step bound, with its distribution and its elements if `with_values`."""
    if log is None:
        return None
    parts = [
        ", ".join(f"{name} = {length}" for name, length in log.shape),
        f"inputs made up: {log.note}" if log.note else "",
        f"cut: it had more steps than {counted(len(log.steps), 'step')}" if log.is_cut else "",
    ]
    room = [MOST_TEXT if with_values else 0]
    return {
        "function": visible(log.function, 200),
        "about": visible("; ".join(part for part in parts if part), 600),
        "problems": [visible_lines(render(problem)) for problem in log.problems],
        "inputs": [_value(name, value, room) for name, value in log.inputs],
        "steps": [_step(step, log, body, room, with_values) for step in log.steps],
    }


def step_values(log: RunLog, body: Body, steps: range) -> list[dict[str, object]]:
    """Steps of a run with their distributions and elements."""
    return [_step(log.steps[step], log, body, [MOST_TEXT], True) for step in steps if step < len(log.steps)]


def _step(step: LoggedStep, log: RunLog, body: Body, room: list[int], with_values: bool) -> dict[str, object]:
    """A step: its number, its row of the program (-1 inside of another function), and its value."""
    binding = step.binding
    name = binding.var.name if binding is not None and binding.var is not None else "result"
    row = -1 if binding is None else body.row_of.get(id(binding), -1)
    inner = "" if step.function == log.function else visible(step.function, 60)
    return {"step": step.position, "row": row, "inside": inner, **_value(name, step.value, room, with_values)}


def _value(name: str, value: Value, room: list[int], is_whole: bool = True) -> dict[str, object]:
    """A value in one line; if whole, its numbers, its distribution, and its elements if they are few. `room` is what elements may still take."""
    found = summary(value) if is_whole else None
    size = value.size if isinstance(value, np.ndarray) else 1
    has_lines = size <= MOST_ELEMENTS and room[0] > 0
    lines = [visible(line) for line in value_page(name, value, _WIDTH)] if has_lines else []
    taken = sum(map(len, lines))
    lines = lines if taken <= room[0] else []
    room[0] -= taken if lines else 0
    return {
        "name": visible(name, 200),
        "text": visible(short_value(value, 120), 200),
        "numbers": [] if found is None else _numbers(found),
        "counts": [] if found is None else list(found.counts),
        "bad": 0 if found is None else found.nan + found.inf,
        "lines": lines,
    }


def _numbers(found: Summary) -> list[str]:
    """Least, mean and greatest number, and what is not finite."""
    if np.isnan(found.least):
        return [f"nan {found.nan}", f"inf {found.inf}"]
    bad = [f"‼ nan {found.nan} inf {found.inf}"] if found.nan or found.inf else []
    named = (("min", found.least), ("mean", found.mean), ("max", found.greatest))
    return [*[f"{word} {number_text(number)}" for word, number in named], *bad]


def compiled_data(found: BesideOurs | None) -> dict[str, object] | None:
    """What each call of the compiled program took, and how far its value is from ours."""
    if found is None:
        return None
    pairs = () if found.verdict is None else found.verdict.pairs
    apart = {pair.b.name: pair for pair in pairs if pair.b is not None}
    names = {filler: var.name for var, filler in found.run.fillers.items()}
    rows = []
    for binding, seconds in list(found.run.times.items())[:MOST_CALLS]:
        name = names.get(binding, binding.var.name)
        pair = apart.get(name)
        distance = "" if pair is None or pair.delta is None else distance_text(pair.delta)
        call = visible(binding_text(binding), 120)
        rows.append(
            [call, visible(name) if pair is not None else "", distance, amount_text(seconds, "machine")]
        )
    return {"title": visible(found.label), "rows": rows}
