"""The graph screen: a drawing with a cursor that follows edges, the selection, the stage and the run."""

from __future__ import annotations

from typing import Any

import pytest

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.twins import command_line
from relax_explorer.ui.tui.widgets.graph_canvas import GraphCanvas, MapView
from relax_explorer.viz.graph import Mark
from tests.support.roundtrip import DATA, SAMPLES
from tests.ui.test_explorer import LLAMA, screen_text
from tests.ui.test_screens import idle, press, typed

LOWERED = LLAMA.replace("00_input", "33_AttachGlobalSymbol")
FUSED = LLAMA.replace("00_input", "04_FuseOps")
BROKEN = str(SAMPLES[0].parent / "broken_build")


def canvas(app: Explorer) -> GraphCanvas:
    return app.frame.query_one("#graph", GraphCanvas)


def here(app: Explorer) -> str:
    """The node under the cursor."""
    return canvas(app).graph.nodes[canvas(app).cursor].id


def marked(app: Explorer, mark: Mark) -> set[str]:
    view = canvas(app)
    return {view.graph.nodes[number].id for number, marks in view._marks.items() if mark in marks}


def is_in_sight(app: Explorer) -> bool:
    view = canvas(app)
    box, shown, (x, y) = view.box, view.scrollable_content_region, view.scroll_offset
    assert box is not None
    fits = box.width <= shown.width
    return (
        y <= box.top
        and box.top + 3 <= y + shown.height
        and (not fits or (x <= box.left and box.right < x + shown.width))
    )


async def test_the_cursor_follows_edges_and_the_view_follows_the_cursor() -> None:
    app = Explorer(LLAMA, pipeline="")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "3")
        view = canvas(app)
        assert view.is_cut
        assert len(view.graph.nodes) == len(view.rows) == len(view.picture.boxes)
        await typed(pilot, app, "var:split_1", "slash")
        assert here(app) == "split_1"
        assert is_in_sight(app)
        steps = {"k": "split", "j": "split_1", "h": "split_0", "l": "split_1", "right": "split_2", "down": "reshape4",
                 "up": "split_2", "left": "split_1"}  # fmt: skip
        for key, name in steps.items():
            await press(pilot, app, key)
            assert here(app) == name, key
            assert is_in_sight(app)
            assert app.state.selection.variable == name
        for _ in range(6):  # down to the end of the layer, always along edges
            before = view.cursor
            await pilot.press("j")
            await pilot.pause()
            assert before in [view.graph.pairs[edge][0] for edge in view.graph.incoming[view.cursor]]
            assert is_in_sight(app)
        await _panned_and_mapped(pilot, app)


async def _panned_and_mapped(pilot: Any, app: Explorer) -> None:
    view = canvas(app)
    place = view.scroll_offset
    await press(pilot, app, "K", "H")
    assert view.scroll_offset.y == max(0, place.y - 4)
    assert not app.frame.query_one("#map").display  # in a narrow terminal the scrollbar is the map
    await press(pilot, app, "m")
    assert app.frame.query_one("#map").display
    assert any("⠀" < cell < "⣿" for cell in screen_text(app))
    await press(pilot, app, "m")
    assert not app.frame.query_one("#map").display
    await press(pilot, app, "m")
    await press(pilot, app, "pagedown")
    assert is_in_sight(app)
    await press(pilot, app, "g", "up", "up")  # nothing is above
    assert is_in_sight(app)
    assert here(app) == "ids"
    box = next(
        box for node, box in zip(view.graph.nodes, view.picture.boxes, strict=True) if node.id == "take"
    )
    x, y = view.scroll_offset
    await pilot.click("#graph", offset=(box.left + 2 - int(x), box.top + 1 - int(y)))
    await idle(pilot, app)
    assert here(app) == "take"
    assert app.state.selection.variable == "take"
    await press(pilot, app, "g")
    await press(pilot, app, "enter")
    assert app.screen_name == "graph"  # a parameter is no binding


async def test_the_graph_follows_selection_stage_and_run_and_leads_back() -> None:
    app = Explorer(LLAMA, pipeline="CanonicalizeBindings,LegalizeOps")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "var:matmul2", "slash")
        await press(pilot, app, "3")
        assert here(app) == "matmul2"
        assert app.frame.query_one("#map").display
        await press(pilot, app, "m", "m", "m")
        assert not app.frame.query_one("#map").display
        await press(pilot, app, "right_square_bracket", "right_square_bracket")
        assert app.state.selection.stage == 2
        assert here(app) == "matmul2"  # another binding of the same name
        assert "matmul2" in marked(app, Mark.CHANGED)
        await press(pilot, app, "k", "enter")
        assert app.screen_name == "passes"
        row = app.view.row
        assert row is not None
        assert row.node is app.state.selection.binding
        assert app.state.selection.variable == "softmax"
        await press(pilot, app, "2", "s", "s", "s", "3")
        await idle(pilot, app)
        assert here(app) in marked(app, Mark.CURRENT)
        assert {"reshape", "take"} <= marked(app, Mark.DONE)
        drawn = canvas(app).graph
        await press(pilot, app, "2", "s", "3")
        assert canvas(app).graph is drawn  # a step lays nothing out again
        assert len(marked(app, Mark.DONE)) == 4
        await press(pilot, app, "j", "j", "enter")
        assert app.screen_name == "debug"
        row = app.view.row
        assert row is not None
        assert row.node is app.state.selection.binding


async def test_equal_layers_are_drawn_once_until_z() -> None:
    app = Explorer(LLAMA, pipeline="")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "var:matmul8", "slash")  # of the second layer
        await press(pilot, app, "3")
        assert here(app) == "matmul2"
        assert canvas(app).graph.nodes[canvas(app).cursor].badge == "×2"
        assert app.state.selection.variable == "matmul8"
        assert "2 equal layers" in screen_text(app)
        few = len(canvas(app).rows)
        await press(pilot, app, "z")
        assert here(app) == "matmul8"
        assert len(canvas(app).rows) > few + 30
        await press(pilot, app, "plus")
        assert "showing" in screen_text(app)
        assert here(app) == "matmul8"
        await press(pilot, app, "a", "z")
        assert len(canvas(app).rows) == few


async def test_a_lowered_function_shows_values_and_m_its_memory() -> None:
    app = Explorer(LOWERED, pipeline="")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "var:alloc18", "slash")
        await press(pilot, app, "3")
        assert here(app) == "alloc18"
        assert canvas(app).graph.nodes[canvas(app).cursor].title == "matmul4"
        assert app.state.selection.variable == "alloc18"
        assert "M matmul4" in screen_text(app)
        assert "of memory and lengths are hidden" in screen_text(app)
        few = len(canvas(app).rows)
        await press(pilot, app, "M")
        assert len(canvas(app).rows) > 3 * few
        assert here(app) == "alloc18"  # its allocation
        assert command_line(app).endswith("--memory")
        await press(pilot, app, "M")
        assert len(canvas(app).rows) == few


async def test_the_next_stage_keeps_the_place_and_tells_what_was_merged() -> None:
    app = Explorer(str(DATA / "llama"), pipeline="")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "3", "j", "j", "j", "j", "j", "j")

        def place() -> tuple[int, int]:
            box, (x, y) = canvas(app).box, canvas(app).scroll_offset
            assert box is not None
            return box.middle - int(x), box.top - int(y)

        name, before = here(app), place()
        assert before[1] < 38
        await press(pilot, app, "right_square_bracket")
        assert app.state.selection.stage == 1
        assert (here(app), place()) == (name, before)
        await press(pilot, app, "right_square_bracket", "right_square_bracket")
        assert "nodes merged into" in screen_text(app)
        assert here(app) == name
        await press(pilot, app, "left_square_bracket")
        assert "split into" in screen_text(app)


async def test_a_parameter_under_the_cursor_stays_there() -> None:
    app = Explorer(str(DATA / "llama"), pipeline="")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "mask", "slash")
        await press(pilot, app, "3")
        graph = canvas(app).graph
        canvas(app).move(graph.number["mask"])
        await press(pilot, app, "right_square_bracket")
        assert here(app) == "mask"
        await press(pilot, app, "z")
        assert here(app) == "mask"


async def test_capital_m_tells_that_a_function_handles_no_memory() -> None:
    app = Explorer(LLAMA, pipeline="")
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "3", "M")
        assert "no kernel writes into memory" in screen_text(app)
        assert not app.state.options.shows_memory


async def test_the_map_does_not_keep_a_drawing_from_fitting() -> None:
    app = Explorer(LOWERED, pipeline="")
    async with app.run_test(size=(200, 110)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "3")
        view, map_ = canvas(app), app.frame.query_one("#map", MapView)
        width = view.picture.width
        assert not map_.display
        seen = set()
        for columns in (width + 30, width + 2, width + 1, width - 2, width + 2, width + 8):
            await pilot.resize_terminal(columns, 110)
            await idle(pilot, app)
            seen.add(map_.display)
            assert map_.display == (columns < width + 2), columns
            assert map_.display or not view.is_cut
        assert seen == {True, False}


async def test_d_shows_what_the_stage_removed_and_c_how_long_a_run_takes() -> None:
    app = Explorer(BROKEN)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "3", "d")
        assert "this stage changed nothing" in screen_text(app)
        await press(pilot, app, "right_square_bracket", "right_square_bracket")
        few = len(canvas(app).rows)
        await press(pilot, app, "d")
        assert len(canvas(app).rows) > few + 24  # and each layer
        assert {"matmul1", "mul", "add"} <= marked(app, Mark.REMOVED)
        assert "lv" in marked(app, Mark.ADDED)
        assert "softmax" in marked(app, Mark.CHANGED)
        assert "- 24 removed" in screen_text(app)
        await typed(pilot, app, "matmul1 =", "slash")
        assert here(app) == "matmul1"
        assert app.state.selection.binding is None  # this stage has no such binding
        await press(pilot, app, "d", "c")
        assert "median of warm runs" in screen_text(app)
        heat = {node.heat for node in canvas(app).graph.nodes if node.badge.endswith("%")}
        assert 4 in heat
        drawn = canvas(app).graph
        await press(pilot, app, "c")
        assert "bytes of each value" in screen_text(app)
        await press(pilot, app, "c", "c")
        assert canvas(app).graph is not drawn
        assert [node.badge for node in canvas(app).graph.nodes] == [
            node.badge for node in drawn.nodes
        ]  # the same run
        await press(pilot, app, "right_square_bracket")  # another stage was not measured
        assert not any("%" in node.badge for node in canvas(app).graph.nodes)


async def test_marks_are_in_the_text_without_colours() -> None:
    app = Explorer(BROKEN, theme="mono")
    async with app.run_test(size=(80, 25)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "right_square_bracket", "3", "d")
        await typed(pilot, app, "var:softmax1", "slash")
        assert "╔~* softmax1" in screen_text(app)
        assert "╭⊞+ lv4" in screen_text(app)
        await typed(pilot, app, "matmul7 =", "slash")
        assert "╔-* matmul7" in screen_text(app)


async def test_o_opens_the_function_that_a_node_calls() -> None:
    app = Explorer(FUSED, pipeline="")
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await typed(pilot, app, "var:lv1", "slash")
        await press(pilot, app, "3")
        few = len(canvas(app).rows)
        assert here(app) == "lv1"
        await press(pilot, app, "o")
        assert here(app) == "lv1"
        assert len(canvas(app).rows) == few + 2
        await press(pilot, app, "k")
        assert here(app) == "lv1/gv"
        assert is_in_sight(app)
        await press(pilot, app, "z")  # each layer: the function has two calls now
        assert {"lv1/gv", "lv5/gv"} <= {node.id for node in canvas(app).graph.nodes}
        await typed(pilot, app, "lv5/gv", "slash")
        assert here(app) == "lv5/gv"  # it has the same binding as lv1/gv
        await press(pilot, app, "m")  # another state: the cursor stays
        assert here(app) == "lv5/gv"
        await press(pilot, app, "o")
        assert here(app) == "lv5"
        await press(pilot, app, "z")
        assert len(canvas(app).rows) == few
        await typed(pilot, app, "var:softmax", "slash")
        await press(pilot, app, "o")
        assert "calls no Relax function" in screen_text(app)


@pytest.mark.parametrize(("size", "is_in_frame"), [((80, 24), False), ((120, 40), True)])
async def test_the_legend_of_what_changed_is_shown_at_every_width(
    size: tuple[int, int], is_in_frame: bool
) -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "3")
        assert (
            "~ changed here" in screen_text(app)
        ) == is_in_frame  # nothing changed yet: the rows have other news
        await press(pilot, app, "right_square_bracket")
        lines = screen_text(app).split("\n")
        here = next(line for line in lines if "~ changed here" in line)
        assert ("━" in here) == is_in_frame
        assert " in, " in here or is_in_frame
        assert {len(line) for line in lines} == {size[0]}
        if not is_in_frame:
            await press(pilot, app, "C")
            assert "FLOPs" in screen_text(app)
            assert "~ changed here" not in screen_text(app)  # the legend is that of the colours


@pytest.mark.parametrize("theme", ["dark", "mono"])
async def test_frames_of_changed_boxes_have_no_second_line(theme: str) -> None:
    app = Explorer(LLAMA, theme=theme)
    async with app.run_test(size=(120, 40)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "right_square_bracket", "3")
        changed = [n for n, marks in canvas(app)._marks.items() if Mark.CHANGED in marks]
        assert changed
        faces = [segment for n in changed for y in range(3) for segment in canvas(app)._face(n, y)]
        assert not any(segment.style and segment.style.underline for segment in faces)
