"""The checks screen: the checks of lengths of a stage, why each is left to the run, and what would remove it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from textual.app import ComposeResult

from relax_explorer.core.ir import expr as e
from relax_explorer.core.program.module import IRModule
from relax_explorer.core.session.run_log import check_costs
from relax_explorer.core.shapes.residual import ShapeCheck
from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.answers import show_why_at
from relax_explorer.ui.tui.empty import no_program
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.widgets.framed import CursorMoved, Fitted
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.check_list import (
    FILTERS,
    CheckList,
    Entry,
    check_details,
    check_rows,
    checks_of,
    listed,
    place_of,
)
from relax_explorer.viz.tables import Row, text_lines, wrapped
from relax_explorer.viz.visible import visible

Given = tuple[str, str]  # a function and a condition
ByFunction = dict[str, list[ShapeCheck]]
_AROUND = 6  # cells of a line that are not text: frame, gutter, scrollbar


class ChecksScreen(Frame):
    """`✓` is proved, `·` left to the run, `✗` fails in every run. The costs are those of the run of Debug so far."""

    BINDINGS = keys.bindings("checks")
    name_ = "checks"
    panes = ("checks", "check")

    def compose_body(self) -> ComposeResult:
        """The list, and the check under the cursor."""
        yield LineView("checks")
        yield LineView("check", colored=False)

    def prepare(self) -> None:
        """Begin without a list."""
        self._asked: tuple[object, ...] | None = None  # what the list shows, or will show
        self._found: CheckList | None = None
        self._made: tuple[IRModule, Given, ByFunction] | None = None  # the checks that were found last

    # -- drawing --------------------------------------------------------------------------------------------------

    def draw(self, state: State, old: State) -> None:
        """Look for the checks of another stage or filter; else follow the selection."""
        if state.stage is None:
            self._asked = self._found = None
            self.lines("checks").show(text_lines(no_program(state, self.explorer.asked, False)), 0)
            self.lines("check").show([], 0)
            return
        options, run = state.options, state.run
        position = None if run is None or run.stage != state.stage.number else run.position
        asked = (state.session, state.stage.number, options.checks, options.given, position)
        if asked != self._asked:
            self._asked = asked
            self._start(state)
        elif self._found is not None:
            if old == State():  # the screen has another size
                self._show_rows(self._found)
            self._follow(state)

    def _start(self, state: State) -> None:
        stage, options, run = state.stage, state.options, self.explorer.run_control.session
        assert stage is not None  # the caller checked this
        module = stage.module

        def work(job: Job) -> CheckList:
            costs = None if run is None else check_costs(run.debugger.machine, run.outside)
            return listed(self._checks(module, options.given), options.checks, costs)

        # The lane of the run moves the debugger: nobody reads its machine meanwhile.
        lane = "checks" if run is None else "run"
        self.explorer.jobs.start(lane, "looking for checks", work, self._show, replaces=run is None)

    def _checks(self, module: IRModule, given: Given) -> ByFunction:
        """The checks of a module. Another filter or another step of the run finds no others."""
        if self._made is None or self._made[0] is not module or self._made[1] != given:
            self._made = (module, given, checks_of(module, *given))
        return self._made[2]

    def _show(self, found: CheckList) -> None:
        is_first, self._found = self._found is None, found
        self._show_rows(found)
        view, options = self.lines("checks"), self.explorer.state.options
        function, condition = options.given
        place = "" if "." in condition else f" in {visible(function, 40)}"  # `main.n` tells its function
        given = f", given {visible(condition, 40)}{place}" if condition else ""
        view.show_title(f"Checks of lengths: {FILTERS[options.checks]}{given}")
        view.border_subtitle = (
            "a run in Debug adds their costs" if found.costs is None else "costs in the run so far"
        )
        if is_first:
            first = next(
                (n for n, item in enumerate(found.items) if isinstance(item, (ShapeCheck, Entry))), 0
            )
            view.move(first, tell=False)
        self._follow(self.explorer.state)
        self._draw_check()

    def _show_rows(self, found: CheckList) -> None:
        if found.is_empty:
            rows: Sequence[Row] = [
                *check_rows(found, 80),
                *text_lines(["", _nothing(found, self.explorer.state.options.checks)]),
            ]
        else:
            rows = check_rows(found, self.app.size.width - _AROUND)
        self.lines("checks").show(rows)
        self._draw_check()

    def _follow(self, state: State) -> None:
        """Put the cursor on a check of the selected binding, if it is not there."""
        view, binding = self.lines("checks"), state.selection.binding
        if self._found is not None and binding is not None and place_of(view.row_node) is not binding:
            line = next((n for n, item in enumerate(self._found.items) if place_of(item) is binding), None)
            if line is not None:
                view.move(line, tell=False)
                view.centre()
                self._draw_check()

    def _draw_check(self) -> None:
        """Tell about the check under the cursor."""
        row, view = self.lines("checks").row, self.lines("check")
        if row is None or row.node is None or self._found is None:
            view.show([], 0)
            return
        width = max(20, (view.scrollable_content_region.width or self.app.size.width) - 4)
        view.show(wrapped(check_details(row, self._found), width), 0)
        view.show_title(visible(row.function))

    def on_fitted(self, message: Fitted) -> None:
        """Wrap the lines about the check for the width that they have now."""
        if message.view == "check":
            self._draw_check()

    # -- selecting ------------------------------------------------------------------------------------------------

    def on_cursor_moved(self, message: CursorMoved) -> None:
        """Show and select the check under the cursor."""
        row = self.lines("checks").row
        if message.view == "checks" and row is not None:
            self._draw_check()
            selection = self.explorer.state.selection
            self.explorer.select(replace(selection, function=row.function, binding=place_of(row.node)))

    def action_enter(self) -> None:
        """Go to the binding of the check: in Debug during a run, else in Passes."""
        row, stage = self.lines("checks").row, self.explorer.state.stage
        if row is None or stage is None:
            return
        self.explorer.stage_control.go_to(stage.number, row.function, place_of(row.node))
        self.explorer.show_screen("debug" if self.explorer.running is not None else "passes")

    def action_explain(self) -> None:
        """Show where both lengths of the check come from, and where they part."""
        row = self.lines("checks").row
        place = row.node.place if row is not None and isinstance(row.node, ShapeCheck) else None
        if row is not None and isinstance(place, (e.VarBinding, e.MatchCast, e.Function)):
            show_why_at(self.explorer, row.function, place)
        else:
            self.explorer.say("the lengths of arguments come from outside: choose a check of a binding")

    def action_filter(self, by: int) -> None:
        """Show others: what remains, what is proved, all, what took time in a run. A given condition has its own filter."""
        options = self.explorer.state.options
        is_run = self._found is not None and self._found.costs is not None
        left_out = {"given": not options.given[1], "costly": not is_run}
        names = [name for name in FILTERS if name == options.checks or not left_out.get(name)]
        at = names.index(options.checks)
        self.explorer.show_with(checks=names[(at + by) % len(names)])


def _nothing(found: CheckList, shown: str) -> str:
    """Why no check is shown, and what to do."""
    if shown == "costly":
        return (
            "no run yet: 2 runs the stage"
            if found.costs is None
            else "the run has made no check that is left to it: step on in 2"
        )
    return "nothing to show: f shows other checks, ] goes to the next stage"
