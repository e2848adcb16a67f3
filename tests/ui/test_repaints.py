"""A key draws only what it changed: no layout of the screen, no line that looks as before."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from rich.text import Text
from textual.screen import Screen
from textual.widget import Widget

from relax_explorer.ui.tui.app import TICK, Explorer
from relax_explorer.ui.tui.widgets.framed import Box, FixedText
from relax_explorer.ui.tui.widgets.line_view import LineView
from relax_explorer.viz.tables import Row
from tests.ui.test_explorer import LLAMA, opened, screen_text, wait
from tests.ui.test_screens import idle


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many rows of each widget were marked to be drawn, and how many layouts were made."""
    counts: Counter[str] = Counter()
    marked, laid_out = Widget._set_dirty, Screen._refresh_layout

    def mark(self: Widget, *regions: object) -> None:
        heights = [region.height for region in regions] or [self.outer_size.height]  # type: ignore[attr-defined]  # a Region
        counts[self.id or type(self).__name__] += sum(heights)
        marked(self, *regions)  # type: ignore[arg-type]  # regions

    def lay_out(self: Screen[None], *arguments: object, **named: object) -> None:
        counts["layout"] += 1
        laid_out(self, *arguments, **named)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(Widget, "_set_dirty", mark)
    monkeypatch.setattr(Screen, "_refresh_layout", lay_out)
    return counts


async def test_moving_the_cursor_draws_two_lines_and_the_details(drawn: Counter[str]) -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=(200, 60)) as pilot:
        await opened(app, pilot)
        await pilot.press("j", "j")
        await idle(pilot, app)
        before = screen_text(app)
        drawn.clear()
        await pilot.press("j")
        await idle(pilot, app)
        assert screen_text(app) != before
        assert drawn["ir"] == 2
        assert drawn["details"] == 1  # its title
        assert 0 < drawn["details_text"] < 30
        assert not {"layout", "header", "footer", "stages", "PassesScreen"} & set(drawn)


async def test_a_step_draws_what_it_changed(drawn: Counter[str]) -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=(200, 60)) as pilot:
        await opened(app, pilot)
        await pilot.press("2")
        await idle(pilot, app)
        for _ in range(3):
            await pilot.press("s")
            await idle(pilot, app)
        drawn.clear()
        await pilot.press("s")
        await idle(pilot, app)
        assert 0 < drawn["debug_ir"] <= 6
        assert drawn["calls"] <= 2
        assert not {"layout", "points", "shapes", "DebugScreen"} & set(drawn)


async def test_text_that_gets_shorter_or_is_styled_leaves_nothing_behind() -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=(160, 40)) as pilot:
        await opened(app, pilot)
        await idle(pilot, app)
        details = app.frame.query_one("#details_text", FixedText)
        for text in ("a\nb\nLAST LINE", "word " * 60 + "LAST WORD", "short", "[b]", ""):
            details.show(Text(text))
            await pilot.pause()
            shown = screen_text(app)
            for part in ("LAST LINE", "LAST WORD", "short", "[b]"):
                assert (part in shown) == (part in text), (part, text)


async def test_lines_and_titles_that_change_are_drawn() -> None:
    app = Explorer(LLAMA)
    async with app.run_test(size=(160, 40)) as pilot:
        await opened(app, pilot)
        await idle(pilot, app)
        view = app.frame.query_one("#ir", LineView)
        for rows in (
            [Row("one"), Row("two", note="NOTE")],
            [Row("one", mark="+"), Row("two"), Row("three", right="GHOST")],
            [Row("one", mark="+"), Row("two", note="NOTE"), Row("three")],
            [Row("one", mark="+"), Row("two"), Row("three", right="GHOST")],
            [Row("ONE")],
            [],
            [Row("ONE")] * 100,
            [Row("two")] * 2,
        ):
            view.show(rows, 0)
            view.show_title(f"[{len(rows)} rows]")
            await pilot.pause(0.1)  # a new scrollbar takes several messages
            shown = screen_text(app)
            assert f"[{len(rows)} rows]" in shown
            assert view.show_vertical_scrollbar == (len(rows) > view.lines_shown)
            assert shown.count("▌") == (1 if rows else 0)
            view.show(rows, len(rows) - 1)  # only the cursor moves
            await pilot.pause()
            assert [n for n, line in enumerate(screen_text(app).split("\n")) if "▌" in line] == (
                [view.region.y + 1 + min(len(rows), view.lines_shown) - 1] if rows else []
            )
            view.show(rows, 0)
            await pilot.pause()
            for row in (Row("two"), Row("three"), Row("NOTE"), Row("GHOST"), Row("ONE")):
                is_shown = any(row.text in (item.text, item.note, item.right) for item in rows)
                assert (row.text in shown) == is_shown, row
        app.frame.query_one("#details", Box).show_title("another [title]")
        await pilot.pause()
        assert "another [title]" in screen_text(app)


async def test_the_clock_stands_still_while_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its ticks wakes the processor."""
    ticks = []
    tick = Explorer._tick
    monkeypatch.setattr(Explorer, "_tick", lambda self: [ticks.append(1), tick(self)])
    app = Explorer(LLAMA)
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        await idle(pilot, app)
        await pilot.pause(2 * TICK)  # the tick that stops it
        ticks.clear()
        await pilot.pause(4 * TICK)
        assert not ticks
        woken = threading.Event()
        app.jobs.start("test", "waiting", lambda job: woken.wait(30), lambda _: None)
        await wait(pilot, lambda: "waiting" in screen_text(app))
        assert ticks
        woken.set()
        await idle(pilot, app)
        assert "waiting" not in screen_text(app)
