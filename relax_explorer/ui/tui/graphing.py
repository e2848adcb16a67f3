"""The graph pane: the dataflow graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual import work

from relax_explorer.core.diagnostics import Failure
from relax_explorer.core.syntax.doc import Line
from relax_explorer.ui.files import CannotWrite, target
from relax_explorer.ui.tui.debugging import Debugging
from relax_explorer.ui.tui.messages import GraphDrawn, GraphExported, WorkFailed
from relax_explorer.ui.tui.widgets.line_view import LineView, Row


class Graphing(Debugging):
    """The actions of the graph pane."""

    def shown(self) -> None:
        """Draw the graph for the width of the terminal."""
        super().shown()
        if self.pane == "graph":
            self.draw_graph()

    def _graph(self) -> Any:
        from relax_explorer.viz.ir_graph import graph

        assert self.session is not None  # the callers checked this
        stage = self.session.stages[self.selection.stage]
        relax = stage.module.relax_functions
        name = self.selection.function if self.selection.function in relax else stage.entry
        changed = [unit for fn in self.session.diff(stage.number - 1, stage.number).functions for pair in fn.pairs
                   if pair.b is not None and pair.kind in ("added", "changed", "type")
                   and not isinstance(unit := fn.new[pair.b], Line)] if stage.number else []  # fmt: skip
        drawing = graph(stage.module, name, changed, None, self.selection.binding)
        selected = next(
            (node.id for node in drawing.nodes if "selected" in {str(mark) for mark in node.marks}), None
        )
        if self.radius and selected is not None:
            drawing = drawing.neighbourhood(selected, self.radius)
        return drawing.scoped(200)

    @work(thread=True, exclusive=True, group="graph", exit_on_error=False)
    def draw_graph(self) -> None:
        """Draw the graph as text in a worker."""
        if self.session is None:
            return
        try:
            text = self._graph().terminal(max(40, self.size.width - 4))
        except Failure as failure:
            self.post_message(WorkFailed(failure.diagnostics))
            return
        self.post_message(GraphDrawn(text))

    def on_graph_drawn(self, message: GraphDrawn) -> None:
        """Show the drawing."""
        self.query_one("#graph", LineView).show([Row(line) for line in message.text.split("\n")], 0)

    def do_wider(self) -> None:
        self.radius = self.radius + 1 if self.radius else 2
        self.draw_graph()

    def do_narrower(self) -> None:
        self.radius = max(1, self.radius - 1)
        self.draw_graph()

    def do_all(self) -> None:
        self.radius = 0
        self.draw_graph()

    @work(thread=True, exclusive=True, group="export", exit_on_error=False)
    def do_export(self) -> None:
        """Write the graph as SVG into the directory where the explorer was started."""
        if self.session is None:
            return
        drawing = self._graph()
        path = Path(f"{Path(self.path or 'graph').stem}-{drawing.title}-{self.selection.stage}.svg")
        try:
            goal = target(str(path))
            picture = drawing.draw("svg")
            goal.write(picture.data)
        except CannotWrite as error:
            self.post_message(GraphExported("", str(error)))
            return
        self.post_message(GraphExported(str(path), f"laid out by {picture.engine}"))

    def on_graph_exported(self, message: GraphExported) -> None:
        """Show the path of the file."""
        self.say(f"wrote {message.path}, {message.note}" if message.path else message.note)
