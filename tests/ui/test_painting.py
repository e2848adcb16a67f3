"""What the explorer draws in shorter ways is what Textual would draw: its screens, its lines, its scrollbars, and each single change."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any
from weakref import ref

import pytest
from rich.cells import cell_len
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor, LayoutUpdate
from textual.app import App
from textual.geometry import Region
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.widgets.framed import FixedLines, QuickBar
from relax_explorer.ui.tui.widgets.graph_canvas import GraphCanvas
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.tables import Row
from tests.ui.test_explorer import LLAMA
from tests.ui.test_looks import settled
from tests.ui.test_screens import idle, press

Cell = tuple[str, Style | None]
KEYS = (
    "j", "ctrl+d", "G", "right_square_bracket", "d", "c", "greater_than_sign", "m", "enter", "n", "tab", "j", "tab", "i",
    "question_mark", "escape", "2", "s", "s", "b", "s", "v", "tab", "j", "3", "j", "4", "j", "6", "colon", "p", "escape", "1", "T", "G",
)  # fmt: skip


def cells(strips: list[Strip]) -> list[list[Cell]]:
    """What stands in each cell. A blank has no colour of its own."""
    return [
        [
            (character, _seen(character == " ", segment.style))
            for segment in strip
            for character in _spread(segment.text)
        ]
        for strip in strips
    ]


def _spread(text: str) -> Iterator[str]:
    """The characters, an empty one for the second cell of a wide one."""
    for character in text:
        yield character
        yield from [""] * (cell_len(character) - 1)


@cache
def _seen(is_blank: bool, style: Style | None) -> Style | None:
    if style is None:
        return None
    if is_blank and not (style.reverse or style.underline):
        return Style(bgcolor=style.bgcolor)
    return style.without_color.clear_meta_and_links() + Style(color=style.color, bgcolor=style.bgcolor)


def whole(screen: Screen[Any], compositor: type[Compositor]) -> list[list[Cell]]:
    """A whole screen, as a class of compositors draws it."""
    own = screen._compositor
    chops = compositor._render_chops(own, own.size.region, lambda y: True)
    return cells([Strip.join(chop.values()) for chop in chops[: own.size.height]])


class Terminal:
    """What a terminal shows after all pictures so far."""

    def __init__(self) -> None:
        self.rows: list[list[Cell]] = []

    def take(self, update: object) -> None:
        """Draw a picture over the last ones."""
        if isinstance(update, LayoutUpdate):
            self.rows = cells([Strip.join(row) for row in update.strips])
        elif isinstance(update, ChopsUpdate):
            for y, start, end in update.spans:
                for stop, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                    if strip is not None and x < end and stop > start:
                        shown = cells([strip])[0][: min(stop, end) - x]
                        self.rows[y][x : x + len(shown)] = shown


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal that takes all pictures of an app."""
    found = Terminal()
    shown = App._display

    def display(self: App[Any], screen: Screen[Any], update: Any) -> None:
        found.take(update)
        shown(self, screen, update)

    monkeypatch.setattr(App, "_display", display)
    return found


@pytest.mark.parametrize(
    ("size", "theme"), [((80, 24), "mono"), ((160, 45), "dark")], ids=["80x24", "160x45"]
)
async def test_after_each_key_the_terminal_shows_what_textual_would_draw(
    terminal: Terminal, size: tuple[int, int], theme: str
) -> None:
    app = Explorer(LLAMA, "default", theme=theme)
    looked_at: set[str] = set()
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        for key in KEYS:
            await press(pilot, app, key)
            await settled(pilot, app)
            expected = whole(app.screen, Compositor)
            assert whole(app.screen, type(app.screen._compositor)) == expected, key
            if app.screen is app.frame:  # a dialog is drawn by Textual, over a picture of what is below
                assert terminal.rows == expected, key
            looked_at |= looked(app)
    assert {"ir", "debug_ir", "values", "problems"} <= looked_at
    assert size[0] < 100 or {"stages", "QuickBar", "history_text"} <= looked_at


def looked(app: Explorer) -> set[str]:
    """Compare each list of lines and each scrollbar with what Textual draws; which ones that were."""
    found = set()
    for view in app.screen.query(LineView):
        if view.region.area and view.display and not isinstance(view, GraphCanvas):
            area = Region(0, 0, view.outer_size.width, view.outer_size.height)
            shown = cells(view.render_lines(area))
            view.refresh()  # else Textual gives the lines of an earlier look
            assert shown == cells(ScrollView.render_lines(view, area)), view.id
            part = Region(2, 1, area.width - 3, max(0, area.height - 2))
            assert cells(view.render_lines(part)) == cells(ScrollView.render_lines(view, part)), view.id
            found.add(view.id or "")
            bar = view.vertical_scrollbar
            if not bar.region.area or not view.show_vertical_scrollbar:
                continue
            area = Region(0, 0, bar.outer_size.width, bar.outer_size.height)
            assert isinstance(bar, QuickBar)
            assert cells(bar.render_lines(area)) == cells(ScrollBar.render_lines(bar, area))
            found.add("QuickBar")
    for lines in app.screen.query(FixedLines):
        if lines.region.area and lines.text:
            area = Region(0, 0, lines.outer_size.width, lines.outer_size.height)
            shown = cells(lines.render_lines(area))
            lines.refresh()
            assert shown == cells(Widget.render_lines(lines, area)), lines.id
            part = Region(3, 1, max(1, area.width - 5), max(1, area.height - 1))
            assert cells(lines.render_lines(part)) == cells(Widget.render_lines(lines, part)), lines.id
            found.add(lines.id or "")
    return found


async def test_a_widget_that_others_hide_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    from textual.containers import Container

    drawn: list[str] = []
    before = Container.render_lines
    monkeypatch.setattr(
        Container, "render_lines", lambda self, crop: [drawn.append(self.id or ""), before(self, crop)][1]
    )
    app = Explorer(LLAMA)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        drawn.clear()
        await press(pilot, app, "j", "ctrl+d", "G")
        assert "body" not in drawn
        app.frame.query_one("#program").display = False
        await idle(pilot, app)
        assert "body" in drawn


async def test_drawn_lines_keep_no_other_rows_alive() -> None:
    class Node:
        pass

    app = Explorer(LLAMA)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        view, node = app.frame.query_one("#ir", LineView), Node()
        gone = ref(node)
        view.show([Row("first", node=node), Row("second")], 1)
        await idle(pilot, app)
        kept = view.rows[1]
        assert {id(row) for row in view.rows} <= {key[0] for key in view._strips}
        view.show([kept], 0)
        del node
        await idle(pilot, app)
        assert gone() is None
        assert id(kept) in {key[0] for key in view._strips}


async def test_a_key_and_its_panels_are_one_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=(200, 60)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "j", "j")
        await settled(pilot, app)  # by now it is known that the panels are quick
        pictures: list[ChopsUpdate] = []
        shown = App._display

        def display(self: App[Any], screen: Screen[Any], update: Any) -> None:
            pictures.extend([update] if isinstance(update, ChopsUpdate) else [])
            shown(self, screen, update)

        monkeypatch.setattr(App, "_display", display)
        await press(pilot, app, "j")
        await settled(pilot, app)
        panel = app.frame.query_one("#history_text").region
        assert any(panel.y <= y < panel.bottom and end > panel.x for y, _, end in pictures[0].spans)


async def test_the_next_page_is_drawn_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the direction of the last scroll; only the lines under the cursor are drawn for the key itself."""
    app = Explorer(LLAMA)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "ctrl+d", "ctrl+d", "ctrl+d")
        drawn: list[int] = []
        before = LineView._drawn

        def draw(self: LineView, row: Row, is_cursor: bool) -> list[Any]:
            drawn.append(self.rows.index(row))
            return before(self, row, is_cursor)

        view = app.frame.query_one("#ir", LineView)
        for key, by in (("ctrl+d", 1), ("ctrl+u", -1)):
            await press(pilot, app, key)  # up: to the first line that is seen
            view._strips.clear()
            await press(pilot, app, key)
            await pilot.pause(0.1)
            top, height = int(view.scroll_offset.y), view.lines_shown
            ahead = range(max(0, top + by * height), min(top + by * height + height, len(view.rows)))
            kept = {number for number in ahead if (id(view.rows[number]), False) in view._strips}
            assert kept == set(ahead), key
        monkeypatch.setattr(LineView, "_drawn", draw)
        await press(pilot, app, "ctrl+u")
        shown = set(drawn) & set(
            range(int(view.scroll_offset.y), int(view.scroll_offset.y) + view.lines_shown)
        )
        assert len(shown) <= 2, "the line of the cursor, and the one that it left"


async def test_lines_that_follow_each_other_are_drawn_again_together() -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        view = app.frame.query_one("#ir", LineView)
        old = [Row(f"row {n}") for n in range(12)]
        view.show(old, 0)
        await idle(pilot, app)
        asked: list[tuple[int, int]] = []
        view.refresh_lines = lambda first, count=1: asked.append((first, count))  # type: ignore[method-assign]
        view.show([Row("other") if n in (2, 3, 4, 7, 9, 10) else row for n, row in enumerate(old)], 0)
        assert asked == [(2, 3), (7, 1), (9, 2)]
        asked.clear()
        view.show(list(view.rows), 1)
        assert asked == [(0, 2)]
        asked.clear()
        view.show(list(view.rows), 1)
        assert asked == []


async def test_a_picture_has_only_what_changed_and_only_once() -> None:
    """Also after the terminal shrank: what lay outside is dropped."""
    app = Explorer(LLAMA)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        painter = app.screen._compositor
        painter._dirty_regions = {Region(0, 20, 10, 9), Region(70, 1, 30, 1)}
        update = painter.render_partial_update()
        assert isinstance(update, ChopsUpdate)
        assert {y for y, _, _ in update.spans} == {1, 20, 21, 22, 23}
        given = {y for y, row in enumerate(update.chops) for strip in row.values() if strip is not None}
        assert given == {1, 20, 21, 22, 23}
        assert painter.render_partial_update() is None
        painter._dirty_regions = {Region(0, 24, 80, 3)}
        assert painter.render_partial_update() is None


async def test_fixed_lines_pass_the_filters_of_all_output() -> None:
    app = Explorer(LLAMA, is_ascii=True)
    async with app.run_test(size=(160, 45)) as pilot:
        await idle(pilot, app)
        await press(pilot, app, "j", "j")
        await settled(pilot, app)
        lines = app.frame.query_one("#history_text", FixedLines)
        lines.show(["a → b", "…"])
        await idle(pilot, app)
        shown = [strip.text.rstrip() for strip in lines.render_lines(Region(0, 0, lines.size.width, 4))]
        assert all(line.isascii() for line in shown)
        assert (shown[0][0], shown[0][-1], shown[2:]) == ("a", "b", ["", ""])


async def test_a_scrollbar_that_does_not_know_its_size_yet_is_drawn() -> None:
    """Rows are asked for where the layout put it, and it learns of its place later."""
    app = Explorer(LLAMA)
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        bar = app.frame.query_one("#ir", LineView).vertical_scrollbar
        assert isinstance(bar, QuickBar)
        for height in (bar.size.height, bar.size.height + 5):
            strips = bar.render_lines(Region(0, 0, 1, height))
            assert len(strips) == height
            assert {strip.cell_length for strip in strips} == {1}
