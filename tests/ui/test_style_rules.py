"""Style sheets are parsed once for the colours of a theme, and widgets are styled again only where rules ask for what changed.

Parsing them anew took 100 ms of each start, and styling all widgets anew a fifth of the time of a key that shows another screen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from textual.color import Color
from textual.css import stylesheet
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.geometry import Size
from textual.widgets import Static

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


KEYS = (
    "j",
    "tab",
    "2",
    "s",
    "3",
    "4",
    "6",
    "colon",
    "p",
    "escape",
    "question_mark",
    "escape",
    "m",
    "escape",
    "d",
    "T",
    "1",
    "c",
)


def styles(nodes: list[DOMNode]) -> list[tuple[str, object, object]]:
    """What rules say about widgets and their parts."""
    return [
        (
            str(node),
            dict(node.styles.base._rules),
            {name: dict(part.base._rules) for name, part in node._component_styles.items()},
        )
        for node in nodes
    ]


def differing(app: Explorer) -> list[str]:
    """Widgets that Textual would style differently; it styles all of them."""
    nodes = [item for screen in app.screen_stack for item in screen.walk_children(with_self=True)] + [app]
    kept = styles(nodes)
    for node in nodes:
        Stylesheet.apply(app.stylesheet, node)
    anew = styles(nodes)
    return [one[0] for one, other in zip(kept, anew, strict=True) if one != other]


async def test_widgets_are_styled_as_if_each_was_styled_anew() -> None:
    app = Explorer(str(SAMPLES[1]), "default")
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        for size in (Size(120, 40), Size(80, 24), Size(160, 45)):
            await pilot.resize_terminal(*size)
            for key in KEYS:
                await pilot.press(key)
                assert differing(app) == [], (key, size)


async def test_rules_ask_for_classes_conditions_places_and_what_stands_above() -> None:
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        seen = Static("seen", id="seen")
        await app.screen.mount(seen)

        def is_bold() -> bool:
            app.stylesheet.update(app.screen)
            return bool(seen.styles.text_style.bold)

        assert not is_bold()
        app.stylesheet.add_source(
            "#seen.on, .wide #seen, #seen:disabled, Static:last-child { text-style: bold; }", ("here", "it")
        )
        assert is_bold(), "a new rule asks for the last child"
        last = Static("last")
        await app.screen.mount(last)
        assert not is_bold()
        for widget, name in ((seen, "on"), (app.screen, "wide")):
            widget.add_class(name)
            assert is_bold(), name
            widget.remove_class(name)
            assert not is_bold(), name
        seen.disabled = True
        assert is_bold()
        seen.disabled = False
        assert not is_bold()
        await last.remove()
        assert is_bold()
        last = Static("unnamed")
        await app.screen.mount(last)
        app.stylesheet.add_source("#late { text-style: underline; }", ("here", "late"))
        app.stylesheet.update(app.screen)
        assert not last.styles.text_style.underline
        last.id = "late"
        app.stylesheet.update(app.screen)
        assert last.styles.text_style.underline


async def test_colours_of_what_is_below_a_widget_are_looked_up_again() -> None:
    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        seen = Static("seen")
        seen.styles.background = "transparent"
        await app.screen.mount(seen)
        app.stylesheet.update(app.screen)
        before = seen.visual_style
        app.screen.styles._inline_styles.set_rule("background", Color.parse("red"))
        app.stylesheet.update(app.screen)
        assert seen.visual_style.background != before.background


async def test_another_screen_is_shown_without_styling_its_widgets_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    styled: list[DOMNode] = []
    apply = Stylesheet.apply

    def noted(self: Stylesheet, node: DOMNode, **more: Any) -> None:
        styled.append(node)
        apply(self, node, **more)

    app = Explorer(str(SAMPLES[0]))
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(app, pilot)
        await pilot.press("4", "1", "4", "1")
        monkeypatch.setattr(Stylesheet, "apply", noted)
        await pilot.press("4")
        count = len(list(app.screen.walk_children()))
    assert count > 5
    assert len({node for node in styled if type(node) is not DOMNode}) < count / 2
