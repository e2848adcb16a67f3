"""A graph with methods that draw it: as DOT, as a picture, and for a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_explorer.core.shown import Shown
from relax_explorer.viz.boxes import terminal_text
from relax_explorer.viz.dot import Picture
from relax_explorer.viz.graph import Graph

if TYPE_CHECKING:
    from relax_explorer.viz.dot import Engine


@dataclass(frozen=True)
class Drawing(Graph, Shown):
    """A graph that draws itself."""

    def __repr__(self) -> str:
        return f"<Drawing of {self.title}: {len(self.nodes)} nodes, {len(self.edges)} edges>"

    def dot(self) -> str:
        """The graph in the DOT language of Graphviz, with every text escaped."""
        from relax_explorer.viz.dot import dot_text  # loads graphviz, which a terminal does not need

        return dot_text(self)

    def mermaid(self) -> str:
        """The graph in the language of Mermaid, for pull requests."""
        from relax_explorer.viz.mermaid import mermaid_text  # rarely needed

        return mermaid_text(self)

    def data(self) -> dict[str, object]:
        """The graph as plain data, for JSON."""
        nodes = [
            {
                "id": n.id,
                "title": n.title,
                "kind": str(n.kind),
                "lines": n.lines,
                "shape": n.shape_text,
                "cluster": n.cluster,
                "marks": [str(mark) for mark in n.marks_in_order],
                "badge": n.badge,
                "output": n.is_output,
            }
            for n in self.nodes
        ]
        edges = [
            {"source": x.source, "target": x.target, "label": x.label, "kind": str(x.kind)}
            for x in self.edges
        ]
        return {"title": self.title, "nodes": nodes, "edges": edges, "notes": self.notes}

    def draw(self, format: str = "svg", engine: Engine = "auto", timeout: float = 10.0) -> Picture:
        """A picture with notes on its layout; `format` is `svg` or `png`, `timeout` is in seconds per engine."""
        from relax_explorer.viz.dot import draw  # as above

        return draw(self, format=format, engine=engine, timeout=timeout)

    def svg(self, engine: Engine = "auto") -> str:
        """The graph as a self-contained SVG document."""
        return self.draw("svg", engine).data.decode("utf-8")

    def terminal(self, width: int = 80, ascii: bool = False) -> str:
        """The graph for a terminal: boxes and lines if they fit in `width` cells, else an indented tree."""
        return terminal_text(self, width, ascii)
