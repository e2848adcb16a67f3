"""The pictures of the pages are these screens: `pytest tests/ui/test_pictures.py --update` after a look at the difference."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from relax_explorer.ui.tui.app import Explorer
from relax_explorer.viz.tokens import DARK
from tests.support.golden import Golden
from tests.support.screen_svg import film_svg, screen_svg
from tests.ui.test_looks import BROKEN, LAYER, settled
from tests.ui.test_screens import idle, press

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "docs" / "pictures"
SIZE = (112, 30)
PICTURES = {  # the words for those who cannot see it, the program, and the keys that lead there
    "passes": ("A pass that fused operators: new, removed and changed bindings in place", BROKEN,
               ("right_square_bracket", "right_square_bracket", "c", "c", "c", "c")),
    "debug": ("Stepping through a transformer layer: bindings done, the next one, values with their distribution, shape variables", LAYER,
              ("2", "s", "s", "s", "b")),
    "graph": ("The dataflow graph of a transformer layer, drawn in the terminal", LAYER, ("3", "a")),
}  # fmt: skip
FILM = "A build that went wrong: a bisection names the stage, the kernel and the line that differ"
SCENES = (  # the words below a screen, and the keys that lead to it from the one before
    ("rxe samples/broken_build — six stages of a build; its results are wrong", ()),
    ("] — the next stage that changed the module, and what it did", ("right_square_bracket",)),
    ("B — bisect: run all stages on the same inputs, and name the first that gives other results", ("B",)),
    ("Enter — the stage, with the binding that differs first", ("enter",)),
    ("Enter, c — the kernel, and the line in it that changed", ("enter", "c")),
)


@pytest.mark.parametrize("name", PICTURES)
async def test_picture(name: str, update: bool) -> None:
    words, path, keys = PICTURES[name]
    app = Explorer(path, theme="dark")
    async with app.run_test(size=SIZE) as pilot:
        await idle(pilot, app)
        await press(pilot, app, *keys)
        await settled(pilot, app)
        strips = app.screen._compositor.render_strips()
        shown = screen_svg(strips, DARK, words)
        assert shown == screen_svg(strips, DARK, words)
    golden = Golden(FOLDER, update, "pytest tests/ui/test_pictures.py --update")
    golden.check(f"{name}.svg", shown)
    ElementTree.fromstring(shown)
    assert len(shown) < 60_000


async def test_film(update: bool) -> None:
    app = Explorer(BROKEN, theme="dark")
    frames = []
    async with app.run_test(size=SIZE) as pilot:
        await idle(pilot, app)
        for words, keys in SCENES:
            await press(pilot, app, *keys)
            await settled(pilot, app)
            frames.append((words, app.screen._compositor.render_strips()))
    shown = film_svg(frames, DARK, FILM, 3.5)
    golden = Golden(FOLDER, update, "pytest tests/ui/test_pictures.py --update")
    golden.check("bisect.svg", shown)
    assert len(ElementTree.fromstring(shown).findall("{http://www.w3.org/2000/svg}g")) == len(SCENES)
    assert len(shown) < 200_000


def test_a_page_shows_every_picture_and_says_what_it_is() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")]
    for name, words in {**{name: words for name, (words, _, _) in PICTURES.items()}, "bisect": FILM}.items():
        shown = re.compile(rf"!\[{re.escape(words)}\]\((?:\.\./)?pictures/{name}\.svg\)")
        assert any(shown.search(page) for page in pages), name
    assert {path.stem for path in FOLDER.iterdir()} == {*PICTURES, "bisect"}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"!\[{FILM}\]\(\S+/docs/pictures/bisect\.svg\)", readme)


def test_a_picture_shows_what_the_screen_does() -> None:
    from rich.segment import Segment
    from rich.style import Style
    from textual.strip import Strip

    strip = Strip(
        [
            Segment("a<b   c ", Style(color="#ff0000", bold=True)),
            Segment("漢x", Style(bgcolor="#00ff00", strike=True)),
            Segment(" ", Style(color="#0000ff", reverse=True)),
        ]
    )
    shown = screen_svg([strip, Strip([Segment("next", Style(underline=True))])], DARK, "T & U")
    root = ElementTree.fromstring(shown)
    space = "{http://www.w3.org/2000/svg}"
    texts = [(item.text, item.get("fill"), item.get("class")) for item in root.iter(f"{space}text")]
    plain = DARK.role("text").color
    assert texts == [
        ("a<b", "#ff0000", "b"),
        ("c", "#ff0000", "b"),
        ("漢x", plain, "s"),
        ("next", plain, "u"),
    ]
    assert [item.get("fill") for item in root.iter(f"{space}rect")] == [DARK.ground, "#00ff00", "#0000ff"]
    assert root.find(f"{space}title").text == "T & U"
    first, apart, second, below = root.iter(f"{space}text")
    assert float(second.get("x")) - float(first.get("x")) == pytest.approx(8 * 8.4, abs=0.06)
    assert float(apart.get("x")) - float(first.get("x")) == pytest.approx(6 * 8.4, abs=0.06)
    assert float(second.get("textLength")) == pytest.approx(3 * 8.4)  # a wide character takes two cells
    assert float(below.get("y")) - float(first.get("y")) == 18
