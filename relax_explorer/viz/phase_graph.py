"""A picture of the order of passes: which pass establishes a property, and which pass asks for it."""

from __future__ import annotations

from relax_explorer.core.passes import phase_table
from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Edge, EdgeKind, Kind, Node


def phase_graph() -> Drawing:
    """The passes and the properties that some pass establishes, with an edge for each entry of their contracts."""
    rows = [row for row in phase_table.properties() if row.makers and row.of not in phase_table.ALWAYS]
    passes = dict.fromkeys(name for row in rows for name in (*row.makers, *row.needed_by, *row.required_by))
    nodes = [Node(f"pass {name}", name, kind=Kind.OPERATOR) for name in passes]
    nodes += [Node(row.of.name, row.of.name, (row.of.meaning,), Kind.OUTPUT) for row in rows]
    edges = []
    for row in rows:
        edges += [Edge(f"pass {name}", row.of.name, "establishes") for name in row.makers]
        edges += [Edge(row.of.name, f"pass {name}", "needed", EdgeKind.ORDER) for name in row.needed_by]
        edges += [Edge(row.of.name, f"pass {name}", "required", EdgeKind.SHAPE) for name in row.required_by]
    return Drawing("Order of passes", tuple(nodes), tuple(edges))
