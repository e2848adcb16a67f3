"""Style sheets are parsed once for the colours of a theme: parsing them anew took 100 ms of each start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from textual.css import stylesheet

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.viz.tokens import THEMES
from tests.support.roundtrip import SAMPLES
from tests.ui.test_explorer import opened


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Counter[object]:
    """How often each source was parsed."""
    counts: Counter[object] = Counter()
    parse = stylesheet.parse

    def counted(scope: str, css: str, read_from: object, *args: Any, **more: Any) -> Iterable[Any]:
        counts[read_from, more["tie_breaker"]] += (
            1  # a class of widgets gets another place once classes above it come
        )
        return parse(scope, css, read_from, *args, **more)  # type: ignore[arg-type]  # whatever Textual passes on

    monkeypatch.setattr(stylesheet, "parse", counted)
    return counts


async def test_a_start_parses_each_source_once(parsed: Counter[object]) -> None:
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        await pilot.press("2", "3", "colon", "escape")
        assert parsed
        assert set(parsed.values()) == {1}


@pytest.mark.parametrize("name", THEMES)
async def test_each_theme_has_its_colours_from_the_start_and_when_it_is_chosen(
    name: str, parsed: Counter[object]
) -> None:
    tokens = THEMES[name]
    app = Explorer(str(SAMPLES[0]), theme=name.removeprefix("rxe-"))
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        for shown in (tokens, *[THEMES[other] for other in THEMES if other != name], tokens):
            if app.tokens is not shown:
                app.use_theme(shown)
                await pilot.pause()
            expected = shown.ground.upper() if shown.ground else "ansi_default"
            assert app.screen.styles.background.hex == expected
            assert {f"-theme-{shown.name}", "-dark-mode" if shown.dark else "-light-mode"} <= app.classes
            assert sum(item.startswith(("-theme-", "-dark", "-light")) for item in app.classes) == 2
