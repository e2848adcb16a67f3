"""Pictures of large graphs: shapes stand in the boxes, since labels on lines take most of the time of a layout."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from relax_explorer.viz.graph import Graph

LABELLED_UP_TO = 250  # nodes

AnyGraph = TypeVar("AnyGraph", bound=Graph)


def shapes_in_boxes(graph: AnyGraph) -> AnyGraph:
    """A large graph without labels on its edges: each box shows the shape of its value. Another graph stays as it is."""
    if len(graph.nodes) <= LABELLED_UP_TO or not any(edge.label for edge in graph.edges):
        return graph
    nodes = tuple(
        replace(node, lines=(*node.lines, node.shape_text)) if node.shape_text else node
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes, edges=tuple(replace(edge, label="") for edge in graph.edges))
