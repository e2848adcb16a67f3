"""A graph with methods that draw it: as DOT, as a picture, and for a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from relax_explorer.core.shown import Shown
from relax_explorer.viz.cells import CellPicture, cell_picture, plain
from relax_explorer.viz.dot import Picture
from relax_explorer.viz.graph import FUNCTIONS, Graph, Kind, Node
from relax_explorer.viz.visible import fit, visible

if TYPE_CHECKING:
    from relax_explorer.viz.dot import Engine


# -- boxes -----------------------------------------------------------------------------------------------------------
# A graph for a terminal as text: boxes joined by lines if they fit, else an indented tree of definitions.


# -- tree ------------------------------------------------------------------------------------------------------------
# A graph as an indented list of definitions: plain lines for narrow terminals and screen readers.


_DEEPEST = 12


def tree_text(graph: Graph, width: int, ascii: bool = False) -> str:
    """One line per node: each after all of its inputs, below its last one, indented if a value has several users.

    A line reads `name = title(inputs)  shape`. It takes at most `width` cells; deep levels stop indenting.
    Marks stand in a gutter on the left.
    """
    lines = [graph.title, *graph.notes] if graph.title else list(graph.notes)
    lines = [visible(line) for line in lines]
    most = max((len(node.marks) for node in graph.nodes), default=0)
    gutter_width = most + 1 if most else 0
    deepest = min(_DEEPEST, max(1, width // 8))
    for number, depth in _walk(graph):
        gutter = "".join(mark.glyph for mark in graph.nodes[number].marks_in_order).ljust(gutter_width)
        lines.append(gutter + "  " * min(depth, deepest) + node_line(graph, number))
    if ascii:
        lines = [line.encode("ascii", "backslashreplace").decode("ascii") for line in lines]
    return "\n".join(fit(line, width, "...") for line in lines)


def node_line(graph: Graph, number: int) -> str:
    """One node on a line: `name = title(inputs)  shape`, with its badge."""
    node = graph.nodes[number]
    inputs = dict.fromkeys(graph.pairs[edge][0] for edge in graph.incoming[number])
    names = ", ".join(_name(graph.nodes[other]) for other in inputs)
    title = visible(node.title, 80)
    if node.kind is Kind.MORE:
        return f"({title})"
    if node.kind in FUNCTIONS:
        calls = f"called by {names}" if names else ""
        return "  ".join(
            filter(
                None, [title, visible(node.shape_text, 80), f"[{node.kind}]", visible(node.badge, 40), calls]
            )
        )
    call = f"{title}({names})" if names else title
    bare = node.title == node.id and (not names or node.kind is Kind.OUTPUT)
    defined = call if bare else f"{_name(node)} = {call}"
    shape = f"  {visible(node.shape_text, 80)}" if node.shape_text else ""
    kind = f"  [{node.kind}]" if node.kind in (Kind.PARAMETER, Kind.CONSTANT, Kind.OUTPUT) else ""
    rest = "".join([f"  {visible(text, 40)}" for text in (node.place, node.badge) if text])
    return f"{defined}{shape}{kind}{rest}"


def _name(node: Node) -> str:
    return f"({visible(node.title, 40)})" if node.kind is Kind.MORE else visible(node.id, 40)


def _walk(graph: Graph) -> list[tuple[int, int]]:
    """The nodes in the order of the list, with depth; nodes on a cycle come last."""
    missing = [len(edges) for edges in graph.incoming]
    listed: list[tuple[int, int]] = []
    done = bytearray(len(missing))
    count = len(missing)
    for start in range(2 * count):
        number = start % count
        waiting = [(number, 0)] if not done[number] and (start >= count or not missing[number]) else []
        while waiting:
            current, depth = waiting.pop()
            if done[current]:
                continue
            done[current] = 1
            listed.append((current, depth))
            ready = _released(graph, current, missing, done)
            below = depth if len(ready) == 1 else depth + 1
            waiting.extend((user, below) for user in reversed(ready))
    return listed


def _released(graph: Graph, number: int, missing: list[int], done: bytearray) -> list[int]:
    """The users of a node that have no other input to wait for."""
    ready = []
    for edge in graph.outgoing[number]:
        user = graph.pairs[edge][1]
        missing[user] -= 1
        if not missing[user] and not done[user]:
            ready.append(user)
    return ready


# -- boxes -----------------------------------------------------------------------------------------------------------


MAX_BOXES = 300


def terminal_text(graph: Graph, width: int, ascii: bool = False) -> str:
    """Boxes and lines if they fit in `width` cells, else the tree; the text ends without a line break."""
    return box_text(graph, width, ascii) or tree_text(graph, width, ascii)


def box_text(graph: Graph, width: int, ascii: bool = False) -> str | None:
    """Boxes and lines, or None if they need more than `width` cells or there are more than MAX_BOXES boxes."""
    if not graph.nodes or len(graph.nodes) > MAX_BOXES:
        return None
    picture = cell_picture(graph, ascii)
    if picture.untraced or picture.width > width:
        return None
    head = [fit(plain(text, ascii), width, "...") for text in (graph.title, *graph.notes) if text]
    return "\n".join([*head, *_rows(graph, picture, ascii)])


def _rows(graph: Graph, picture: CellPicture, ascii: bool) -> list[str]:
    """The lines with the boxes over them."""
    faces: list[list[tuple[int, int, str]]] = [[] for _ in picture.lines]
    for node, box in zip(graph.nodes, picture.boxes, strict=True):
        for offset, text in enumerate(box.face(node.marks_in_order, ascii)):
            faces[box.top + offset].append((box.left, box.right + 1, text))
    rows = []
    for line, found in zip(picture.lines, faces, strict=True):
        shown, at = "", 0
        for left, end, text in sorted(found):
            shown += line[at:left].ljust(left - at) + text
            at = end
        rows.append((shown + line[at:]).rstrip())
    return rows


# -- drawing ---------------------------------------------------------------------------------------------------------


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

    def graph_collection(self) -> dict[str, object]:
        """The graph for Model Explorer, with heat and marks as colours."""
        from relax_explorer.viz.model_explorer import graph_collection  # rarely needed

        return graph_collection(self)

    def netron(self) -> str:
        """The graph for Netron, as DOT in the form in which it knows operations and attributes."""
        from relax_explorer.viz.netron import netron_text  # rarely needed

        return netron_text(self)

    def data(self) -> dict[str, object]:
        """The graph as plain data, for JSON."""
        nodes = [
            {
                "id": n.id,
                "title": n.title,
                "kind": str(n.kind),
                "class": n.family,
                "lines": n.lines,
                "shape": n.shape_text,
                "cluster": n.cluster,
                "marks": [str(mark) for mark in n.marks_in_order],
                "badge": n.badge,
                "place": n.place,
                "output": n.is_output,
            }
            for n in self.nodes
        ]
        edges = [
            {"source": x.source, "target": x.target, "label": x.label, "kind": str(x.kind)}
            for x in self.edges
        ]
        storages = [{"name": name, "bytes": size} for name, size in self.storages]
        return {
            "title": self.title,
            "nodes": nodes,
            "edges": edges,
            "notes": self.notes,
            "storages": storages,
        }

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
