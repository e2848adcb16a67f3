"""The solver screen: the runs of type relations, or the analysis of shape contracts, step by step."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical

from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.empty import no_solving
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.widgets.framed import CursorMoved, Fitted, FixedText, tab_line
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.solving import TABLES, Solving
from relax_explorer.viz.tables import text_lines, wrapped
from relax_explorer.viz.visible import counted, fit

_HINTS = {
    "types": "Enter goes to the step that made it so",
    "left": "Enter goes to its step",
    "made": "",
    "program": "",
}


class SolverScreen(Frame):
    """The cursor of the steps is the position; the tables show what was known there."""

    BINDINGS = keys.bindings("solver")
    name_ = "solver"
    panes = ("steps", "about", *TABLES)
    _table = "types"  # the one that a narrow terminal shows

    def compose_body(self) -> ComposeResult:
        """The steps and the selected one; the text, and what is known."""
        with Vertical(id="solver_steps"):
            yield LineView("steps")
            yield LineView("about")
        yield FixedText(id="tabs")
        with Vertical(id="solver_tables"):
            yield LineView("program")
            yield LineView("types")
            yield LineView("made")
            yield LineView("left")

    def prepare(self) -> None:
        """Begin without a table."""
        self._counts = dict.fromkeys(TABLES, 0)

    def fit(self) -> None:
        """In a narrow terminal one table at a time stands below the steps."""
        super().fit()
        self.query_one("#tabs").display = self.is_narrow
        for name in TABLES:
            self.query_one(f"#{name}").display = not self.is_narrow or name == self._table

    # -- drawing --------------------------------------------------------------------------------------------------

    def draw(self, state: State, old: State) -> None:
        """Draw the steps once, and the tables at each step."""
        solving = state.solving
        if solving is None:
            self._draw_nothing(state)
            return
        steps = self.lines("steps")
        if solving is not old.solving:
            steps.show(solving.lines(), state.step)
            for name in TABLES:
                self.lines(name).cursor = 0
        elif steps.cursor != state.step:
            steps.move(state.step, tell=False)
        steps.centre()
        how = ", branch by branch" if state.options.keep_branches else ""
        steps.show_title(f"{counted(solving.count, 'step')}{how}")
        steps.border_subtitle = fit(solving.verdict, 60)
        self._draw_about()
        for name in TABLES:
            self._draw_table(solving, name, state.step)
        self._draw_tabs(solving)

    def _draw_about(self) -> None:
        """Tell about the step, in lines as wide as the view."""
        solving, step = self.explorer.state.solving, self.explorer.state.step
        if solving is None or step > solving.last:
            return
        view = self.lines("about")
        whole = self.app.size.width
        width = whole if self.is_narrow else view.scrollable_content_region.width or whole * 2 // 5
        view.show(wrapped(solving.about(step), max(20, width - 3)), 0)
        view.show_title(self._where(solving, step))

    def on_fitted(self, message: Fitted) -> None:
        """Wrap the lines about the step for the width that they have now."""
        if message.view == "about":
            self._draw_about()

    def _draw_table(self, solving: Solving, name: str, step: int) -> None:
        view, table = self.lines(name), solving.table(name, step)
        self._counts[name] = len(table.lines)
        lines = table.lines if len(table.lines) else text_lines(["nothing"])
        view.show(lines, table.shown)
        if table.shown is not None:
            view.centre()
        view.show_title(solving.titles[name])
        view.border_subtitle = _HINTS[name]

    def _draw_nothing(self, state: State) -> None:
        for name in self.panes:
            self.lines(name).show([], 0)
            self.lines(name).show_title("")
        busy = not self.explorer.jobs.is_idle
        shown = text_lines(no_solving(state, self.explorer.asked, busy))
        self.lines("steps").show(shown, 0)
        self.query_one("#tabs", FixedText).show(Text(""))

    def _draw_tabs(self, solving: Solving) -> None:
        counts = [f" {self._counts[name]}" if name != "program" else "" for name in TABLES]
        words = {name: f"{solving.titles[name]}{count}" for name, count in zip(TABLES, counts, strict=True)}
        line = tab_line(words, self._table)
        line.write(fit(" v next table", max(0, self.app.size.width - 1 - line.width)), "lower")
        self.query_one("#tabs", FixedText).show_line(line)

    def _where(self, solving: Solving, step: int) -> str:
        """The place of a step."""
        span = solving.place(step)
        name = "Start" if step == 0 else "End" if step == solving.last else f"Step {step} of {solving.count}"
        return name if span is None else f"{name}, line {span.line}"

    def position(self, state: State) -> str:
        """The step."""
        solving = state.solving
        return "" if solving is None else self._where(solving, state.step).lower()

    # -- selecting ------------------------------------------------------------------------------------------------

    def on_cursor_moved(self, message: CursorMoved) -> None:
        """Go to the step under the cursor."""
        if message.view == "steps" and self.explorer.state.solving is not None:
            self.explorer.change(step=message.line)

    def action_enter(self) -> None:
        """From a step to its place in the text; from a line of a table to the step that made it so."""
        solving, step, view = self.explorer.state.solving, self.explorer.state.step, self.view
        if solving is None:
            return
        if view.id in ("steps", "about"):
            self._choose("program")
            self.set_focus(self.query_one("#program"))
            return
        goal = solving.origin(view.id or "", step, view.cursor)
        if goal is None:
            self.explorer.say(
                "no step leads to this line" if view.id == "program" else "this line has no step"
            )
        elif goal == step:
            self.explorer.say("this step made it so" if step else "known from the start")
        else:
            self.explorer.change(step=goal)

    # -- actions --------------------------------------------------------------------------------------------------

    def action_run(self, text: str) -> None:
        solving, step = self.explorer.state.solving, self.explorer.state.step
        if solving is None:
            return
        if text in ("next", "reverse-next"):
            goal = solving.next_open(step, 1 if text == "next" else -1)
        else:
            ends = {"continue": solving.last, "reverse-continue": 0}
            goal = ends.get(text, max(0, min(step + (1 if text == "step" else -1), solving.last)))
        if goal is None:
            self.explorer.say("no further step failed or left something open")
        elif goal == step:
            self.explorer.say(
                "this is the end; S steps back" if step else "this is the start; s steps forward"
            )
        else:
            self.explorer.change(step=goal)

    def action_lower(self) -> None:
        """Show the next table."""
        self.action_table(TABLES[(TABLES.index(self._table) + 1) % len(TABLES)])

    def action_table(self, name: str) -> None:
        """Show a table; where all are shown, go there."""
        self._choose(name)
        if not self.is_narrow:
            self.set_focus(self.query_one(f"#{self._table}"))

    def _choose(self, table: str) -> None:
        had_focus = self.view.id in TABLES
        self._table = table
        self.fit()
        if self.is_narrow and had_focus:
            self.set_focus(self.query_one(f"#{table}"))
        if self.explorer.state.solving is not None:
            self._draw_tabs(self.explorer.state.solving)

    def action_reload(self) -> None:
        """Read the file again."""
        if self.explorer.state.solving is not None:
            self.explorer.stage_control.open(self.explorer.state.path)

    def action_back(self) -> None:
        if self.explorer.state.session is None and self.explorer.state.solving is not None:
            self.explorer.leave()
        else:
            super().action_back()
