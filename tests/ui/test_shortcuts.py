"""Without the private names of Textual that its shortcuts need, the explorer starts, paints and reacts, and shows the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from textual._compositor import Compositor
from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.ui.tui.key_recording import screen_text
from relax_explorer.ui.tui.keys import keymap
from relax_explorer.ui.tui.shortcuts import NEEDED, Name, Painter, StyleRules, usable
from relax_explorer.ui.tui.widgets.framed import QuickBar
from relax_explorer.ui.tui.widgets.line_view import LineView
from tests.ui.test_explorer import LLAMA
from tests.ui.test_explorer import screen_text as drawn_text
from tests.ui.test_looks import settled
from tests.ui.test_painting import KEYS
from tests.ui.test_screens import idle, press

GONE = Name(Widget, "_gone")
Take = Callable[..., None]
PRESSED = [key for key in KEYS if key != "6"]  # the checks of lengths stand beside the time that they took


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[Take]:
    """Takes away a name that each of some shortcuts needs."""

    def take(*parts: str) -> None:
        for part in parts:
            monkeypatch.setitem(NEEDED, part, (*NEEDED[part], GONE))  # type: ignore[arg-type]  # a dict
        usable.cache_clear()

    yield take
    usable.cache_clear()


def test_this_textual_has_all_names() -> None:
    assert usable() == NEEDED.keys()


@pytest.mark.parametrize("part", NEEDED)
def test_a_shortcut_needs_all_of_its_names(part: str, without: Take) -> None:
    without(part)
    assert usable() == NEEDED.keys() - {part}


@pytest.mark.parametrize(
    ("name", "is_there"),
    [
        (Name(Compositor, "_regions_to_spans", "regions"), True),
        (Name(Compositor, "_regions_to_spans", "regions more"), False),
        (Name(Compositor, "_regions_to_spans", ""), False),
        (Name(Compositor, "_dirty_regions"), True),  # an attribute of objects
        (Name(Compositor, "_dirty_regions", "self"), False),
        (Name(Screen, "_repaint_regions"), True),  # of a class above
        (Name(Compositor, "_gone"), False),
        (Name(App, "_start_widget", "self parent widget"), True),
        (Name(object, "_gone", "self"), False),
    ],
    ids=str,
)
def test_a_name_is_there_with_its_parameters(name: Name, is_there: bool) -> None:
    assert name.is_there is is_there


async def session(size: tuple[int, int]) -> list[tuple[str, str]]:
    """What the explorer shows after each key, as text."""
    shown = []
    app = Explorer(LLAMA, "default", theme="mono")
    async with app.run_test(size=size) as pilot:
        await idle(pilot, app)
        for key in PRESSED:
            await press(pilot, app, key)
            await settled(pilot, app)
            text = screen_text(app)
            assert text == "\n".join([line.rstrip() for line in drawn_text(app).split("\n")])
            if (
                key != "2"
            ):  # the width of its table depends on whether its place or the first run is there first
                shown.append(
                    (key, re.sub(r", \d+ ms", ", … ms", text))
                )  # of the pass, which took one or none
        view = app.frame.query(LineView).first()
        has_painter, has_bar = (
            isinstance(app.frame._compositor, Painter),
            isinstance(view.vertical_scrollbar, QuickBar),
        )
    assert app.return_code is None
    assert (has_painter, has_bar) == ("painter" in usable(), "bar" in usable())
    assert isinstance(app.stylesheet, StyleRules) == ("styles" in usable())
    return shown


@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=["80x24", "160x45"])
async def test_without_shortcuts_the_explorer_shows_the_same(size: tuple[int, int], without: Take) -> None:
    own = await session(size)
    without(*NEEDED)
    assert not usable()
    pairs = zip(own, await session(size), strict=True)
    assert [(n, before[0]) for n, (before, now) in enumerate(pairs) if now != before] == []
    assert len(set(own)) > len(PRESSED) / 2


async def test_without_the_bindings_the_keys_of_the_project_stay(without: Take) -> None:
    without("keys")
    app = Explorer(LLAMA, keymap=keymap("default", {"down": "ctrl+n"}))
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, app)
        view = app.frame.query_one("#ir", LineView)
        await press(pilot, app, "j")
        assert view.cursor == 1
        await press(pilot, app, "ctrl+n")
        assert view.cursor == 1
