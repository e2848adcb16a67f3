"""The layered layout: direction, overlaps, crossings, groups, and difficult graphs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relax_explorer.viz.layered import DUMMY_LIMIT, Placement, Point, place
from relax_explorer.viz.layout import Box, lay_out
from tests.viz.graphs import decoder, small

Pairs = list[tuple[int, int]]


def straight_crossings(placed: Placement, pairs: Pairs) -> int:
    """Crossings of the straight lines between the centres, as in comparisons of layout engines."""

    def side(a: Point, b: Point, c: Point) -> float:
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    total = 0
    lines = [(s, t, placed.centres[s], placed.centres[t]) for s, t in pairs]
    for index, (s, t, a, b) in enumerate(lines):
        for u, v, c, d in lines[index + 1 :]:
            if len({s, t, u, v}) == 4:
                total += side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
    return total


def overlaps(placed: Placement, sizes: list[tuple[float, float]]) -> list[tuple[int, int]]:
    found = []
    for one in range(len(sizes)):
        for other in range(one):
            (x0, y0), (x1, y1) = placed.centres[one], placed.centres[other]
            wide, high = (sizes[one][0] + sizes[other][0]) / 2, (sizes[one][1] + sizes[other][1]) / 2
            if abs(x0 - x1) < wide - 1e-6 and abs(y0 - y1) < high - 1e-6:
                found.append((other, one))
    return found


graphs = st.integers(1, 14).flatmap(
    lambda count: st.tuples(
        st.lists(st.tuples(st.floats(1, 90), st.floats(1, 40)), min_size=count, max_size=count),
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=30),
    )
)


@settings(max_examples=150, deadline=None)
@given(graphs, st.booleans())
def test_boxes_never_overlap_and_routes_join_their_ends(
    graph: tuple[list[tuple[float, float]], Pairs], labelled: bool
) -> None:
    sizes, pairs = graph
    placed = place(sizes, pairs, [(30.0, 10.0)] * len(pairs) if labelled else None)
    assert not overlaps(placed, sizes)
    for (source, target), route, label in zip(pairs, placed.routes, placed.labels, strict=True):
        if source == target:
            assert route == []
            continue
        assert (label is not None) == labelled
        for point, node in ((route[0], source), (route[-1], target)):
            assert abs(point[0] - placed.centres[node][0]) <= sizes[node][0] / 2
            assert abs(point[1] - placed.centres[node][1]) == pytest.approx(sizes[node][1] / 2)


@settings(max_examples=60, deadline=None)
@given(graphs)
def test_without_cycles_all_edges_go_down(graph: tuple[list[tuple[float, float]], Pairs]) -> None:
    sizes, pairs = graph
    pairs = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    placed = place(sizes, pairs)
    assert all(placed.row_of[source] < placed.row_of[target] for source, target in pairs)


def test_the_same_graph_is_always_drawn_the_same() -> None:
    graph = decoder(2)
    assert lay_out(graph) == lay_out(graph)


def test_a_tree_has_no_crossings() -> None:
    pairs = [((index - 1) // 2, index) for index in range(1, 127)]
    assert place([(20.0, 10.0)] * 127, pairs).crossings == 0


def test_a_decoder_has_few_crossings() -> None:
    graph = decoder(2)
    placed = place([(90.0, 30.0)] * len(graph.nodes), graph.pairs)
    assert placed.crossings <= 6
    assert straight_crossings(placed, graph.pairs) <= 12


def test_a_weight_stands_directly_above_its_user() -> None:
    graph = decoder(3)
    placed = place([(90.0, 30.0)] * len(graph.nodes), graph.pairs)
    for source, target in graph.pairs:
        if graph.nodes[source].title.endswith(("norm", "_weight")):
            assert placed.row_of[target] == placed.row_of[source] + 1, graph.nodes[source].title


@pytest.mark.parametrize("name", ["chain", "fan out", "dense", "many long edges", "no edges", "nothing"])
def test_hard_graphs_are_laid_out(name: str) -> None:
    randomly = random.Random(7)
    count, pairs = {
        "chain": (20_000, [(index, index + 1) for index in range(19_999)]),
        "fan out": (5_000, [(0, index) for index in range(1, 5_000)]),
        "dense": (70, [(one, other) for other in range(70) for one in range(other)]),
        "many long edges": (
            300,
            [(min(p), max(p)) for p in (randomly.sample(range(300), 2) for _ in range(3_000))],
        ),
        "no edges": (50, []),
        "nothing": (0, []),
    }[name]
    placed = place([(10.0, 5.0)] * count, pairs, [(8.0, 4.0)] * len(pairs))
    assert len(placed.centres) == count
    assert len(placed.routes) == len(pairs)
    assert sum(len(route) for route in placed.routes) <= DUMMY_LIMIT + 2 * len(pairs)
    assert (placed.straight > 0) == (name in ("dense", "many long edges"))


def test_groups_are_walled_off() -> None:
    """Two branches side by side, weights outside: no box stands inside a frame of another group."""
    pairs = [(0, 1), (0, 4), (1, 2), (2, 3), (4, 5), (5, 6), (3, 7), (6, 7), (8, 2), (9, 5)]
    groups = [(), (0,), (0, 2), (0,), (1,), (1,), (1,), (), (), ()]
    sizes = [(40.0 + 7 * index, 12.0) for index in range(10)]
    placed = place(sizes, pairs, None, groups)
    boxes = [Box(x, y, w, h) for (x, y), (w, h) in zip(placed.centres, sizes, strict=True)]
    for group in (0, 1):
        inside = [box for box, path in zip(boxes, groups, strict=True) if group in path]
        outside = [box for box, path in zip(boxes, groups, strict=True) if group not in path]
        left, right = min(box.left for box in inside), max(box.right for box in inside)
        top, bottom = min(box.top for box in inside), max(box.bottom for box in inside)
        assert not [
            b for b in outside if b.left < right and left < b.right and b.top < bottom and top < b.bottom
        ]


def test_the_frame_of_a_cluster_holds_its_members() -> None:
    graph = small()
    layout = lay_out(graph)
    frame = layout.clusters[0]
    assert frame is not None
    for node, box in zip(graph.nodes, layout.nodes, strict=True):
        if node.cluster == "df":
            assert frame.left < box.left < box.right < frame.right
            assert frame.top < box.top < box.bottom < frame.bottom
