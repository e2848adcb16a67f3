"""The problems screen: errors and warnings of all stages, each with its place; Enter goes there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from textual.app import ComposeResult

from relax_explorer.core.session.snapshot import Snapshot
from relax_explorer.core.source import Span
from relax_explorer.ui.tui import keys, rows
from relax_explorer.ui.tui.empty import no_problems, no_program
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.solving import Solving
from relax_explorer.viz.tables import Row, text_lines

MOST_STAGES = 8  # that are named


class ProblemsScreen(Frame):
    """A list of problems, each with excerpt, notes and hint."""

    BINDINGS = keys.bindings("problems")
    name_ = "problems"
    panes = ("problems",)

    def compose_body(self) -> ComposeResult:
        """The list."""
        yield LineView("problems", colored=False)

    def draw(self, state: State, old: State) -> None:
        """List everything again when stages or failures were added."""
        if (state.session, state.stages, state.failures) != (
            old.session,
            old.stages,
            old.failures,
        ) or state.session is None:
            view = self.lines("problems")
            view.show(list(problem_list(state)), 0)
            view.border_title = "Problems of all stages"
            view.border_subtitle = "Enter goes to the place"

    def action_enter(self) -> None:
        row, solving = self.view.row, self.explorer.state.solving
        if row is not None and isinstance(row.node, Span) and solving is not None:
            step = solving.at_line(row.node.line)
            self.explorer.change(step=solving.last if step is None else step)
            self.explorer.show_screen("solver")
            return
        if row is None or not isinstance(row.node, tuple):
            self.explorer.say("this line has no place")
            return
        number, function, binding = row.node
        self.explorer.stage_control.go_to(number, function, binding)
        self.explorer.show_screen("passes")

    def action_reduce(self) -> None:
        """Make the smallest program that shows the problem under the cursor."""
        row = self.view.row
        number = row.node[0] if row is not None and isinstance(row.node, tuple) else None
        self.explorer.reproducing.reduce(number=number)


def problem_list(state: State) -> Iterator[Row]:
    """Failures of work, remarks on the pipeline, then the problems of each stage."""
    for item in state.failures:
        yield from rows.problem_rows(item)
    if state.solving is not None:
        yield from _solver_problems(state.solving)
        return
    if state.session is None:
        if not state.failures:
            yield from text_lines(no_program(state, "", False))
        return
    for note in state.session.notes:
        yield from rows.problem_rows(note)
    found = state.session.distinct_problems
    for stage, problem, later in found:
        place = _place(stage, problem.span)
        for row in rows.problem_rows(problem, f"stage {stage.label} {stage.made_by}{_also(later)}"):
            yield Row(row.text, row.mark, place)
    if not (found or state.failures or state.session.notes):
        yield from text_lines(no_problems(state))


def _also(later: Sequence[Snapshot]) -> str:
    """The later stages that have a problem."""
    if not later:
        return ""
    shown = ", ".join(str(stage.label) for stage in later[:MOST_STAGES])
    return f", and in {len(later)} later stage{'s' * (len(later) > 1)}: {shown}{', …' if len(later) > MOST_STAGES else ''}"


def _solver_problems(solving: Solving) -> Iterator[Row]:
    """The problems of type relations or shape contracts; the node of a row is its place."""
    for problem in solving.problems:
        yield from [replace(row, node=problem.span) for row in rows.problem_rows(problem)]
    if not solving.problems:
        yield from text_lines([f"no problems: {solving.verdict}"])


def _place(stage: Snapshot, span: Span | None) -> tuple[int, str, object]:
    """The stage of a problem, and the function and binding at its line, if the text of the stage has the line."""
    if span is None:
        return stage.number, stage.entry, None
    from relax_explorer.core.ir.walk import bindings

    for name, fn in stage.module.relax_functions.items():
        for binding in bindings(fn):
            own = getattr(binding, "span", None)
            if own is not None and own.source is span.source and own.line <= span.line <= own.end_line:
                return stage.number, name, binding
    lines = stage.printed.lines
    if span.line <= len(lines):
        line = lines[span.line - 1]
        return stage.number, line.function or stage.entry, line.node if hasattr(line.node, "var") else None
    return stage.number, stage.entry, None
