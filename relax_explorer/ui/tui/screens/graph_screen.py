"""The graph screen: the dataflow graph of the selected function. It follows the stage, the selection and the run."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import Static

from relax_explorer.ui.tui import keys
from relax_explorer.ui.tui.jobs import Job
from relax_explorer.ui.tui.pictures import GraphText, graph_text
from relax_explorer.ui.tui.screens.screen_frame import Frame
from relax_explorer.ui.tui.state import State
from relax_explorer.ui.tui.widgets.line_view import LineView, Row
from relax_explorer.viz.short import short_info
from relax_explorer.viz.visible import fit, visible


class GraphScreen(Frame):
    """`*` marks the selected node, `~` what the stage changed, `>` the next binding of the run."""

    BINDINGS = keys.bindings("graph")
    name_ = "graph"
    panes = ("graph",)

    def compose_body(self) -> ComposeResult:
        """The drawing and the selected binding."""
        yield LineView("graph", colored=False)
        yield Static(id="node", markup=False)

    def draw(self, state: State, old: State) -> None:
        """Draw the graph again if another one is to be shown."""
        if state.session is None:
            self.query_one("#graph", LineView).show([Row("no program is open")], 0)
            return
        shown = (state.session, state.selection, state.options.radius, state.run and state.run.node)
        before = (old.session, old.selection, old.options.radius, old.run and old.run.node)
        if shown != before:
            self._start(state)

    def _start(self, state: State) -> None:
        width, running = max(40, self.app.size.width - 6), self.explorer.running

        def work(job: Job) -> GraphText:
            return graph_text(state, running, width)

        self.explorer.jobs.start("graph", "drawing the graph", work, self._show)

    def _show(self, found: GraphText) -> None:
        view = self.query_one("#graph", LineView)
        view.show([Row(line) for line in found.lines], found.selected)
        view.centre()
        notes = "; ".join(found.notes)
        view.border_title = visible(f"{found.title}{'  ' + notes if notes else ''}").replace("[", "\\[")
        view.border_subtitle = "* selected · ~ changed here · > next in the run"
        self.query_one("#node", Static).update(Text(self._selected_text(), no_wrap=True))

    def _selected_text(self) -> str:
        selection, radius = self.explorer.state.selection, self.explorer.state.options.radius
        around = f"   within {radius} edges, a shows all" if radius else ""
        binding = selection.binding
        if binding is None or binding.var is None:
            return f" {visible(selection.function)}{around}"
        info = short_info(binding.var.struct_info)
        return fit(
            visible(f" {selection.function} ▸ {selection.variable}: {info}{around}"), self.app.size.width - 1
        )

    def action_radius(self, step: int) -> None:
        if not self.explorer.state.selection.variable:
            self.explorer.say("select a binding in Passes first")
            return
        radius = self.explorer.state.options.radius
        self.explorer.show_with(radius=max(1, radius + step) if radius else 2)

    def action_whole(self) -> None:
        self.explorer.show_with(radius=0)

    def action_export(self) -> None:
        self.explorer.pictures.export()

    def action_debug_here(self) -> None:
        self.explorer.show_screen("debug")
