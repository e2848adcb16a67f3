"""A graph for a terminal as text: boxes joined by lines if they fit, else an indented tree of definitions."""

from __future__ import annotations

from relax_explorer.viz.cells import CellPicture, cell_picture, plain
from relax_explorer.viz.graph import Graph
from relax_explorer.viz.tree import tree_text
from relax_explorer.viz.visible import fit

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
