"""The problems screen: errors and warnings of all stages, each with its place; Enter goes there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from textual.app import ComposeResult

from relax_explorer.core.source import Span
from relax_explorer.ui.tui import keys, rows
from relax_explorer.ui.tui.empty import no_problems, no_program
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.broken_source import broken_source
from relax_explorer.viz.problem import place_in, stages_text
from relax_explorer.viz.solving import Solving
from relax_explorer.viz.tables import Row, text_lines


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

    def action_source(self) -> None:
        """Show the problem under the cursor in its text."""
        row, explorer = self.view.row, self.explorer
        if row is not None and isinstance(row.node, tuple):
            explorer.stage_control.go_to(*row.node)
        elif explorer.state.session is not None:
            explorer.say("this line has no place")
            return
        if broken_source(explorer.state.marked) is None:
            explorer.say("this problem stands in no text")
            return
        explorer.show_screen(keys.SOURCE)

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
        place = place_in(stage, problem.span)
        for row in rows.problem_rows(problem, stages_text(stage, later)):
            yield Row(row.text, row.mark, place)
    if not (found or state.failures or state.session.notes):
        yield from text_lines(no_problems(state))


def _solver_problems(solving: Solving) -> Iterator[Row]:
    """The problems of type relations or shape contracts; the node of a row is its place."""
    for problem in solving.problems:
        yield from [replace(row, node=problem.span) for row in rows.problem_rows(problem)]
    if not solving.problems:
        yield from text_lines([f"no problems: {solving.verdict}"])
