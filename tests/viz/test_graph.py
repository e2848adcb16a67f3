"""Graphs as data: refused graphs, neighbourhoods, scopes and ranks."""

from __future__ import annotations

import pytest

from relax_explorer.viz.drawing import Drawing
from relax_explorer.viz.graph import Cluster, Edge, Graph, Kind, Mark, Node
from relax_explorer.viz.layered import break_cycles, longest_path
from tests.viz.graphs import decoder, small


def chain(count: int) -> Drawing:
    nodes = tuple(Node(str(index), f"op{index}") for index in range(count))
    return Drawing("chain", nodes, tuple(Edge(str(index), str(index + 1)) for index in range(count - 1)))


@pytest.mark.parametrize(
    ("nodes", "edges", "clusters"),
    [
        ((Node("a", "a"), Node("a", "b")), (), ()),
        ((Node("a", "a"),), (Edge("a", "b"),), ()),
        ((Node("a", "a", cluster="c"),), (), ()),
        ((Node("a", "a", cluster="c"),), (), (Cluster("c", "c", "d"), Cluster("d", "d", "c"))),
        ((), (), (Cluster("c", "c"), Cluster("c", "d"))),
    ],
    ids=["node id twice", "edge to nothing", "no such cluster", "clusters in a ring", "cluster id twice"],
)
def test_wrong_graphs_are_refused(
    nodes: tuple[Node, ...], edges: tuple[Edge, ...], clusters: tuple[Cluster, ...]
) -> None:
    with pytest.raises(ValueError, match=r"used twice|does not exist"):
        Drawing("wrong", nodes, edges, clusters)


def test_neighbourhood_keeps_what_is_near_and_counts_the_rest() -> None:
    part = chain(10).neighbourhood("5", 2)
    real = [node.id for node in part.nodes if node.kind is not Kind.MORE]
    assert real == ["3", "4", "5", "6", "7"]
    assert [node.title for node in part.nodes if node.kind is Kind.MORE] == ["1 more input", "1 more user"]
    assert part.notes == ("showing 5 of 10 nodes",)


def test_neighbourhood_of_everything_is_the_graph_itself() -> None:
    graph = chain(4)
    assert graph.neighbourhood("0", 10) is graph


def test_neighbourhood_is_capped() -> None:
    hub = Drawing(
        "hub", tuple(Node(str(i), "") for i in range(1412)), tuple(Edge("0", str(i)) for i in range(1, 1412))
    )
    part = hub.neighbourhood("0", 2, max_nodes=23)
    assert part.notes == ("showing 23 of 1 412 nodes",)
    assert part.node("more-out:0").title == "1389 more users"


def test_scope_is_the_whole_graph_or_the_neighbourhood_of_what_matters() -> None:
    graph = small()
    assert graph.scoped(8) is graph
    part = graph.scoped(7, radius=1)
    assert {node.id for node in part.nodes if node.kind is not Kind.MORE} == {"lv2", "lv", "lv1", "lv3"}
    assert part.node("lv2").marks == {Mark.SELECTED}
    assert "x" in graph.scoped(7, around="x", radius=1).number


def ranks(graph: Graph) -> dict[str, int]:
    """For each node the length of the longest path to it; edges that close a cycle do not count."""
    count = len(graph.nodes)
    found = longest_path(count, break_cycles(count, graph.pairs))
    return {node.id: rank for node, rank in zip(graph.nodes, found, strict=True)}


def test_ranks_follow_the_longest_path() -> None:
    assert ranks(small()) == {
        "x": 0, "w": 0, "lv": 1, "lv1": 2, "lv2": 3, "c": 0, "lv3": 4, "return": 5,
    }  # fmt: skip


def test_ranks_of_long_chains_and_of_cycles() -> None:
    assert ranks(chain(50_000))["49999"] == 49_999
    ring = Drawing("ring", (Node("a", ""), Node("b", "")), (Edge("a", "b"), Edge("b", "a"), Edge("b", "b")))
    assert ranks(ring) == {"a": 0, "b": 1}


def test_marks_show_without_colour() -> None:
    assert Node("a", "add", marks=frozenset(Mark)).marked_title == "»⊞⊟+-~✓>* add"


def test_decoder_of_the_tests_is_about_as_large_as_it_says() -> None:
    assert 60 <= len(decoder(2).nodes) <= 100
