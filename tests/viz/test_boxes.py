"""Graphs in a terminal: boxes that fit, glyphs of a safe width, joints that mean joints, and the tree."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relax_explorer.viz import layered
from relax_explorer.viz.cells import Wire, cell_picture, tracks_of
from relax_explorer.viz.drawing import Drawing, box_text, tree_text
from relax_explorer.viz.graph import Edge, Mark, Node
from relax_explorer.viz.visible import columns, fit, visible
from tests.support.golden import Golden
from tests.viz.graphs import HOSTILE, decoder, hostile, small


@pytest.mark.parametrize("ascii", [False, True], ids=["unicode", "ascii"])
def test_golden_boxes(golden: Golden, ascii: bool) -> None:
    golden.check(f"small.{'ascii' if ascii else 'unicode'}.txt", small().terminal(80, ascii) + "\n")


def test_golden_tree(golden: Golden) -> None:
    golden.check("small.tree.txt", small().terminal(30) + "\n")


def test_golden_decoder(golden: Golden) -> None:
    golden.check("decoder.unicode.txt", decoder(1).terminal(200) + "\n")


def test_boxes_are_chosen_when_they_fit() -> None:
    boxes = box_text(small(), 80)
    assert boxes is not None
    needed = max(map(columns, boxes.splitlines()))
    assert small().terminal(needed) == boxes
    assert small().terminal(needed - 1) == tree_text(small(), needed - 1)


@pytest.mark.parametrize("width", [8, 30, 80, 200])
@pytest.mark.parametrize("ascii", [False, True])
@pytest.mark.parametrize(
    "graph", [small(), hostile(), decoder(2), Drawing("")], ids=["small", "hostile", "decoder", "empty"]
)
def test_every_line_fits_and_is_printable(graph: Drawing, width: int, ascii: bool) -> None:
    for line in graph.terminal(width, ascii).splitlines():
        assert columns(line) <= width
        assert all(character.isprintable() for character in line)
        assert line.isascii() or not ascii


def test_own_glyphs_are_box_lines_or_narrow() -> None:
    shown = "".join(decoder(2).terminal(250).split())
    for character in set(shown) - set(map(chr, range(128))):
        assert 0x2500 <= ord(character) < 0x2580 or unicodedata.east_asian_width(character) in {"N", "Na"}


def test_marks_show_without_colour() -> None:
    boxes, plain = box_text(small(), 80) or "", box_text(small(), 80, ascii=True) or ""
    assert "┏" in boxes
    assert "╔" in boxes
    assert "#=" in plain
    marked = Drawing("", tuple(Node(f"n_{mark}", mark, marks=frozenset({mark})) for mark in Mark))
    for ascii in (False, True):
        text = box_text(marked, 200, ascii) or ""
        for mark in Mark:
            glyph = "v" if ascii and mark is Mark.DONE else mark.glyph
            assert f"{glyph} n_{mark} " in text
    for mark in Mark:
        assert f"{mark.glyph} " in tree_text(marked, 80)


def test_marks_take_no_room() -> None:
    (box,) = cell_picture(Drawing("", (Node("lv", "add", shape_text="(2,) f32"),))).boxes
    for count in range(4):
        rows = box.face(tuple(Mark)[:count])
        assert {columns(row) for row in rows} == {box.width}
        assert " lv " in rows[0]


def test_wide_characters_keep_the_border_in_line() -> None:
    lines = (box_text(Drawing("", (Node("a", "日本語", shape_text="abc"),)), 80) or "").splitlines()
    assert {columns(line) for line in lines} == {10}
    assert lines[1] == "│ 日本語 │"
    named = Drawing("", (Node("日本", "日本語日本語", shape_text="日本語"),))
    assert len({columns(line) for line in (box_text(named, 80) or "").splitlines()}) == 1


def test_a_line_that_is_too_long_is_counted_and_not_drawn_through_boxes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(layered, "DUMMY_LIMIT", 3)
    count = 12
    nodes = tuple(Node(f"n{n}", "op") for n in range(count))
    edges = (*(Edge(f"n{n}", f"n{n + 1}") for n in range(count - 1)), Edge("n0", "n11"))
    long = Drawing("", nodes, edges)
    picture = cell_picture(long)
    assert picture.untraced == 1
    assert all(len(line.strip()) <= 1 for line in picture.lines)
    assert box_text(long, 80) is None


def test_a_value_used_twice_has_a_joint_and_a_crossing_has_none() -> None:
    nodes = tuple(Node(name, name * 5) for name in "abcd")
    both = Drawing("", nodes, tuple(Edge(s, t) for s, t in ("ac", "ad", "bc", "bd")))
    text = box_text(both, 80) or ""
    assert text.count("▾") == 4
    assert any(joint in text for joint in "├┤┬┴")


def test_loops_and_cycles_are_drawn() -> None:
    ring = Drawing("", (Node("a", "a"), Node("b", "b")), (Edge("a", "b"), Edge("b", "a"), Edge("b", "b")))
    text = box_text(ring, 80) or ""
    assert "▾" in text
    assert "▴" in text
    assert [line.strip() for line in tree_text(ring, 80).splitlines()] == ["a = a(b)", "b = b(a, b)"]


def test_the_tree_lists_each_node_after_its_inputs() -> None:
    graph = decoder(6)
    lines = [line.strip() for line in tree_text(graph, 400).splitlines()[1:]]
    place = {line.split(" ")[0]: index for index, line in enumerate(lines)}
    assert len(lines) == len(graph.nodes)
    assert all(place[edge.source] < place[edge.target] for edge in graph.edges)


def test_the_tree_of_a_long_chain_does_not_indent() -> None:
    count = 20_000
    nodes = tuple(Node(str(index), "op") for index in range(count))
    chain = Drawing("", nodes, tuple(Edge(str(index), str(index + 1)) for index in range(count - 1)))
    lines = chain.terminal(80).splitlines()
    assert lines[-1] == f"{count - 1} = op({count - 2})"


wires = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=14, unique_by=(lambda w: w[0], lambda w: w[1])
)


@settings(max_examples=200, deadline=None)
@given(wires)
def test_runs_of_different_values_never_share_a_cell(ends: list[tuple[int, int]]) -> None:
    tracks = tracks_of([Wire(net, top, bottom) for net, (top, bottom) in enumerate(ends)])
    taken: set[tuple[int, int]] = set()
    for (top, bottom), track in zip(ends, tracks, strict=True):
        assert (track < 0) == (top == bottom)
        run = {(track, x) for x in range(min(top, bottom), max(top, bottom) + 1)} if track >= 0 else set()
        assert not run & taken
        taken |= run


def test_a_line_from_above_ends_before_the_one_below_starts() -> None:
    """The first wire comes down at column 9, where the second goes on down: the first must turn off above
    it.
    """
    first, second = tracks_of([Wire(0, 9, 20), Wire(1, 3, 9)])
    assert first < second


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_visible_text_is_one_printable_line(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert len(shown) <= 400
    assert visible(shown) == shown


@given(st.text(), st.integers(0, 30))
def test_fitted_text_fits(text: str, width: int) -> None:
    assert columns(fit(visible(text), width)) <= width
