"""The command palette: it lists every action, and fast keys, clicks and low terminals do not break it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from rich.style import Style
from textual.app import App
from textual.command import CommandList
from textual.events import Click
from textual.geometry import Size

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.keys import KEYS, SCREENS, keys_of
from relax_explorer.ui.tui.screens.popup import Entries, Palette
from relax_explorer.ui.tui.typed import TYPED
from tests.support.roundtrip import SAMPLES
from tests.ui.random_events import clicks
from tests.ui.test_explorer import opened, wait


async def with_palette(app: Explorer, pilot: Any) -> CommandList:
    """Open the palette and wait for its entries."""
    await pilot.press("ctrl+p")
    await wait(pilot, lambda: isinstance(app.screen, Palette))
    await wait(pilot, lambda: app.screen.query_one(CommandList).option_count)
    return app.screen.query_one(CommandList)


@pytest.mark.parametrize("screen", SCREENS)
async def test_it_lists_every_action_of_the_screen(screen: str) -> None:
    """An action without a key stopped the list."""
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        app.show_screen(screen)
        await pilot.pause()
        names = {key.description for key in keys_of(app.screen_name)} | {
            item.doc.rstrip(".") for item in TYPED
        }
        found = await with_palette(app, pilot)
        await wait(pilot, lambda: found.option_count == len(names))


async def test_an_action_without_a_key_can_be_chosen() -> None:
    keyless = next(key for key in KEYS if not key.key)
    assert keyless.label == ""
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        found = await with_palette(app, pilot)
        await pilot.press(*["space" if letter == " " else letter for letter in keyless.description])
        await wait(pilot, lambda: found.option_count < 5 and found.highlighted == 0)
        assert str(found.get_option_at_index(0).prompt).strip() == keyless.description
        await pilot.press("enter")
        await wait(pilot, lambda: "everything is open" in app.notice)


async def test_several_clicks_beside_it_close_it_once() -> None:
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        await with_palette(app, pilot)
        for event in clicks(99, 29, count=3):
            app.post_message(event)
        await wait(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.pause(0.2)
        assert app.return_code is None


@pytest.mark.parametrize("turns", range(2))
async def test_it_is_closed_before_it_is_filled_and_opened_again(turns: int) -> None:
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        app.action_command_palette()
        for _ in range(turns):
            await asyncio.sleep(0)
        app.screen.dismiss()
        app.action_command_palette()
        await wait(pilot, lambda: app.screen.query_one(CommandList).option_count)
        assert app.return_code is None
        await pilot.press("escape")
        await wait(pilot, lambda: len(app.screen_stack) == 1)


async def test_a_page_in_a_terminal_without_room_for_it() -> None:
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        await with_palette(app, pilot)
        await pilot.resize_terminal(30, 3)
        await pilot.press("down", "pagedown", "pageup", "x", "pagedown")
        await pilot.resize_terminal(100, 30)
        await wait(pilot, lambda: app.screen.size == Size(100, 30))
        await pilot.press("escape")
        await wait(pilot, lambda: len(app.screen_stack) == 1)
        assert app.return_code is None


@pytest.mark.parametrize("action", ["action_page_up", "action_page_down"])
async def test_a_list_without_room_has_no_pages(action: str) -> None:
    app: App[None] = App()
    async with app.run_test():
        entries = Entries("one", "two", "three")
        entries.display = False
        await app.mount(entries)
        entries.highlighted = 1
        getattr(entries, action)()
        assert entries.highlighted == 1


@pytest.mark.parametrize("line", [2, 10_000])
async def test_a_click_on_a_line_that_is_gone_chooses_nothing(line: int) -> None:
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        found = await with_palette(app, pilot)
        style = Style(meta={"option": line})
        found.post_message(Click(found, 3, 3, 0, 0, 1, False, False, False, 20, 8, style))
        await pilot.pause()
        assert app.return_code is None
        assert isinstance(app.screen, Palette) is (line == 10_000), "another line is chosen"


@pytest.mark.parametrize(("column", "is_open"), [(31, True), (-1, True), (29, False)])
async def test_a_click_beside_the_terminal_closes_nothing(column: int, is_open: bool) -> None:
    """A terminal that shrinks may still send a click on a column that it had."""
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        await with_palette(app, pilot)
        palette = app.screen
        await pilot.resize_terminal(30, 10)
        await wait(pilot, lambda: palette.size == Size(30, 10))
        palette.post_message(Click(palette, column, 9, 0, 0, 1, False, False, False, column, 9))
        await pilot.pause()
        await wait(pilot, lambda: (app.screen is palette) is is_open)
        assert app.return_code is None


async def test_a_search_ends_in_a_palette_that_lost_its_list() -> None:
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(100, 30)) as pilot:
        await opened(app, pilot)
        found = await with_palette(app, pilot)
        palette = app.screen
        assert isinstance(palette, Palette)
        assert found.has_class("--visible")
        await found.remove()
        palette._list_visible = False
        palette._show_busy = True
        await pilot.pause()
        palette._show_busy = False
        palette._refresh_command_list(found, [], True)
        await pilot.press("escape")
        await wait(pilot, lambda: app.screen is app.frame)
